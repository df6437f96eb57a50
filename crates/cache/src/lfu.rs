use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, State};

/// Least frequently used, with ageing: who was asked for most often stays longest, but not for
/// ever.
///
/// Idea: an entry's priority is how often it was asked for since it came, plus an age; the lowest
/// goes, of several the one asked for longest ago, and its priority becomes the age. So those that
/// were hot once are overtaken by those that are. Source: JAWS97 3.1 names LFU; the ageing is
/// LFU-DA of Arlitt, Cherkasova, Dilley, Friedrich, Jin: *Evaluating Content Management Techniques
/// for Web Proxy Caches* (1999). Knobs: none. Different: a newcomer may be the lowest, and goes
/// again. What it is bad at: each hit moves entries in a heap, which takes time that grows with the
/// logarithm of their number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lfu;

const HEADS: u32 = 1;
/// Of the head's words: entries in the heap; the age; and a clock that counts each request.
const SIZE: (u32, usize) = (0, 0);
const AGE: (u32, usize) = (0, OWN);
const CLOCK: (u32, usize) = (0, OWN + 1);

// The first word of an entry has its place in the heap + 1, and above how often it was asked for.

/// Of an entry's words: who is at that place of the heap, the lowest first.
const HEAP: usize = OWN;
const PRIORITY: usize = OWN + 1;
/// When it was asked for last.
const ASKED: usize = OWN + 2;

impl Policy for Lfu {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        3
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, _arrival: &Arrival) {
        let place = state[SIZE] as u32;
        state[SIZE] += 1;
        asked(state, index, 1);
        put(state, place, index);
        rise(state, place);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        let times = (state[HEADS + index] >> 32) as u32;
        asked(state, index, times.saturating_add(1));
        sink(state, place_of(state, index));
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        let place = place_of(state, index);
        state[SIZE] -= 1;
        let last = at(state, state[SIZE] as u32);
        state[HEADS + index] = 0;
        if last != index {
            put(state, place, last);
            rise(state, place);
            sink(state, place_of(state, last));
        }
    }

    fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
        state[AGE] = state[(HEADS + index, PRIORITY)];
        self.remove(state, index);
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        (state[SIZE] > 0).then(|| at(state, 0))
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        if state.get(SIZE.0, SIZE.1) != Some(count.into()) {
            return Err(Corrupt::new("not the size of the heap", count.into()));
        }
        let get = |index: u64, word| {
            let node = u32::try_from(index).ok()?.checked_add(HEADS)?;
            state.get(node, word)
        };
        let heap = |place: u32| get(place.into(), HEAP);
        let order = |index: u64| Some((get(index, PRIORITY)?, get(index, ASKED)?));
        let head = |(node, word): (u32, usize)| state.get(node, word).unwrap_or_default();
        let (age, clock) = (head(AGE), head(CLOCK));
        for place in 0..count {
            let wrong = |what| Err(Corrupt::new(what, place.into()));
            let index = heap(place).unwrap_or(u64::MAX);
            let word = get(index, 0).unwrap_or_default();
            if index >= u64::from(state.places()) || word as u32 != place + 1 {
                return wrong("told of another place in the heap");
            }
            let Some((priority, at)) = order(index) else { return wrong("beyond the memory") };
            if heap(place.saturating_sub(1) / 2).and_then(order) > Some((priority, at)) {
                return wrong("in the heap below a higher one");
            }
            // When it was asked for the age was less.
            let was_possible = age..=age.saturating_add(word >> 32);
            if !was_possible.contains(&priority) || at > clock {
                return wrong("a priority that none can have");
            }
        }
        Ok(())
    }
}

/// The entry was asked for, now so many times.
fn asked(state: &mut State<&mut [u64]>, index: u32, times: u32) {
    let node = HEADS + index;
    state[CLOCK] = state[CLOCK].saturating_add(1);
    state[node] = u64::from(times) << 32 | u64::from(state[node] as u32);
    state[(node, PRIORITY)] = state[AGE].saturating_add(times.into());
    state[(node, ASKED)] = state[CLOCK];
}

/// Changes place with who is above while that one is higher.
fn rise(state: &mut State<&mut [u64]>, mut place: u32) {
    while place > 0 {
        let above = (place - 1) / 2;
        if order(state, above) <= order(state, place) {
            return;
        }
        exchange(state, above, place);
        place = above;
    }
}

/// Changes place with the lower of the two below while that one is lower.
fn sink(state: &mut State<&mut [u64]>, mut place: u32) {
    let size = state[SIZE] as u32;
    loop {
        let below = (2 * u64::from(place) + 1).min(size.into()) as u32;
        let lowest = (below..size.min(below.saturating_add(2))).min_by_key(|n| order(state, *n));
        match lowest {
            Some(lower) if order(state, lower) < order(state, place) => {
                exchange(state, place, lower);
                place = lower;
            }
            _ => return,
        }
    }
}

fn exchange(state: &mut State<&mut [u64]>, one: u32, other: u32) {
    let (first, second) = (at(state, one), at(state, other));
    put(state, other, first);
    put(state, one, second);
}

/// Who is at that place.
fn at(state: &State<&mut [u64]>, place: u32) -> u32 {
    state[(HEADS + place, HEAP)] as u32
}

fn put(state: &mut State<&mut [u64]>, place: u32, index: u32) {
    state[(HEADS + place, HEAP)] = index.into();
    let word = &mut state[HEADS + index];
    *word = *word >> 32 << 32 | u64::from(place + 1);
}

fn place_of(state: &State<&mut [u64]>, index: u32) -> u32 {
    (state[HEADS + index] as u32).checked_sub(1).expect("a place in the heap")
}

/// Who goes first is least.
fn order(state: &State<&mut [u64]>, place: u32) -> (u64, u64) {
    let node = HEADS + at(state, place);
    (state[(node, PRIORITY)], state[(node, ASKED)])
}
