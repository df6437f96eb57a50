//! One alarm for each of many places, and which comes first: a binary heap that knows where each
//! place stands in it. Setting one costs the logarithm of how many there are, however far ahead it
//! lies, and no alarm is late because of another's.

use measure::Instant;

const UNSET: u32 = u32::MAX;

/// See the head of this file.
pub(super) struct Alarms {
    /// The parent of `n` is `(n - 1) / 2`, and is never later.
    heap: Vec<Alarm>,
    /// Where a place stands in the heap.
    stands: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Alarm {
    at: Instant,
    place: u32,
}

impl Alarms {
    pub(super) const fn new() -> Self {
        Self { heap: Vec::new(), stands: Vec::new() }
    }

    /// Sets or moves the alarm of a place.
    pub(super) fn set(&mut self, place: u32, at: Instant) {
        if self.stands.len() <= place as usize {
            self.stands.resize(place as usize + 1, UNSET);
        }
        let alarm = Alarm { at, place };
        let stands = match self.stands[place as usize] {
            UNSET => {
                self.heap.push(alarm);
                self.heap.len() - 1
            }
            stands => {
                self.heap[stands as usize] = alarm;
                stands as usize
            }
        };
        self.settle(stands);
    }

    /// As [`Self::set`], unless it is set to an earlier time already: whoever is called too early
    /// looks again, which costs less than moving an alarm that is always put off.
    pub(super) fn set_at_latest(&mut self, place: u32, at: Instant) {
        let stands = self.stands.get(place as usize).copied().unwrap_or(UNSET);
        let is_earlier = self.heap.get(stands as usize).is_some_and(|alarm| alarm.at <= at);
        if !is_earlier {
            self.set(place, at);
        }
    }

    /// Moves all that are set to this time.
    pub(super) fn all_at(&mut self, at: Instant) {
        // Equal ones are in order wherever they stand.
        self.heap.iter_mut().for_each(|alarm| alarm.at = at);
    }

    pub(super) fn clear(&mut self, place: u32) {
        let Some(&stands) = self.stands.get(place as usize) else { return };
        if stands == UNSET {
            return;
        }
        self.stands[place as usize] = UNSET;
        self.heap.swap_remove(stands as usize);
        if (stands as usize) < self.heap.len() {
            self.settle(stands as usize);
        }
    }

    pub(super) fn earliest(&self) -> Option<Instant> {
        self.heap.first().map(|alarm| alarm.at)
    }

    /// Takes out the earliest alarm whose time has come.
    pub(super) fn rung(&mut self, now: Instant) -> Option<u32> {
        let &Alarm { place, .. } = self.heap.first().filter(|alarm| alarm.at <= now)?;
        self.clear(place);
        Some(place)
    }

    /// Moves the alarm that stands here to where it belongs.
    fn settle(&mut self, mut stands: usize) {
        while stands > 0 && self.heap[stands].at < self.heap[(stands - 1) / 2].at {
            self.swap(stands, (stands - 1) / 2);
            stands = (stands - 1) / 2;
        }
        loop {
            let (left, right) = (2 * stands + 1, 2 * stands + 2);
            let Some(first) = self.heap.get(left) else { break };
            let is_right = self.heap.get(right).is_some_and(|other| other.at < first.at);
            let child = if is_right { right } else { left };
            if self.heap[stands].at <= self.heap[child].at {
                break;
            }
            self.swap(stands, child);
            stands = child;
        }
        let place = self.heap[stands].place;
        self.stands[place as usize] = stands as u32;
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for stands in [one, other] {
            self.stands[self.heap[stands].place as usize] = stands as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map: which alarm is the earliest, whatever was set, moved and cleared.
        #[test]
        fn alarms_ring_in_order(
            steps in prop::collection::vec((0..40_u8, 0..12_u32, 0..50_u64), 0..200),
        ) {
            let mut alarms = Alarms::new();
            let mut model = BTreeMap::new();
            for (what, place, ms) in steps {
                let at = Instant::from_ms(ms);
                match what {
                    39 => {
                        alarms.all_at(at);
                        model.values_mut().for_each(|set| *set = at);
                    }
                    0..10 => {
                        alarms.set(place, at);
                        model.insert(place, at);
                    }
                    10..20 => {
                        alarms.set_at_latest(place, at);
                        let set = model.entry(place).or_insert(at);
                        *set = (*set).min(at);
                    }
                    20..30 => {
                        alarms.clear(place);
                        model.remove(&place);
                    }
                    _ => {
                        let earliest = model.values().min().copied();
                        match alarms.rung(at) {
                            Some(place) => {
                                let rung = model.remove(&place);
                                prop_assert_eq!(rung, earliest);
                                prop_assert!(rung.is_some_and(|rung| rung <= at));
                            }
                            None => prop_assert!(earliest.is_none_or(|earliest| earliest > at)),
                        }
                    }
                }
                prop_assert_eq!(alarms.earliest(), model.values().min().copied());
            }
        }
    }
}
