//! The processes of workers, as who starts and buries them sees them: the supervisor, or a keeper
//! whom the supervisor has started in their place.
//!
//! How many of them serve may be turned while they do: of as many as there may be the first ones
//! do, the last ones end alone, as in a generation that retires, and are started again when more
//! are wanted. One with a listening socket of its own is left out first: nobody new comes to it,
//! whoever has begun to come is let in, and only then it accepts who waits and stops listening.

use std::{io, mem};

use measure::{Duration, Instant};
use os::process::{self, Exit, Pid};

use crate::shared::counters::Counter;
use crate::shared::failure::Failure;
use crate::shared::server::Server;
use crate::supervisor::back_off::BackOff;
use crate::supervisor::voice::Voice;
use crate::supervisor::worker::{Nursery, forked};

/// See the head of this file.
pub(super) struct Workers {
    all: Vec<Process>,
    kind: Kind,
}

/// What the processes are.
pub(super) enum Kind {
    /// Workers, as many as are wanted.
    Workers,
    /// One that keeps all workers, and how it is started.
    Keeper(fn(&Server, &mut Voice<'_>) -> io::Result<Pid>),
    /// Workers that a keeper has.
    Kept(Nursery),
}

/// One that runs a worker, or did, or will.
struct Process {
    state: State,
    started: Instant,
    back_off: BackOff,
    /// The machine has refused it, and that was told.
    is_refused: bool,
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

    fn leaves(&self) -> bool {
        matches!(self.state, State::LeftOut { .. } | State::Leaves { .. })
    }
}

/// How long a handshake may take that began before its socket was left out: the first answer to a
/// SYN is sent again after a second.
const HANDSHAKE_MAX: Duration = Duration::from_secs(1);

impl Kind {
    const fn is_keeper(&self) -> bool {
        matches!(self, Self::Keeper(_))
    }
}

impl Workers {
    /// Starts them all. One that the machine refuses is tried again where those that run already
    /// may have clients, who would be lost: not in the first start of all (`is_first`), nor where
    /// it has a socket of its own, nor where no worker of a keeper has served.
    ///
    /// # Errors
    /// The machine refuses a process: those that run already are killed.
    pub(super) fn start(
        server: &Server,
        kind: Kind,
        is_first: bool,
        voice: &mut Voice<'_>,
    ) -> io::Result<Self> {
        let most = if kind.is_keeper() { 1 } else { server.counters.workers() };
        let back_off = BackOff::default();
        let (started, is_refused) = (Instant::ORIGIN, false);
        let process = || Process { state: State::Ended, started, back_off, is_refused };
        let mut workers = Self { all: (0..most).map(|_| process()).collect(), kind };
        for n in 0..workers.wanted(server) {
            let Err(refused) = workers.begin(server, n, voice) else { continue };
            let goes_on = match workers.kind {
                // Whoever comes to its own socket would wait in vain.
                Kind::Workers => !is_first && !workers.has_own(server, n),
                Kind::Kept(_) => server.counters.total(Counter::Started) > 0,
                Kind::Keeper(_) => false,
            };
            if n == 0 || !goes_on {
                workers.kill();
                return Err(refused);
            }
            workers.refused(server, n, &refused, voice);
        }
        Ok(workers)
    }

    /// How many are to serve.
    pub(super) fn wanted(&self, server: &Server) -> usize {
        if self.kind.is_keeper() { 1 } else { server.dials.workers() as usize }
    }

    /// Whether none is left.
    pub(super) fn are_over(&self) -> bool {
        self.all.iter().all(|process| process.pid().is_none())
    }

    /// When [`Self::tick`] is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = self.all.iter().filter_map(|process| match process.state {
            State::Waits { until } | State::LeftOut { until, .. } => Some(until),
            State::Leaves { until, .. } => until,
            State::Runs(_) | State::Ended => None,
        });
        due.min()
    }

    /// Starts those whose back-off is over, and kills those that take too long to leave. Their
    /// number may change where `is_alone`: nobody else has their sockets.
    pub(super) fn tick(
        &mut self,
        server: &Server,
        now: Instant,
        is_alone: bool,
        voice: &mut Voice<'_>,
    ) {
        if is_alone {
            match self.kind {
                Kind::Workers => self.keep_number(server, now, voice),
                Kind::Keeper(_) => order_number(server, voice),
                Kind::Kept(_) => self.follow_orders(server, now),
            }
        } else {
            self.stay_left_out(now);
        }
        self.kill_late(now, voice);
        self.start_due(server, now, is_alone, voice);
    }

    /// Those that would be started again are not.
    pub(super) fn end(&mut self) {
        for process in &mut self.all {
            if matches!(process.state, State::Waits { .. }) {
                process.state = State::Ended;
            }
        }
    }

    /// Ends all at once.
    pub(super) fn kill(&mut self) {
        for process in &mut self.all {
            match process.pid() {
                // One that cannot be killed has ended, and is buried like the others.
                Some(pid) => drop(process::kill(pid)),
                None => process.state = State::Ended,
            }
        }
    }

    /// Which of them that process is.
    pub(super) fn named(&self, pid: Pid) -> Option<usize> {
        self.all.iter().position(|process| process.pid() == Some(pid))
    }

    /// Takes note of the end of one, and has it started again where it `serves` and was not to
    /// leave. Returns how many connections were cut off that nobody finishes.
    ///
    /// # Errors
    /// The first of all ended by itself before it was ready, so that others would, too; it has said
    /// why.
    pub(super) fn bury(
        &mut self,
        server: &Server,
        n: usize,
        exit: Exit,
        (now, serves, is_alone): (Instant, bool, bool),
        voice: &mut Voice<'_>,
    ) -> Result<u64, Failure> {
        // Whoever waits now by way of this one waits for another.
        server.listeners.ring();
        if matches!(self.kind, Kind::Kept(_)) && !serves {
            // It is told of with its keeper's end.
            self.all[n].state = State::Ended;
            return Ok(0);
        }
        // One that is kept may have heard its order before its keeper has. The order may be taken
        // back as soon as the worker is forgotten.
        let is_told = matches!(self.kind, Kind::Kept(_)) && server.orders.of(n).is_draining();
        let lost = self.forget(server, n);
        let (is_own, leaves) = (self.has_own(server, n), is_told || self.all[n].leaves());
        if !serves {
            self.all[n].state = State::Ended;
            return Ok(lost);
        }
        if leaves {
            // One that was to empty its own socket and has not: another does, by the same order,
            // unless those who come next have the socket.
            self.all[n].state = State::Ended;
            if is_own && is_alone {
                self.put_off(server, n, now);
            }
            self.share_out(server);
            return Ok(lost);
        }
        if matches!(exit, Exit::Status(_)) && server.counters.total(Counter::Started) == 0 {
            self.kill();
            self.all[n].state = State::Ended;
            return Err(Failure::Machine(format!("{} could not start", self.name(n))));
        }
        let (name, pid) = (self.name(n), self.all[n].pid());
        let wait = self.put_off(server, n, now);
        let when = match wait {
            Duration::ZERO => String::from("at once"),
            _ => format!("in {} ms", wait.as_millis()),
        };
        let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
        voice.complain(&format!("{name}{process} {exit}; started again {when}"));
        self.start_due(server, now, is_alone, voice);
        Ok(0)
    }

    /// Leaves the sockets of workers that are leaving to these workers, which empty and stop them,
    /// because no next generation has them.
    pub(super) fn keep_sockets(&self, server: &Server) {
        for n in (0..self.all.len()).filter(|n| self.all[*n].leaves()) {
            server.orders.leave_behind(server.listeners.own_places(n));
        }
    }

    /// What starts those that are kept.
    pub(super) fn nursery(&mut self) -> Option<&mut Nursery> {
        match &mut self.kind {
            Kind::Kept(nursery) => Some(nursery),
            Kind::Workers | Kind::Keeper(_) => None,
        }
    }

    /// Whether a worker is on its way out, and its own sockets with it.
    pub(super) fn are_parting(&self, server: &Server) -> bool {
        let wanted = self.wanted(server);
        let mut all = self.all.iter().enumerate();
        all.any(|(n, process)| (n >= wanted || process.leaves()) && self.has_own(server, n))
    }

    /// As many as are to serve, and no more. Who is on his way out is let go first: of the sockets
    /// at an address only the last may end.
    fn keep_number(&mut self, server: &Server, now: Instant, voice: &mut Voice<'_>) {
        let wanted = self.wanted(server);
        let mut changes = false;
        for n in 0..self.all.len() {
            let is_wanted = n < wanted;
            let comes_own = self.has_own(server, n);
            match self.all[n].state {
                State::Ended if is_wanted && !self.are_parting(server) => {
                    self.begin_again(server, n, now);
                    voice.tell(&format!("worker {n} is to serve"));
                    changes = true;
                }
                State::Runs(pid) if !is_wanted && comes_own => {
                    self.all[n].state = State::LeftOut { pid, until: now + HANDSHAKE_MAX };
                    changes = true;
                }
                State::LeftOut { pid, .. } if is_wanted => {
                    self.all[n].state = State::Runs(pid);
                    changes = true;
                }
                State::Runs(pid) if !is_wanted => self.let_go(server, (n, pid), now, voice),
                State::LeftOut { pid, until } if until <= now => {
                    self.let_go(server, (n, pid), now, voice);
                }
                // Whoever waits at its own socket has nobody else.
                State::Waits { .. } if !is_wanted && !comes_own => {
                    self.all[n].state = State::Ended;
                }
                // A generation that came to nothing has left it listening.
                State::Ended if !is_wanted && comes_own => {
                    server.orders.leave_behind(server.listeners.own_places(n));
                    self.all[n].state = State::Waits { until: now };
                    changes = true;
                }
                _ => {}
            }
        }
        if changes {
            self.share_out(server);
        }
    }

    /// Who is told to leave does, and who is told no more is started again: it is the supervisor
    /// who tells them.
    fn follow_orders(&mut self, server: &Server, now: Instant) {
        for (n, process) in self.all.iter_mut().enumerate() {
            match (&process.state, server.orders.of(n).is_draining()) {
                (&State::Runs(pid), true) => {
                    let until = Some(now + server.settings.drain_timeout);
                    process.state = State::Leaves { pid, until };
                }
                (State::Waits { .. }, true) => process.state = State::Ended,
                (State::Ended, false) => {
                    process.back_off = BackOff::default();
                    process.state = State::Waits { until: now };
                }
                _ => {}
            }
        }
    }

    /// Who is left out stays so while others may have its sockets.
    fn stay_left_out(&mut self, now: Instant) {
        for process in &mut self.all {
            match &mut process.state {
                State::LeftOut { until, .. } if *until <= now => *until = now + HANDSHAKE_MAX,
                _ => {}
            }
        }
    }

    /// Those that take too long to leave.
    pub(super) fn kill_late(&mut self, now: Instant, voice: &mut Voice<'_>) {
        for (n, process) in self.all.iter_mut().enumerate() {
            let State::Leaves { pid, until: Some(until) } = process.state else { continue };
            if until <= now {
                voice.warn(&format!("worker {n} (process {pid}): time is up"));
                // One that cannot be killed has ended, and is buried like the others.
                let _ = process::kill(pid);
                process.state = State::Leaves { pid, until: None };
            }
        }
    }

    /// A worker that has left serves again, and so do its own sockets.
    fn begin_again(&mut self, server: &Server, n: usize, now: Instant) {
        let Server { listeners, orders, dials, .. } = server;
        for place in listeners.own_places(n) {
            // No error is known of it.
            let _ = listeners[place].listen(dials.backlog_max());
        }
        orders.take_back(n, listeners.own_places(n));
        self.all[n].back_off = BackOff::default();
        self.all[n].state = State::Waits { until: now };
    }

    /// A worker is to finish what it has. From its own sockets nobody else accepts.
    fn let_go(
        &mut self,
        server: &Server,
        (n, pid): (usize, Pid),
        now: Instant,
        voice: &mut Voice<'_>,
    ) {
        let Server { listeners, orders, settings, .. } = server;
        orders.leave_behind(listeners.own_places(n));
        orders.of(n).retire();
        self.all[n].state = State::Leaves { pid, until: Some(now + settings.drain_timeout) };
        voice.tell(&format!("worker {n} (process {pid}) leaves"));
    }

    /// Newcomers are shared out among those who stay, each with a socket of its own.
    fn share_out(&self, server: &Server) {
        let wanted = self.wanted(server);
        let stays =
            |process: &Process| matches!(process.state, State::Runs(_) | State::Waits { .. });
        let stay = self.all.iter().take(wanted).take_while(|process| stays(process)).count();
        server.listeners.share_out(stay.max(1));
    }

    /// Has one started again after its back-off, and says how long that is.
    fn put_off(&mut self, server: &Server, n: usize, now: Instant) -> Duration {
        let process = &mut self.all[n];
        let most = server.settings.restart_wait_max;
        let wait = process.back_off.wait(now - process.started, most);
        process.state = State::Waits { until: now + wait };
        wait
    }

    fn start_due(&mut self, server: &Server, now: Instant, is_alone: bool, voice: &mut Voice<'_>) {
        for n in 0..self.all.len() {
            let State::Waits { until } = self.all[n].state else { continue };
            // One that is to empty its own socket would stop that for those who come next.
            let is_held = !is_alone && server.orders.of(n).is_draining();
            if until > now || is_held {
                continue;
            }
            if let Err(refused) = self.begin(server, n, voice) {
                self.refused(server, n, &refused, voice);
            } else if let State::Runs(pid) = self.all[n].state
                && server.orders.of(n).is_draining()
            {
                // It is to empty a socket of its own.
                let until = Some(now + server.settings.drain_timeout);
                self.all[n].state = State::Leaves { pid, until };
            }
        }
    }

    /// Starts the process, but not one that is kept and ordered to leave: an order to it that is
    /// taken back was then given to no process (see [`order_number`]).
    fn begin(&mut self, server: &Server, n: usize, voice: &mut Voice<'_>) -> io::Result<()> {
        server.counters.begins(n);
        if matches!(self.kind, Kind::Kept(_)) && server.orders.of(n).is_draining() {
            server.counters.ended(n);
            self.all[n].state = State::Ended;
            return Ok(());
        }
        let pid = match &mut self.kind {
            Kind::Workers => forked(server, n),
            Kind::Keeper(start) => start(server, voice),
            Kind::Kept(nursery) => nursery.start(server, n),
        };
        let pid = pid.inspect_err(|_| {
            server.counters.ended(n);
        })?;
        let started = os::clock::monotonic();
        let process = &mut self.all[n];
        (process.state, process.started, process.is_refused) = (State::Runs(pid), started, false);
        Ok(())
    }

    /// The machine refuses a process, which is told once, and tried again.
    fn refused(&mut self, server: &Server, n: usize, why: &io::Error, voice: &mut Voice<'_>) {
        let wait = server.settings.restart_wait_max;
        self.all[n].state = State::Waits { until: os::clock::monotonic() + wait };
        if !mem::replace(&mut self.all[n].is_refused, true) {
            let (name, ms) = (self.name(n), wait.as_millis());
            voice.complain(&format!("{name} cannot be started: {why}; tried every {ms} ms"));
        }
    }

    /// What the process had is closed. Returns how many connections that were.
    fn forget(&self, server: &Server, n: usize) -> u64 {
        let all = 0..server.counters.workers();
        let workers = if self.kind.is_keeper() { all } else { n..n + 1 };
        let ended = |n| {
            server.common.iter().for_each(|common| common.ended(n));
            server.counters.ended(n)
        };
        workers.map(ended).sum()
    }

    fn has_own(&self, server: &Server, n: usize) -> bool {
        !self.kind.is_keeper() && server.listeners.has_own(n)
    }

    fn name(&self, n: usize) -> String {
        if self.kind.is_keeper() { String::from("keeper") } else { format!("worker {n}") }
    }
}

/// Tells workers that a keeper has how many of them are to serve: the last ones leave, and one that
/// has ended may come back. A worker that has heard its order would stop listening where others
/// accept, if the order were taken back before its end.
fn order_number(server: &Server, voice: &mut Voice<'_>) {
    let Server { counters, dials, orders, .. } = server;
    for n in 0..counters.workers() {
        let is_wanted = n < dials.workers() as usize;
        let leaves = orders.of(n).is_draining();
        if !is_wanted && !leaves {
            orders.of(n).retire();
            voice.tell(&format!("worker {n} leaves"));
        } else if is_wanted && leaves && counters.is_gone(n) {
            orders.take_back(n, std::iter::empty());
            voice.tell(&format!("worker {n} is to serve"));
        }
    }
}
