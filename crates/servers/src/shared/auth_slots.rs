//! Where processes that serve one connection each verify passwords: in place, few at a time of all
//! of them together, in the order in which they came. As [`super::verifiers`], without threads: a
//! process that waits for its turn has a connection, so few may wait.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering::SeqCst;

use measure::{Duration, Instant};
use os::SharedWords;
use site::Verification;

use crate::shared::ledger::Ledger;
use crate::shared::quotas::{Key, Rate};
use crate::shared::verifiers::{NO_ADDRESS, Refusal, THREADS_MAX, WAITING_MAX, retry_after_s};

/// The queue of all processes for the few that may verify at a time.
pub(crate) struct AuthSlots {
    /// The ticket of each worker, and behind them the next one.
    tickets: SharedWords,
    /// How many processes may have a ticket.
    most: usize,
    /// Failures of addresses. `None`: they are not counted.
    failures: Option<Ledger>,
    retry_after_s: u32,
}

/// A quarter of the workers may wait for their turn: the others serve.
const WAITING_OF: usize = 4;
/// A quarter of these may wait for the same address: three others find room beside it.
const OF_ADDRESS: usize = 4;

/// A worker that verifies nothing, and one that is about to draw its ticket. Tickets are more.
const NONE: u64 = 0;
const DRAWS: u64 = 1;

/// How often a process looks whether it is its turn: a small part of a hash, which takes 250 ms at
/// bcrypt's cost 12.
const LOOK: Duration = Duration::from_millis(5);

/// How long a login waits for its turn: for more than the hashes of a full queue take at bcrypt's
/// cost 12, and no longer than clients wait.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The ticket of a worker, which is given back when dropped.
struct Turn<'s> {
    slots: &'s AuthSlots,
    worker: usize,
    ticket: u64,
}

impl AuthSlots {
    /// All are free. An address may fail so often a minute; 0: as often as it likes.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new(workers: usize, failures_per_min: u32) -> io::Result<Self> {
        let waiting_max = (workers / WAITING_OF).min(WAITING_MAX);
        let rate = Rate::per_minute(failures_per_min);
        let of_address_max = (waiting_max / OF_ADDRESS).max(1) as u32;
        let counts = failures_per_min > 0;
        let failures = counts.then(|| Ledger::new(workers, of_address_max, rate)).transpose()?;
        let (tickets, most) = (SharedWords::new(workers + 1)?, THREADS_MAX + waiting_max);
        Ok(Self { tickets, most, failures, retry_after_s: retry_after_s(failures_per_min) })
    }

    /// Gives back what a worker had, because it has died.
    pub(crate) fn ended(&self, worker: usize) {
        self.tickets[worker].store(NONE, SeqCst);
        self.failures.iter().for_each(|failures| failures.ended(worker));
    }

    /// Verifies a password, and waits for its turn to do so.
    ///
    /// # Errors
    /// The address has failed as often as it may, or too many processes wait, or its turn does not
    /// come.
    pub(crate) fn verify(
        &self,
        worker: usize,
        of: &Verification,
        from: Option<IpAddr>,
        at: Instant,
    ) -> Result<bool, Refusal> {
        let from = Key::of(from.unwrap_or(NO_ADDRESS));
        self.admit(worker, from, at)?;
        let turn = self.queue(worker).filter(Turn::await_it);
        let lets_in = turn.is_some().then(|| of.verify());
        if let Some(lets_in) = lets_in {
            of.remember(lets_in, os::clock::monotonic());
        }
        drop(turn);
        if let Some(failures) = &self.failures {
            failures.leaves(worker);
            if lets_in != Some(false) {
                failures.gives_back(from);
            }
        }
        lets_in.ok_or(Refusal::Full)
    }

    /// Counts a request as a failure until its verdict says otherwise.
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

    /// Draws a ticket. `None`: too many processes have one.
    fn queue(&self, worker: usize) -> Option<Turn<'_>> {
        let (next, tickets) = self.tickets.split_last().expect("a word more than workers");
        // A process that draws counts as the first, so that no ticket is overtaken by a lower one.
        tickets[worker].store(DRAWS, SeqCst);
        let ticket = next.fetch_add(1, SeqCst) + DRAWS + 1;
        let turn = Turn { slots: self, worker, ticket };
        if turn.ahead() >= self.most {
            return None;
        }
        tickets[worker].store(ticket, SeqCst);
        Some(turn)
    }
}

impl Turn<'_> {
    /// How many processes verify or wait before this one.
    fn ahead(&self) -> usize {
        let (_, tickets) = self.slots.tickets.split_last().expect("a word more than workers");
        let is_ahead = |(worker, ticket): (usize, u64)| {
            worker != self.worker && ticket != NONE && ticket < self.ticket
        };
        let all = tickets.iter().map(|word| word.load(SeqCst)).enumerate();
        all.filter(|&one| is_ahead(one)).count()
    }

    fn has_come(&self) -> bool {
        self.ahead() < THREADS_MAX
    }

    /// Waits until it has come. `false`: processes that verify are stopped, or hashes are slow.
    fn await_it(&self) -> bool {
        let until = os::clock::monotonic() + WAIT_MAX;
        while !self.has_come() {
            if os::clock::monotonic() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.slots.tickets[self.worker].store(NONE, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_verify_at_a_time_in_the_order_in_which_they_came() {
        let slots = AuthSlots::new(20, 0).unwrap();
        let mut turns: Vec<_> = [3, 0, 4, 1].map(|worker| slots.queue(worker).unwrap()).into();
        let come = |turns: &[Turn<'_>]| Vec::from_iter(turns.iter().map(Turn::has_come));
        assert_eq!(come(&turns), [true, true, false, false]);
        turns.remove(0);
        assert_eq!(come(&turns), [true, true, false]);
        // The first of them has died, and another worker draws just now.
        slots.ended(0);
        assert_eq!(come(&turns[1..]), [true, true]);
        slots.tickets[2].store(DRAWS, SeqCst);
        assert_eq!(come(&turns[1..]), [true, false]);
    }

    #[test]
    fn a_queue_that_is_full_refuses() {
        let slots = AuthSlots::new(8, 0).unwrap();
        let most = THREADS_MAX + 2;
        let mut turns: Vec<_> = (0..most).map(|worker| slots.queue(worker).unwrap()).collect();
        assert!(slots.queue(most).is_none());
        turns.pop();
        assert!(slots.queue(most).is_some(), "one has gone");
    }

    #[test]
    fn an_address_that_fails_too_often_is_put_off() {
        let slots = AuthSlots::new(2, 2).unwrap();
        let (one, other) = (Key::of([192, 0, 2, 1].into()), Key::of([192, 0, 2, 2].into()));
        let told = |worker, from| match slots.admit(worker, from, Instant::ORIGIN) {
            Ok(()) => 0,
            Err(Refusal::OfAddress { retry_after_s }) => retry_after_s,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!([told(0, one), told(1, one), told(1, other)], [0, 1, 0]);
        slots.ended(0);
        assert_eq!(told(0, one), 0);
        slots.ended(0);
        assert_eq!(told(0, one), 30, "twice a minute");
    }

    #[test]
    fn an_address_has_a_part_of_the_queue() {
        let one = Key::of([192, 0, 2, 1].into());
        for (workers, most) in [(2, 1), (64, 4), (1024, 8)] {
            let slots = AuthSlots::new(workers, 1000).unwrap();
            let admits = |worker: &usize| slots.admit(*worker, one, Instant::ORIGIN).is_ok();
            assert_eq!((0..workers).filter(admits).count(), most, "{workers} workers");
        }
    }
}
