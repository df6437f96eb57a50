use crate::ring::{self, Ring, ring};
use crate::{Arrival, Corrupt, Policy, State};

/// Least recently used: who was asked for last stays longest.
///
/// Idea: entries stand in a row; whoever is asked for goes to the front, whoever stands last goes.
/// Source: Pai99 (Flash) section 5.4, which keeps mapped files that nobody uses in such a row; the
/// first of the caching strategies that JAWS97 names (3.1). Knobs: none. What it is bad at: one
/// pass over many files pushes everything else out, and each hit writes to three entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lru;

const ROW: Ring = ring(0);
const HEADS: u32 = 1;

impl Policy for Lru {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        0
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, _arrival: &Arrival) {
        ROW.join(state, HEADS + index);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        ROW.renew(state, HEADS + index);
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        ROW.leave(state, HEADS + index);
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        ROW.last(state).checked_sub(HEADS)
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        ring::all(ROW.check(state, HEADS, count, |_| Ok(()))?, count)
    }
}
