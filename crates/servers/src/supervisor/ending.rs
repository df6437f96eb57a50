//! How a server ends: it serves on while balancers notice, drains, and stops.

use std::io;

use measure::{Duration, Instant};
use os::notify::State;
use os::{Signal, process};

use super::generation::Generation;
use super::upgrade::Upgrade;
use super::{End, Program, Supervisor, tell};
use crate::shared::counters::{Counter, Totals};

impl Supervisor<'_> {
    /// Lets all workers finish what they have; kills those that take too long. Returns how many
    /// connections that cost.
    pub(super) fn drain(&mut self, end: End, program: &mut Program<'_>) -> io::Result<u64> {
        // Who handed over has not been told that this program serves: it still does so itself.
        let others_serve = end == End::Replaced || self.inheritance.is_some();
        let is_hurried = !others_serve && {
            tell(State::Stopping);
            self.upgrade.iter().for_each(|upgrade| upgrade.pass_on(Signal::Term));
            self.leave(program)?
        };
        let now = os::clock::monotonic();
        let mut patience = Duration::ZERO;
        for generation in &mut self.generations {
            if others_serve {
                generation.retire(None, now);
            } else {
                for listener in generation.server.listeners.iter() {
                    // Who waits is still accepted; it matters only to how soon that comes to an
                    // end.
                    let _ = listener.queue_nobody();
                    listener.remove_file();
                }
                generation.drain(now);
            }
            patience = patience.max(generation.server.settings.drain_timeout);
        }
        if is_hurried {
            self.stop_at_once(program);
        } else {
            let seconds = patience.as_secs();
            let line = format!("draining for at most {seconds} s; a second signal stops at once");
            program.voice.tell(&line);
        }
        // The first signal to one that was replaced asks for what it does already.
        let signals = if end == End::Replaced { 2 } else { 1 } - u32::from(is_hurried);
        let cut = self.see_out(signals, now + patience, program);
        if !others_serve {
            self.admin.remove_file();
        }
        cut
    }

    /// Until all have ended: by themselves, at so many signals more, or when the time is up.
    fn see_out(
        &mut self,
        mut signals: u32,
        until: Instant,
        program: &mut Program<'_>,
    ) -> io::Result<u64> {
        let mut cut = 0;
        loop {
            // Guests are told of a generation.
            if !self.admin.has_guests() {
                cut += self.close_gone(program);
            }
            if self.generations.is_empty() && self.upgrade.is_none() {
                return Ok(cut);
            }
            let waits = self.upgrade.is_some() || self.admin.has_guests();
            if self.attend(waits.then_some(until), program)? && signals > 0 {
                signals -= 1;
                match signals {
                    0 => self.stop_at_once(program),
                    _ => program.voice.tell("drains already; another signal stops at once"),
                }
            }
            if os::clock::monotonic() >= until {
                self.upgrade.take().iter().for_each(Upgrade::give_up);
                self.admin.turn_out();
            }
        }
    }

    /// Serves on for a while: balancers see that it is not ready, and clients that have a
    /// connection hear with their next reply that it was the last on it, because there are
    /// balancers that move no connection. Whether it is to end at once.
    fn leave(&mut self, program: &mut Program<'_>) -> io::Result<bool> {
        let serving = self.generations.iter().filter(|generation| generation.serves());
        let delay = serving.map(|generation| generation.server.settings.drain_delay).max();
        let Some(delay) = delay.filter(|delay| *delay > Duration::ZERO) else { return Ok(false) };
        self.generations.iter().for_each(|generation| generation.server.orders.all().leave());
        program
            .voice
            .tell(&format!("not ready for balancers; serving on for {} ms", delay.as_millis()));
        let until = os::clock::monotonic() + delay;
        while os::clock::monotonic() < until {
            if self.attend(Some(until), program)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// On the way to the end: waits until then for a signal, and looks after workers and logs.
    /// Whether it is to end at once.
    fn attend(&mut self, until: Option<Instant>, program: &mut Program<'_>) -> io::Result<bool> {
        let due = self.generations.iter().filter_map(Generation::due).chain(until).min();
        let signal = self.wait(due.map(|at| at - os::clock::monotonic()))?;
        let now = os::clock::monotonic();
        while let Some((pid, exit)) = process::wait_any_exited()? {
            self.upgrade.take_if(|upgrade| upgrade.pid == pid);
            for generation in &mut self.generations {
                // None that cannot start keeps the others from ending.
                let _ = generation.bury(pid, exit, (now, true), &mut program.voice);
            }
        }
        if signal == Some(Signal::Usr1) {
            self.reopen_logs();
        }
        for generation in &mut self.generations {
            generation.tick(now, false, &mut program.voice);
        }
        Ok(matches!(signal, Some(Signal::Term | Signal::Int)))
    }

    fn stop_at_once(&mut self, program: &mut Program<'_>) {
        program.voice.tell("stopping at once");
        self.generations.iter_mut().for_each(Generation::kill);
        self.upgrade.iter().for_each(Upgrade::give_up);
        self.admin.turn_out();
    }
}

/// What it has done, for the operator.
pub(super) fn summary(totals: &Totals) -> String {
    let total = |counter| totals.of(counter);
    format!(
        "stopped: {} connections, {} replies, {} bytes, {} timeouts; faults: {} of peers, {} of \
         files, {} of the machine",
        total(Counter::Accepted),
        total(Counter::Replies),
        total(Counter::Bytes),
        total(Counter::Timeouts),
        total(Counter::PeerFaults),
        total(Counter::FileFaults),
        total(Counter::MachineFaults),
    )
}
