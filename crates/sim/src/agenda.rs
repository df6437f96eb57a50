//! What happens next: one alarm for each of many places, in a heap that knows where each place
//! stands in it.
//!
//! A core, a disk, a client wait for one thing at a time each, so each has one place here, and
//! whoever changes his mind moves his alarm: nothing is ever taken out that does not count any
//! more. The heap has four children each, which halves its height; the key is one number, so that
//! a comparison is one. Of alarms for the same time the one that was set first rings first.

/// See the head of this file. Times are nanoseconds.
#[derive(Debug, Default)]
pub struct Agenda {
    /// The parent of `n` is `(n - 1) / 4`, and never later.
    heap: Vec<Key>,
    /// Where each place stands in the heap; [`UNSET`]: it has no alarm.
    stands: Vec<u32>,
    /// Alarms that were ever set.
    set: u64,
}

/// From the top: the time, how many alarms were set before, and whose it is.
type Key = u128;

const PLACE_BITS: u32 = 24;
const TIME_AT: u32 = 64;
/// Alarms that can be set: a thousand billions, of which a computer sets some in a week.
const SET_MAX: u64 = 1 << (TIME_AT - PLACE_BITS);

const UNSET: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl Agenda {
    /// One more place.
    ///
    /// # Panics
    /// There are 2²⁴ already.
    pub fn place(&mut self) -> u32 {
        let place = self.stands.len() as u32;
        assert!(place >> PLACE_BITS == 0, "a place that an alarm can name");
        self.stands.push(UNSET);
        place
    }

    /// Sets the alarm of a place, or moves it.
    pub fn set(&mut self, place: u32, at_ns: u64) {
        assert!(self.set < SET_MAX, "a run is shorter");
        let key =
            u128::from(at_ns) << TIME_AT | u128::from(self.set) << PLACE_BITS | u128::from(place);
        self.set += 1;
        let stands = self.stands[place as usize];
        if stands == UNSET {
            self.heap.push(key);
            self.rise(self.heap.len() - 1, key);
        } else if key < self.heap[stands as usize] {
            self.rise(stands as usize, key);
        } else {
            self.sink(stands as usize, key);
        }
    }

    /// Takes the alarm of a place away, if it has one.
    pub fn clear(&mut self, place: u32) {
        let stands = self.stands[place as usize];
        if stands != UNSET {
            self.take(stands as usize);
        }
    }

    /// The next alarm up to that time, which is over by that: when it rings, and whose it is.
    pub fn ring(&mut self, until_ns: u64) -> Option<(u64, u32)> {
        let at_ns = self.first().filter(|at_ns| *at_ns <= until_ns)?;
        let first = place(self.heap[0]);
        self.take(0);
        Some((at_ns, first))
    }

    /// When the next alarm rings.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.heap.first().map(|key| (key >> TIME_AT) as u64)
    }

    /// Alarms that are set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn take(&mut self, stands: usize) {
        self.stands[place(self.heap[stands]) as usize] = UNSET;
        let last = self.heap.pop().expect("the one that is taken");
        if stands == self.heap.len() {
            return;
        }
        if last < self.heap[stands] { self.rise(stands, last) } else { self.sink(stands, last) }
    }

    /// Puts a key where there is room for one, or further up.
    fn rise(&mut self, mut stands: usize, key: Key) {
        while stands > 0 {
            let parent = (stands - 1) / CHILDREN;
            if self.heap[parent] <= key {
                break;
            }
            self.put(stands, self.heap[parent]);
            stands = parent;
        }
        self.put(stands, key);
    }

    /// Or further down.
    fn sink(&mut self, mut stands: usize, key: Key) {
        loop {
            let first = CHILDREN * stands + 1;
            let children = first..(first + CHILDREN).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child]) else { break };
            if key <= self.heap[least] {
                break;
            }
            self.put(stands, self.heap[least]);
            stands = least;
        }
        self.put(stands, key);
    }

    fn put(&mut self, stands: usize, key: Key) {
        self.heap[stands] = key;
        self.stands[place(key) as usize] = stands as u32;
    }
}

const fn place(key: Key) -> u32 {
    key as u32 & ((1 << PLACE_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that is searched: whatever is set, moved and taken away.
        #[test]
        fn alarms_ring_in_their_order(
            steps in prop::collection::vec((0..4_u8, 0..20_u32, 0..30_u64), 0..300),
        ) {
            let mut agenda = Agenda::default();
            (0..20).for_each(|place| assert_eq!(agenda.place(), place));
            let mut model = BTreeMap::new();
            for (count, (what, place, at_ns)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => {
                        agenda.set(place, at_ns);
                        model.insert(place, (at_ns, count));
                    }
                    2 => {
                        agenda.clear(place);
                        model.remove(&place);
                    }
                    _ => {
                        let next = model.iter().min_by_key(|(_, key)| **key);
                        let next = next.map(|(place, key)| (key.0, *place));
                        let next = next.filter(|(next, _)| *next <= at_ns);
                        prop_assert_eq!(agenda.ring(at_ns), next);
                        next.map(|(_, place)| model.remove(&place));
                    }
                }
                prop_assert_eq!(agenda.len(), model.len());
            }
        }
    }
}
