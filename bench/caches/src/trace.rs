//! Names, and who is asked for in which order.

use std::ops::Range;
use std::sync::Arc;

/// What an entry is called. A handle, so that the bytes it points to are nobody's expense.
pub(crate) type Key = Arc<[u8]>;
/// What is kept, in the place of a file.
pub(crate) type Value = Arc<[u8]>;

/// Requests for each name there is: so many that the hot ones are hot for long.
const REQUESTS_PER_NAME: usize = 10;

/// The same names in the same order each time.
const SEED: u64 = 17;

/// Names with their values, and requests for the first half of them. Nobody asks for the others.
pub(crate) struct Trace {
    names: Vec<(Key, Value)>,
    requests: Vec<Request>,
    /// The paths of all requests, one after the other: a server reads them from its connections,
    /// and not from the names of what it keeps.
    paths: Vec<u8>,
}

struct Request {
    name: usize,
    path: Range<usize>,
}

impl Trace {
    /// The k-th hottest of so many names is asked for in proportion to 1 / k^skew.
    pub(crate) fn zipf(names: usize, skew: f64) -> Self {
        let mut numbers = Numbers(SEED);
        let mut sum = 0.0;
        let below = |rank: usize| {
            sum += (rank as f64).powf(-skew);
            sum
        };
        let sums: Vec<f64> = (1..=names).map(below).collect();
        let by_rank = shuffled(names, &mut numbers);
        let mut trace = Self { names: named(2 * names), requests: Vec::new(), paths: Vec::new() };
        for _ in 0..REQUESTS_PER_NAME * names {
            let drawn = numbers.fraction() * sum;
            let rank = sums.partition_point(|sum| *sum <= drawn).min(names - 1);
            trace.ask(by_rank[rank]);
        }
        trace
    }

    fn ask(&mut self, name: usize) {
        let start = self.paths.len();
        self.paths.extend_from_slice(&self.names[name].0);
        self.requests.push(Request { name, path: start..self.paths.len() });
    }

    /// Names that are asked for, with their values.
    pub(crate) fn names(&self) -> &[(Key, Value)] {
        &self.names[..self.names.len() / 2]
    }

    /// As many that no request is for.
    pub(crate) fn strangers(&self) -> &[(Key, Value)] {
        &self.names[self.names.len() / 2..]
    }

    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Those requests: each has its path, and the name it stands for.
    pub(crate) fn requests(
        &self,
        which: Range<usize>,
    ) -> impl Iterator<Item = (&[u8], &(Key, Value))> {
        let whole =
            |request: &Request| (&self.paths[request.path.clone()], &self.names[request.name]);
        self.requests[which].iter().map(whole)
    }
}

/// Paths as SPECweb99 has them, 36 in a directory.
fn named(count: usize) -> Vec<(Key, Value)> {
    let name = |number: usize| {
        let (directory, class, file) = (number / 36, number / 9 % 4, number % 9);
        let path = format!("/dir{directory}/class{class}_{file}");
        (path.as_bytes().into(), Value::from(&[0; 16][..]))
    };
    (0..count).map(name).collect()
}

/// Hot names are not to be neighbours in memory because they are hot.
fn shuffled(count: usize, numbers: &mut Numbers) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        all.swap(place, (numbers.fraction() * (place + 1) as f64) as usize);
    }
    all
}

/// Splitmix64 of Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators* (2014).
struct Numbers(u64);

impl Numbers {
    /// From 0, below 1.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
