//! A server that was started in a terminal, which is closed.

use std::fs;
use std::process::{Command, Stdio};

use harness::{KilledOnDrop, Need};
use rustix::process::Signal;

use crate::support::combination::Program;
use crate::support::fixture::{Fixture, no_settings};
use crate::support::processes::is_there;
use crate::support::server::send;
use crate::support::{PATIENCE, await_some, await_true};

#[test]
fn a_server_that_was_started_by_hand_ends_with_its_terminal() {
    if harness::lacks(&[Need::Program("script")]) {
        return;
    }
    let site = Fixture::new();
    let settings = no_settings(&site.beside(""));
    let with_file = format!("--config {settings}");
    let rows = [
        ("", "", "SIGHUP ends this server", "has drained"),
        ("", &with_file, "SIGHUP reloads the settings", "generation 2 serves"),
        ("nohup", "", "SIGHUP is ignored", "serves as process"),
    ];
    for (row, (by, flags, says, then)) in rows.into_iter().enumerate() {
        let [number, log] = ["number", "log"].map(|name| site.beside(&format!("{name}-{row}")));
        let weir = Program::Weir.path();
        let line = format!(
            "exec {by} {} serve {} --listen 127.0.0.1:0 --admin off --pid-file {} {flags} >{} 2>&1",
            weir.display(),
            site.root().display(),
            number.display(),
            log.display(),
        );
        // Also where these tests are run by nohup.
        let mut terminal = Command::new("env");
        terminal.args(["--default-signal=HUP", "script"]);
        terminal.args(["--quiet", "--command", &line, "/dev/null"]);
        terminal.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut terminal = KilledOnDrop(terminal.spawn().expect("script"));
        let told = || fs::read_to_string(&log).unwrap_or_default();
        // The order of the two lines is nobody's promise: a worker writes one of them.
        let has_told = || [says, "serves as process"].iter().all(|line| told().contains(line));
        assert!(await_true(PATIENCE, has_told), "{by} weir {flags}: {}", told());
        let pid = || fs::read_to_string(&number).ok()?.trim().parse::<u32>().ok();
        let pid = await_some(PATIENCE, pid).expect("its process");
        terminal.0.kill().expect("killed");
        terminal.0.wait().expect("it has ended");
        assert!(await_true(PATIENCE, || told().contains(then)), "{by} weir {flags}: {}", told());
        if then != "has drained" {
            // Had SIGHUP ended it, this would be the second signal, which stops it at once.
            send(pid, Signal::TERM);
        }
        assert!(await_true(PATIENCE, || !is_there(pid)), "{by} weir {flags}: {}", told());
        assert!(!told().contains("stopping at once"), "{by} weir {flags}: {}", told());
    }
}
