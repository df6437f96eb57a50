//! The script of docs/load.md for a continuous integration.

use std::env;
use std::path::Path;
use std::process::{Child, Command};

use harness::Need;

use crate::lab::free_address;
use crate::support::command::run;
use crate::support::fixture::{Fixture, write};

const PAGE: &str = include_str!("../../../../../docs/load.md");
const HEADING: &str = "### In a continuous integration";

/// The lines of the page's first listing below the heading.
fn script() -> String {
    let (_, below) = PAGE.split_once(HEADING).expect("the heading");
    let lines = below.lines().skip_while(|line| !line.starts_with("    "));
    lines.map_while(|line| line.strip_prefix("    ")).map(|line| format!("{line}\n")).collect()
}

/// A process that keeps a processor busy until it is dropped.
pub(crate) struct Busy(Child);

impl Busy {
    pub(crate) fn start() -> Self {
        let mut shell = Command::new("sh");
        Self(shell.args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The script passes or fails by its bounds, whether or not the busy loop makes the generator late.
#[test]
fn script_for_continuous_integration_decides_beside_a_busy_loop() {
    if harness::lacks(&[Need::Program("curl")]) {
        return;
    }
    let text = script();
    let rows = [("p99<60s", "good>0/s", 0), ("p99<60s", "good>1000000/s", 4)];
    let _busy = Busy::start();
    for (times, rates, expected) in rows {
        let fixture = Fixture::small();
        write(&fixture.root().join("index.html"), b"a page");
        let site = fixture.root().display().to_string();
        let address = free_address();
        // The bounds of the page hold on a machine that has time for the server.
        let changes = [
            ("serve site", format!("serve '{site}'")),
            ("127.0.0.1:8080", address.to_string()),
            ("p99<100ms", String::from(times)),
            ("good>190/s", String::from(rates)),
        ];
        let text = changes.iter().fold(text.clone(), |text, (from, to)| {
            assert!(text.contains(from), "{text}: no {from}");
            text.replace(from, to)
        });
        let mut shell = Command::new("sh");
        let weir = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("a directory");
        let path = env::var("PATH").unwrap_or_default();
        shell.args(["-c", &text]).env("PATH", format!("{}:{path}", weir.display()));
        let (status, said, errors) = run(&mut shell).expect("a shell");
        let is_missed = status == Some(1) && said.contains("this run is valid");
        let is_expected = status == Some(expected) || expected == 4 && is_missed;
        assert!(is_expected, "{status:?}, {expected}: {said}{errors}");
    }
}
