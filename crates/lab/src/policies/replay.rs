//! A trace, as a policy of crate `cache` keeps its files.

use std::cmp::Reverse;

use cache::{Arrival, Class, PolicyKind, Slab};

use super::trace::{Counts, Trace, weight};

/// What comes of it with a cache of so many bytes.
pub(super) fn replay(trace: &Trace, kind: PolicyKind, cache_bytes: u64) -> Counts {
    let mut kept = Kept {
        places: vec![NOWHERE; trace.files.len()],
        held: Vec::new(),
        slab: Slab::new(Vec::new(), weight(cache_bytes), kind),
    };
    let hinted = match kind.class() {
        Class::Hint => hinted(trace, cache_bytes),
        Class::One | Class::Directory => Vec::new(),
    };
    trace.counted(|_, file| {
        let arrival = trace.files[file as usize];
        let class = match kind.class() {
            Class::One => 0,
            Class::Directory => arrival.class,
            Class::Hint => u32::from(hinted[file as usize]),
        };
        kept.ask(file, &Arrival { class, ..arrival })
    })
}

/// In the place of an index: the file is not in.
const NOWHERE: u32 = u32::MAX;

/// Files, and where they are.
struct Kept {
    /// The index of each file.
    places: Vec<u32>,
    /// Which file is, or was, at each index.
    held: Vec<u32>,
    slab: Slab<Vec<u64>, PolicyKind>,
}

impl Kept {
    /// Whether the file was in; now it is, as far as the policy wants it.
    fn ask(&mut self, file: u32, arrival: &Arrival) -> bool {
        let place = self.places[file as usize];
        if place != NOWHERE {
            self.slab.touch(place);
            return true;
        }
        if !self.slab.admits(arrival) {
            return false;
        }
        let index = self.slab.insert(arrival).expect("memory grows");
        self.places[file as usize] = index;
        if index as usize == self.held.len() {
            self.held.push(file);
        }
        self.held[index as usize] = file;
        while let Some(gone) = self.slab.evict() {
            self.places[self.held[gone as usize] as usize] = NOWHERE;
        }
        false
    }
}

/// What a log of the days before would name: of the part that is not judged the files that are
/// asked for most often, as many as fill the cache.
fn hinted(trace: &Trace, cache_bytes: u64) -> Vec<bool> {
    let mut times = vec![0_u32; trace.files.len()];
    trace.requests[..trace.judged_from].iter().for_each(|file| times[*file as usize] += 1);
    let mut files: Vec<usize> = (0..times.len()).filter(|file| times[*file] > 0).collect();
    files.sort_by_key(|file| Reverse(times[*file]));
    let mut bytes = 0;
    let fits = files.iter().take_while(|file| {
        bytes += trace.files[**file].weight.bytes;
        bytes <= cache_bytes
    });
    let mut hinted = vec![false; trace.files.len()];
    fits.for_each(|file| hinted[*file] = true);
    hinted
}
