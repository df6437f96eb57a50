//! The threads of `thread-per-request`: one is made for each connection, and ends with it. Whoever
//! makes them accepts; it holds no connection, and no disk and no client keeps it waiting.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread::{Builder, Scope};

use h1::Status;
use measure::{Duration, Instant};
use os::Wake;

use super::entrance::{Accepted, Entrance, Held, Threads};
use super::pool::{LOOK_AGAIN, RESERVED_OF, STACK_BYTES};
use crate::connection::books::Books;
use crate::connection::calls::Ready;
use crate::connection::gate::REFUSED_FOR;
use crate::connection::perform::{InPlace, Share, Until};
use crate::connection::{Connection, Dialog};
use crate::session::Event;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;

/// How long a connection waits for a thread that the machine refuses: clients send again after a
/// second what is not answered, and some have gone after a few.
const THREAD_WAIT_MAX: Duration = Duration::from_secs(1);
/// So many connections wait so at a time; others do in the kernel's queue.
const WAITING_MAX: usize = 64;
/// Wants performed of a connection that is turned away: it is told so, and closed.
const WANTS_OF_REFUSED: u32 = 20;

/// The threads.
pub(crate) struct Spawner<'h> {
    entrance: Entrance<'h>,
    most: u32,
    /// Threads that there is to be room for when connections are evicted.
    reserve: u32,
    /// So many there are.
    all: AtomicU32,
    /// Somebody waits, and nobody goes: who is busy is to end with a reply.
    pressed: AtomicBool,
    /// The acceptor waits for one to end.
    is_awaited: AtomicBool,
    wake: Wake,
}

/// Whoever accepts and makes the threads.
pub(crate) struct Acceptor<'p> {
    spawner: &'p Spawner<'p>,
    books: Books<'p>,
    /// Accepted in this phase; the allocation serves the next.
    accepted: VecDeque<Accepted>,
    /// Those without a thread as yet, and since when.
    waiting: VecDeque<(Accepted, Instant)>,
    /// Which listening socket is the first in a phase: none is always the last.
    first: usize,
    /// It is worth a look who may go for another: not while nobody could just now.
    finds: bool,
    /// The machine has refused a connection: nobody is waited for until then.
    rests_until: Option<Instant>,
    drain: Option<Drain>,
}

/// Those who wait are still served, and nobody after.
struct Drain {
    ordered: Instant,
    /// Connections accepted meanwhile: no more than could wait when it began.
    accepted: u32,
    /// Nobody waits any more.
    is_shut: bool,
    /// Who was idle has been told to go.
    has_ended_idle: bool,
}

impl<'h> Spawner<'h> {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(worker: &'h Worker<'h>) -> io::Result<Self> {
        let most = u32::try_from(worker.server.connections_max).unwrap_or(u32::MAX);
        let makes_room = worker.server.settings.make_room;
        Ok(Self {
            entrance: Entrance::new(worker)?,
            most,
            reserve: if makes_room { most / RESERVED_OF } else { 0 },
            all: AtomicU32::new(0),
            pressed: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            wake: Wake::new()?,
        })
    }

    /// Of the thread that calls.
    ///
    /// # Errors
    /// No thread can be made: nobody would be served.
    pub(crate) fn acceptor(&self) -> io::Result<Acceptor<'_>> {
        os::thread::set_name("weir-acceptor");
        let first = Builder::new().stack_size(STACK_BYTES).spawn(|| {})?;
        first.join().expect("it has done nothing");
        Ok(Acceptor {
            spawner: self,
            books: Books::new(self.entrance.worker, Performer::Acceptor),
            accepted: VecDeque::new(),
            waiting: VecDeque::new(),
            first: 0,
            finds: true,
            rests_until: None,
            drain: None,
        })
    }

    fn all(&self) -> u32 {
        self.all.load(SeqCst)
    }

    /// How many more there may be.
    fn room(&self) -> u32 {
        self.most.saturating_sub(self.all())
    }
}

impl Threads for Spawner<'_> {
    fn is_wanted(&self) -> bool {
        self.pressed.load(Acquire) && self.room() == 0
    }

    fn let_go(&self) {
        self.all.fetch_sub(1, SeqCst);
        if self.is_awaited.load(SeqCst) {
            self.wake.wake();
        }
    }
}

impl<'p> Acceptor<'p> {
    /// Waits until somebody can be accepted, or has a thread to be tried for again; `false`: all
    /// have gone, and nobody comes any more.
    ///
    /// # Errors
    /// The machine refuses to wait.
    pub(crate) fn waits(&mut self) -> io::Result<bool> {
        self.books.publish();
        let entrance = &self.spawner.entrance;
        let mut waited = Ok(false);
        while matches!(waited, Ok(false)) && !entrance.worker.order.is_draining() {
            waited = self.wait();
        }
        if matches!(waited, Ok(false)) {
            waited = self.waits_in_drain();
        }
        self.books.look_at_clock();
        waited.inspect_err(|_| {
            // Its process ends when all have gone.
            entrance.drain();
            entrance.holds.end_idle();
        })
    }

    /// Accepts as many connections from each listening socket as the intake lets in, and as there
    /// may be threads for.
    pub(crate) fn accept(&mut self) {
        let Self { spawner, books, accepted, waiting, first, drain, .. } = self;
        if drain.is_some() && !waiting.is_empty() {
            // It is theirs to be tried for again, and nobody else's to come in.
            return;
        }
        *first += 1;
        let room = (spawner.room() as usize).min(WAITING_MAX).saturating_sub(waiting.len());
        let is_refused = spawner.entrance.accept((*first, room), accepted, books);
        if let Some(drain) = drain {
            // A try that brought nobody counts, too: a socket that another generation has stopped
            // looks ready for ever.
            drain.accepted = drain.accepted.saturating_add(accepted.len().max(1) as u32);
        }
        waiting.extend(accepted.drain(..).map(|accepted| (accepted, books.now.at)));
        self.rests_until = is_refused.then(|| books.now.at + REFUSED_FOR);
    }

    /// Makes a thread that runs `serve` for each that was accepted. Whoever has waited for too long
    /// for one that the machine refuses hears so.
    pub(crate) fn spawn<'s, 'e>(
        &mut self,
        scope: &'s Scope<'s, 'e>,
        serve: impl Fn(&Held<'_>, Dialog) + Copy + Send + 's,
    ) where
        'p: 's,
    {
        // A thread that cannot be made lets go of its connection, too, and is not waited for.
        self.spawner.is_awaited.store(false, SeqCst);
        while let Some(((socket, listener), since)) = self.waiting.pop_front() {
            let dialog = self.books.begin(listener);
            self.spawner.all.fetch_add(1, SeqCst);
            let accepted = (Arc::clone(&socket), listener);
            let held = Held::new(&self.spawner.entrance, self.spawner, accepted);
            let thread = Builder::new().name(String::from("weir-thread")).stack_size(STACK_BYTES);
            match thread.spawn_scoped(scope, move || serve(&held, dialog)) {
                Ok(_) => {}
                Err(e) => {
                    // It has let go of the connection, which waits again.
                    let now = self.books.now.at;
                    if now - since < THREAD_WAIT_MAX {
                        return self.waiting.push_front(((socket, listener), since));
                    }
                    let Books { server, worker, .. } = self.books;
                    server.errors.no_thread("a client is turned away", worker.number, &e, now);
                    self.turn_away((socket, listener));
                }
            }
        }
    }

    /// There is no thread for it: it is answered 503 and closed, as far as that needs no waiting.
    fn turn_away(&mut self, (socket, listener): Accepted) {
        let Self { books, .. } = self;
        let dialog = books.dialog(listener, || socket.peer_ip());
        if let Ok(socket) = Arc::try_unwrap(socket) {
            let mut connection = Connection::new(Ready::new(socket, None), dialog);
            // What lies unread would make the socket reset its peer, and the reply with it.
            connection.calls.expect();
            let refused = Event::Refused(Status::SERVICE_UNAVAILABLE);
            connection.dialog.session.tell(refused, &books.now);
            let (wants, bytes) = (WANTS_OF_REFUSED, u64::MAX);
            let buffer = &mut [0; 4096];
            let mut share = Share { until: Until::Blocked, wants, bytes, buffer };
            books.work(0, &mut connection, &mut share, &mut InPlace);
        }
        books.tally.add(Counter::MachineFaults, 1);
        books.tally.add(Counter::Closed, 1);
    }

    /// Until somebody may be accepted, or a thread be had for one who was; `false`: an order, or
    /// nobody has come as yet. Where there can be no more threads it looks who goes for another.
    fn wait(&mut self) -> io::Result<bool> {
        let Spawner { entrance, wake, is_awaited, .. } = self.spawner;
        let worker = entrance.worker;
        let waits = !self.waiting.is_empty();
        self.rests_until.take_if(|until| *until <= os::clock::monotonic());
        let rests = self.rests_until.is_some();
        // Told before it is looked whether there is room: who ends either is seen or sees.
        is_awaited.store(true, SeqCst);
        let room = self.spawner.room() as usize;
        let has_room = room > 0;
        is_awaited.store(waits || !has_room, SeqCst);
        if has_room && !waits {
            self.spawner.pressed.store(false, Release);
            self.finds = true;
        }
        let takes = self.waiting.len() < room.min(WAITING_MAX);
        let watches = !rests && (takes || !has_room && self.finds && !entrance.is_leaving());
        let patience = (waits || rests || !has_room && !watches).then_some(LOOK_AGAIN);
        let wakes = [worker.wake().as_fd_ref(), wake.as_fd_ref()];
        let listeners = worker.listeners().filter(|_| watches);
        let listeners = listeners.map(|(_, listener)| listener.as_fd_ref());
        let ready = os::wait_readable(wakes.into_iter().chain(listeners), patience)?;
        let [is_ordered, has_ended, ref others @ ..] = ready[..] else { return Ok(false) };
        if has_ended {
            wake.clear();
        }
        if is_ordered {
            return Ok(false);
        }
        let has_come = others.contains(&true);
        // Somebody has gone already for who waits.
        let room = self.spawner.room();
        if waits && !has_ended || room < self.spawner.reserve.div_ceil(2).max(1) {
            self.make_room(waits || has_come || !watches && entrance.is_ready());
        }
        Ok(waits || has_come && room > 0)
    }

    /// Evicts as many connections as wait for a thread, or as are missing in the reserve, those
    /// that have waited for longest. If none may be evicted, connections that are busy are closed
    /// after the reply.
    fn make_room(&mut self, is_waited_for: bool) {
        let Self { spawner, books, .. } = self;
        let entrance = &spawner.entrance;
        let now = os::clock::monotonic();
        entrance.intake().watch(books.worker, now);
        // In this order: a connection that is closed in between counts twice, and not never.
        let leaving = entrance.holds.leaving();
        // Connections that wait here wait for a thread that the machine refuses.
        let has_threads = self.waiting.is_empty();
        let coming = leaving + if has_threads { spawner.room() } else { 0 };
        let waiting =
            if is_waited_for { (self.waiting.len() + books.worker.waiting()).max(1) } else { 0 };
        let reserve = if has_threads { spawner.reserve as usize } else { 0 };
        let wanted = waiting.max(reserve);
        let closed = entrance.evict(wanted, waiting, coming as usize);
        let makes_room = books.server.settings.make_room;
        let is_pressed = is_waited_for && !(makes_room && entrance.is_leaving());
        spawner.pressed.store(is_pressed, Release);
        self.finds = makes_room && (closed > 0 || !is_waited_for);
    }

    fn waits_in_drain(&mut self) -> io::Result<bool> {
        let Spawner { entrance, wake, is_awaited, .. } = self.spawner;
        entrance.drain();
        is_awaited.store(true, SeqCst);
        loop {
            let now = os::clock::monotonic();
            let drain = self.drain.get_or_insert(Drain {
                ordered: now,
                accepted: 0,
                is_shut: false,
                has_ended_idle: false,
            });
            if !drain.has_ended_idle && now - drain.ordered >= entrance.grace() {
                entrance.holds.end_idle();
                drain.has_ended_idle = true;
            }
            // Who waits for a thread has it tried for again soon, and nobody else is waited for.
            let waits = !self.waiting.is_empty();
            self.rests_until.take_if(|until| *until <= now);
            let takes = !waits && self.rests_until.is_none();
            if takes && self.spawner.room() > 0 && !drain.is_shut {
                let most = entrance.server.waiting_max();
                if drain.accepted < most && entrance.is_ready() {
                    return Ok(true);
                }
                drain.is_shut = true;
                entrance.worker.stop_listening();
            }
            if drain.is_shut && self.spawner.all() == 0 {
                return Ok(false);
            }
            if os::wait_readable([wake.as_fd_ref()], Some(LOOK_AGAIN))?[0] {
                wake.clear();
            }
            if waits {
                return Ok(true);
            }
        }
    }
}
