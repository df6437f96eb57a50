//! What is done with each cache, and what it takes.

use std::hint::black_box;
use std::time::Instant;

use crate::allocations::{live_bytes, uncounted};
use crate::subjects::Cache;
use crate::trace::{Key, Trace, Value};

/// Where not all fit, one of so many names does.
const NAMES_PER_ENTRY: usize = 10;

/// A cache of any kind.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Measures a new one.
    pub(crate) measure: Box<dyn Fn(&Trace) -> Figures>,
}

impl Subject {
    /// What `make` makes for so many entries.
    pub(crate) fn new<C: Cache>(name: &str, make: impl Fn(usize) -> C + 'static) -> Self {
        Self { name: name.into(), measure: Box::new(move |trace| measure(&make, trace)) }
    }
}

/// What a cache took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// A request for what is in, where all fit.
    pub(crate) hit_ns: f64,
    /// Where a tenth fits: a request for what never was in, which then comes in, if it may.
    pub(crate) miss_ns: f64,
    /// Where a tenth fits: a request of the trace, whether it is a hit or a miss.
    pub(crate) request_ns: f64,
    /// How many in a hundred of those are hits.
    pub(crate) hits_percent: f64,
    /// Of the heap for each entry where all fit, without the bytes of its key and value.
    pub(crate) entry_bytes: f64,
    /// The same where a tenth fits, with all that is remembered of those that went.
    pub(crate) entry_bytes_full: f64,
}

fn measure<C: Cache>(make: &impl Fn(usize) -> C, trace: &Trace) -> Figures {
    let names = trace.names();
    let (all, half) = (0..trace.len(), trace.len() / 2);
    let (mut cache, bytes) = live_bytes(|| {
        let mut cache = make(names.len());
        names.iter().for_each(|(key, value)| cache.insert(key.clone(), value.clone()));
        cache
    });
    assert_eq!(cache.len(), names.len(), "all fit");
    let entry_bytes = bytes / cache.len() as f64;
    let (hits, hit_ns) = timed(trace.requests(all), |request| ask(&mut cache, request));
    assert_eq!(hits, trace.len(), "all are in");
    drop(cache);

    let (mut cache, bytes) = live_bytes(|| {
        let mut cache = make(names.len() / NAMES_PER_ENTRY);
        trace.requests(0..half).for_each(|request| drop(ask(&mut cache, request)));
        cache
    });
    let entry_bytes_full = bytes / cache.len() as f64;
    let busy = trace.requests(half..trace.len());
    let (hits, request_ns) = timed(busy, |request| ask(&mut cache, request));
    let hits_percent = hits as f64 * 100.0 / (trace.len() - half) as f64;
    let strangers = trace.strangers().iter().map(|name| (&name.0[..], name));
    let (hits, miss_ns) = timed(strangers, |request| ask(&mut cache, request));
    assert_eq!(hits, 0, "strangers");
    Figures { hit_ns, miss_ns, request_ns, hits_percent, entry_bytes, entry_bytes_full }
}

/// A request, as a server has it: what is not in is found elsewhere, and kept.
fn ask<C: Cache>(cache: &mut C, (path, (key, value)): (&[u8], &(Key, Value))) -> Option<Value> {
    let found = cache.get(path);
    if found.is_none() {
        cache.insert(key.clone(), value.clone());
    }
    found
}

/// How many requests found something, and nanoseconds for each request.
fn timed<R>(
    requests: impl Iterator<Item = R>,
    mut ask: impl FnMut(R) -> Option<Value>,
) -> (usize, f64) {
    let (mut asked, mut hits) = (0, 0);
    let start = Instant::now();
    uncounted(|| {
        for request in requests {
            asked += 1;
            hits += usize::from(black_box(ask(request)).is_some());
        }
    });
    (hits, start.elapsed().as_nanos() as f64 / f64::from(asked))
}
