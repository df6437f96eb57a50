//! What threads with a connection each have in common, whoever makes them: where connections come
//! from and how many are taken, which of them go for others, and which of those who ask for the
//! same loads it.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use h1::{Lookup, Miss, Tag};
use measure::Duration;
use os::{Blocking, File, Listener, Socket, SpareDescriptor};

use super::holds::{Does, Hold, Holds, Wanted};
use super::life::Keeper;
use crate::connection::books::Books;
use crate::connection::gate::{HEAD_MIN, behind_min, stays};
use crate::connection::intake::Intake;
use crate::connection::loads::Loads;
use crate::connection::perform::{Load, Service};
use crate::shared::counters::Counter;
use crate::shared::server::{Server, Worker};
use crate::shared::stops::Stop;
use crate::shared::tally::Tally;

/// See the head of this file.
pub(crate) struct Entrance<'h> {
    pub(super) server: &'h Server,
    pub(super) worker: &'h Worker<'h>,
    pub(super) holds: Holds,
    loads: Loads<Lookup>,
    draining: AtomicBool,
    spare: Mutex<SpareDescriptor>,
    intake: Mutex<Intake>,
}

/// A connection that no thread holds yet, with the place of its listening socket.
pub(super) type Accepted = (Arc<Socket>, usize);

/// What a call of accept has brought.
enum Taken {
    /// One, which may be lost already.
    One,
    /// Nobody waits.
    Nobody,
    /// The machine refuses.
    Refused,
}

impl<'h> Entrance<'h> {
    /// # Errors
    /// No descriptor is left.
    pub(super) fn new(worker: &'h Worker<'h>) -> io::Result<Self> {
        Ok(Self {
            server: worker.server,
            worker,
            holds: Holds::new(),
            loads: Loads::new(),
            draining: AtomicBool::new(false),
            spare: Mutex::new(SpareDescriptor::new()?),
            intake: Mutex::new(Intake::new(worker, 1)),
        })
    }

    /// Accepts as many connections from each listening socket as the intake lets in, and no more
    /// than there is `room` for in the queue; `first` says which socket is the first. Returns
    /// whether the machine refuses one.
    pub(super) fn accept(
        &self,
        (first, room): (usize, usize),
        queue: &mut VecDeque<Accepted>,
        books: &mut Books<'_>,
    ) -> bool {
        let worker = self.worker;
        self.server.stops.at(Stop::Woken);
        let mut intake = self.intake();
        let (begun, mut is_refused) = (queue.len(), false);
        for (place, listener) in worker.listeners_from(first) {
            let (before, mut emptied) = (queue.len(), false);
            for _ in 0..intake.quota(worker, place, books.now.at) {
                if queue.len() >= room {
                    break;
                }
                match self.accept_one((place, listener), queue, books) {
                    Taken::One => {}
                    Taken::Nobody => {
                        emptied = true;
                        break;
                    }
                    Taken::Refused => {
                        is_refused = true;
                        break;
                    }
                }
            }
            intake.took(worker, place, (queue.len() - before) as u32, emptied);
        }
        queue.range(begun..).for_each(|(socket, _)| books.tally.accepted(Some(socket)));
        is_refused
    }

    fn accept_one(
        &self,
        (place, listener): (usize, &Listener),
        queue: &mut VecDeque<Accepted>,
        books: &mut Books<'_>,
    ) -> Taken {
        match listener.accept(Blocking::Yes) {
            Ok(socket) => {
                self.server.stops.at(Stop::Accepted);
                queue.push_back((Arc::new(socket), place));
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Taken::Nobody,
            Err(e) => {
                if books.refused(&e) == Counter::MachineFaults {
                    // In a drain those who wait can wait until somebody has gone.
                    let sheds = os::is_out_of_descriptors(&e) && !self.worker.order.is_draining();
                    let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
                    let shed = sheds && spare().refuse(listener);
                    books.tally.add(Counter::Shed, u64::from(shed));
                    return Taken::Refused;
                }
            }
        }
        Taken::One
    }

    pub(super) fn intake(&self) -> MutexGuard<'_, Intake> {
        // A thread that panicked has not left it half changed.
        self.intake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits to be accepted whom nobody else accepts.
    pub(super) fn is_ready(&self) -> bool {
        let listeners = self.worker.kept_listeners();
        os::wait_readable(listeners.map(|listener| listener.as_fd_ref()), Some(Duration::ZERO))
            .is_ok_and(|ready| ready.iter().any(|&ready| ready))
    }

    /// Whether somebody was told to go and has not gone yet.
    pub(super) fn is_leaving(&self) -> bool {
        self.holds.leaving() > 0
    }

    /// Evicts connections until as many threads are free as are `wanted`, where so many will be
    /// soon; transfers only for connections that wait. Returns how many.
    pub(super) fn evict(&self, wanted: usize, waiting: usize, free_soon: usize) -> usize {
        if wanted <= free_soon {
            return 0;
        }
        let now = os::clock::monotonic();
        let is_slow_since = |least| self.server.settings.make_room.then_some(now - least);
        let evicted = self.holds.evict(&Wanted {
            most: wanted - free_soon,
            idle: now - stays(self.server),
            head: is_slow_since(HEAD_MIN),
            transfer: is_slow_since(behind_min(self.holds.len(), waiting)).filter(|_| waiting > 0),
        });
        let mut tally = Tally::default();
        tally.add(Counter::Evicted, evicted.all as u64);
        tally.add(Counter::EvictedSlow, evicted.slow as u64);
        tally.publish(&self.server.counters, self.worker.row);
        evicted.all
    }

    /// The order to end has come: each reply in hand is the last.
    pub(super) fn drain(&self) {
        self.draining.store(true, SeqCst);
    }

    /// How long who is idle stays in a drain.
    pub(super) fn grace(&self) -> Duration {
        match self.worker.order.is_retiring() {
            true => self.server.limits.idle_grace,
            false => Duration::ZERO,
        }
    }
}

/// Who asks for what another thread loads already waits for that one.
impl Service for &Entrance<'_> {
    fn load(&mut self, _: u64, _: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        let Miss::Path(lookup) = &miss else {
            return Load::Done(books.load_here(&miss));
        };
        let alone = self.loads.alone(lookup);
        if alone.is_none() {
            // Another thread has loaded it meanwhile.
            books.look_at_clock();
        }
        let site = &books.server.site;
        let known = if alone.is_none() { site.compare(lookup, &books.now) } else { None };
        Load::Done(known.unwrap_or_else(|| books.load_here(&miss)))
    }
}

/// The threads that there are, as one of them sees the others.
pub(super) trait Threads: Sync {
    /// Whether somebody waits for a thread, and a busy one may be had after a reply.
    fn is_wanted(&self) -> bool;

    /// This one has no connection any more.
    fn let_go(&self);
}

/// A thread's hold on its connection; let go when dropped.
pub(crate) struct Held<'p> {
    entrance: &'p Entrance<'p>,
    threads: &'p dyn Threads,
    /// The registered connection; `None` only while this is dropped.
    hold: Option<Arc<Hold>>,
}

impl<'p> Held<'p> {
    pub(super) fn new(
        entrance: &'p Entrance<'p>,
        threads: &'p dyn Threads,
        (socket, listener): Accepted,
    ) -> Self {
        Self { entrance, threads, hold: Some(entrance.holds.insert(socket, listener)) }
    }

    fn hold(&self) -> &Hold {
        self.hold.as_ref().expect("it is held")
    }

    pub(crate) fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.hold().socket)
    }

    /// The place of its listening socket.
    pub(crate) fn listener(&self) -> usize {
        self.hold().listener
    }

    /// What finds and loads for it.
    pub(crate) fn service(&self) -> &'p Entrance<'p> {
        self.entrance
    }
}

impl Keeper for Held<'_> {
    fn says(&self, is_idle: bool, does: Does) -> bool {
        self.entrance.holds.says(self.hold(), is_idle, does)
    }

    fn is_draining(&self) -> bool {
        self.entrance.draining.load(SeqCst)
    }

    fn is_wanted(&self) -> bool {
        self.threads.is_wanted()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.entrance.holds.remove(hold, || self.threads.let_go());
        }
    }
}
