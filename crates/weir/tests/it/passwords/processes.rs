//! Passwords where each process has one connection, and verifies them itself.

use std::net::Ipv4Addr;

use crate::passwords::{ELSEWHERE, FAILS_OFTEN, HERE, MANY, Stage};
use crate::support::chosen::on_every;
use crate::support::combination::Program;
use crate::support::fixture::DIGITS;

/// Two of all processes verify at a time. The next login waits for its turn: two addresses that
/// guess do not keep it out, and files are served meanwhile.
#[test]
fn logins_of_many_processes_wait_in_turn() {
    const THIRD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
    on_every(Program::Weir, |combination| {
        if combination.row["holder"] != "process" {
            return;
        }
        let stage = Stage::start(combination, FAILS_OFTEN);
        let guesses = [ELSEWHERE, THIRD].map(|from| stage.guesses("slow", from));
        stage.await_asked(2 * MANY);
        let fetched = stage.server.fetch("/digits.txt");
        assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: none serves");
        let (head, _) = stage.login("ann:secret", HERE);
        assert_eq!(head.status, 200, "{combination}");
        for mut wire in guesses.into_iter().flatten() {
            let status = wire.reply(false).expect("a reply").0.status;
            assert!(status == 401 || status == 429, "{combination}: {status}");
        }
        assert_eq!(stage.count("logins_refused"), 0, "{combination}");
        stage.server.stop();
    });
}
