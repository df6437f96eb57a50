//! MT's pool: how many threads there are, which connection each holds, whom to close when none is
//! free, and which of those who ask for the same loads it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use h1::Lookup;
use measure::Duration;
use os::{Blocking, Listener, Socket, SpareDescriptor, Wake};

use super::holds::{Does, Hold, Holds, Latest};
use super::life::Keeper;
use super::loads::{Alone, Loads};
use super::members::{Bounds, Came, Door, Members, Stays, Turn};
use crate::connection::books::Books;
use crate::connection::gate::{REFUSED_FOR, WAITED_MIN, stays};
use crate::connection::intake::Intake;
use crate::shared::counters::{Counter, Tally};
use crate::shared::server::Server;
use crate::shared::server::Worker;
use crate::shared::stops::Stop;

/// Stack of a thread: the receive buffer and a few calls. Only touched pages cost memory.
const STACK_BYTES: usize = 128 << 10;
/// How long a thread above the minimum waits for a connection before it ends.
const SPARE_FOR: Duration = Duration::from_secs(10);
/// How often the pool looks again for a connection to close while no thread is free.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Of so many threads one is kept free for newcomers where others go for them: who comes waits for
/// no thread to be had, and who is to go is looked for once for several. A small pool keeps none.
const RESERVED_OF: u32 = 64;

/// The pool.
pub(crate) struct Pool<'h> {
    server: &'h Server,
    worker: &'h Worker<'h>,
    members: Members<Waiting>,
    draining: AtomicBool,
    /// When a connection was last waited for with success: nanoseconds.
    accepted_ns: AtomicU64,
    spare: Mutex<SpareDescriptor>,
    holds: Holds,
    loads: Loads<Lookup>,
    intake: Mutex<Intake>,
}

/// A connection that no thread holds yet, with the place of its listening socket.
type Waiting = (Arc<Socket>, usize);

/// A thread of the pool.
pub(crate) struct Member<'p> {
    pool: &'p Pool<'p>,
}

/// The right to accept.
pub(crate) type Accepting<'p> = Turn<'p, Waiting>;

/// What a call of accept has brought.
enum Taken {
    /// One, which may be lost already.
    One,
    /// Nobody waits.
    Nobody,
    /// The machine refuses.
    Refused,
}

/// A thread's hold on its connection; let go when dropped.
pub(crate) struct Held<'p> {
    pool: &'p Pool<'p>,
    hold: Arc<Hold>,
}

impl<'h> Pool<'h> {
    pub(crate) fn new(worker: &'h Worker<'h>) -> io::Result<Self> {
        let (server, settings) = (worker.server, &worker.server.settings);
        let most = u32::try_from(server.connections_max).unwrap_or(u32::MAX);
        let reserve = if settings.make_room { most / RESERVED_OF } else { 0 };
        let bounds = Bounds { least: settings.threads_min, most, reserve };
        Ok(Self {
            server,
            worker,
            members: Members::new(bounds)?,
            draining: AtomicBool::new(false),
            accepted_ns: AtomicU64::new(0),
            spare: Mutex::new(SpareDescriptor::new()?),
            holds: Holds::new(),
            loads: Loads::new(),
            intake: Mutex::new(Intake::new(worker, 1)),
        })
    }

    /// Runs `serve` on as many threads as are needed, until drained.
    pub(crate) fn run(&self, serve: impl Fn(&Member<'_>) + Sync) -> io::Result<()> {
        os::thread::set_name("weir-pool");
        std::thread::scope(|scope| {
            // Nobody is served by a pool that is not known to be ready: who has an answer may rely
            // on it that the supervisor will hear his signals.
            let turn = self.members.turn();
            // Without the first nothing is served; without others it is slow.
            self.spawn(scope, &serve)?;
            for _ in 1..self.server.connections_max.min(self.server.settings.threads_min as usize) {
                let _ = self.spawn(scope, &serve);
            }
            self.worker.ready();
            drop(turn);
            // Who may go is worth a look as soon as somebody comes, unless nobody could just now.
            let mut finds = self.server.settings.make_room;
            while !self.worker.order.is_draining() {
                finds = self.look_after(scope, &serve, finds) && self.server.settings.make_room;
            }
            let ordered = os::clock::monotonic();
            self.draining.store(true, SeqCst);
            let grace = match self.worker.order.is_retiring() {
                true => self.server.limits.idle_grace,
                false => Duration::ZERO,
            };
            let mut ended = false;
            while self.members.all() > 0 {
                if !ended && os::clock::monotonic() - ordered >= grace {
                    self.holds.end_idle();
                    ended = true;
                }
                self.look_after_drain(scope, &serve);
            }
            Ok(())
        })
    }

    /// Waits for an order or for a thread to be wanted; then makes another, or where that may not
    /// be, closes who has waited for longest. Where nobody goes, who is busy leaves after a reply.
    fn look_after<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        serve: &'s (impl Fn(&Member<'_>) + Sync),
        finds: bool,
    ) -> bool {
        self.wait(Some(self.worker.wake()), finds);
        let members = &self.members;
        if members.free() == 0 {
            self.intake().watch(self.worker, os::clock::monotonic());
        }
        if !members.is_short() || self.worker.order.is_draining() {
            return true;
        }
        // Before it is looked who waits: he has perhaps the thread by now of whoever went for him.
        let coming = self.holds.leaving() + members.free();
        let is_free = members.free() > 0;
        let has_grown = !is_free && members.may_grow() && self.spawn(scope, serve).is_ok();
        let is_waited_for = !is_free && !has_grown && members.is_waited_for(self);
        let wanted = if has_grown { 0 } else { members.wanted(is_waited_for) };
        let closed = self.close_longest(wanted.saturating_sub(coming) as usize);
        let makes_room = self.server.settings.make_room;
        members.press(is_waited_for && !(makes_room && self.is_leaving()));
        closed > 0 || !is_waited_for
    }

    /// Whoever waits in a drain still gets a thread, which ends when nobody waits any more.
    fn look_after_drain<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        serve: &'s (impl Fn(&Member<'_>) + Sync),
    ) {
        self.wait(None, false);
        let members = &self.members;
        if members.free() == 0 && members.may_grow() && members.is_waited_for(self) {
            // No memory for another thread: those that there are go on.
            let _ = self.spawn(scope, serve);
        }
    }

    /// Until a thread is wanted, or the order comes; in a drain, or where somebody may be, for a
    /// short time. `watches`: while no thread is free, until somebody waits for one.
    fn wait(&self, order: Option<&Arc<Wake>>, watches: bool) {
        let patience = (self.members.is_short() || order.is_none()).then_some(LOOK_AGAIN);
        let is_taken = self.members.free() == 0 && !self.is_leaving();
        let listeners = self.worker.listeners().filter(|_| watches && is_taken);
        let wake = self.members.wake();
        let wakes = [wake.as_fd_ref()].into_iter().chain(order.map(|wake| wake.as_fd_ref()));
        let all = wakes.chain(listeners.map(|(_, listener)| listener.as_fd_ref()));
        if os::wait_readable(all, patience).is_ok_and(|ready| ready[0]) {
            wake.clear();
        }
    }

    fn intake(&self) -> MutexGuard<'_, Intake> {
        self.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody goes already.
    fn is_leaving(&self) -> bool {
        self.holds.leaving() > 0
    }

    fn spawn<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        serve: &'s (impl Fn(&Member<'_>) + Sync),
    ) -> io::Result<()> {
        self.members.join();
        let thread = Builder::new().name(String::from("weir-thread")).stack_size(STACK_BYTES);
        let spawned = thread.spawn_scoped(scope, move || serve(&Member { pool: self }));
        spawned.map(drop).inspect_err(|_| self.members.refused())
    }

    /// Closes so many of those that have waited for longest, if there are; returns how many.
    fn close_longest(&self, most: usize) -> usize {
        if most == 0 {
            return 0;
        }
        let now = os::clock::monotonic();
        let head = self.server.settings.make_room.then_some(now - WAITED_MIN);
        let latest = Latest { idle: now - stays(self.server), head };
        let closed = self.holds.close_longest(most, &latest);
        let mut tally = Tally::default();
        tally.add(Counter::Evicted, closed as u64);
        tally.publish(&self.server.counters, self.worker.row);
        closed
    }
}

impl Door for Pool<'_> {
    fn wait(&self, why: Stays) -> Came {
        let listeners = self.worker.listeners().map(|(_, listener)| listener.as_fd_ref());
        let waited_for = [self.worker.wake().as_fd_ref()].into_iter().chain(listeners);
        // Whoever follows one that has waited in vain need not wait as long again.
        let waited = || os::clock::monotonic().ns.saturating_sub(self.accepted_ns.load(Acquire));
        let patience = match why {
            Stays::Always => None,
            Stays::WhileLast => Some(SPARE_FOR),
            Stays::ForAWhile => Some(SPARE_FOR.saturating_sub(Duration::from_nanos(waited()))),
        };
        match os::wait_readable(waited_for, patience) {
            Ok(ready) if ready[0] => Came::Order,
            Ok(ready) if ready.iter().any(|&ready| ready) => {
                self.accepted_ns.store(os::clock::monotonic().ns, Release);
                Came::Somebody
            }
            Ok(_) => Came::Nobody,
            Err(_) => Came::Fault,
        }
    }

    fn is_ready(&self) -> bool {
        let listeners = self.worker.kept_listeners();
        os::wait_readable(listeners.map(|listener| listener.as_fd_ref()), Some(Duration::ZERO))
            .is_ok_and(|ready| ready.iter().any(|&ready| ready))
    }

    fn shut(&self) {
        self.worker.stop_listening();
    }

    fn waiting_max(&self) -> u32 {
        self.server.waiting_max()
    }
}

impl Member<'_> {
    /// Waits until a connection was accepted or can be; nothing: this thread is to end.
    pub(crate) fn wait_to_accept(&self) -> Option<Accepting<'_>> {
        self.pool.members.wait_to_accept(self.pool)
    }

    /// Accepts as many connections from each listening socket as the intake lets in, and as there
    /// are threads for, unless some that were accepted wait already.
    pub(crate) fn accept(&self, turn: &mut Accepting<'_>, books: &mut Books<'_>) {
        if !turn.queue.is_empty() {
            return;
        }
        let worker = self.pool.worker;
        worker.server.stops.at(Stop::Woken);
        let mut intake = self.pool.intake();
        let room = self.pool.members.room();
        turn.first += 1;
        for (place, listener) in worker.listeners_from(turn.first) {
            let (before, mut emptied) = (turn.queue.len(), false);
            for _ in 0..intake.quota(worker, place, books.now.at) {
                if turn.queue.len() >= room {
                    break;
                }
                match self.accept_one((place, listener), turn, books) {
                    Taken::One => {}
                    Taken::Nobody => {
                        emptied = true;
                        break;
                    }
                    Taken::Refused => break,
                }
            }
            intake.took(worker, place, (turn.queue.len() - before) as u32, emptied);
        }
        if worker.order.is_draining() {
            turn.count_drained();
        }
        turn.queue.iter().for_each(|(socket, _)| books.tally.accepted(Some(socket)));
    }

    fn accept_one(
        &self,
        (place, listener): (usize, &Listener),
        turn: &mut Accepting<'_>,
        books: &mut Books<'_>,
    ) -> Taken {
        match listener.accept(Blocking::Yes) {
            Ok(socket) => {
                self.pool.server.stops.at(Stop::Accepted);
                turn.queue.push_back((Arc::new(socket), place));
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Taken::Nobody,
            Err(e) => {
                if books.refused(&e) == Counter::MachineFaults {
                    // In a drain those who wait can wait until somebody has gone.
                    let is_draining = self.pool.worker.order.is_draining();
                    let sheds = os::is_out_of_descriptors(&e) && !is_draining;
                    let spare = || self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner);
                    let shed = sheds && spare().refuse(listener);
                    books.tally.add(Counter::Shed, u64::from(shed));
                    // With the right in hand, so that nobody else tries meanwhile.
                    let _ = os::wait_readable([], Some(REFUSED_FOR));
                    return Taken::Refused;
                }
            }
        }
        Taken::One
    }

    /// See [`Loads::alone`].
    pub(crate) fn alone(&self, lookup: &Lookup) -> Option<Alone<'_, Lookup>> {
        self.pool.loads.alone(lookup)
    }

    /// The thread takes the connection that was accepted first, and gives the turn back.
    pub(crate) fn hold(&self, turn: Accepting<'_>) -> Option<Held<'_>> {
        let pool = self.pool;
        let (socket, listener) = pool.members.take(turn)?;
        Some(Held { pool, hold: pool.holds.insert(socket, listener) })
    }
}

impl Held<'_> {
    pub(crate) fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.hold.socket)
    }

    /// The place of its listening socket.
    pub(crate) fn listener(&self) -> usize {
        self.hold.listener
    }
}

impl Keeper for Held<'_> {
    fn says(&self, is_idle: bool, does: Does) -> bool {
        self.pool.holds.says(&self.hold, is_idle, does)
    }

    fn is_draining(&self) -> bool {
        self.pool.draining.load(SeqCst)
    }

    fn is_wanted(&self) -> bool {
        self.pool.members.is_pressed()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // First, so that the pool never finds neither a free thread nor one that is to be.
        self.pool.members.is_free_again();
        self.pool.holds.remove(&self.hold);
    }
}
