//! Passwords where each process has one connection, and verifies them itself.

use std::net::Ipv4Addr;

use crate::passwords::{ELSEWHERE, ENDLESS, FAILS_OFTEN, HERE, MANY, Stage};
use crate::support::chosen::on_every;
use crate::support::combination::Program;
use crate::support::fixture::DIGITS;
use crate::support::{PATIENCE, await_true};

/// Where each process has one connection two of all of them verify, for two addresses, and nobody
/// waits for a place: the others serve.
#[test]
fn of_many_processes_two_verify() {
    const THIRD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
    on_every(Program::Weir, |combination| {
        if combination.row["holder"] != "process" {
            return;
        }
        let stage = Stage::with(ENDLESS, combination, FAILS_OFTEN);
        let _guesses = stage.guesses("slow", ELSEWHERE);
        stage.await_asked(MANY);
        let put_off = || stage.count("logins_throttled") + stage.count("logins_refused");
        let all_but_one = || put_off() + 1 + stage.count("verifications") >= MANY;
        assert!(await_true(PATIENCE, all_but_one), "{combination}: {} were put off", put_off());
        let mut guess = 0;
        // Whose verdict falls meanwhile leaves the place: others take it, or it is theirs already.
        let is_refused = || {
            guess += 1;
            let _others =
                [ELSEWHERE, HERE].map(|from| stage.asking(&format!("slow:{guess} more"), from));
            let (head, _) = stage.login(&format!("ann:{guess}"), THIRD);
            assert!(head.status == 401 || head.field("retry-after") == Some("1"), "{combination}");
            head.status == 503
        };
        assert!(await_true(PATIENCE, is_refused), "{combination}: there is always a place");
        let fetched = stage.server.fetch("/digits.txt");
        assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: nobody serves");
    });
}
