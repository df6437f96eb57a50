//! Requests that are not over: what a drain, a limit or a death meets.

use std::fs::File;

use super::fixture::Fixture;
use super::server::Server;
use super::wire::Wire;

/// More than the buffers of two sockets hold, so that the server cannot be done with it.
pub(crate) const HUGE_BYTES: usize = 48 << 20;

pub(crate) fn site_with_a_huge_file() -> Fixture {
    let site = Fixture::new();
    let file = File::create(site.root().join("huge.bin")).expect("a file");
    file.set_len(HUGE_BYTES as u64).expect("its length");
    site
}

/// Clients that have read the head of the huge file and not yet its content.
pub(crate) fn in_flight(server: &Server, count: usize) -> Vec<Wire> {
    let begun = |_| {
        let mut wire = server.asking(server.address, "/huge.bin");
        assert_eq!(wire.head().expect("a head").length(), Ok(HUGE_BYTES));
        wire
    };
    (0..count).map(begun).collect()
}

/// One that has sent half a body, and was heard: nobody takes him for idle.
pub(crate) fn half_a_body(server: &Server) -> Wire {
    let mut wire = server.connect();
    wire.get("/digits.txt", "Content-Length: 4\r\nExpect: 100-continue\r\n").expect("sent");
    assert_eq!(wire.head().map(|head| head.status), Ok(100));
    wire.send(b"ha").expect("sent");
    wire
}

/// What each of them does, at the same time: whoever waited for the others to read would be given
/// up for reading nothing.
pub(crate) fn at_once<T: Send>(
    clients: &mut [Wire],
    does: impl Fn(&mut Wire) -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let does = &does;
        let all: Vec<_> = clients.iter_mut().map(|wire| scope.spawn(move || does(wire))).collect();
        all.into_iter().map(|one| one.join().expect("its own failure is told")).collect()
    })
}

/// A connection on which one request has been answered.
pub(crate) fn asked(server: &Server) -> Wire {
    let mut wire = server.asking(server.address, "/digits.txt");
    wire.reply(false).expect("answered");
    wire
}
