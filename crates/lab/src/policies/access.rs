//! What it costs to tell a policy of a request: over the slab alone, in nanoseconds, on the machine
//! that runs it. A server also looks for the name and sends, which is the same for all policies.

use std::collections::BTreeMap;
use std::time::Instant;

use cache::{Arrival, Class, PolicyKind, Slab};
use measure::draw::{Stream, Weighted};

use super::trace::weight;

/// An entry that is in is asked for.
pub const TOUCH_NS: &str = "touch, ns";
/// One that is not comes in, and another one goes for it.
pub const INSERT_NS: &str = "insert, ns";

/// In the cache, as many as the files of a site that is not small. They have 24 to 48 bytes each,
/// which a processor has in its caches, and not in the nearest.
pub const ENTRIES: u32 = 10_000;
/// In which they lie.
const DIRECTORIES: u32 = 100;
/// Timed at once, so that reading the clock costs nothing; one in ten is a miss.
const TOUCHES: usize = 1000;
const INSERTS: usize = 100;
const BATCHES: usize = 16_000;

/// Both.
pub(super) fn timed(kind: PolicyKind) -> BTreeMap<String, f64> {
    let mut entries = Entries::of(kind);
    let popularity = Weighted::zipf(ENTRIES, 1.0);
    let mut draws = Stream::new(1, 1);
    let ranks: Vec<usize> = (0..ENTRIES * 4).map(|_| popularity.draw(&mut draws)).collect();
    let (mut touch_ns, mut insert_ns) = (0, 0);
    for batch in 0..BATCHES {
        let first = batch * TOUCHES % (ranks.len() - TOUCHES);
        let began = Instant::now();
        ranks[first..first + TOUCHES].iter().for_each(|rank| entries.touch(*rank));
        let touched = Instant::now();
        (0..INSERTS).for_each(|_| entries.insert());
        insert_ns += touched.elapsed().as_nanos();
        touch_ns += (touched - began).as_nanos();
    }
    let each = |ns: u128, many: usize| ns as f64 / (many * BATCHES) as f64;
    BTreeMap::from([
        (TOUCH_NS.into(), each(touch_ns, TOUCHES)),
        (INSERT_NS.into(), each(insert_ns, INSERTS)),
    ])
}

struct Entries {
    slab: Slab<Vec<u64>, PolicyKind>,
    hashes: Stream,
    /// That are told apart.
    classes: u32,
    /// The indices of those that are in, by how popular they are.
    ranked: Vec<u32>,
    /// Of each index, its place there.
    ranks: Vec<u32>,
}

impl Entries {
    fn of(kind: PolicyKind) -> Self {
        let slab = Slab::new(Vec::new(), weight(ENTRIES.into()), kind);
        let (ranked, ranks) = (Vec::new(), vec![0; ENTRIES as usize + 1]);
        let classes = match kind.class() {
            Class::One => 1,
            Class::Hint => 2,
            Class::Directory => DIRECTORIES,
        };
        let mut entries = Self { slab, hashes: Stream::new(1, 2), classes, ranked, ranks };
        for rank in 0..ENTRIES {
            let index = entries.come();
            entries.ranked.push(index);
            entries.ranks[index as usize] = rank;
        }
        entries
    }

    fn touch(&mut self, rank: usize) {
        self.slab.touch(self.ranked[rank]);
    }

    fn insert(&mut self) {
        let index = self.come();
        while let Some(gone) = self.slab.evict() {
            let rank = self.ranks[gone as usize];
            if gone != index {
                self.ranked[rank as usize] = index;
                self.ranks[index as usize] = rank;
            }
        }
    }

    fn come(&mut self) -> u32 {
        let (hash, class) = (self.hashes.bits(), self.hashes.below(self.classes));
        let arrival = Arrival { hash, weight: weight(1), class };
        self.slab.insert(&arrival).expect("memory grows")
    }
}
