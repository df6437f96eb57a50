//! The supervisor: owns the listening sockets, starts workers, restarts one that died, drains.
//!
//! It has one thread and never touches a request, so that it may fork at any time and goes on
//! whatever happens to a worker. A worker is a forked process that runs an architecture; what it
//! shares with the supervisor are the listening sockets, the counters and the order to drain.

use std::io;
use std::sync::Arc;

use h1::{Limits, Shared};
use measure::{Duration, Instant};
use os::process::{self, Exit, Fork, Pid};
use os::signals::{Signal, Signals};

use crate::House;
use crate::counters::{Counter, Counters};
use crate::error_log::By;
use crate::failure::Failure;
use crate::registry::Architecture;
use crate::session::Sessions;
use crate::settings::{Level, Settings};
use crate::start;

/// Serves until SIGTERM, SIGINT or SIGHUP (the terminal is gone), then drains for at most
/// `drain_timeout`; a second signal stops at once. `sessions` makes what speaks with each
/// connection; `say` gets lines for the operator.
///
/// # Errors
/// Nothing could be served: see [`Failure`].
pub fn serve(
    settings: Settings,
    sessions: impl FnOnce(&Shared<Limits>) -> Sessions,
    say: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let mut taken = vec![Signal::Term, Signal::Int, Signal::Child, Signal::Usr1];
    // Under nohup(1) it is to be ignored.
    taken.extend(Some(Signal::Hup).filter(|signal| !signal.is_ignored()));
    let signals = Signals::take(&taken).map_err(blind)?;
    // Only now: whoever reads where it listens may send a signal at once.
    let (house, architecture) = start::house(settings, sessions, say)?;
    let mut supervisor = Supervisor::new(&house, architecture, &signals);
    supervisor.start_all()?;
    supervisor.supervise(say)?;
    let cut = supervisor.drain(say).map_err(blind)?;
    if cut > 0 {
        say(&format!("{cut} connections were cut off; --drain-timeout-ms gives them longer"));
    }
    say(&summary(&house.counters));
    if cut == 0 { Ok(()) } else { Err(Failure::Cut) }
}

/// How long a worker waits to be started again: at once the first time, then ever longer, because
/// one that dies at once would otherwise keep a processor busy with dying.
const BACK_OFF_FIRST: Duration = Duration::from_millis(100);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);
/// A worker that lived so long is again started at once.
const LIVED_LONG: Duration = Duration::from_secs(60);

struct Supervisor<'h> {
    house: &'h House,
    architecture: &'static Architecture,
    signals: &'h Signals,
    workers: Vec<Worker>,
}

struct Worker {
    state: State,
    started: Instant,
    back_off: Duration,
}

enum State {
    Runs(Pid),
    Waits { until: Instant },
    Ended,
}

impl<'h> Supervisor<'h> {
    fn new(house: &'h House, architecture: &'static Architecture, signals: &'h Signals) -> Self {
        let worker =
            || Worker { state: State::Ended, started: Instant::ORIGIN, back_off: Duration::ZERO };
        let workers = (0..house.settings.processes).map(|_| worker()).collect();
        Self { house, architecture, signals, workers }
    }

    fn start_all(&mut self) -> Result<(), Failure> {
        for n in 0..self.workers.len() {
            self.start(n).map_err(|e| Failure::Machine(format!("cannot start a worker: {e}")))?;
        }
        Ok(())
    }

    fn start(&mut self, n: usize) -> io::Result<()> {
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
                let by =
                    format!("begins as process {} by {}", process::id(), self.architecture.name);
                self.house.errors.write(Level::Debug, By::Worker(n), &by);
                let ran = (self.architecture.run)(self.house, n);
                let (level, text) = match &ran {
                    Ok(()) => (Level::Info, String::from("has drained")),
                    Err(e) => (Level::Error, format!("{}: {e}", self.architecture.name)),
                };
                self.house.errors.write(level, By::Worker(n), &text);
                process::exit(i32::from(ran.is_err()))
            }
        }
    }

    /// Until the first signal to end.
    fn supervise(&mut self, say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        loop {
            let now = os::clock::monotonic();
            let due = self.workers.iter().filter_map(|worker| match worker.state {
                State::Waits { until } => Some(until - now),
                _ => None,
            });
            match self.signals.wait(due.min()).map_err(blind)? {
                Some(Signal::Term | Signal::Int | Signal::Hup) => return Ok(()),
                Some(Signal::Usr1) => self.house.orders.reopen_logs(),
                Some(_) => self.bury(say)?,
                None => self.start_due(),
            }
        }
    }

    /// Takes note of workers that have ended, and starts them again or says when. One that could
    /// not even begin has said why, and would not be able to the next time either.
    fn bury(&mut self, say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        while let Some((pid, exit)) = process::wait_any_exited().map_err(blind)? {
            let Some(n) = self.worker(pid) else { continue };
            let started = self.house.counters.total(Counter::Started);
            if matches!(exit, Exit::Status(_)) && started == 0 {
                return Err(Failure::Machine(format!("worker {n} could not start")));
            }
            self.house.counters.ended(n);
            let now = os::clock::monotonic();
            let worker = &mut self.workers[n];
            if now - worker.started >= LIVED_LONG {
                worker.back_off = Duration::ZERO;
            }
            let wait = worker.back_off;
            worker.back_off = (wait * 2).clamp(BACK_OFF_FIRST, BACK_OFF_MAX);
            worker.state = State::Waits { until: now + wait };
            say(&format!("worker {n} (process {pid}) {exit}; started again in {wait:?}"));
        }
        self.start_due();
        Ok(())
    }

    fn start_due(&mut self) {
        let now = os::clock::monotonic();
        for n in 0..self.workers.len() {
            let State::Waits { until } = self.workers[n].state else { continue };
            if until <= now && self.start(n).is_err() {
                self.workers[n].state = State::Waits { until: now + BACK_OFF_MAX };
            }
        }
    }

    /// Lets the workers finish what they have; kills those that take too long. Returns how many
    /// connections that cost.
    fn drain(&mut self, say: &mut dyn FnMut(&str)) -> io::Result<u64> {
        let patience = self.house.settings.drain_timeout;
        for listener in &self.house.listeners {
            // Who waits is still accepted; it matters only to how soon that comes to an end.
            let _ = listener.queue_nobody();
        }
        self.house.orders.drain();
        say(&format!("draining for at most {} s", patience.as_secs()));
        let end = os::clock::monotonic() + patience;
        let mut killed = false;
        let mut cut = 0;
        loop {
            while let Some((pid, _)) = process::wait_any_exited()? {
                if let Some(n) = self.worker(pid) {
                    self.workers[n].state = State::Ended;
                    cut += self.house.counters.ended(n);
                }
            }
            let running = self.workers.iter().filter_map(|worker| match worker.state {
                State::Runs(pid) => Some(pid),
                _ => None,
            });
            let running: Vec<Pid> = running.collect();
            if running.is_empty() {
                return Ok(cut);
            }
            // Who was killed is waited for as long as that takes.
            let left = (!killed).then(|| end - os::clock::monotonic());
            let signal = self.signals.wait(left)?;
            if signal == Some(Signal::Usr1) {
                self.house.orders.reopen_logs();
                continue;
            }
            if !matches!(signal, Some(Signal::Child)) && !core::mem::replace(&mut killed, true) {
                say("stopping at once");
                for pid in running {
                    process::kill(pid)?;
                }
            }
        }
    }

    fn worker(&self, pid: Pid) -> Option<usize> {
        let runs = |worker: &Worker| matches!(worker.state, State::Runs(p) if p == pid);
        self.workers.iter().position(runs)
    }
}

fn blind(error: io::Error) -> Failure {
    Failure::Machine(format!("cannot wait for signals and workers: {error}"))
}

fn summary(counters: &Counters) -> String {
    let total = |counter| counters.total(counter);
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

/// Sessions that speak HTTP/1.1 as it is on the wire.
#[must_use]
pub fn plain(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |now| Box::new(h1::Connection::new(Shared::clone(&limits), now.at)))
}
