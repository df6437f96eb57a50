//! Deadlines of connections: one doubly linked first-in-first-out list for each kind of patience.
//!
//! Deadlines of a kind lie about equally far ahead when they are set, so appending keeps a list in
//! order, and setting, clearing and finding the earliest are O(1) whatever the number of
//! connections. One that is set late, as a drain does, and a stage to which a connection comes back
//! amid a head, would stand behind later ones: it has its place in a tree beside the list.

use std::collections::BTreeSet;

use h1::{Deadline, Timeout};
use measure::{Duration, Instant};

use super::gate::{BEHIND_MIN, HEAD_MIN, LOOKED_AT_MAX};

const NONE: u32 = u32::MAX;
const KINDS: usize = 4;

/// The lists; connections are named by slot.
pub(crate) struct Timers {
    entries: Vec<Entry>,
    lists: [List; KINDS],
    /// Of each kind those that are earlier than who was the last in the list.
    late: [BTreeSet<(Instant, u32)>; KINDS],
}

#[derive(Clone, Copy)]
struct Entry {
    at: Instant,
    waits_since: Option<Instant>,
    previous: u32,
    next: u32,
    set: Option<Timeout>,
    is_late: bool,
}

#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Timers {
    /// No deadlines.
    pub(crate) fn new() -> Self {
        let lists = [List { first: NONE, last: NONE }; KINDS];
        Self { entries: Vec::new(), lists, late: Default::default() }
    }

    /// Sets, moves or clears the deadline of a slot.
    pub(crate) fn set(&mut self, slot: u32, deadline: Option<Deadline>) {
        if self.entries.len() <= slot as usize {
            let (at, waits_since) = (Instant::ORIGIN, None);
            let (previous, next) = (NONE, NONE);
            let unset = Entry { at, waits_since, previous, next, set: None, is_late: false };
            self.entries.resize(slot as usize + 1, unset);
        }
        let entry = self.entries[slot as usize];
        match deadline {
            Some(to) if entry.set == Some(to.timeout) && entry.at == to.at => {
                self.entries[slot as usize].waits_since = to.waits_since;
            }
            Some(to) => {
                self.unlink(slot);
                self.append(slot, to);
            }
            None => self.unlink(slot),
        }
    }

    /// The earliest deadline of all.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.firsts().map(|(at, _)| at).min()
    }

    /// Takes out a slot whose deadline has passed.
    pub(crate) fn passed(&mut self, now: Instant) -> Option<u32> {
        let (_, slot) = self.firsts().find(|(at, _)| *at <= now)?;
        self.unlink(slot);
        Some(slot)
    }

    /// The first of each list, and the first of those that are late.
    fn firsts(&self) -> impl Iterator<Item = (Instant, u32)> {
        let firsts = self.lists.iter().map(|list| list.first).filter(|first| *first != NONE);
        let firsts = firsts.map(|first| (self.entries[first as usize].at, first));
        firsts.chain(self.late.iter().filter_map(|late| late.first().copied()))
    }

    /// Connections that wait for a request or for the rest of a head, and when each may be evicted,
    /// the first one first. One that has been answered stays for so long.
    fn waiting(&self, stays: Duration) -> impl Iterator<Item = (u32, Instant)> {
        let kinds = [(Timeout::Idle, stays), (Timeout::Head, HEAD_MIN)];
        let mut lists = kinds.map(|(kind, least)| {
            let all = self.list(kind);
            all.filter_map(move |(slot, to)| Some((slot, to.waits_since? + least))).peekable()
        });
        core::iter::from_fn(move || {
            let [idle, head] = &mut lists;
            let evictable_at = |next: Option<&(u32, Instant)>| next.map(|(_, at)| *at);
            match (evictable_at(idle.peek()), evictable_at(head.peek())) {
                (Some(a), b) if b.is_none_or(|b| a <= b) => idle.next(),
                _ => head.next(),
            }
        })
    }

    /// Connections in a reply or a body, and when each may be evicted. Only those are looked at
    /// whose rate will be judged first, which change with each window.
    fn behind(&self) -> impl Iterator<Item = (u32, Instant)> {
        let first = self.list(Timeout::Rate).take(LOOKED_AT_MAX);
        first.filter_map(|(slot, to)| Some((slot, to.waits_since? + BEHIND_MIN)))
    }

    /// The connections that may be evicted now, in the order in which they should be: those that
    /// wait, and then those that are furthest behind with a reply or a body.
    pub(crate) fn may_go(&self, stays: Duration, now: Instant) -> impl Iterator<Item = u32> {
        let waiting = self.waiting(stays).take(LOOKED_AT_MAX).take_while(move |(_, at)| *at <= now);
        let behind = core::iter::once_with(move || {
            let mut behind: Vec<_> = self.behind().filter(|(_, at)| *at <= now).collect();
            behind.sort_unstable_by_key(|(_, at)| *at);
            behind
        });
        waiting.chain(behind.flatten()).map(|(slot, _)| slot)
    }

    /// When the first of them may be evicted.
    pub(crate) fn goes_at(&self, stays: Duration) -> Option<Instant> {
        self.firsts_go_at(stays).into_iter().flatten().min()
    }

    /// The same of those that wait, and of transfers.
    pub(crate) fn firsts_go_at(&self, stays: Duration) -> [Option<Instant>; 2] {
        let waits = self.waiting(stays).next();
        [waits.map(|(_, at)| at), self.behind().map(|(_, at)| at).min()]
    }

    /// All of a kind, in order.
    fn list(&self, timeout: Timeout) -> impl Iterator<Item = (u32, Deadline)> {
        let mut next = self.lists[timeout as usize].first;
        let in_list = core::iter::from_fn(move || {
            let slot = next;
            let entry = self.entries.get(slot as usize)?;
            next = entry.next;
            let Entry { at, waits_since, .. } = *entry;
            Some((slot, Deadline { timeout, at, waits_since }))
        });
        let late = self.late[timeout as usize].iter().map(move |(at, slot)| {
            let waits_since = self.entries[*slot as usize].waits_since;
            (*slot, Deadline { timeout, at: *at, waits_since })
        });
        let (mut in_list, mut late) = (in_list.peekable(), late.peekable());
        core::iter::from_fn(move || match (in_list.peek(), late.peek()) {
            (Some((_, listed)), Some((_, late_one))) if late_one.at < listed.at => late.next(),
            (None, _) => late.next(),
            (Some(_), _) => in_list.next(),
        })
    }

    fn append(&mut self, slot: u32, to: Deadline) {
        let kind = to.timeout as usize;
        let last = self.lists[kind].last;
        let is_late = last != NONE && to.at < self.entries[last as usize].at;
        let previous = if is_late { NONE } else { last };
        let Deadline { timeout, at, waits_since } = to;
        let set = Some(timeout);
        self.entries[slot as usize] = Entry { at, waits_since, previous, next: NONE, set, is_late };
        if is_late {
            self.late[kind].insert((to.at, slot));
            return;
        }
        self.lists[kind].last = slot;
        match last {
            NONE => self.lists[kind].first = slot,
            last => self.entries[last as usize].next = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let entry = self.entries[slot as usize];
        let Some(timeout) = entry.set else { return };
        self.entries[slot as usize].set = None;
        if entry.is_late {
            self.late[timeout as usize].remove(&(entry.at, slot));
            return;
        }
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(timeout: Timeout, ms: u64) -> Option<Deadline> {
        Some(Deadline { timeout, at: Instant::from_ms(ms), waits_since: None })
    }

    fn since(timeout: Timeout, ms: u64, patience_ms: u64) -> Option<Deadline> {
        let waits_since = Some(Instant::from_ms(ms));
        Some(Deadline { timeout, at: Instant::from_ms(ms + patience_ms), waits_since })
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
    fn who_is_set_late_passes_in_its_time() {
        let mut timers = Timers::new();
        for (slot, ms) in [(1, 30), (2, 10), (3, 20), (4, 30), (2, 15), (5, 5), (3, 40)] {
            timers.set(slot, at(Timeout::Head, ms));
        }
        let told: Vec<_> = timers.list(Timeout::Head).map(|(slot, _)| slot).collect();
        assert_eq!(told, [5, 2, 1, 4, 3]);
        timers.set(5, None);
        assert_eq!(timers.earliest(), Some(Instant::from_ms(15)));
        for (now_ms, expected) in [(14, None), (15, Some(2)), (29, None), (30, Some(1))] {
            let passed = timers.passed(Instant::from_ms(now_ms));
            assert_eq!(passed, expected, "at {now_ms} ms");
        }
        // Whoever was the last does not hold up who comes behind him.
        timers.set(1, at(Timeout::Head, 35));
        let rest: Vec<_> = (0..3).filter_map(|_| timers.passed(Instant::from_ms(40))).collect();
        assert_eq!(rest.len(), 3);
        assert_eq!(timers.earliest(), None);
    }

    #[test]
    fn who_waits_for_longest_is_told_first() {
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
        for (slot, timeout, since_ms) in rows {
            let patience_ms = if timeout == Timeout::Idle { 100 } else { 10 };
            timers.set(slot, since(timeout, since_ms, patience_ms));
        }
        let waiting = timers.waiting(HEAD_MIN);
        let told: Vec<_> = waiting.map(|(slot, at)| (slot, (at - HEAD_MIN).ns)).collect();
        let waits = rows.iter().filter(|(_, to, _)| matches!(to, Timeout::Head | Timeout::Idle));
        let expected: Vec<_> = waits.map(|(slot, _, ms)| (*slot, ms * 1_000_000)).collect();
        assert_eq!(told, expected);
        // As long as they have waited since 1, 3, 5, 8 and 9 ms.
        let goes_at = HEAD_MIN + Duration::from_millis(1);
        assert_eq!(timers.goes_at(HEAD_MIN), Some(Instant::ORIGIN + goes_at));
        for (ms, expected) in [(0, &[][..]), (1, &[4]), (5, &[4, 2, 5])] {
            let now = Instant::from_ms(ms) + HEAD_MIN;
            let may: Vec<_> = timers.may_go(HEAD_MIN, now).collect();
            assert_eq!(may, expected, "{ms} ms after the least");
        }
        for slot in 10..60 {
            timers.set(slot, since(Timeout::Idle, 10, 100));
        }
        let may = timers.may_go(HEAD_MIN, Instant::from_ms(1000));
        assert_eq!(may.count(), LOOKED_AT_MAX, "no more are looked at");
        let second = Duration::from_secs(1);
        let may: Vec<_> = timers.may_go(second, Instant::from_ms(1002)).collect();
        assert_eq!(may, [4, 5], "who was answered stays");
    }

    #[test]
    fn the_slowest_transfer_goes_when_none_waits() {
        let mut timers = Timers::new();
        // Slots, since when they are behind, and when their windows began.
        for (slot, since_ms, window_ms) in [(1, 900, 0), (2, 300, 100), (3, 100, 200)] {
            let at = Instant::from_ms(window_ms + 5000);
            let waits_since = Some(Instant::from_ms(since_ms));
            timers.set(slot, Some(Deadline { timeout: Timeout::Rate, at, waits_since }));
        }
        let may = |timers: &Timers, ms| -> Vec<u32> {
            timers.may_go(HEAD_MIN, Instant::from_ms(ms)).collect()
        };
        let least_ms = BEHIND_MIN.as_millis() as u64;
        assert_eq!(timers.goes_at(HEAD_MIN), Some(Instant::from_ms(100 + least_ms)));
        assert!(may(&timers, 99 + least_ms).is_empty());
        assert_eq!(may(&timers, 300 + least_ms), [3, 2]);
        // More bytes of it have moved in the same window.
        let at = Instant::from_ms(5200);
        let waits_since = Some(Instant::from_ms(1000));
        timers.set(3, Some(Deadline { timeout: Timeout::Rate, at, waits_since }));
        assert_eq!(may(&timers, 900 + least_ms), [2, 1]);
        timers.set(9, since(Timeout::Head, 900 + least_ms - 2, 10));
        assert_eq!(may(&timers, 900 + least_ms), [9, 2, 1], "one that sends no head goes first");
    }
}
