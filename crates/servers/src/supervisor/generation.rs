//! A generation: the workers that serve with one set of settings, from their start to their end.
//!
//! Reload, change of architecture and upgrade are the same thing: a generation is started, and when
//! all its workers are ready, the one before it retires.
//!
//! How many of its workers serve may be turned while they do: of as many as there may be the first
//! ones do, the last ones end alone, as in a generation that retires, and are started again when
//! more are wanted. One with a listening socket of its own is left out first: nobody new comes to
//! it, whoever has begun to come is let in, and only then it accepts who waits and stops listening.

use std::io;
use std::sync::Arc;

use measure::{Duration, Instant};
use os::Listener;
use os::process::{self, Exit, Fork, Pid};

use crate::shared::admissions::RENEWED_WITHIN;
use crate::shared::counters::Counter;
use crate::shared::error_log::By;
use crate::shared::failure::Failure;
use crate::shared::server::Server;
use crate::shared::settings::Level;
use crate::supervisor::back_off::BackOff;
use crate::supervisor::lookout::Lookout;
use crate::supervisor::serving;
use crate::supervisor::voice::Voice;

/// See the head of this file.
pub(crate) struct Generation {
    /// From 1.
    pub(crate) number: u32,
    pub(crate) server: Box<Server>,
    workers: Vec<Process>,
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

/// One that runs a worker, or did, or will.
struct Process {
    state: State,
    started: Instant,
    back_off: BackOff,
}

enum State {
    Runs(Pid),
    /// Fewer are to serve: nobody new comes to it, and until then it serves who has begun to.
    LeftOut {
        pid: Pid,
        until: Instant,
    },
    /// Fewer are to serve: it finishes what it has. Until then; nothing: it was killed.
    Leaves {
        pid: Pid,
        until: Option<Instant>,
    },
    Waits {
        until: Instant,
    },
    Ended,
}

impl Process {
    fn pid(&self) -> Option<Pid> {
        match self.state {
            State::Runs(pid) | State::LeftOut { pid, .. } | State::Leaves { pid, .. } => Some(pid),
            State::Waits { .. } | State::Ended => None,
        }
    }
}

/// How long a handshake may take that began before its socket was left out: the first answer to a
/// SYN is sent again after a second.
const HANDSHAKE_MAX: Duration = Duration::from_secs(1);

impl Generation {
    /// Starts all workers.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(crate) fn start(number: u32, server: Box<Server>) -> Result<Self, Failure> {
        let back_off = BackOff::default();
        let worker = || Process { state: State::Ended, started: Instant::ORIGIN, back_off };
        let workers = (0..server.counters.workers()).map(|_| worker()).collect();
        let stage = Stage::Serves;
        let looked = os::clock::monotonic();
        let lookout = Lookout::new(&server);
        let mut generation = Self { number, server, workers, stage, looked, lookout, cut: 0 };
        for n in 0..generation.wanted() {
            if let Err(e) = generation.start_worker(n) {
                generation.kill();
                return Err(Failure::Machine(format!("cannot start a worker: {e}")));
            }
        }
        Ok(generation)
    }

    /// Whether every worker has been ready to serve.
    pub(crate) fn is_ready(&self) -> bool {
        let counters = &self.server.counters;
        (0..self.wanted()).all(|n| counters.has_started(n))
    }

    /// How many workers are to serve.
    fn wanted(&self) -> usize {
        self.server.dials.workers() as usize
    }

    /// Whether it has not been told to end.
    pub(crate) fn serves(&self) -> bool {
        self.stage == Stage::Serves
    }

    /// Whether no worker is left.
    pub(crate) fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| worker.pid().is_none())
    }

    /// When [`Self::tick`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let changes = self.workers.iter().filter_map(|worker| match worker.state {
            State::Waits { until } | State::LeftOut { until, .. } => Some(until),
            State::Leaves { until, .. } => until,
            State::Runs(_) | State::Ended => None,
        });
        match self.stage {
            Stage::Serves => {
                let look = self.lookout.as_ref().map(Lookout::due);
                changes.chain([self.looked + RENEWED_WITHIN]).chain(look).min()
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
                if is_alone {
                    self.keep_number(now, voice);
                }
                self.kill_late(now, voice);
                self.start_due(now);
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

    /// As many workers as are to serve, and no more. Who is on his way out is let go first: of the
    /// sockets at an address only the last may end.
    fn keep_number(&mut self, now: Instant, voice: &mut Voice<'_>) {
        let wanted = self.wanted();
        let mut changes = false;
        for n in 0..self.workers.len() {
            let is_wanted = n < wanted;
            let comes_own = self.server.listeners.has_own(n);
            match self.workers[n].state {
                State::Ended if is_wanted && !self.is_parting() => {
                    self.begin_again(n, now);
                    voice.tell(&format!("worker {n} is to serve"));
                    changes = true;
                }
                State::Runs(pid) if !is_wanted && comes_own => {
                    self.workers[n].state = State::LeftOut { pid, until: now + HANDSHAKE_MAX };
                    changes = true;
                }
                State::LeftOut { pid, .. } if is_wanted => {
                    self.workers[n].state = State::Runs(pid);
                    changes = true;
                }
                State::Runs(pid) if !is_wanted => self.let_go(n, pid, now, voice),
                State::LeftOut { pid, until } if until <= now => self.let_go(n, pid, now, voice),
                // Whoever waits at its own socket has nobody else.
                State::Waits { .. } if !is_wanted && !comes_own => {
                    self.workers[n].state = State::Ended;
                }
                // A generation that came to nothing has left it listening.
                State::Ended if !is_wanted && comes_own => {
                    self.workers[n].state = State::Waits { until: now };
                    changes = true;
                }
                _ => {}
            }
        }
        if changes {
            self.share_out();
        }
    }

    /// Those that take too long to leave.
    fn kill_late(&mut self, now: Instant, voice: &mut Voice<'_>) {
        for (n, worker) in self.workers.iter_mut().enumerate() {
            let State::Leaves { pid, until: Some(until) } = worker.state else { continue };
            if until <= now {
                voice.warn(&format!("worker {n} (process {pid}): time is up"));
                // One that cannot be killed has ended, and is buried like the others.
                let _ = process::kill(pid);
                worker.state = State::Leaves { pid, until: None };
            }
        }
    }

    /// A worker that has left serves again, and so do its own sockets.
    fn begin_again(&mut self, n: usize, now: Instant) {
        let Server { listeners, orders, dials, .. } = &*self.server;
        for place in listeners.own_places(n) {
            // No error is known of it.
            let _ = listeners[place].listen(dials.backlog_max());
        }
        orders.take_back(n, listeners.own_places(n));
        self.workers[n].back_off = BackOff::default();
        self.workers[n].state = State::Waits { until: now };
    }

    /// A worker is to finish what it has. From its own sockets nobody else accepts.
    fn let_go(&mut self, n: usize, pid: Pid, now: Instant, voice: &mut Voice<'_>) {
        let Server { listeners, orders, settings, .. } = &*self.server;
        orders.leave_behind(listeners.own_places(n));
        orders.of(n).retire();
        let until = Some(now + settings.drain_timeout);
        self.workers[n].state = State::Leaves { pid, until };
        voice.tell(&format!("worker {n} (process {pid}) leaves"));
    }

    /// Whether a worker is on its way out, and its own sockets with it.
    pub(crate) fn is_parting(&self) -> bool {
        let goes = |state: &State| matches!(state, State::LeftOut { .. } | State::Leaves { .. });
        let mut all = self.workers.iter().enumerate();
        let wanted = self.wanted();
        all.any(|(n, worker)| {
            (n >= wanted || goes(&worker.state)) && self.server.listeners.has_own(n)
        })
    }

    /// Newcomers are shared out among those who stay, each with a socket of its own.
    fn share_out(&self) {
        let wanted = self.wanted();
        let stays = |worker: &Process| matches!(worker.state, State::Runs(_) | State::Waits { .. });
        let stay = self.workers.iter().take(wanted).take_while(|worker| stays(worker)).count();
        self.server.listeners.share_out(stay.max(1));
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
        self.server.orders.leave_behind(left().map(|(n, _)| n));
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
        for worker in &mut self.workers {
            match worker.pid() {
                // One that cannot be killed has ended, and is buried like the others.
                Some(pid) => drop(process::kill(pid)),
                None => worker.state = State::Ended,
            }
        }
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
        now: Instant,
        voice: &mut Voice<'_>,
    ) -> Result<(), Failure> {
        let is_it = |worker: &Process| worker.pid() == Some(pid);
        let Some(n) = self.workers.iter().position(is_it) else { return Ok(()) };
        let lost = self.server.counters.ended(n);
        self.server.common.iter().for_each(|common| common.ended(n));
        let worker = &mut self.workers[n];
        // Whoever waits now by way of this one waits for another.
        self.server.listeners.ring();
        let leaves = matches!(worker.state, State::LeftOut { .. } | State::Leaves { .. });
        if self.stage != Stage::Serves || leaves {
            self.cut += lost;
            // One that was to empty its own socket and has not: another does, by the same order.
            if self.stage == Stage::Serves && self.server.listeners.has_own(n) {
                let most = self.server.settings.restart_wait_max;
                let until = now + worker.back_off.wait(now - worker.started, most);
                worker.state = State::Waits { until };
            } else {
                worker.state = State::Ended;
            }
            if self.stage == Stage::Serves {
                self.share_out();
            }
            return Ok(());
        }
        if matches!(exit, Exit::Status(_)) && self.server.counters.total(Counter::Started) == 0 {
            self.kill();
            self.workers[n].state = State::Ended;
            return Err(Failure::Machine(format!("worker {n} could not start")));
        }
        let wait =
            worker.back_off.wait(now - worker.started, self.server.settings.restart_wait_max);
        worker.state = State::Waits { until: now + wait };
        let when = match wait {
            Duration::ZERO => String::from("at once"),
            _ => format!("in {} ms", wait.as_millis()),
        };
        voice.complain(&format!("worker {n} (process {pid}) {exit}; started again {when}"));
        self.start_due(now);
        Ok(())
    }

    /// Who was refused in a flood is admitted where no worker looks any more: all have died, or
    /// stand still, or nobody has come since.
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
        for worker in &mut self.workers {
            if matches!(worker.state, State::Waits { .. }) {
                worker.state = State::Ended;
            }
        }
    }

    fn start_due(&mut self, now: Instant) {
        for n in 0..self.workers.len() {
            let State::Waits { until } = self.workers[n].state else { continue };
            if until > now {
                continue;
            }
            if self.start_worker(n).is_err() {
                let until = now + self.server.settings.restart_wait_max;
                self.workers[n].state = State::Waits { until };
            } else if let State::Runs(pid) = self.workers[n].state
                && self.server.orders.of(n).is_draining()
            {
                let until = Some(now + self.server.settings.drain_timeout);
                self.workers[n].state = State::Leaves { pid, until };
            }
        }
    }

    fn start_worker(&mut self, n: usize) -> io::Result<()> {
        match process::fork()? {
            Fork::Parent(pid) => {
                self.workers[n].state = State::Runs(pid);
                self.workers[n].started = os::clock::monotonic();
                Ok(())
            }
            Fork::Child => {
                // Signals stay blocked: a ^C at the terminal reaches workers too, and it is the
                // supervisor who decides what it means.
                process::die_with_parent();
                let ran = self.run(n);
                let by = By::Worker(n);
                match &ran {
                    Ok(()) => self.server.errors.write(Level::Info, by, "has drained"),
                    Err(e) => {
                        let text = format!("{}: {e}", self.server.architecture.name);
                        self.server.errors.write(Level::Error, by, &text);
                    }
                }
                process::exit(i32::from(ran.is_err()))
            }
        }
    }

    /// In the process of a worker: serves until it has drained. What it inherits and does not need,
    /// it has not: the admin listener, its connections, the signals, other workers' orders.
    fn run(&self, n: usize) -> io::Result<()> {
        let server = &*self.server;
        if let Err(e) = process::keep_only(&server.descriptors(n)) {
            let text = format!("keeps descriptors that it does not need: {e}");
            server.errors.write(Level::Warn, By::Worker(n), &text);
        }
        let by = format!("begins as process {} by {}", process::id(), server.architecture.name);
        server.errors.write(Level::Debug, By::Worker(n), &by);
        serving::serve(server, n)
    }
}
