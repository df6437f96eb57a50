//! On which architectures a test of a fault runs. A fault shows a mechanism, so one architecture
//! for each mechanism is enough for each change, and two more are drawn by the commit's hash. With
//! `WEIR_TESTS=full` the test runs on all of them.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use super::server::Combination;

/// Set to `full`, it makes each test run on every architecture.
const TESTS: &str = "WEIR_TESTS";
/// Set to what an earlier run has printed, it makes the tests draw the same architectures.
const SEED: &str = "WEIR_TESTS_SEED";
const DRAWN: usize = 2;

/// Returns one of `all` for each mechanism, and `DRAWN` more, and prints once which they are. Only
/// combinations with the usual poller are drawn: another poller is no other architecture.
pub(crate) fn chosen(
    mut all: Vec<Combination>,
    mechanism: impl Fn(&Combination) -> String,
) -> Vec<Combination> {
    if std::env::var_os(TESTS).is_some_and(|tests| tests == "full") {
        return all;
    }
    // The usual poller comes first, then the order of the registry, as the sort is stable.
    all.sort_by_key(|combination| !combination.has_usual_poller());
    let mut known = BTreeSet::new();
    let is_new = |combination: &Combination| known.insert(mechanism(combination));
    let (mut chosen, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_new);
    rest.retain(Combination::has_usual_poller);
    rest.sort_by_cached_key(|combination| {
        let mut hasher = DefaultHasher::new();
        (seed(), combination.to_string()).hash(&mut hasher);
        hasher.finish()
    });
    rest.truncate(DRAWN);
    tell(&chosen, &rest);
    chosen.append(&mut rest);
    chosen
}

/// The hash of the commit by default. Sources without a history have no seed of their own.
fn seed() -> &'static str {
    static KNOWN: OnceLock<String> = OnceLock::new();
    KNOWN.get_or_init(|| {
        if let Ok(seed) = std::env::var(SEED) {
            return seed;
        }
        let mut git = Command::new("git");
        git.args(["rev-parse", "--short=12", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR"));
        let hash = git.output().ok().filter(|output| output.status.success());
        hash.map_or_else(String::new, |hash| String::from_utf8_lossy(&hash.stdout).trim().into())
    })
}

/// Writes to stdout directly, because libtest hides what a passing test prints.
fn tell(chosen: &[Combination], drawn: &[Combination]) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let names =
        |list: &[Combination]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let line = format!(
        "architectures: {}; and drawn by {SEED}={}: {}\n",
        names(chosen),
        seed(),
        names(drawn)
    );
    if SAID.lock().expect("no test panics here").insert(line.clone()) {
        let _ = std::io::stdout().write_all(line.as_bytes());
    }
}
