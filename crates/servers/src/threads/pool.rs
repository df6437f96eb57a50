//! MT's pool: how many threads there are, which of them accepts, and when more are made or somebody
//! goes for another.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{Builder, Scope};

use measure::Duration;
use os::Wake;

use super::entrance::{Accepted, Entrance, Held, Threads};
use super::members::{Bounds, Came, Door, Members, Stays, Turn};
use crate::connection::books::Books;
use crate::connection::gate::REFUSED_FOR;
use crate::shared::server::Worker;

/// Stack of a thread: the receive buffer and a few calls. Only touched pages cost memory.
pub(super) const STACK_BYTES: usize = 128 << 10;
/// How long a thread above the minimum waits for a connection before it ends.
const SPARE_FOR: Duration = Duration::from_secs(10);
/// How often it is looked again for a connection to close while no thread is to be had.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Of so many threads one is kept free for newcomers where others go for them: who comes waits for
/// no thread to be had, and who is to go is looked for once for several. A small pool keeps none.
pub(super) const RESERVED_OF: u32 = 64;

/// The pool.
pub(crate) struct Pool<'h> {
    entrance: Entrance<'h>,
    members: Members<Accepted>,
    /// When a connection was last waited for with success: nanoseconds.
    accepted_ns: AtomicU64,
}

/// A thread of the pool.
pub(crate) struct Member<'p> {
    pool: &'p Pool<'p>,
}

/// The right to accept.
pub(crate) type Accepting<'p> = Turn<'p, Accepted>;

impl<'h> Pool<'h> {
    pub(crate) fn new(worker: &'h Worker<'h>) -> io::Result<Self> {
        let settings = &worker.server.settings;
        let most = u32::try_from(worker.server.connections_max).unwrap_or(u32::MAX);
        let reserve = if settings.make_room { most / RESERVED_OF } else { 0 };
        let bounds = Bounds { least: settings.threads_min, most, reserve };
        Ok(Self {
            entrance: Entrance::new(worker)?,
            members: Members::new(bounds)?,
            accepted_ns: AtomicU64::new(0),
        })
    }

    /// Runs `serve` on as many threads as are needed, until drained.
    pub(crate) fn run(&self, serve: impl Fn(&Member<'_>) + Sync) -> io::Result<()> {
        os::thread::set_name("weir-pool");
        let Entrance { server, worker, .. } = self.entrance;
        std::thread::scope(|scope| {
            // Nobody is served by a pool that is not known to be ready: who has an answer may rely
            // on it that the supervisor will hear his signals.
            let turn = self.members.turn();
            // Without the first nothing is served; without others it is slow.
            self.spawn(scope, &serve)?;
            for _ in 1..server.connections_max.min(server.settings.threads_min as usize) {
                let _ = self.spawn(scope, &serve);
            }
            worker.ready();
            drop(turn);
            // Who may go is worth a look as soon as somebody comes, unless nobody could just now.
            let mut finds = server.settings.make_room;
            while !worker.order.is_draining() {
                finds = self.look_after(scope, &serve, finds) && server.settings.make_room;
            }
            let ordered = os::clock::monotonic();
            self.entrance.drain();
            let grace = self.entrance.grace();
            let mut ended = false;
            while self.members.all() > 0 {
                if !ended && os::clock::monotonic() - ordered >= grace {
                    self.entrance.holds.end_idle();
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
        let Entrance { server, worker, holds, .. } = &self.entrance;
        self.wait(Some(worker.wake()), finds);
        let members = &self.members;
        if members.free() == 0 {
            self.entrance.intake().watch(worker, os::clock::monotonic());
        }
        if !members.is_short() || worker.order.is_draining() {
            return true;
        }
        // Before it is looked who waits: he has perhaps the thread by now of whoever went for him.
        let coming = holds.leaving() + members.free();
        let is_free = members.free() > 0;
        let has_grown = !is_free && members.may_grow() && self.spawn(scope, serve).is_ok();
        let is_waited_for = !is_free && !has_grown && members.is_waited_for(self);
        let waiting = if is_waited_for { worker.waiting().max(1) } else { 0 };
        let wanted = if has_grown { 0 } else { waiting.max(members.reserve()) };
        let closed = self.entrance.evict(wanted, waiting, coming as usize);
        let makes_room = server.settings.make_room;
        members.press(is_waited_for && !(makes_room && self.entrance.is_leaving()));
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
        let is_taken = self.members.free() == 0 && !self.entrance.is_leaving();
        let listeners = self.entrance.worker.listeners().filter(|_| watches && is_taken);
        let wake = self.members.wake();
        let wakes = [wake.as_fd_ref()].into_iter().chain(order.map(|wake| wake.as_fd_ref()));
        let all = wakes.chain(listeners.map(|(_, listener)| listener.as_fd_ref()));
        if os::wait_readable(all, patience).is_ok_and(|ready| ready[0]) {
            wake.clear();
        }
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
}

impl Door for Pool<'_> {
    fn wait(&self, why: Stays) -> Came {
        let worker = self.entrance.worker;
        let listeners = worker.listeners().map(|(_, listener)| listener.as_fd_ref());
        let waited_for = [worker.wake().as_fd_ref()].into_iter().chain(listeners);
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
        self.entrance.is_ready()
    }

    fn shut(&self) {
        self.entrance.worker.stop_listening();
    }

    fn waiting_max(&self) -> u32 {
        self.entrance.server.waiting_max()
    }
}

impl Threads for Pool<'_> {
    fn is_wanted(&self) -> bool {
        self.members.is_pressed()
    }

    fn let_go(&self) {
        self.members.is_free_again();
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
        let Pool { entrance, members, .. } = self.pool;
        turn.first += 1;
        if entrance.accept((turn.first, members.room()), &mut turn.queue, books) {
            // With the right in hand, so that nobody else tries meanwhile.
            let _ = os::wait_readable([], Some(REFUSED_FOR));
        }
        if entrance.worker.order.is_draining() {
            turn.count_drained();
        }
    }

    /// The thread takes the connection that was accepted first, and gives the turn back.
    pub(crate) fn hold(&self, turn: Accepting<'_>) -> Option<Held<'_>> {
        let pool = self.pool;
        let accepted = pool.members.take(turn)?;
        Some(Held::new(&pool.entrance, pool, accepted))
    }
}
