//! How often who was asked for, roughly: a count-min sketch that forgets, one word for each place
//! of an entry.
//!
//! Source: Einziger, Friedman, Manes: *TinyLFU: A Highly Efficient Cache Admission Policy* (ACM
//! Transactions on Storage 2017), 3.2 to 3.4, with counters of four bits. Different: they are
//! halved one word after the other, not all at one time, so that no request pays for all.

use crate::State;

type Words<'w> = State<&'w mut [u64]>;

/// Where it is: in which word of the entries' nodes, which begin after so many others.
#[derive(Debug)]
pub(crate) struct Sketch {
    pub(crate) heads: u32,
    pub(crate) word: usize,
    /// Where it is told how many were counted.
    pub(crate) counted: (u32, usize),
    /// Where it is told how many words there are.
    pub(crate) known: (u32, usize),
}

/// What a counter counts to.
const COUNT_MAX: u64 = 15;
/// Each counter is halved once while so many are counted for each word: the sample is ten times the
/// cache.
const SAMPLE: u64 = 10;
/// All counters of a word halved: what falls out of one is not to fall into the next.
const HALF: u64 = 0x7777_7777_7777_7777;

/// Odd numbers without pattern, each of which makes a hash of its own.
const SEEDS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x85eb_ca77_c2b2_ae63];

impl Sketch {
    /// There are more places: each new word begins as the one that is asked in its stead until they
    /// are twice as many. What that counts meanwhile it does not have.
    pub(crate) fn grow(&self, state: &mut Words<'_>) {
        let known = state[self.known] as u32;
        if known < state.places() {
            let before = known.checked_ilog2().map_or(0, |log| known - (1 << log));
            state[(self.heads + known, self.word)] = state[(self.heads + before, self.word)];
            state[self.known] += 1;
        }
    }

    /// It was asked for.
    pub(crate) fn add(&self, state: &mut Words<'_>, hash: u64) {
        let Some(places) = self.places(state, hash) else { return };
        let least = self.least(state, &places);
        for (node, shift) in places {
            // Those that others share are larger already.
            let word = &mut state[(node, self.word)];
            if least < COUNT_MAX && *word >> shift & COUNT_MAX == least {
                *word += 1 << shift;
            }
        }
        state[self.counted] = state[self.counted].wrapping_add(1);
        let counted = state[self.counted];
        if counted.is_multiple_of(SAMPLE) {
            let node = self.heads + (counted / SAMPLE % state[self.known]) as u32;
            let word = &mut state[(node, self.word)];
            *word = *word >> 1 & HALF;
        }
    }

    /// How often it was asked for, 15 times at most.
    pub(crate) fn estimate(&self, state: &Words<'_>, hash: u64) -> u64 {
        self.places(state, hash).map_or(0, |places| self.least(state, &places))
    }

    fn least(&self, state: &Words<'_>, places: &[(u32, u32)]) -> u64 {
        let counts =
            places.iter().map(|(node, shift)| state[(*node, self.word)] >> shift & COUNT_MAX);
        counts.min().unwrap_or_default()
    }

    /// The four counters of a hash: their nodes, and where in the word. Nothing: there are none.
    fn places(&self, state: &Words<'_>, hash: u64) -> Option<[(u32, u32); 4]> {
        let log = (state[self.known] as u32).checked_ilog2()?;
        let mut row = 0;
        Some(SEEDS.map(|seed| {
            let mixed = hash.wrapping_mul(seed);
            // Four of the counters of a word are each row's.
            let counter = row + (mixed >> 62) as u32;
            row += 4;
            let place = (mixed >> 20) as u32 & ((1 << log) - 1);
            (self.heads + place, 4 * counter)
        }))
    }
}
