//! Who has gone of late: hashes alone, in sets of four, one word for each place of an entry.

use crate::State;

type Words<'w> = State<&'w mut [u64]>;

/// Where they are: in which word of the entries' nodes, which begin after so many others.
///
/// There are as many as there are places, down to a power of two. A word has the high half of a
/// hash and when it came, by a clock that counts those that came; zero words are nobody. One that
/// is older than as many others as there can be is there no more. When there are more places sets
/// are found elsewhere, and some are forgotten.
#[derive(Debug)]
pub(crate) struct Ghosts {
    pub(crate) heads: u32,
    pub(crate) clock: (u32, usize),
    pub(crate) word: usize,
}

/// A hash is in one of so many words.
const WAYS: u32 = 4;

impl Ghosts {
    pub(crate) fn add(&self, state: &mut Words<'_>, hash: u64) {
        let now = (state[self.clock] as u32).wrapping_add(1);
        state[self.clock] = now.into();
        let age = |node: &u32| match state[(*node, self.word)] {
            0 => u32::MAX,
            word => now.wrapping_sub(word as u32),
        };
        let eldest = self.set(state, hash).max_by_key(age);
        if let Some(node) = eldest {
            state[(node, self.word)] = hash >> 32 << 32 | u64::from(now);
        }
    }

    /// Whether it was there; now it is not.
    pub(crate) fn take(&self, state: &mut Words<'_>, hash: u64) -> bool {
        let (now, most) = (state[self.clock] as u32, capacity(state.places()));
        let is_meant = |node: &u32| {
            let word = state[(*node, self.word)];
            word != 0 && word >> 32 == hash >> 32 && now.wrapping_sub(word as u32) < most
        };
        let found = self.set(state, hash).find(is_meant);
        if let Some(node) = found {
            state[(node, self.word)] = 0;
        }
        found.is_some()
    }

    /// The nodes where it can be.
    fn set(&self, state: &Words<'_>, hash: u64) -> impl Iterator<Item = u32> + use<> {
        let all = capacity(state.places());
        let ways = all.min(WAYS);
        let first = if all == 0 { 0 } else { hash as u32 % all / ways * ways };
        let heads = self.heads;
        (first..first + ways).map(move |place| heads + place)
    }
}

/// How many there can be beside so many places.
const fn capacity(places: u32) -> u32 {
    match places.checked_ilog2() {
        None => 0,
        Some(log) => 1 << log,
    }
}
