//! What the tests of the binary share: a site made for them, a server started for them, and a
//! client that trusts nothing.
#![allow(dead_code, reason = "each test program takes the part it needs")]

pub(crate) mod chosen;
pub(crate) mod combination;
pub(crate) mod command;
pub(crate) mod examples;
pub(crate) mod fixture;
pub(crate) mod home;
pub(crate) mod in_flight;
pub(crate) mod load;
pub(crate) mod metrics;
pub(crate) mod processes;
pub(crate) mod rest;
pub(crate) mod rights;
pub(crate) mod server;
pub(crate) mod slow;
pub(crate) mod terminal;
pub(crate) mod users;
pub(crate) mod wire;

use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine. No test measures it: it turns a hang into a
/// failure that says what was waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Pauses between questions: a twentieth of the time that has passed already, within these limits.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Asks again and again until `done` has something, the last time when `bound` has passed: a
/// machine that stood still meanwhile is no failure.
pub(crate) fn await_some<T>(bound: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        let elapsed = started.elapsed();
        let found = done();
        if found.is_some() || elapsed > bound {
            return found;
        }
        std::thread::sleep((elapsed / 20).clamp(PAUSE_MIN, PAUSE_MAX));
    }
}

/// The same for a condition.
pub(crate) fn await_true(bound: Duration, mut is: impl FnMut() -> bool) -> bool {
    await_some(bound, || is().then_some(())).is_some()
}

/// How many times as long all times of a test may be.
pub(crate) const SCALES: [u32; 3] = [1, 4, 16];

/// Runs a test about the ratio of two times, such as that of a pause and a timeout, with longer
/// and longer times until the test passes. A server that breaks the rule fails at every scale. A
/// machine that is too slow for the shortest times is fast enough for longer ones.
pub(crate) fn at_some_scale(test: impl Fn(u32)) {
    let [shorter @ .., longest] = SCALES;
    let passes = |scale| catch_unwind(AssertUnwindSafe(|| test(scale))).is_ok();
    if !shorter.into_iter().any(passes) {
        test(longest);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        // `println` would be hidden, because the test has passed.
        let line = format!("{name} passed only with times {longest} as long\n");
        let _ = io::stdout().write_all(line.as_bytes());
    }
}

/// What stands in a file, once it has so many lines: the last of them may still be being written
/// when it is read.
pub(crate) fn await_lines(file: &Path, count: usize) -> String {
    let has_them = |text: &String| text.ends_with('\n') && text.lines().count() >= count;
    await_some(PATIENCE, || fs::read_to_string(file).ok().filter(has_them))
        .unwrap_or_else(|| panic!("{count} lines in {}", file.display()))
}
