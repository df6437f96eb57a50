use crate::ghosts::Ghosts;
use crate::ring::{self, Ring, ring};
use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, STEPS_MAX, State};

/// S3-FIFO: three rows, in each of which who came first is looked at first.
///
/// Idea: most files that come are never asked for again. So newcomers share a small row, a tenth of
/// the whole; who was asked for twice there moves on to the main one, the others go and leave a
/// ghost, their hash. Who comes back while his ghost is there enters the main row at once. In the
/// main row who was asked for goes round again, as often as that, three times at most. A hit only
/// counts in its entry. Source: Yang, Zhang, Qiu, Yue, Rashmi: *FIFO Queues are All You Need for
/// Cache Eviction* (SOSP 2023), algorithm 1. Knobs: the small row's tenth. Different: rows are
/// weighed by bytes and descriptors; there is a ghost for each entry that fits, in sets of four;
/// one look ends after [`STEPS_MAX`] entries. What it is bad at: who comes back just after his
/// ghost has gone.
#[derive(Debug, Clone, Copy, Default)]
pub struct S3Fifo;

/// Of what all may weigh the small row has so much, in thousandths.
const SMALL: u64 = 100;
/// What is counted at most of how often an entry was asked for.
const ASKED_MAX: u64 = 3;

const NEW: Ring = ring(0);
const MAIN: Ring = ring(1);
const HEADS: u32 = 2;
/// Of an entry's words: how often it was asked for, and from `IN_MAIN` whether it is in that row.
const ASKED: usize = OWN;
const IN_MAIN: u64 = 1 << 8;
const HASH: usize = OWN + 1;
const GHOSTS: Ghosts = Ghosts { heads: HEADS, clock: (NEW.end, OWN), word: OWN + 2 };

impl Policy for S3Fifo {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        3
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival) {
        let node = HEADS + index;
        let comes_back = GHOSTS.take(state, arrival.hash);
        let (row, told) = if comes_back { (MAIN, IN_MAIN) } else { (NEW, 0) };
        state[(node, ASKED)] = told;
        state[(node, HASH)] = arrival.hash;
        row.enter(state, node);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        asked(state, HEADS + index, 1);
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        row_of(state, HEADS + index).exit(state, HEADS + index);
    }

    /// Who has just come stands before those who went round for him.
    fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
        if let Some(newest) = state.newest() {
            row_of(state, newest).renew(state, newest);
        }
        if state[(HEADS + index, ASKED)] & IN_MAIN == 0 {
            GHOSTS.add(state, state[(HEADS + index, HASH)]);
        }
        self.remove(state, index);
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        for _ in 1..STEPS_MAX {
            let (row, node) = next(state)?;
            let times = asked(state, node, hear(node - HEADS));
            if row.end == MAIN.end && times > 0 {
                state[(node, ASKED)] -= 1;
                row.renew(state, node);
            } else if row.end == NEW.end && times > 1 {
                row.exit(state, node);
                state[(node, ASKED)] = IN_MAIN;
                MAIN.enter(state, node);
            } else {
                return Some(node - HEADS);
            }
        }
        next(state).map(|(_, node)| node - HEADS)
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        let mut counted = 0;
        for (row, told) in [(NEW, 0), (MAIN, IN_MAIN)] {
            counted += row.check_weighed(state, HEADS, count - counted, |node| {
                let asked = state.get(node, ASKED).and_then(|word| word.checked_sub(told));
                let is_told = asked.is_some_and(|asked| asked <= ASKED_MAX);
                is_told.then_some(()).ok_or(Corrupt::new("told of another row", node.into()))
            })?;
        }
        ring::all(counted, count)
    }
}

/// The entry was asked for so often, besides; says how often in all, as far as that is counted.
fn asked(state: &mut State<&mut [u64]>, node: u32, times: u32) -> u64 {
    let word = &mut state[(node, ASKED)];
    let all = (*word & ASKED_MAX).saturating_add(times.into()).min(ASKED_MAX);
    *word = *word & IN_MAIN | all;
    all
}

/// The row that is to lose one, and who stands last in it. Who has just come is not counted: he is
/// chosen only where he is alone.
fn next(state: &State<&mut [u64]>) -> Option<(Ring, u32)> {
    let newest = state.newest();
    let mut small = state.weight(NEW.end);
    if let Some(newest) = newest.filter(|newest| state[(*newest, ASKED)] & IN_MAIN == 0) {
        small -= state.weight(newest);
    }
    let is_large = !small.fits(state.bounds().thousandths(SMALL));
    let order = if is_large { [NEW, MAIN] } else { [MAIN, NEW] };
    let last = |row: &Ring| (*row, row.last_but(state, newest));
    let other = order.iter().map(last).find(|(_, node)| *node >= HEADS);
    other.or_else(|| newest.map(|newest| (row_of(state, newest), newest)))
}

fn row_of(state: &State<&mut [u64]>, node: u32) -> Ring {
    if state[(node, ASKED)] & IN_MAIN == 0 { NEW } else { MAIN }
}
