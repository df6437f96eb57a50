use crate::ring::{self, Ring, ring};
use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, State};

/// Hinted: who was announced stays before who was not.
///
/// Idea: the operator names what will be asked for, or a log of the days before does. Entries stand
/// in two rows, each as in [`crate::Lru`]: hinted ones (whose class is not zero), and the others.
/// Of the others the last goes; of the hinted the last, once they alone take more than seven
/// eighths of what all may weigh, or nobody else is there. Without hints it is LRU. Source: JAWS97
/// 3.1 names a "Hinted" strategy and does not say what it does: this is our reading. Knobs: the
/// hints. What it is bad at: hints that are no longer true.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hinted;

/// Of what all may weigh the hinted keep so much, in thousandths: a page that became popular after
/// the hints were written finds room in the rest.
const HINTED_MAX: u64 = 875;

const OTHERS: Ring = ring(0);
const HINTED: Ring = ring(1);
const HEADS: u32 = 2;
/// Of an entry's words: the end of the row it stands in.
const ROW: usize = OWN;

impl Policy for Hinted {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        1
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival) {
        let row = if arrival.class == 0 { OTHERS } else { HINTED };
        state[(HEADS + index, ROW)] = row.end.into();
        row.enter(state, HEADS + index);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        row_of(state, HEADS + index).renew(state, HEADS + index);
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        row_of(state, HEADS + index).exit(state, HEADS + index);
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        let fit = state.weight(HINTED.end).fits(state.bounds().thousandths(HINTED_MAX));
        let order = if fit { [OTHERS, HINTED] } else { [HINTED, OTHERS] };
        order.iter().find_map(|row| row.last(state).checked_sub(HEADS))
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        let mut counted = 0;
        for row in [OTHERS, HINTED] {
            counted += row.check_weighed(state, HEADS, count - counted, |node| {
                let is_told = state.get(node, ROW) == Some(row.end.into());
                is_told.then_some(()).ok_or(Corrupt::new("told of another row", node.into()))
            })?;
        }
        ring::all(counted, count)
    }
}

fn row_of(state: &State<&mut [u64]>, node: u32) -> Ring {
    if state[(node, ROW)] == u64::from(OTHERS.end) { OTHERS } else { HINTED }
}
