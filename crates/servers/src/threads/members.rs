//! The threads of MT's pool: how many there are, how many are free, which of these waits for
//! connections, and what it has accepted for the others. It makes no call but to wake the pool.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

use super::sync::{AtomicBool, AtomicU32, Mutex, MutexGuard, PoisonError, Wake};

/// How many there are, with the connections of type `C` that they have accepted.
pub(super) struct Members<C> {
    bounds: Bounds,
    all: AtomicU32,
    free: AtomicU32,
    /// No thread is free, there may be no more, and somebody waits for one.
    pressed: AtomicBool,
    /// Held by the one free thread that waits for connections. If all waited, each connection would
    /// wake them all, and all but one for nothing.
    accepting: Mutex<Accepted<C>>,
    /// Tells the pool that the last free thread was taken.
    wake: Wake,
}

/// How many there are to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) least: u32,
    pub(super) most: u32,
    /// Threads that are to be free when there may be no more.
    pub(super) reserve: u32,
}

impl Bounds {
    /// Below that the reserve is filled again: at once for several who have come.
    const fn low(&self) -> u32 {
        self.reserve.div_ceil(2)
    }
}

/// Connections that were accepted and that no thread holds yet.
pub(crate) struct Accepted<C> {
    pub(super) queue: VecDeque<C>,
    /// Which listening socket is the first: none is always the last.
    pub(super) first: usize,
    /// Connections accepted in a drain: no more than could wait when it began.
    drained: u32,
    /// A drain has accepted all who waited.
    is_shut: bool,
}

/// The right to accept.
pub(super) type Turn<'m, C> = MutexGuard<'m, Accepted<C>>;

/// Where connections come from.
pub(super) trait Door {
    /// Until somebody can be accepted, or the order to drain has come.
    fn wait(&self, why: Stays) -> Came;

    /// Whether somebody waits whom nobody else accepts.
    fn is_ready(&self) -> bool;

    /// A drain has accepted all who could wait when it began.
    fn shut(&self);

    /// How many could wait.
    fn waiting_max(&self) -> u32;
}

/// Why a thread that waits for connections stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stays {
    /// There are no more than are always to be.
    Always,
    /// Without any free one nobody would wait for connections.
    WhileLast,
    /// Somebody may come soon.
    ForAWhile,
}

/// What ended a wait for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Somebody,
    Order,
    Nobody,
    /// The machine refuses to wait.
    Fault,
}

impl<C> Members<C> {
    /// # Errors
    /// No descriptor is left.
    pub(super) fn new(bounds: Bounds) -> io::Result<Self> {
        let accepted = Accepted { queue: VecDeque::new(), first: 0, drained: 0, is_shut: false };
        Ok(Self {
            bounds,
            all: AtomicU32::new(0),
            free: AtomicU32::new(0),
            pressed: AtomicBool::new(false),
            accepting: Mutex::new(accepted),
            wake: Wake::new()?,
        })
    }

    /// A free thread waits until a connection was accepted or can be; nothing: it is to end, and is
    /// counted no more.
    pub(super) fn wait_to_accept(&self, door: &impl Door) -> Option<Turn<'_, C>> {
        let mut turn = self.turn();
        if !turn.queue.is_empty() {
            return Some(turn);
        }
        let stays = match door.wait(self.stays()) {
            Came::Somebody => true,
            // Whoever waits to be accepted is still served, and nobody after.
            Came::Order => self.lets_in(&mut turn, door),
            Came::Nobody => self.stays() != Stays::ForAWhile,
            Came::Fault => false,
        };
        if stays {
            return Some(turn);
        }
        // Before the turn is given back: the next one in it decides by these.
        let was_last = self.free.fetch_sub(1, Release) == 1;
        self.all.fetch_sub(1, Release);
        if was_last {
            self.wake.wake();
        }
        None
    }

    /// The free thread in turn takes the connection that was accepted first, if any, is free no
    /// more, and gives the turn back.
    pub(super) fn take(&self, mut turn: Turn<'_, C>) -> Option<C> {
        let first = turn.queue.pop_front()?;
        let free = self.free.fetch_sub(1, Release) - 1;
        drop(turn);
        if free == 0 || free + 1 == self.bounds.low() && !self.may_grow() {
            self.wake.wake();
        }
        Some(first)
    }

    /// It has let go of its connection.
    pub(super) fn is_free_again(&self) {
        self.free.fetch_add(1, Release);
    }

    /// One more, free as yet.
    pub(super) fn join(&self) {
        self.all.fetch_add(1, Release);
        self.free.fetch_add(1, Release);
    }

    /// The machine has refused the one that was to join.
    pub(super) fn refused(&self) {
        self.free.fetch_sub(1, Release);
        self.all.fetch_sub(1, Release);
    }

    pub(super) fn all(&self) -> u32 {
        self.all.load(Acquire)
    }

    pub(super) fn free(&self) -> u32 {
        self.free.load(Acquire)
    }

    pub(super) fn may_grow(&self) -> bool {
        self.all() < self.bounds.most
    }

    /// Whether fewer are free than are to be.
    pub(super) fn is_short(&self) -> bool {
        let free = self.free();
        free == 0 || free < self.bounds.low() && !self.may_grow()
    }

    /// How many are to be free.
    pub(super) const fn reserve(&self) -> usize {
        self.bounds.reserve as usize
    }

    /// How many connections can be taken by those that are free or can join.
    pub(super) fn room(&self) -> usize {
        let busy = self.all().saturating_sub(self.free());
        self.bounds.most.saturating_sub(busy) as usize
    }

    /// Says whether those that are busy are to end with a reply.
    pub(super) fn press(&self, pressed: bool) {
        self.pressed.store(pressed, Release);
    }

    pub(super) fn is_pressed(&self) -> bool {
        self.pressed.load(Acquire) && self.free() == 0
    }

    /// Whether a connection waits for a thread, accepted or not.
    pub(super) fn is_waited_for(&self, door: &impl Door) -> bool {
        // While somebody has the turn a thread is free.
        let Ok(accepted) = self.accepting.try_lock() else { return false };
        !accepted.queue.is_empty() || (!accepted.is_shut && door.is_ready())
    }

    /// Becomes readable when the pool is to look after them.
    pub(super) const fn wake(&self) -> &Wake {
        &self.wake
    }

    /// As [`Self::wait_to_accept`], without waiting for anybody to come.
    pub(super) fn turn(&self) -> Turn<'_, C> {
        // A thread that panicked has not left it half changed.
        self.accepting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stays(&self) -> Stays {
        if self.all() <= self.bounds.least {
            Stays::Always
        } else if self.free() <= 1 {
            Stays::WhileLast
        } else {
            Stays::ForAWhile
        }
    }

    /// In a drain: whether somebody still waits, and no more have come than could.
    fn lets_in(&self, accepted: &mut Accepted<C>, door: &impl Door) -> bool {
        let waits = accepted.drained < door.waiting_max() && door.is_ready();
        if !waits && !accepted.is_shut {
            accepted.is_shut = true;
            door.shut();
        }
        waits && !accepted.is_shut
    }
}

impl<C> Accepted<C> {
    /// Counts what was accepted in a drain. A try that brought nobody counts, too: a socket that
    /// another generation has stopped looks ready for ever.
    pub(super) fn count_drained(&mut self) {
        self.drained = self.drained.saturating_add(self.queue.len().max(1) as u32);
    }
}
