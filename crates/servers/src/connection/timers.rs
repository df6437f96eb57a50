//! Deadlines of connections: one doubly linked first-in-first-out list for each kind of patience.
//!
//! Deadlines of a kind lie about equally far ahead when they are set, so appending keeps a list in
//! order, and setting, clearing and finding the earliest are O(1) whatever the number of
//! connections. One that is set late, as a drain does, may stand behind a later one, and passes
//! with that: late by less than the patience of its kind.

use h1::{Deadline, Limits, Timeout};
use measure::{Duration, Instant};

use super::gate::{LOOKED_AT_MAX, WAITED_MIN};

const NONE: u32 = u32::MAX;
const KINDS: usize = 4;

/// The lists; connections are named by slot.
pub(crate) struct Timers {
    entries: Vec<Entry>,
    lists: [List; KINDS],
}

#[derive(Clone, Copy)]
struct Entry {
    at: Instant,
    previous: u32,
    next: u32,
    set: Option<Timeout>,
}

#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Timers {
    /// No deadlines.
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), lists: [List { first: NONE, last: NONE }; KINDS] }
    }

    /// Sets, moves or clears the deadline of a slot.
    pub(crate) fn set(&mut self, slot: u32, deadline: Option<Deadline>) {
        if self.entries.len() <= slot as usize {
            let unset = Entry { at: Instant::ORIGIN, previous: NONE, next: NONE, set: None };
            self.entries.resize(slot as usize + 1, unset);
        }
        let entry = self.entries[slot as usize];
        match deadline {
            Some(to) if entry.set == Some(to.timeout) && entry.at == to.at => {}
            Some(to) => {
                self.unlink(slot);
                self.append(slot, to);
            }
            None => self.unlink(slot),
        }
    }

    /// The earliest deadline of all.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        let firsts = self.lists.iter().filter(|list| list.first != NONE);
        firsts.map(|list| self.entries[list.first as usize].at).min()
    }

    /// Takes out a slot whose deadline has passed.
    pub(crate) fn passed(&mut self, now: Instant) -> Option<u32> {
        let slot = self
            .lists
            .iter()
            .map(|list| list.first)
            .find(|&first| first != NONE && self.entries[first as usize].at <= now)?;
        self.unlink(slot);
        Some(slot)
    }

    /// Those that wait for a request or for the rest of a head, and when each has waited for long
    /// enough to go for another, the first one first. Who has been answered stays for so long.
    fn waiting(&self, limits: &Limits, stays: Duration) -> impl Iterator<Item = (u32, Instant)> {
        let kinds = [(Timeout::Idle, stays), (Timeout::Head, WAITED_MIN)];
        let mut lists = kinds.map(|(kind, least)| {
            let all = self.list(kind);
            all.filter_map(move |(slot, to)| Some((slot, to.waits_since(limits)? + least)))
                .peekable()
        });
        core::iter::from_fn(move || {
            let [idle, head] = &mut lists;
            let goes_at = |next: Option<&(u32, Instant)>| next.map(|(_, at)| *at);
            match (goes_at(idle.peek()), goes_at(head.peek())) {
                (Some(a), b) if b.is_none_or(|b| a <= b) => idle.next(),
                _ => head.next(),
            }
        })
    }

    /// Of those the ones that have.
    pub(crate) fn may_go(
        &self,
        limits: &Limits,
        stays: Duration,
        now: Instant,
    ) -> impl Iterator<Item = u32> {
        let longest = self.waiting(limits, stays).take(LOOKED_AT_MAX);
        longest.take_while(move |(_, at)| *at <= now).map(|(slot, _)| slot)
    }

    /// When the first of them will have.
    pub(crate) fn goes_at(&self, limits: &Limits, stays: Duration) -> Option<Instant> {
        self.waiting(limits, stays).next().map(|(_, at)| at)
    }

    fn list(&self, timeout: Timeout) -> impl Iterator<Item = (u32, Deadline)> {
        let mut next = self.lists[timeout as usize].first;
        core::iter::from_fn(move || {
            let slot = next;
            let entry = self.entries.get(slot as usize)?;
            next = entry.next;
            Some((slot, Deadline { timeout, at: entry.at }))
        })
    }

    fn append(&mut self, slot: u32, to: Deadline) {
        let list = &mut self.lists[to.timeout as usize];
        let last = core::mem::replace(&mut list.last, slot);
        if last == NONE {
            list.first = slot;
        } else {
            self.entries[last as usize].next = slot;
        }
        self.entries[slot as usize] =
            Entry { at: to.at, previous: last, next: NONE, set: Some(to.timeout) };
    }

    fn unlink(&mut self, slot: u32) {
        let entry = self.entries[slot as usize];
        let Some(timeout) = entry.set else { return };
        let list = &mut self.lists[timeout as usize];
        if entry.previous == NONE {
            list.first = entry.next;
        } else {
            self.entries[entry.previous as usize].next = entry.next;
        }
        if entry.next == NONE {
            list.last = entry.previous;
        } else {
            self.entries[entry.next as usize].previous = entry.previous;
        }
        self.entries[slot as usize].set = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(timeout: Timeout, ms: u64) -> Option<Deadline> {
        Some(Deadline { timeout, at: Instant::from_ms(ms) })
    }

    #[test]
    fn deadlines_pass_in_order_whatever_was_moved() {
        let mut timers = Timers::new();
        timers.set(7, at(Timeout::Head, 10));
        timers.set(3, at(Timeout::Head, 20));
        timers.set(5, at(Timeout::Head, 30));
        timers.set(9, at(Timeout::Idle, 15));
        timers.set(3, at(Timeout::Head, 40));
        timers.set(9, None);
        assert_eq!(timers.earliest(), Some(Instant::from_ms(10)));
        let mut passed = Vec::new();
        while let Some(slot) = timers.passed(Instant::from_ms(35)) {
            passed.push(slot);
        }
        assert_eq!(passed, [7, 5]);
        assert_eq!(timers.passed(Instant::from_ms(40)), Some(3));
        assert_eq!(timers.earliest(), None);
    }

    #[test]
    fn who_waits_for_longest_is_told_first() {
        let limits = Limits {
            idle_timeout: Duration::from_millis(100),
            head_timeout: Duration::from_millis(10),
            ..Limits::default()
        };
        // Slots with what they wait for and since when, in the order in which they began.
        let rows = [
            (4, Timeout::Head, 1),
            (2, Timeout::Idle, 3),
            (7, Timeout::Rate, 4),
            (5, Timeout::Head, 5),
            (1, Timeout::Linger, 6),
            (6, Timeout::Idle, 8),
            (3, Timeout::Idle, 9),
        ];
        let mut timers = Timers::new();
        for (slot, timeout, since) in rows {
            let patience = if timeout == Timeout::Idle { 100 } else { 10 };
            timers.set(slot, at(timeout, since + patience));
        }
        let waiting = timers.waiting(&limits, WAITED_MIN);
        let told: Vec<_> = waiting.map(|(slot, at)| (slot, (at - WAITED_MIN).ns)).collect();
        let waits = rows.iter().filter(|(_, to, _)| matches!(to, Timeout::Head | Timeout::Idle));
        let expected: Vec<_> = waits.map(|(slot, _, ms)| (*slot, ms * 1_000_000)).collect();
        assert_eq!(told, expected);
        // As long as they have waited since 1, 3, 5, 8 and 9 ms.
        let goes_at = WAITED_MIN + Duration::from_millis(1);
        assert_eq!(timers.goes_at(&limits, WAITED_MIN), Some(Instant::ORIGIN + goes_at));
        for (now_ms, expected) in [(100, &[][..]), (101, &[4]), (105, &[4, 2, 5])] {
            let now = Instant::from_ms(now_ms);
            let may: Vec<_> = timers.may_go(&limits, WAITED_MIN, now).collect();
            assert_eq!(may, expected, "at {now_ms} ms");
        }
        for slot in 10..60 {
            timers.set(slot, at(Timeout::Idle, 110));
        }
        let may = timers.may_go(&limits, WAITED_MIN, Instant::from_ms(1000));
        assert_eq!(may.count(), LOOKED_AT_MAX, "no more are looked at");
        let second = Duration::from_secs(1);
        let may: Vec<_> = timers.may_go(&limits, second, Instant::from_ms(1002)).collect();
        assert_eq!(may, [4, 5], "who was answered stays");
    }
}
