//! SIGHUP: others serve, and nobody notices.

use rustix::process::Signal;

use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::{HUGE_BYTES, asked, in_flight, site_with_a_huge_file};
use crate::support::load::{Counts, Load};
use crate::support::processes::children;
use crate::support::server::{Combination, Program, Server, on_every};
use crate::support::{PATIENCE, await_true};

const RELOADS: usize = 5;

fn reload(server: &mut Server) {
    server.signal(Signal::HUP);
    server.await_line("retires");
}

#[test]
fn no_request_is_lost_while_generations_change() {
    let site = Fixture::new();
    for keep in [true, false] {
        on_every(Program::Weir, |combination| {
            let mut server = combination.start(&site.root(), &[]);
            let load = Load::start(server.address, "/large.bin", 4, keep);
            for _ in 0..RELOADS {
                let before = load.answered();
                reload(&mut server);
                let goes_on = await_true(PATIENCE, || load.answered() > before + 4);
                assert!(goes_on, "{combination}: the load does not go on");
            }
            let counts = load.stop();
            let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
            assert_eq!(lost, [0, 0, 0], "{combination}, keep-alive {keep}: {counts:?}");
            server.stop();
        });
    }
}

#[test]
fn what_is_in_flight_is_finished_by_those_who_began_it() {
    let site = site_with_a_huge_file();
    on_every(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &[]);
        let old = children(server.pid());
        let mut clients = in_flight(&server, 3);
        let mut idle = asked(&server);
        reload(&mut server);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        // Who is idle may ask once more.
        idle.get("/digits.txt", "").expect("sent");
        let last = idle.reply(false).map(|(head, body)| (head.closes(), body));
        assert_eq!(last, Ok((true, DIGITS.to_vec())), "{combination}");
        for wire in &mut clients {
            assert_eq!(wire.rest(), Ok(HUGE_BYTES), "{combination}: one in flight was lost");
        }
        let gone = await_true(PATIENCE, || {
            children(server.pid()).iter().all(|worker| !old.contains(worker))
        });
        assert!(gone, "{combination}: the old workers are still there");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

#[test]
fn idle_connections_end_by_fin_after_a_while() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--idle-grace-ms", "500"]);
        let mut idle: Vec<_> = (0..3).map(|_| asked(&server)).collect();
        reload(&mut server);
        for wire in &mut idle {
            assert_eq!(wire.end(), Ok(()), "{combination}");
        }
        server.stop();
    });
}

#[test]
fn a_storm_of_reloads_is_survived() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination: &Combination| {
        let server = combination.start(&site.root(), &[]);
        let load = Load::start(server.address, "/digits.txt", 2, true);
        for _ in 0..100 {
            server.signal(Signal::HUP);
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        let counts = load.stop();
        let lost = [&counts.broken, &counts.unanswered, &counts.refused].map(Counts::of);
        assert_eq!(lost, [0, 0, 0], "{combination}: {counts:?}");
        server.stop();
    });
}
