//! What addresses have of several processes together: as [`super::quotas`], in words that all of
//! them share, where each process has one thing at a time.
//!
//! There is no lock, which a process that dies could hold for ever. Who has what stands with who
//! has it, so what a process had is forgotten when the supervisor buries it.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

use measure::Instant;
use os::SharedWords;

use crate::shared::quotas::{Key, Rate};

/// That of all processes.
pub(crate) struct Ledger {
    /// The key that each holder has entered, then the debts, in groups.
    words: SharedWords,
    holders: usize,
    /// 0 is without a limit.
    at_once_max: u32,
    rate: Rate,
    /// The same in all processes, and unknown to who chooses addresses.
    hasher: RandomState,
}

/// Addresses whose debts are remembered: as many as in [`super::quotas`], in 1 MiB.
const DEBTS_MAX: usize = 1 << 16;
/// Debts in a group, each of two words: a cache line. An address has its debt in one group, and
/// where others there have more the least is forgotten, so nobody is searched for.
const GROUP: usize = 4;
const GROUPS: usize = DEBTS_MAX / GROUP;
const _: () = assert!(GROUPS.is_power_of_two());
/// Where a holder has entered nothing, and a place of a group has nobody.
const NOBODY: u64 = 0;

impl Ledger {
    /// Nobody has anything. Each of so many holders enters one thing at a time, of which an address
    /// has so many at once.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new(holders: usize, at_once_max: u32, rate: Rate) -> io::Result<Self> {
        // Groups begin with a cache line.
        let holders = holders.next_multiple_of(2 * GROUP);
        let words = SharedWords::new(holders + 2 * DEBTS_MAX)?;
        Ok(Self { words, holders, at_once_max, rate, hasher: RandomState::new() })
    }

    /// What a holder had is over: it has died.
    pub(crate) fn ended(&self, holder: usize) {
        self.leaves(holder);
    }

    /// A connection comes, or whatever is counted; `false`: the address has as many as it may. Of
    /// two that come at the same moment for the last place both may hear so.
    pub(crate) fn enters(&self, holder: usize, key: Key) -> bool {
        let (all, key) = (&self.words[..self.holders], key.word());
        all[holder].store(key, SeqCst);
        let most = self.at_once_max as usize;
        let has = || all.iter().filter(|word| word.load(SeqCst) == key).count();
        let may = most == 0 || has() <= most;
        if !may {
            self.leaves(holder);
        }
        may
    }

    /// What was entered has gone.
    pub(crate) fn leaves(&self, holder: usize) {
        self.words[..self.holders][holder].store(NOBODY, SeqCst);
    }

    /// A request comes; `false`: the address has asked as often as it may.
    pub(crate) fn asks(&self, key: Key, now: Instant) -> bool {
        let Rate { share_ns: Some(share_ns), lent_ns } = self.rate else { return true };
        let debt = self.debt(key);
        let charge = |even_at_ns: u64| {
            let even_at_ns = even_at_ns.max(now.ns) + share_ns;
            (even_at_ns <= now.ns + lent_ns).then_some(even_at_ns)
        };
        debt.fetch_update(AcqRel, Acquire, charge).is_ok()
    }

    /// A request that was let in does not count.
    pub(crate) fn gives_back(&self, key: Key) {
        let share_ns = self.rate.share_ns.unwrap_or_default();
        let less = |even_at_ns: u64| Some(even_at_ns.saturating_sub(share_ns));
        let _ = self.debt(key).fetch_update(AcqRel, Acquire, less);
    }

    /// When an address will have no debt. Where another takes its place between this and what is
    /// done with it, that one is charged: a request too many, once.
    fn debt(&self, key: Key) -> &AtomicU64 {
        let word = key.word();
        let group = self.hasher.hash_one(word) as usize & (GROUPS - 1);
        let group = &self.words[self.holders + group * 2 * GROUP..][..2 * GROUP];
        let (keys, debts) = group.split_at(GROUP);
        let known = keys.iter().position(|known| known.load(Acquire) == word);
        if let Some(at) = known {
            return &debts[at];
        }
        let least = (0..GROUP).min_by_key(|&at| debts[at].load(Relaxed)).expect("there are some");
        // Whoever is slower than another uses its place, or one of its own when it asks again.
        let (before, debt) = (keys[least].load(Relaxed), debts[least].load(Acquire));
        if keys[least].compare_exchange(before, word, AcqRel, Relaxed).is_ok() {
            // What another process of the same address has charged meanwhile stays.
            let _ = debts[least].compare_exchange(debt, 0, AcqRel, Relaxed);
        }
        &debts[least]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key::of(std::net::IpAddr::from(n.to_be_bytes()))
    }

    #[test]
    fn an_address_has_so_many_at_once_of_all_holders() {
        let ledger = Ledger::new(5, 2, Rate::per_second(0)).unwrap();
        let (one, other) = (key(1), key(2));
        assert!(ledger.enters(0, one) && ledger.enters(3, one));
        assert!(!ledger.enters(1, one), "two have it");
        assert!(ledger.enters(1, other), "nothing is left of what was refused");
        ledger.leaves(3);
        assert!(ledger.enters(4, one) && !ledger.enters(2, one));
        // Who had the first has died.
        ledger.ended(0);
        assert!(ledger.enters(2, one));
        let all = Ledger::new(9, 0, Rate::per_second(0)).unwrap();
        assert!((0..9).all(|holder| all.enters(holder, one)), "without a limit");
    }

    #[test]
    fn a_second_of_requests_may_come_at_once_and_then_one_after_the_other() {
        let ledger = Ledger::new(1, 0, Rate::per_second(4)).unwrap();
        let asks = |ms, count: usize| {
            (0..count).filter(|_| ledger.asks(key(7), Instant::from_ms(ms))).count()
        };
        for (ms, count, admitted) in
            [(1000, 9, 4), (1249, 9, 0), (1250, 9, 1), (2250, 9, 4), (9000, 9, 4), (9500, 1, 1)]
        {
            assert_eq!(asks(ms, count), admitted, "at {ms} ms");
        }
        ledger.gives_back(key(7));
        assert_eq!(asks(9500, 9), 2, "one was given back");
        let free = Ledger::new(1, 0, Rate::per_second(0)).unwrap();
        assert!((0..1000).all(|_| free.asks(key(7), Instant::ORIGIN)), "without a limit");
    }

    /// More addresses than are remembered: who has just asked is, and of the others none is refused
    /// for what another has asked.
    #[test]
    fn a_flood_from_many_addresses_is_no_flood_from_one() {
        let ledger = Ledger::new(1, 0, Rate::per_second(1)).unwrap();
        let now = Instant::from_ms(5000);
        for n in 0..4 * DEBTS_MAX as u32 {
            assert!(ledger.asks(key(n), now), "{n} has not asked before");
            assert!(!ledger.asks(key(n), now), "{n} has");
        }
    }

    #[test]
    fn of_many_at_the_same_moment_no_more_are_let_in_than_may() {
        const ASKERS: usize = 4;
        let ledger = Ledger::new(ASKERS, 2, Rate::per_minute(1000)).unwrap();
        let now = Instant::from_ms(1);
        let ask = |holder| {
            let asks = |_: &u32| {
                if ledger.enters(holder, key(9)) {
                    ledger.leaves(holder);
                }
                ledger.asks(key(9), now)
            };
            (0..1000).filter(asks).count()
        };
        let asked: usize = std::thread::scope(|scope| {
            let ask = &ask;
            let all: Vec<_> = (0..ASKERS).map(|holder| scope.spawn(move || ask(holder))).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).sum()
        });
        assert_eq!(asked, 1000);
        assert!(ledger.enters(0, key(9)) && ledger.enters(1, key(9)));
    }
}
