//! Others take over in a flood.

use rustix::process::Signal;

use crate::support::fixture::Fixture;
use crate::{await_flood, check_calm, flooded, on_each_architecture};

#[test]
fn a_reload_in_a_flood_leaves_nobody_refused() {
    let site = Fixture::new();
    on_each_architecture(|combination| {
        let (mut server, admin, crowd) = flooded(combination, &site);
        server.signal(Signal::HUP);
        server.await_line("generation 2 serves");
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
    });
}
