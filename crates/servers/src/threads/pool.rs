//! MT's pool: how many threads there are, which connection each holds, whom to close when none is
//! free, and which of those who ask for the same loads it.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use h1::Lookup;
use measure::{Duration, Instant};
use os::{Blocking, Listener, Socket, SpareDescriptor, Wake};

use super::holds::{Hold, Holds};
use super::life::Keeper;
use crate::connection::books::Books;
use crate::connection::gate::{REFUSED_FOR, WAITED_MIN};
use crate::shared::counters::{Counter, Tally};
use crate::shared::server::Server;
use crate::shared::server::Worker;

/// Stack of a thread: the receive buffer and a few calls. Only touched pages cost memory.
const STACK_BYTES: usize = 128 << 10;
/// How long a thread above the minimum waits for a connection before it ends.
const SPARE_FOR: Duration = Duration::from_secs(10);
/// How often the pool looks again for a connection to close while no thread is free.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Of so many threads one is kept free for newcomers where others go for them: who comes waits for
/// no thread to be had, and who is to go is looked for once for several. A small pool keeps none.
const RESERVED_OF: usize = 64;

/// The pool.
pub(crate) struct Pool<'h> {
    server: &'h Server,
    worker: &'h Worker<'h>,
    threads: AtomicU32,
    free: AtomicU32,
    draining: AtomicBool,
    /// No thread is free, there may be no more, and somebody waits for one.
    pressed: AtomicBool,
    /// Held by the one free thread that waits for connections. If all waited, each connection would
    /// wake them all, and all but one for nothing.
    accepting: Mutex<Waiting>,
    /// When a connection was last waited for with success: nanoseconds.
    accepted_ns: AtomicU64,
    /// Tells the pool that the last free thread was taken.
    wake: Wake,
    spare: Mutex<SpareDescriptor>,
    holds: Holds,
    /// Threads that are to be free when there may be no more.
    reserve: u32,
    /// What threads are loading, so that others who ask for it wait.
    loading: Mutex<HashSet<Lookup>>,
    loaded: Condvar,
}

/// Connections that were accepted and that no thread holds yet.
#[derive(Default)]
pub(crate) struct Waiting {
    queue: VecDeque<(Arc<Socket>, usize)>,
    /// Which listening socket is the first: none is always the last.
    first: usize,
    /// Connections accepted in a drain: no more than could wait when it began.
    drained: u32,
    /// A drain has accepted all who waited.
    is_shut: bool,
}

/// A thread of the pool.
pub(crate) struct Member<'p> {
    pool: &'p Pool<'p>,
}

/// The right to accept.
pub(crate) type Accepting<'p> = MutexGuard<'p, Waiting>;

/// The right to load a name; given up when dropped.
pub(crate) struct Alone<'p> {
    pool: &'p Pool<'p>,
    lookup: Lookup,
}

/// A thread's hold on its connection; let go when dropped.
pub(crate) struct Held<'p> {
    pool: &'p Pool<'p>,
    hold: Arc<Hold>,
}

impl<'h> Pool<'h> {
    pub(crate) fn new(worker: &'h Worker<'h>) -> io::Result<Self> {
        Ok(Self {
            server: worker.server,
            worker,
            threads: AtomicU32::new(0),
            free: AtomicU32::new(0),
            draining: AtomicBool::new(false),
            pressed: AtomicBool::new(false),
            accepting: Mutex::default(),
            accepted_ns: AtomicU64::new(0),
            wake: Wake::new()?,
            spare: Mutex::new(SpareDescriptor::new()?),
            holds: Holds::default(),
            reserve: match worker.server.settings.make_room {
                true => (worker.server.connections_max / RESERVED_OF) as u32,
                false => 0,
            },
            loading: Mutex::default(),
            loaded: Condvar::new(),
        })
    }

    /// Runs `serve` on as many threads as are needed, until drained.
    pub(crate) fn run(&self, serve: impl Fn(&Member<'_>) + Sync) -> io::Result<()> {
        os::thread::set_name("weir-pool");
        std::thread::scope(|scope| {
            // Nobody is served by a pool that is not known to be ready: who has an answer may rely
            // on it that the supervisor will hear his signals.
            let turn = locked(&self.accepting);
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
            while self.threads.load(Acquire) > 0 {
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
        if !self.is_short() || self.worker.order.is_draining() {
            return true;
        }
        let is_free = self.free.load(Acquire) > 0;
        let has_grown = !is_free && self.may_grow() && self.spawn(scope, serve).is_ok();
        let is_waited_for = !is_free && !has_grown && self.is_waited_for();
        let wanted = if is_waited_for { self.reserve.max(1) } else { self.reserve };
        let closed = if has_grown { 0 } else { self.close_longest(wanted) };
        let makes_room = self.server.settings.make_room;
        self.pressed.store(is_waited_for && !(makes_room && self.is_leaving()), Release);
        closed > 0 || !is_waited_for
    }

    /// Whoever waits in a drain still gets a thread, which ends when nobody waits any more.
    fn look_after_drain<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        serve: &'s (impl Fn(&Member<'_>) + Sync),
    ) {
        self.wait(None, false);
        if self.free.load(Acquire) == 0 && self.may_grow() && self.is_waited_for() {
            // No memory for another thread: those that there are go on.
            let _ = self.spawn(scope, serve);
        }
    }

    /// Until a thread is wanted, or the order comes; in a drain, or where somebody may be, for a
    /// short time. `watches`: while no thread is free, until somebody waits for one.
    fn wait(&self, order: Option<&Arc<Wake>>, watches: bool) {
        let patience = (self.is_short() || order.is_none()).then_some(LOOK_AGAIN);
        let is_taken = self.free.load(Acquire) == 0 && !self.is_leaving();
        let listeners = self.server.listeners.iter().filter(|_| watches && is_taken);
        let wakes = [self.wake.as_fd_ref()].into_iter().chain(order.map(|wake| wake.as_fd_ref()));
        let all = wakes.chain(listeners.map(|listener| listener.as_fd_ref()));
        if os::wait_readable(all, patience).is_ok_and(|ready| ready[0]) {
            self.wake.clear();
        }
    }

    /// Whether fewer threads are free than are to be.
    fn is_short(&self) -> bool {
        let free = self.free.load(Acquire);
        free == 0 || free < self.reserve && !self.may_grow()
    }

    /// Whether somebody goes already.
    fn is_leaving(&self) -> bool {
        self.holds.leaving() > 0
    }

    fn may_grow(&self) -> bool {
        (self.threads.load(Acquire) as usize) < self.server.connections_max
    }

    fn spawn<'s, 'e>(
        &'s self,
        scope: &'s Scope<'s, 'e>,
        serve: &'s (impl Fn(&Member<'_>) + Sync),
    ) -> io::Result<()> {
        self.threads.fetch_add(1, Release);
        self.free.fetch_add(1, Release);
        let thread = Builder::new().name(String::from("weir-thread")).stack_size(STACK_BYTES);
        let spawned = thread.spawn_scoped(scope, move || serve(&Member { pool: self }));
        if let Err(e) = spawned {
            self.threads.fetch_sub(1, Release);
            self.free.fetch_sub(1, Release);
            return Err(e);
        }
        Ok(())
    }

    /// Whether a connection waits for a thread, in the kernel or accepted.
    fn is_waited_for(&self) -> bool {
        // While somebody has the turn a thread is free.
        let Ok(waiting) = self.accepting.try_lock() else { return false };
        !waiting.queue.is_empty() || (!waiting.is_shut && self.is_listener_ready())
    }

    /// In a drain: whether somebody still waits, and no more have come than could.
    fn lets_in(&self, waiting: &mut Waiting) -> bool {
        let waits = waiting.drained < self.server.waiting_max() && self.is_listener_ready();
        if !waits && !waiting.is_shut {
            waiting.is_shut = true;
            self.worker.stop_listening();
        }
        waits && !waiting.is_shut
    }

    /// Whether somebody waits whom nobody else accepts.
    fn is_listener_ready(&self) -> bool {
        let listeners = self.worker.kept_listeners();
        os::wait_readable(listeners.map(|listener| listener.as_fd_ref()), Some(Duration::ZERO))
            .is_ok_and(|ready| ready.iter().any(|&ready| ready))
    }

    /// Closes as many as it takes until so many threads are free; returns how many those are.
    fn close_longest(&self, wanted: u32) -> usize {
        let coming = self.free.load(Acquire) + self.holds.leaving();
        let missing = wanted.saturating_sub(coming) as usize;
        let only_idle = !self.server.settings.make_room;
        let latest = os::clock::monotonic() - WAITED_MIN;
        let closed = match missing {
            0 => 0,
            _ => self.holds.close_longest(missing, only_idle, latest),
        };
        let mut tally = Tally::default();
        tally.add(Counter::Evicted, closed as u64);
        tally.publish(&self.server.counters, self.worker.number);
        closed
    }
}

impl Member<'_> {
    /// Waits until a connection was accepted or can be; nothing: this thread is to end.
    pub(crate) fn wait_to_accept(&self) -> Option<Accepting<'_>> {
        let pool = self.pool;
        let mut turn = locked(&pool.accepting);
        if !turn.queue.is_empty() {
            return Some(turn);
        }
        let listeners = pool.server.listeners.iter().map(|listener| listener.as_fd_ref());
        let waited_for = [pool.worker.wake().as_fd_ref()].into_iter().chain(listeners);
        // Whoever follows one that has waited in vain need not wait as long again.
        let waited = os::clock::monotonic().ns.saturating_sub(pool.accepted_ns.load(Acquire));
        // The last free thread stays, but looks again whether it is: without any nobody would wait
        // for connections.
        let is_last = || pool.free.load(Acquire) <= 1;
        let is_spare = pool.threads.load(Acquire) > pool.server.settings.threads_min;
        let waited = if is_last() { Duration::ZERO } else { Duration::from_nanos(waited) };
        let patience = is_spare.then(|| SPARE_FOR.saturating_sub(waited));
        let stays = match os::wait_readable(waited_for, patience) {
            // An order to drain: whoever waits to be accepted is still served, and nobody after.
            Ok(ready) if ready[0] => pool.lets_in(&mut turn),
            Ok(ready) if ready.iter().any(|&ready| ready) => {
                pool.accepted_ns.store(os::clock::monotonic().ns, Release);
                true
            }
            Ok(_) => !is_spare || is_last(),
            Err(_) => false,
        };
        if stays {
            return Some(turn);
        }
        // Before the turn is given back: the next one in it decides by these.
        pool.threads.fetch_sub(1, Release);
        if pool.free.fetch_sub(1, Release) == 1 {
            pool.wake.wake();
        }
        None
    }

    /// Accepts up to `limit` connections from each listening socket, as far as there are threads
    /// for them, unless some that were accepted wait already.
    pub(crate) fn accept(&self, turn: &mut Accepting<'_>, books: &mut Books<'_>) {
        if !turn.queue.is_empty() {
            return;
        }
        let (server, worker) = (self.pool.server, self.pool.worker);
        let limit = server.accept_limit();
        let busy = self.pool.threads.load(Acquire).saturating_sub(self.pool.free.load(Acquire));
        let room = server.connections_max.saturating_sub(busy as usize);
        turn.first += 1;
        for (place, listener) in server.listeners_from(turn.first) {
            for _ in 0..limit {
                if turn.queue.len() >= room || !self.accept_one((place, listener), turn, books) {
                    break;
                }
            }
        }
        if worker.order.is_draining() {
            // A try that brought nobody counts, too: a socket that another generation has stopped
            // looks ready for ever.
            turn.drained = turn.drained.saturating_add(turn.queue.len().max(1) as u32);
        }
        turn.queue.iter().for_each(|(socket, _)| books.tally.accepted(Some(socket)));
    }

    fn accept_one(
        &self,
        (place, listener): (usize, &Listener),
        turn: &mut Accepting<'_>,
        books: &mut Books<'_>,
    ) -> bool {
        match listener.accept(Blocking::Yes) {
            Ok(socket) => turn.queue.push_back((Arc::new(socket), place)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
            Err(e) => {
                if books.refused(&e) == Counter::MachineFaults {
                    // In a drain those who wait can wait until somebody has gone.
                    let is_draining = self.pool.worker.order.is_draining();
                    let sheds = os::is_out_of_descriptors(&e) && !is_draining;
                    let shed = sheds && locked(&self.pool.spare).refuse(listener);
                    books.tally.add(Counter::Shed, u64::from(shed));
                    // With the right in hand, so that nobody else tries meanwhile.
                    let _ = os::wait_readable([], Some(REFUSED_FOR));
                    return false;
                }
            }
        }
        true
    }

    /// The right to load that name; nothing where another thread had it: that has ended by now, and
    /// what it has found is in memory, if it can be kept.
    pub(crate) fn alone(&self, lookup: &Lookup) -> Option<Alone<'_>> {
        let pool = self.pool;
        let mut loading = locked(&pool.loading);
        if loading.insert(lookup.clone()) {
            return Some(Alone { pool, lookup: lookup.clone() });
        }
        let is_loading = |loading: &mut HashSet<Lookup>| loading.contains(lookup);
        drop(pool.loaded.wait_while(loading, is_loading));
        None
    }

    /// The thread takes the connection in hand that was accepted first, and gives the turn back.
    pub(crate) fn hold(&self, mut turn: Accepting<'_>) -> Option<Held<'_>> {
        let (socket, listener) = turn.queue.pop_front()?;
        let hold = self.pool.holds.insert(socket, listener);
        let free = self.pool.free.fetch_sub(1, Release) - 1;
        drop(turn);
        if free == 0 || free + 1 == self.pool.reserve && !self.pool.may_grow() {
            self.pool.wake.wake();
        }
        Some(Held { pool: self.pool, hold })
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
    fn waits(&self, is_idle: bool, since: Option<Instant>) {
        self.pool.holds.waits(&self.hold, is_idle, since);
    }

    fn is_draining(&self) -> bool {
        self.pool.draining.load(SeqCst)
    }

    fn is_wanted(&self) -> bool {
        self.pool.pressed.load(Acquire) && self.pool.free.load(Acquire) == 0
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        locked(&self.pool.loading).remove(&self.lookup);
        self.pool.loaded.notify_all();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.pool.holds.remove(&self.hold);
        self.pool.free.fetch_add(1, Release);
    }
}

// A thread that panicked has not left these half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
