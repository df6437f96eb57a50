//! Descriptors that run out.

use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::processes::{children, ticks};
use crate::support::server::{Program, Server, on_every};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

const CLIENTS: usize = 200;

/// Of a hundred clock ticks in a second; a loop that spins takes all it can get.
const IDLE_TICKS_MAX: u64 = 30;

#[test]
fn more_clients_than_descriptors_neither_crash_nor_spin() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(combination.program.path());
        command.args(combination.arguments(&site.root(), &["--make-room", "off"]));
        let server = Server::start(command, 0);
        let started = || Some(children(server.pid())).filter(|workers| !workers.is_empty());
        let workers = await_some(PATIENCE, started).expect("a worker");

        let mut clients: Vec<Wire> = (0..CLIENTS).map(|_| server.connect()).collect();
        let before = ticks(&workers);
        std::thread::sleep(std::time::Duration::from_secs(1));
        let ran = ticks(&workers) - before;
        assert!(ran <= IDLE_TICKS_MAX, "{combination}: {ran} ticks in a second of waiting");

        // Some of them are connected and some wait; none is dropped without an answer.
        let mut answered = 0;
        for mut wire in clients.drain(..) {
            if wire.get("/digits.txt", "Connection: close\r\n").is_ok() {
                answered +=
                    usize::from(wire.reply(false).is_ok_and(|(head, _)| head.status == 200));
            }
        }
        // The head deadline may have cut off a few that had waited long on a busy machine.
        assert!(answered >= CLIENTS / 2, "{combination}: {answered} of {CLIENTS} answered");
        let serves = await_true(PATIENCE, || server.fetch("/large.bin").is_ok());
        assert!(serves, "{combination}: not served afterwards");
        assert_eq!(children(server.pid()), workers, "{combination}: a worker died");
        server.stop();
    });
}
