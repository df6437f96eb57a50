//! A trace, as somebody would keep its files who knows what will be asked for.
//!
//! Where all files have the same size the one whose next use is furthest goes, be it the newcomer
//! (Belady: *A study of replacement algorithms for a virtual-storage computer*, IBM Systems Journal
//! 1966). No other rule has more hits. Where sizes differ to find the best is hard; the one goes
//! whose bytes times the distance of its next use are most, as it costs the most room for one hit.
//! That is the best simple rule known, and no bound: such come from flows (Berger, Beckmann,
//! Harchol-Balter: *Practical Bounds on Optimal Caching with Variable Object Sizes*, SIGMETRICS
//! 2018), which take too long here.
//!
//! Distances shrink while requests come, and all by the same, so that of files of one size the
//! order of their next uses stays, and of others it does not. So there is a heap for each class of
//! sizes, within a factor of two, and only their first ones are compared: where sizes are equal
//! that is the rule itself.

use std::collections::BinaryHeap;

use super::trace::{Counts, Trace};

/// What comes of it with a cache of so many bytes, in time that grows as the requests times the
/// logarithm of their number.
pub(super) fn replay(trace: &Trace, cache_bytes: u64) -> Counts {
    let mut future = Future {
        trace,
        next: vec![NOT_IN; trace.files.len()],
        used: 0,
        heaps: vec![BinaryHeap::new(); CLASSES],
    };
    let uses = next_uses(trace);
    trace.counted(|at, file| {
        let is_hit = future.next[file as usize] != NOT_IN;
        let bytes = bytes(trace, file);
        if is_hit || bytes <= cache_bytes {
            future.keep(file, uses[at]);
            future.evict(at as u32, cache_bytes);
        }
        is_hit
    })
}

/// In the place of a next use: the file is not in.
const NOT_IN: u32 = u32::MAX;
/// It is never used again.
const NEVER: u32 = u32::MAX - 1;

/// Powers of two of a size, and one for none.
const CLASSES: usize = u64::BITS as usize + 1;

/// Of each request, which one is the next for the same file.
fn next_uses(trace: &Trace) -> Vec<u32> {
    let mut next = vec![NEVER; trace.files.len()];
    let mut uses = vec![NEVER; trace.requests.len()];
    for (at, file) in trace.requests.iter().enumerate().rev() {
        uses[at] = std::mem::replace(&mut next[*file as usize], at as u32);
    }
    uses
}

struct Future<'t> {
    trace: &'t Trace,
    /// Of each file that is in, its next use.
    next: Vec<u32>,
    /// What those that are in weigh.
    used: u64,
    /// Next uses and files, by class of size. Those whose file is out, or has been used since, are
    /// left there until they come first.
    heaps: Vec<BinaryHeap<(u32, u32)>>,
}

impl Future<'_> {
    fn keep(&mut self, file: u32, next: u32) {
        let bytes = bytes(self.trace, file);
        let before = std::mem::replace(&mut self.next[file as usize], next);
        self.used += if before == NOT_IN { bytes } else { 0 };
        self.heaps[class(bytes)].push((next, file));
    }

    fn evict(&mut self, now: u32, cache_bytes: u64) {
        while self.used > cache_bytes {
            let firsts = self.heaps.iter_mut().filter_map(|heap| first(heap, &self.next));
            let costs = |&(next, file): &(u32, u32)| {
                let distance = u128::from(next - now);
                // Who is never used again costs most, whatever it weighs.
                (next == NEVER, distance * u128::from(bytes(self.trace, file)), file)
            };
            let (_, file) = firsts.max_by_key(costs).expect("somebody who weighs something");
            self.next[file as usize] = NOT_IN;
            self.used -= bytes(self.trace, file);
        }
    }
}

/// The furthest next use of those of a heap that are in.
fn first(heap: &mut BinaryHeap<(u32, u32)>, nexts: &[u32]) -> Option<(u32, u32)> {
    while let Some(&(next, file)) = heap.peek() {
        if nexts[file as usize] == next {
            return Some((next, file));
        }
        heap.pop();
    }
    None
}

fn bytes(trace: &Trace, file: u32) -> u64 {
    trace.files[file as usize].weight.bytes
}

fn class(bytes: u64) -> usize {
    bytes.checked_ilog2().map_or(0, |power| power as usize + 1)
}
