//! What a change sees of tests that take long: some of it, drawn by the commit's hash.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use crate::{is_full, output};

/// Set to what an earlier run has printed, it makes the tests draw the same.
const SEED: &str = "WEIR_TESTS_SEED";

/// All of them, with `WEIR_TESTS=full`; else so many of them, which are printed after `what`.
#[must_use]
pub fn all_or_some<T: Display>(what: &str, mut all: Vec<T>, some: usize) -> Vec<T> {
    if !is_full() {
        shuffle(&mut all);
        all.truncate(some);
        tell(format!("{what} {}, drawn by {}", listed(&all), drawn_by()));
    }
    all
}

/// With semicolons.
pub fn listed(all: &[impl Display]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Puts them in an order that is the commit's.
pub fn shuffle(all: &mut [impl Display]) {
    all.sort_by_cached_key(|one| {
        let mut hasher = DefaultHasher::new();
        (seed(), one.to_string()).hash(&mut hasher);
        hasher.finish()
    });
}

/// What is drawn by, to repeat it: `WEIR_TESTS_SEED=...`.
#[must_use]
pub fn drawn_by() -> String {
    format!("{SEED}={}", seed())
}

/// The hash of the commit by default. Sources without a history have no seed of their own.
fn seed() -> &'static str {
    static KNOWN: OnceLock<String> = OnceLock::new();
    KNOWN.get_or_init(|| {
        if let Ok(seed) = std::env::var(SEED) {
            return seed;
        }
        let mut git = Command::new("git");
        // The sources may belong to another user.
        git.args(["-c", "safe.directory=*", "rev-parse", "--short=12", "HEAD"]);
        git.current_dir(env!("CARGO_MANIFEST_DIR"));
        let hash = output(&mut git).ok().filter(|output| output.status.success());
        hash.map_or_else(String::new, |hash| String::from_utf8_lossy(&hash.stdout).trim().into())
    })
}

/// Writes a line once, to stdout directly, because libtest hides what a passing test prints.
///
/// # Panics
/// Never.
pub fn tell(line: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().expect("no test panics here");
    if !said.contains(&line) {
        let _ = writeln!(std::io::stdout(), "{line}");
        said.insert(line);
    }
}
