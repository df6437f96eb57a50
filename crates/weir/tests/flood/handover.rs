//! Others take over in a flood.

use rustix::process::Signal;

use crate::support::fixture::Fixture;
use crate::support::processes::is_there;
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};
use crate::{await_flood, check_calm, flooded, on_each};

#[test]
fn a_reload_in_a_flood_leaves_nobody_refused() {
    let site = Fixture::new();
    on_each(|combination| {
        let (mut server, admin, crowd) = flooded(combination, &site);
        server.signal(Signal::HUP);
        server.await_line("generation 2 serves");
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}

/// The program that has taken over; killed when dropped before it was stopped.
struct Next(u32);

impl Next {
    fn stop(self) {
        send(self.0, Signal::TERM);
        assert!(await_true(PATIENCE, || !is_there(self.0)), "still there");
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        if is_there(self.0) {
            send(self.0, Signal::KILL);
        }
    }
}

#[test]
fn an_upgrade_in_a_flood_leaves_nobody_refused() {
    let site = Fixture::new();
    on_each(|combination| {
        // Whether the crowd is there for longer than who has refused it.
        for stays in [true, false] {
            let (mut server, admin, crowd) = flooded(combination, &site);
            let mut crowd = Some(crowd).filter(|_| stays);
            server.signal(Signal::USR2);
            let next = Next(server.await_next());
            let status = server.ended(PATIENCE).and_then(|status| status.code());
            assert_eq!(status, Some(0), "{combination}: the old program");
            if crowd.is_some() {
                await_flood(combination, admin);
            }
            crowd.take();
            check_calm(combination, &server, admin);
            next.stop();
        }
    });
}
