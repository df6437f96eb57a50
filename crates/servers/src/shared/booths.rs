//! Where processes that serve one connection each verify passwords themselves: few at a time, of
//! all of them together. As [`super::verifiers`], without threads and without a queue: who waits
//! for a place keeps a process that others could have.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use measure::Instant;
use os::SharedWords;
use site::Verification;

use crate::shared::ledger::Ledger;
use crate::shared::quotas::{Key, Rate};
use crate::shared::verifiers::{NO_ADDRESS, Refusal, THREADS_MAX, retry_after_s};

/// Those of all processes.
pub(crate) struct Booths {
    /// Who is in each: the number of a worker, counted from 1.
    taken: SharedWords,
    /// Failures of addresses; nothing: nobody counts them.
    failures: Option<Ledger>,
    retry_after_s: u32,
}

/// Of these, those that one address has at the same time: another finds room beside it.
const OF_ADDRESS_MAX: u32 = THREADS_MAX as u32 / 2;
const VACANT: u64 = 0;

/// A worker's stay in one; dropped, it is vacant.
struct Stay<'b> {
    booths: &'b Booths,
    at: usize,
    worker: usize,
}

impl Booths {
    /// All are vacant. An address may fail so often a minute; 0: as often as it likes.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new(workers: usize, failures_per_min: u32) -> io::Result<Self> {
        let rate = Rate::per_minute(failures_per_min);
        let counts = failures_per_min > 0;
        let failures = counts.then(|| Ledger::new(workers, OF_ADDRESS_MAX, rate)).transpose()?;
        let taken = SharedWords::new(THREADS_MAX)?;
        Ok(Self { taken, failures, retry_after_s: retry_after_s(failures_per_min) })
    }

    /// What a worker was in is vacant: it has died.
    pub(crate) fn ended(&self, worker: usize) {
        (0..self.taken.len()).for_each(|at| self.leave(at, worker));
        self.failures.iter().for_each(|failures| failures.ended(worker));
    }

    /// The verdict, now.
    ///
    /// # Errors
    /// The address has failed as often as it may, or all are taken.
    pub(crate) fn verify(
        &self,
        worker: usize,
        of: &Verification,
        from: Option<IpAddr>,
        at: Instant,
    ) -> Result<bool, Refusal> {
        let stay = self.enter(worker).ok_or(Refusal::Full)?;
        let from = Key::of(from.unwrap_or(NO_ADDRESS));
        self.admit(worker, from, at)?;
        let lets_in = of.verify();
        of.remember(lets_in, os::clock::monotonic());
        if let Some(failures) = &self.failures {
            failures.leaves(worker);
            if lets_in {
                failures.gives_back(from);
            }
        }
        drop(stay);
        Ok(lets_in)
    }

    /// Whoever asks is taken to fail until the verdict says otherwise.
    fn admit(&self, worker: usize, from: Key, at: Instant) -> Result<(), Refusal> {
        let Some(failures) = &self.failures else { return Ok(()) };
        if !failures.enters(worker, from) {
            return Err(Refusal::OfAddress { retry_after_s: 1 });
        }
        if failures.asks(from, at) {
            return Ok(());
        }
        failures.leaves(worker);
        Err(Refusal::OfAddress { retry_after_s: self.retry_after_s })
    }

    fn enter(&self, worker: usize) -> Option<Stay<'_>> {
        let is_mine = |at: &usize| {
            let taken = &self.taken[*at];
            taken.compare_exchange(VACANT, worker as u64 + 1, AcqRel, Relaxed).is_ok()
        };
        let at = (0..self.taken.len()).find(is_mine)?;
        Some(Stay { booths: self, at, worker })
    }

    /// That one, if the worker is in it.
    fn leave(&self, at: usize, worker: usize) {
        let who = worker as u64 + 1;
        let _ = self.taken[at].compare_exchange(who, VACANT, AcqRel, Acquire);
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.booths.leave(self.at, self.worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_in_at_a_time_and_who_has_died_is_not() {
        let booths = Booths::new(4, 0).unwrap();
        let stays: Vec<_> = (0..THREADS_MAX).map(|worker| booths.enter(worker)).collect();
        assert!(stays.iter().all(Option::is_some));
        assert!(booths.enter(3).is_none(), "all are taken");
        booths.ended(3);
        assert!(booths.enter(3).is_none(), "it was in none");
        // The first has died, and another has its number.
        booths.ended(0);
        assert!(booths.enter(0).is_some());
        drop(stays);
        assert!(booths.enter(3).is_some());
    }

    #[test]
    fn an_address_that_fails_too_often_is_put_off() {
        let booths = Booths::new(2, 2).unwrap();
        let (one, other) = (Key::of([192, 0, 2, 1].into()), Key::of([192, 0, 2, 2].into()));
        let told = |worker, from| match booths.admit(worker, from, Instant::ORIGIN) {
            Ok(()) => 0,
            Err(Refusal::OfAddress { retry_after_s }) => retry_after_s,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!([told(0, one), told(1, one), told(1, other)], [0, 1, 0]);
        booths.ended(0);
        assert_eq!(told(0, one), 0);
        booths.ended(0);
        assert_eq!(told(0, one), 30, "twice a minute");
    }
}
