use crate::ring::{self, Ring, ring};
use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, STEPS_MAX, State};

/// SIEVE: first in, first out, but for who was asked for since a hand passed him.
///
/// Idea: entries stand in the order in which they came, and a hit only marks its entry. A hand goes
/// from the eldest to the newest; it takes the mark from who has one, and who has none goes. New
/// ones come in behind the hand's back, so one that nobody asks for again goes with its first pass.
/// Source: Zhang, Yang, Yue, Vigfusson, Rashmi: *SIEVE is Simpler than LRU* (NSDI 2024), its
/// algorithm. Knobs: none; different is that the hand rests after [`STEPS_MAX`] entries. What it is
/// bad at: it remembers nobody who has gone, so who comes back too late each time never stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sieve;

const ROW: Ring = ring(0);
const HEADS: u32 = 1;
/// Of an entry's words: whether it was asked for since the hand passed. Of the head's: the node
/// that the hand points to, 0 for the eldest.
const VISITED: usize = OWN;
const HAND: (u32, usize) = (ROW.end, OWN);

impl Policy for Sieve {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        1
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, _arrival: &Arrival) {
        state[(HEADS + index, VISITED)] = 0;
        ROW.join(state, HEADS + index);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        state[(HEADS + index, VISITED)] = 1;
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        let node = HEADS + index;
        if state[HAND] == u64::from(node) {
            state[HAND] = ROW.before(state, node).into();
        }
        ROW.leave(state, node);
    }

    /// The hand goes on to the next, and begins anew where that is who has just come.
    fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
        self.remove(state, index);
        if state.newest().is_some_and(|newest| state[HAND] == u64::from(newest)) {
            state[HAND] = 0;
        }
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        for _ in 1..STEPS_MAX {
            let index = pointed_to(state)?;
            let node = HEADS + index;
            let is_visited = state[(node, VISITED)] != 0;
            if hear(index) == 0 && !is_visited {
                return Some(index);
            }
            state[(node, VISITED)] = 0;
            state[HAND] = ROW.before(state, node).into();
        }
        pointed_to(state)
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        let hand = state.get(HAND.0, HAND.1).unwrap_or_default();
        let mut is_known = hand == 0;
        let counted = ROW.check(state, HEADS, count, |node| {
            is_known |= hand == u64::from(node);
            match state.get(node, VISITED) {
                Some(0 | 1) => Ok(()),
                _ => Err(Corrupt::new("visited or not", node.into())),
            }
        })?;
        if !is_known {
            return Err(Corrupt::new("the hand points to nobody", hand));
        }
        ring::all(counted, count)
    }
}

/// Who the hand points to, which it then does. Nothing if none is in.
fn pointed_to(state: &mut State<&mut [u64]>) -> Option<u32> {
    let newest = state.newest();
    if state[HAND] == 0 || newest.is_some_and(|newest| state[HAND] == u64::from(newest)) {
        let eldest = ROW.last_but(state, newest);
        state[HAND] = if eldest == ROW.end { ROW.last(state) } else { eldest }.into();
    }
    (state[HAND] as u32).checked_sub(HEADS)
}
