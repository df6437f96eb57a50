//! On which architectures a test of a fault runs. A fault shows a mechanism, so one architecture
//! for each mechanism is enough for each change, and two more are drawn by the commit's hash. With
//! `WEIR_TESTS=full` the test runs on all of them.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex};

use super::combination::{
    Combination, Program, combinations, combinations_alone, combinations_of_pollers,
    combinations_of_rings,
};
use crate::SERVERS_AT_ONCE_MAX;

/// Runs `test` for each way to have a ring, by every architecture that has one.
pub(crate) fn on_every_ring(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_of_rings(program), test)
}

/// Runs `test` for each way to have a ring, by one architecture and by some that are drawn.
pub(crate) fn on_rings(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    let all = combinations_of_rings(program);
    on_all(&chosen(all, |combination| combination.ring.join(" ")), test)
}

/// Runs `test` on one architecture for each mechanism, and on some that are drawn.
pub(crate) fn on_mechanisms(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&chosen(combinations(program), Combination::mechanism), test)
}

/// The same among those that the test is about.
pub(crate) fn on_mechanisms_where(
    program: Program,
    is_meant: impl Fn(&Combination) -> bool,
    test: impl Fn(&Combination) + Sync,
) -> usize {
    let mut all = combinations(program);
    all.retain(is_meant);
    on_all(&chosen(all, Combination::mechanism), test)
}

/// The same by one worker each, unless a test asks for more.
pub(crate) fn on_mechanisms_alone(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&chosen(combinations_alone(program), Combination::mechanism), test)
}

/// Runs `test` for each combination, several at the same time, and tells every failure.
pub(crate) fn on_every(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations(program), test)
}

/// The same where how a loop waits makes no difference.
pub(crate) fn on_every_architecture(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    let mut all = combinations(program);
    all.retain(Combination::has_usual_poller);
    on_all(&all, test)
}

/// The same with every poller.
pub(crate) fn on_every_poller(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_of_pollers(program), test)
}

/// The same by one worker each, unless a test asks for more.
pub(crate) fn on_every_alone(program: Program, test: impl Fn(&Combination) + Sync) -> usize {
    on_all(&combinations_alone(program), test)
}

/// So many may begin yet, of all tests of a program that run at the same time.
static FREE: (Mutex<usize>, Condvar) = (Mutex::new(SERVERS_AT_ONCE_MAX), Condvar::new());

fn on_all(all: &[Combination], test: impl Fn(&Combination) + Sync) -> usize {
    let is_meant = !all.is_empty() || os::ring::probe().is_err();
    assert!(is_meant, "no architecture is meant, so nothing is tested");
    // Many systems let a process begin with 1,024 descriptors, and permit more.
    let _ = os::limits::descriptors();
    let left = Mutex::new(all.iter());
    let next = || left.lock().expect("no thread panics here").next();
    let failed = Mutex::new(Vec::new());
    // The threads have the test's name, by which a skip is recorded.
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        for _ in 0..SERVERS_AT_ONCE_MAX.min(all.len()) {
            let thread = std::thread::Builder::new().name(name.clone());
            let spawned = thread.spawn_scoped(scope, || {
                while let Some(combination) = next() {
                    let (free, ended) = &FREE;
                    let places = free.lock().expect("a number");
                    *ended.wait_while(places, |free| *free == 0).expect("a number") -= 1;
                    let run = AssertUnwindSafe(|| test(combination));
                    if catch_unwind(run).is_err() {
                        failed.lock().expect("a list").push(combination.to_string());
                    }
                    *free.lock().expect("a number") += 1;
                    ended.notify_one();
                }
            });
            spawned.expect("a thread");
        }
    });
    let failed = failed.into_inner().expect("a list");
    assert!(failed.is_empty(), "failed on: {}", failed.join("; "));
    all.len()
}

const DRAWN: usize = 2;

/// Returns one of `all` for each mechanism, and `DRAWN` more, and prints once which they are. Only
/// combinations with the usual poller are drawn: another poller is no other architecture.
fn chosen(
    mut all: Vec<Combination>,
    mechanism: impl Fn(&Combination) -> String,
) -> Vec<Combination> {
    if harness::is_full() {
        return all;
    }
    // The usual poller comes first, then the order of the registry, as the sort is stable.
    all.sort_by_key(|combination| !combination.has_usual_poller());
    let mut known = BTreeSet::new();
    let is_new = |combination: &Combination| known.insert(mechanism(combination));
    let (mut chosen, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_new);
    rest.retain(Combination::has_usual_poller);
    harness::shuffle(&mut rest);
    rest.truncate(DRAWN);
    let (known, drawn) = (harness::listed(&chosen), harness::listed(&rest));
    harness::tell(format!("architectures: {known}; and drawn by {}: {drawn}", harness::drawn_by()));
    chosen.append(&mut rest);
    chosen
}
