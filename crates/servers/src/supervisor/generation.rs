//! A generation: the workers that serve with one set of settings, from their start to their end.
//!
//! Reload, change of architecture and upgrade are the same thing: a generation is started, and when
//! all its workers are ready, the one before it retires.

use std::sync::Arc;

use measure::Instant;
use os::Listener;
use os::process::{Exit, Pid};

use crate::shared::admissions::RENEWED_WITHIN;
use crate::shared::failure::Failure;
use crate::shared::server::Server;
use crate::supervisor::keeper;
use crate::supervisor::lookout::Lookout;
use crate::supervisor::voice::Voice;
use crate::supervisor::workers::{Kind, Workers};

/// See the head of this file.
pub(crate) struct Generation {
    /// From 1.
    pub(crate) number: u32,
    pub(crate) server: Box<Server>,
    workers: Workers,
    stage: Stage,
    /// When it was last looked whether workers renew what they have decided.
    looked: Instant,
    lookout: Option<Lookout>,
    /// Connections that were cut off.
    cut: u64,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Serves,
    /// Its workers finish what they have, until then.
    Ends {
        until: Instant,
    },
    /// They were killed.
    Killed,
}

impl Generation {
    /// Starts all workers.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(crate) fn start(
        number: u32,
        server: Box<Server>,
        voice: &mut Voice<'_>,
    ) -> Result<Self, Failure> {
        let kind =
            if server.architecture.kept { Kind::Keeper(keeper::forked) } else { Kind::Workers };
        let refused = |e| Failure::Machine(format!("cannot start a worker: {e}"));
        let workers = Workers::start(&server, kind, number == 1, voice).map_err(refused)?;
        let (looked, lookout) = (os::clock::monotonic(), Lookout::new(&server));
        Ok(Self { number, server, workers, stage: Stage::Serves, looked, lookout, cut: 0 })
    }

    /// Whether every worker has been ready to serve.
    pub(crate) fn is_ready(&self) -> bool {
        let Server { counters, dials, .. } = &*self.server;
        (0..dials.workers() as usize).all(|n| counters.has_started(n))
    }

    /// Whether some worker has.
    pub(crate) fn has_begun(&self) -> bool {
        let counters = &self.server.counters;
        (0..counters.workers()).any(|n| counters.has_started(n))
    }

    /// Whether it has not been told to end.
    pub(crate) fn serves(&self) -> bool {
        self.stage == Stage::Serves
    }

    /// Whether no worker is left.
    pub(crate) fn is_over(&self) -> bool {
        self.workers.are_over()
    }

    /// Goes on serving after a next generation has failed.
    pub(crate) fn goes_on(&self) {
        self.workers.keep_sockets(&self.server);
    }

    /// Whether a worker is on its way out, and its own sockets with it.
    pub(crate) fn is_parting(&self) -> bool {
        self.workers.are_parting(&self.server)
    }

    /// When [`Self::tick`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Serves => {
                let look = self.lookout.as_ref().map(Lookout::due);
                let renewed = self.looked + RENEWED_WITHIN;
                self.workers.due().into_iter().chain([renewed]).chain(look).min()
            }
            Stage::Ends { until } => Some(until),
            Stage::Killed => None,
        }
    }

    /// Starts workers whose back-off is over, and admits again whom nobody refuses any more; or
    /// kills those that take too long to end. `is_alone`: nobody else is to serve in its place, so
    /// that its sockets are no one else's, and the number of its workers may change.
    pub(crate) fn tick(&mut self, now: Instant, is_alone: bool, voice: &mut Voice<'_>) {
        match self.stage {
            Stage::Serves => {
                self.workers.tick(&self.server, now, is_alone, voice);
                if let Some(lookout) = &mut self.lookout {
                    lookout.look(&self.server, now);
                }
                self.lift_stale(now);
            }
            Stage::Ends { until } if until <= now => {
                voice.warn(&format!("generation {}: time is up", self.number));
                self.kill();
            }
            _ => {}
        }
    }

    /// Its workers finish what they have, because others serve in their place. Where these do not
    /// listen, nobody will: it takes who waits there.
    pub(crate) fn retire(&mut self, others: Option<&Server>, now: Instant) {
        let listeners = || self.server.listeners.iter().enumerate();
        let is_left = |listener: &Arc<Listener>| {
            others.is_some_and(|server| !server.listeners.iter().any(|l| Arc::ptr_eq(l, listener)))
        };
        let left = || listeners().filter(|(_, listener)| is_left(listener));
        // Refused for none; it matters only to how soon nobody waits.
        left().for_each(|(_, listener)| drop(listener.queue_nobody()));
        left().for_each(|(_, listener)| listener.remove_file());
        self.server.orders.leave_behind_only(left().map(|(n, _)| n));
        self.server.orders.all().retire();
        // Its workers decide nothing from now on; those that serve begin anew.
        match others {
            Some(server) => {
                (0..server.listeners.len()).for_each(|place| server.lift(place));
                server.listeners.share_out(server.dials.workers() as usize);
            }
            // Another program's settings hold; only who is refused by these workers is admitted.
            None => self.server.lift_refused(),
        }
        self.end(now);
    }

    /// Its workers finish what they have, because the site is no longer served.
    pub(crate) fn drain(&mut self, now: Instant) {
        self.server.orders.all().drain();
        // Whoever waits at a socket that was handed over waits for who comes after.
        let all = self.server.listeners.iter().enumerate();
        all.filter(|(_, listener)| listener.is_lent())
            .for_each(|(place, _)| self.server.lift(place));
        self.end(now);
    }

    /// Ends all workers at once.
    pub(crate) fn kill(&mut self) {
        self.stage = Stage::Killed;
        self.workers.kill();
    }

    /// Says what it has cost, when it is over; returns how many connections.
    pub(crate) fn close(&self, voice: &mut Voice<'_>) -> u64 {
        let order = self.server.orders.all();
        if order.is_retiring() {
            // Done by its workers, unless they were killed.
            self.server.stop_listening(order, 0..self.server.listeners.len());
        }
        if self.cut > 0 {
            voice.warn(&format!(
                "generation {}: {} connections were cut off; --drain-timeout-ms gives them longer",
                self.number, self.cut
            ));
        }
        self.cut
    }

    /// Takes note of the end of a worker, if it was one of these.
    ///
    /// # Errors
    /// The first worker of all ended by itself before it was ready, so that others would, too; it
    /// has said why.
    pub(crate) fn bury(
        &mut self,
        pid: Pid,
        exit: Exit,
        (now, is_alone): (Instant, bool),
        voice: &mut Voice<'_>,
    ) -> Result<(), Failure> {
        let Some(n) = self.workers.named(pid) else { return Ok(()) };
        let how = (now, self.serves(), is_alone);
        let buried = self.workers.bury(&self.server, n, exit, how, voice);
        self.cut += buried.inspect_err(|_| self.stage = Stage::Killed)?;
        Ok(())
    }

    /// Admits all connections again at a socket where no worker looks any more: the workers have
    /// died or been stopped, all their places are held, or no connection has come since.
    fn lift_stale(&mut self, now: Instant) {
        if now - self.looked < RENEWED_WITHIN {
            return;
        }
        self.looked = now;
        let server = &self.server;
        let is_stale = |place: &usize| server.admissions.is_stale(*place, now);
        (0..server.listeners.len()).filter(is_stale).for_each(|place| server.calm(place));
    }

    fn end(&mut self, now: Instant) {
        if self.stage != Stage::Killed {
            self.stage = Stage::Ends { until: now + self.server.settings.drain_timeout };
        }
        self.workers.end();
    }
}
