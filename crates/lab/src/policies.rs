//! Replacement policies by themselves: what each keeps of a trace, and what telling it costs. No
//! server, no client and no machine of their own is needed for that.

mod access;
mod belady;
mod replay;
mod trace;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cache::PolicyKind;

use crate::Failure;
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::unknown::unknown;

pub use self::access::{ENTRIES, INSERT_NS, TOUCH_NS};
pub use self::trace::{CHANGE, EQUAL_SIZES, REQUESTS, SCAN};
use self::trace::{Counts, Trace};

/// The stage at which a trace is replayed, by the policy that is its subject.
pub const REPLAYS: &str = "replays";
/// The stage at which single steps of one are timed.
pub const ACCESSES: &str = "accesses";

/// Sizes of the cache, as shares of the bytes of all files that a trace asks for.
pub const SHARES: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6];

/// Who knows all that will be asked for: no policy, but what policies are measured by.
pub const BELADY: &str = "belady";

/// What is counted of a trace's judged part, for each size of the cache.
pub const HITS: &str = "hits";
/// The same in bytes.
pub const HIT_BYTES: &str = "hit bytes";
/// What is counted of it whatever the size.
pub const JUDGED: &str = "requests";
/// The same in bytes.
pub const JUDGED_BYTES: &str = "bytes";

/// A count's name at one of [`SHARES`].
#[must_use]
pub fn at_share(count: &str, at: usize) -> String {
    format!("{count} at {}", SHARES[at])
}

/// Whether a spec asks for a policy by itself, and not for a server.
#[must_use]
pub fn is_asked(spec: &Spec) -> bool {
    [REPLAYS, ACCESSES].contains(&spec.stage.as_str())
}

/// Those that are asked: without the one that keeps nothing.
pub fn names() -> impl Iterator<Item = &'static str> {
    kinds().map(|(name, _)| name)
}

fn kinds() -> impl Iterator<Item = (&'static str, PolicyKind)> {
    let kept = PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None);
    kept.map(|kind| (kind.name(), *kind))
}

/// What is counted and timed. A trace takes as long to make as to replay, so the last one is kept.
#[derive(Debug, Default)]
pub struct Policies {
    last: Option<(Load, Trace)>,
}

impl Policies {
    /// What a spec asks for, by the name of each count.
    ///
    /// # Errors
    /// The operator's: it is of a policy or a trace that there is not.
    pub fn counted(&mut self, spec: &Spec) -> Result<BTreeMap<String, f64>, Failure> {
        let kept_by = KeptBy::of(&spec.subject)?;
        match kept_by {
            KeptBy::Policy(kind) if spec.stage == ACCESSES => Ok(access::timed(kind)),
            _ => Ok(counters(self.trace(&spec.load)?, kept_by)),
        }
    }

    fn trace(&mut self, load: &Load) -> Result<&Trace, Failure> {
        let last = self.last.take().filter(|(of, _)| of == load);
        let made = || Ok((load.clone(), Trace::of(load)?));
        Ok(&self.last.insert(last.map_or_else(made, Ok)?).1)
    }
}

/// Who says which file goes.
#[derive(Debug, Clone, Copy)]
enum KeptBy {
    Policy(PolicyKind),
    Belady,
}

impl KeptBy {
    fn of(subject: &Subject) -> Result<Self, Failure> {
        if subject.name == BELADY {
            return Ok(Self::Belady);
        }
        let kind = kinds().find(|(name, _)| *name == subject.name);
        let kind = kind.map(|(_, kind)| Self::Policy(kind));
        let names = names().chain([BELADY]);
        kind.ok_or_else(|| Failure::Operator(unknown("policy", &subject.name, names)))
    }

    fn replay(self, trace: &Trace, cache_bytes: u64) -> Counts {
        match self {
            Self::Policy(kind) => replay::replay(trace, kind, cache_bytes),
            Self::Belady => belady::replay(trace, cache_bytes),
        }
    }
}

fn counters(trace: &Trace, kept_by: KeptBy) -> BTreeMap<String, f64> {
    let mut counters = BTreeMap::new();
    for (at, counts) in at_all_shares(trace, kept_by) {
        let Counts { requests, bytes, hits, hit_bytes } = counts;
        counters.insert(JUDGED.into(), requests as f64);
        counters.insert(JUDGED_BYTES.into(), bytes as f64);
        counters.insert(at_share(HITS, at), hits as f64);
        counters.insert(at_share(HIT_BYTES, at), hit_bytes as f64);
    }
    counters
}

/// One after the other by each processor: a replay waits for memory most of the time.
fn at_all_shares(trace: &Trace, kept_by: KeptBy) -> Vec<(usize, Counts)> {
    let all_bytes = trace.asked_bytes();
    let next = AtomicUsize::new(0);
    let work = || {
        let turns = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let turns = turns.take_while(|at| *at < SHARES.len());
        let replay = |at: usize| {
            let cache_bytes = (all_bytes as f64 * SHARES[at]) as u64;
            (at, kept_by.replay(trace, cache_bytes))
        };
        turns.map(replay).collect::<Vec<_>>()
    };
    let processors = thread::available_parallelism().map_or(1, usize::from).min(SHARES.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..processors).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        let joined = others.into_iter().flat_map(|other| other.join().expect("a whole replay"));
        done.extend(joined);
        done
    })
}
