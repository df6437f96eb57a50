use crate::ring::{self, Ring, ring};
use crate::sketch::Sketch;
use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, STEPS_MAX, State};

/// W-TinyLFU: who comes has to have been asked for more often than who would go for him.
///
/// Idea: a sketch remembers how often hashes were asked for, also of entries that are not in. A
/// newcomer enters a window, a hundredth of the whole, which is a row as in [`crate::Lru`]; who
/// falls out of it goes on probation. Where room is needed he and the one who stands last there are
/// compared, and who was asked for less often goes. Who is asked for on probation is protected
/// after that; the protected take four fifths of the rest, and their last goes back on probation.
/// Source: Einziger, Friedman, Manes: *TinyLFU* (ACM Transactions on Storage 2017), 4. Knobs: the
/// two shares. Different: rows are weighed by bytes and descriptors; a newcomer is compared with
/// each who would have to go for him. What it is bad at: a hot set that changes all at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct WTinyLfu;

/// Of what all may weigh the window has so much, in thousandths, and the protected.
const WINDOW_MAX: u64 = 10;
const PROTECTED_MAX: u64 = 792;

const WINDOW: Ring = ring(0);
const PROBATION: Ring = ring(1);
const PROTECTED: Ring = ring(2);
const HEADS: u32 = 3;
/// Of an entry's words: the end of the row it stands in.
const ROW: usize = OWN;
const HASH: usize = OWN + 1;
/// Of a head's: how many have fallen out of the window and were not compared yet. They stand first
/// on probation.
const CANDIDATES: (u32, usize) = (WINDOW.end, OWN);
const SKETCH: Sketch = Sketch {
    heads: HEADS,
    word: OWN + 2,
    counted: (PROBATION.end, OWN),
    known: (PROTECTED.end, OWN),
};

impl Policy for WTinyLfu {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        3
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival) {
        SKETCH.grow(state);
        SKETCH.add(state, arrival.hash);
        state[(HEADS + index, HASH)] = arrival.hash;
        state[CANDIDATES] = 0;
        enter(state, HEADS + index, WINDOW);
        let fallen = shrink(state, WINDOW, WINDOW_MAX);
        state[CANDIDATES] = fallen;
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        let node = HEADS + index;
        SKETCH.add(state, state[(node, HASH)]);
        let row = row_of(state, node);
        if row.end != PROBATION.end {
            row.renew(state, node);
            return;
        }
        state[CANDIDATES] = 0;
        row.exit(state, node);
        enter(state, node, PROTECTED);
        shrink(state, PROTECTED, PROTECTED_MAX);
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        state[CANDIDATES] = 0;
        row_of(state, HEADS + index).exit(state, HEADS + index);
    }

    fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
        let is_candidate = PROBATION.first(state) == HEADS + index;
        state[CANDIDATES] = state[CANDIDATES].saturating_sub(is_candidate.into());
        row_of(state, HEADS + index).exit(state, HEADS + index);
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        let candidate = PROBATION.first(state);
        let is_compared = state[CANDIDATES] > 0 && candidate >= HEADS;
        let is_other = |node: &u32| *node >= HEADS && !(is_compared && *node == candidate);
        let victim =
            [PROBATION, PROTECTED, WINDOW].iter().map(|row| row.last(state)).find(is_other);
        let chosen = match victim {
            Some(victim) if is_compared && !is_preferred(state, candidate, victim) => candidate,
            Some(victim) => victim,
            None => candidate,
        };
        chosen.checked_sub(HEADS)
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        let mut counted = 0;
        for row in [WINDOW, PROBATION, PROTECTED] {
            counted += row.check_weighed(state, HEADS, count - counted, |node| {
                let is_told = state.get(node, ROW) == Some(row.end.into());
                is_told.then_some(()).ok_or(Corrupt::new("told of another row", node.into()))
            })?;
        }
        let known = state.get(SKETCH.known.0, SKETCH.known.1).unwrap_or_default();
        if known != u64::from(state.places()) {
            return Err(Corrupt::new("words of the sketch", known));
        }
        ring::all(counted, count)
    }
}

fn enter(state: &mut State<&mut [u64]>, node: u32, row: Ring) {
    state[(node, ROW)] = row.end.into();
    row.enter(state, node);
}

/// Who stands last in that row goes on probation while they weigh more than so many thousandths of
/// all. Says how many did.
fn shrink(state: &mut State<&mut [u64]>, row: Ring, thousandths: u64) -> u64 {
    let bounds = state.bounds().thousandths(thousandths);
    for moved in 0..u64::from(STEPS_MAX) {
        let node = row.last(state);
        if state.weight(row.end).fits(bounds) || node < HEADS {
            return moved;
        }
        row.exit(state, node);
        enter(state, node, PROBATION);
    }
    STEPS_MAX.into()
}

/// Whether the first was asked for more often.
fn is_preferred(state: &State<&mut [u64]>, candidate: u32, victim: u32) -> bool {
    let times = |node| SKETCH.estimate(state, state[(node, HASH)]);
    times(candidate) > times(victim)
}

fn row_of(state: &State<&mut [u64]>, node: u32) -> Ring {
    match state[(node, ROW)] as u32 {
        0 => WINDOW,
        1 => PROBATION,
        _ => PROTECTED,
    }
}
