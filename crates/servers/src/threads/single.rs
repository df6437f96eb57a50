//! A process that has one connection in hand: how it takes one, and how it waits with one that is
//! idle. It has one thread, so nothing here is locked.
//!
//! One that is free waits by epoll, exclusively, so that of all that are free one is woken for each
//! who comes. While it serves it stays registered, and looks all the same at nothing: the kernel
//! asks one entry after the other and passes on to the next one where nobody waits in that epoll at
//! that moment (`ep_poll_callback` then returns 0), so it wakes one that is free if there is one.
//! What came meanwhile is marked in each of those it asked, and told as soon as they wait again, if
//! it is still there. So taking a connection needs no call beside epoll_wait and accept, and nobody
//! is left waiting beside one that is free (the reasoning of [`crate::shared::listening`]):
//!
//! - Whoever comes wakes one that is free, or finds none, and then each is told of him who waits
//!   next. Whoever is woken tries all listening sockets, so as many are taken as are woken for,
//!   whoever takes whom.
//! - One that is woken and takes nobody, as the machine refuses it or it is to end, does not wait
//!   in its epoll by then: it leaves who waits to others, by the bell.
//! - The bell is rung once for any number: whoever hears it takes one, and rings it for the next.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use h1::{FilePart, Limits};
use measure::{Duration, Instant};
use os::poller::{Interest, Mechanism, Poller};
use os::{Blocking, File, Socket, SpareDescriptor};

use super::life::{DRAIN_SEEN_WITHIN, Does, Keeper, Patient, Waiting};
use crate::connection::books::Books;
use crate::connection::calls::Calls;
use crate::connection::gate::{HEAD_MIN, REFUSED_FOR, stays};
use crate::connection::intake::Intake;
use crate::session::View;
use crate::shared::counters::Counter;
use crate::shared::scoreboard::{Scoreboard, State};
use crate::shared::server::{Server, Worker};
use crate::shared::stops::Stop;

/// Tokens of the order to end and of the bell; those of listening sockets are their places.
const ORDER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// The process.
pub(crate) struct Single<'s> {
    server: &'s Server,
    worker: &'s Worker<'s>,
    scoreboard: &'s Scoreboard,
    /// Waited for while it is free.
    poller: RefCell<Poller>,
    intake: RefCell<Intake>,
    spare: RefCell<SpareDescriptor>,
    /// Which listening socket is the first: none is always the last.
    first: Cell<usize>,
    /// Connections accepted in a drain: no more than could wait when it began.
    drained: Cell<u32>,
    /// What its connection waits for, if it may be evicted.
    waits: Cell<Option<Waits>>,
    /// Its connection was evicted while it sent.
    is_cut: Cell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Request,
    Head,
    Transfer,
}

/// What came of a try to take somebody.
enum Taken {
    One(Socket, usize),
    /// Nobody waits, or another was faster.
    Nobody,
    /// The machine refuses, or nobody is to be let in now.
    Refused,
}

/// What came of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// Something to receive, or room to send.
    Bytes,
    /// The order to end, the moment to look for one, or the end of what the session grants.
    Nothing,
    /// Its eviction, or an order not to wait for it.
    End,
}

impl<'s> Single<'s> {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(worker: &'s Worker<'s>) -> io::Result<Self> {
        os::thread::set_name("weir-process");
        let server = worker.server;
        let common = server.common.as_ref().expect("made where workers have one connection each");
        Ok(Self {
            server,
            worker,
            scoreboard: &common.scoreboard,
            poller: RefCell::new(looking_at_all(worker)?),
            intake: RefCell::new(Intake::new(worker, 1)),
            spare: RefCell::new(SpareDescriptor::new()?),
            first: Cell::new(0),
            drained: Cell::new(0),
            waits: Cell::new(None),
            is_cut: Cell::new(false),
        })
    }

    /// Waits for a connection, and takes it, with the place of its listening socket; nothing: the
    /// process is to end.
    ///
    /// # Errors
    /// The machine refuses to wait.
    pub(crate) fn accept(&self, books: &mut Books<'_>) -> io::Result<Option<(Socket, usize)>> {
        self.waits.set(None);
        self.is_cut.set(false);
        self.intake.borrow_mut().give_way(self.worker);
        self.scoreboard.set(self.worker.number, State::Free);
        let mut is_woken = false;
        let taken = loop {
            if self.worker.order.is_draining() {
                if is_woken {
                    self.leave_to_others();
                }
                break self.accept_waiting(books)?;
            }
            let is_rung = self.wait()?;
            is_woken = true;
            if self.worker.order.is_draining() {
                continue;
            }
            self.server.stops.at(Stop::Woken);
            let taken = self.take(books);
            if is_rung || matches!(taken, Taken::Refused) {
                self.leave_to_others();
            }
            match taken {
                Taken::One(socket, place) => break Some((socket, place)),
                Taken::Nobody => {}
                Taken::Refused => {
                    // An idle one that goes gives back what the machine lacks.
                    self.scoreboard.set(self.worker.number, State::Serves);
                    self.rest()?;
                    self.scoreboard.set(self.worker.number, State::Free);
                }
            }
            books.publish();
        };
        self.scoreboard.set(self.worker.number, State::Serves);
        Ok(taken)
    }

    /// The calls on a connection that was taken.
    pub(crate) fn calls(&self, socket: Socket) -> Attentive<'_> {
        let Server { settings, limits, .. } = self.server;
        let socket = Arc::new(socket);
        let calls = Waiting::new(Arc::clone(&socket), settings.sendfile, limits);
        Attentive { single: self, socket, calls, until: None }
    }

    /// Whoever waits in a drain is still served, and nobody after.
    fn accept_waiting(&self, books: &mut Books<'_>) -> io::Result<Option<(Socket, usize)>> {
        while self.drained.get() < self.server.waiting_max() && self.is_waited_for()? {
            // A try that brings nobody counts, too: a socket that another generation has stopped
            // looks ready for ever.
            self.drained.set(self.drained.get() + 1);
            match self.take(books) {
                Taken::One(socket, place) => return Ok(Some((socket, place))),
                // Another process was the last, and has stopped what looks ready from then on.
                Taken::Nobody if !self.worker.kept_listeners().any(|l| l.listens()) => break,
                Taken::Nobody => {}
                Taken::Refused => self.rest()?,
            }
        }
        self.worker.stop_listening();
        Ok(None)
    }

    /// Until somebody may have come, or the order to end; whether the bell has rung.
    fn wait(&self) -> io::Result<bool> {
        let mut poller = self.poller.borrow_mut();
        let (mut is_rung, mut is_woken) = (false, false);
        for event in poller.wait(None)? {
            is_rung |= event.token == BELL;
            is_woken |= event.token == ORDER;
        }
        if is_rung {
            self.server.listeners.common_bell().clear();
        }
        if is_woken {
            self.hear();
        }
        Ok(is_rung)
    }

    /// Whoever waits, and perhaps by way of this process, is for the others.
    fn leave_to_others(&self) {
        if self.server.listeners.bell(self.worker.number).is_some() {
            self.server.listeners.leave_to_others(self.worker.number);
        }
    }

    /// Until the machine may be asked again, or the order to end comes.
    fn rest(&self) -> io::Result<()> {
        let order = [self.worker.wake().as_fd_ref()].into_iter();
        let order = order.filter(|_| !self.worker.order.is_draining());
        if os::wait_readable(order, Some(REFUSED_FOR))?.contains(&true) {
            self.hear();
        }
        Ok(())
    }

    /// One connection, whatever accept-limit says: others are for other processes to take.
    fn take(&self, books: &mut Books<'_>) -> Taken {
        books.look_at_clock();
        let worker = self.worker;
        let mut intake = self.intake.borrow_mut();
        let mut taken = Taken::Nobody;
        self.first.set(self.first.get().wrapping_add(1));
        for (place, listener) in self.worker.listeners_from(self.first.get()) {
            if worker.order.is_handed_on(place) {
                continue;
            }
            if intake.quota(worker, place, books.now.at) == 0 {
                taken = Taken::Refused;
                continue;
            }
            match listener.accept(Blocking::No) {
                Ok(socket) => {
                    self.server.stops.at(Stop::Accepted);
                    intake.took(worker, place, 1, false);
                    books.tally.accepted(Some(&socket));
                    return Taken::One(socket, place);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    intake.took(worker, place, 0, true);
                }
                Err(e) => {
                    if books.refused(&e) == Counter::MachineFaults {
                        // In a drain those who wait can wait until somebody has gone.
                        let sheds = os::is_out_of_descriptors(&e) && !worker.order.is_draining();
                        let shed = sheds && self.spare.borrow_mut().refuse(listener);
                        books.tally.add(Counter::Shed, u64::from(shed));
                        taken = Taken::Refused;
                    }
                }
            }
        }
        taken
    }

    /// Whether somebody waits to be accepted whom nobody else accepts.
    fn is_waited_for(&self) -> io::Result<bool> {
        let listeners = self.worker.kept_listeners().map(|listener| listener.as_fd_ref());
        let ready = os::wait_readable(listeners, Some(Duration::ZERO))?;
        Ok(ready.contains(&true))
    }

    /// Waits until a socket is ready: for the order to end as well, and for its eviction. Not after
    /// `until`.
    fn attend(
        &self,
        socket: &Socket,
        interest: Interest,
        until: Option<Instant>,
    ) -> io::Result<Came> {
        let order = self.worker.order;
        let left = until.map(|until| until - os::clock::monotonic());
        if self.waits.get().is_none() || order.is_draining() {
            // It is not evicted. In a drain a connection between two requests is closed: at once
            // unless another generation serves, or a request has come.
            let is_idle = self.waits.get() == Some(Waits::Request);
            let is_hurried = is_idle && order.is_draining() && !order.is_retiring();
            let most = if is_hurried { Duration::ZERO } else { DRAIN_SEEN_WITHIN };
            let patience = left.unwrap_or(most).min(most);
            return Ok(match os::wait_ready([(socket.as_fd(), interest)], Some(patience))?[0] {
                true => Came::Bytes,
                false if is_hurried => Came::End,
                false => Came::Nothing,
            });
        }
        let wake = (self.worker.wake().as_fd_ref(), Interest::READ);
        if os::wait_ready([(socket.as_fd(), interest), wake], left)?[0] {
            return Ok(Came::Bytes);
        }
        self.hear();
        let is_evicted = self.scoreboard.is_evicted(self.worker.number);
        Ok(if is_evicted { Came::End } else { Came::Nothing })
    }

    /// Counts the eviction of a connection that was not sending.
    fn count_eviction(&self) {
        self.server.counters.count(Counter::Evicted);
        if self.waits.get() != Some(Waits::Request) {
            self.server.counters.count(Counter::EvictedSlow);
        }
    }

    /// Clears its wake. The supervisor wakes it for an order, or because its connection is evicted:
    /// look at both after this.
    fn hear(&self) {
        self.worker.wake().clear();
    }
}

/// What a process that is free waits for.
fn looking_at_all(worker: &Worker<'_>) -> io::Result<Poller> {
    let listeners = &worker.server.listeners;
    let mut poller = Poller::new(Mechanism::Epoll, worker.places().len() + 2)?;
    poller.add_level(worker.wake(), ORDER)?;
    for (place, listener) in worker.listeners() {
        if listeners.is_shared(place) {
            poller.add_exclusive(&**listener, place as u64)?;
        } else {
            poller.add_level(&**listener, place as u64)?;
        }
    }
    if let Some(bell) = listeners.bell(worker.number) {
        poller.add_exclusive(&**bell, BELL)?;
    }
    Ok(poller)
}

impl Keeper for Single<'_> {
    fn says(&self, is_idle: bool, does: Does) -> bool {
        let makes_room = self.server.settings.make_room;
        let (waits, state) = match does {
            Does::Waits(since) if is_idle => {
                let evictable_at = since + stays(self.server);
                (Some(Waits::Request), State::Waits { evictable_at })
            }
            Does::Waits(since) if makes_room => {
                (Some(Waits::Head), State::Waits { evictable_at: since + HEAD_MIN })
            }
            Does::Transfers(since) if makes_room => {
                (Some(Waits::Transfer), State::Transfers { since })
            }
            Does::Ends => (None, State::Ends),
            Does::Waits(_) | Does::Transfers(_) | Does::Serves => (None, State::Serves),
        };
        self.waits.set(waits);
        self.scoreboard.set(self.worker.number, state)
    }

    fn is_draining(&self) -> bool {
        self.worker.order.is_draining()
    }

    fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    fn is_wanted(&self) -> bool {
        self.scoreboard.is_pressed()
    }
}

/// Calls that wait, but hear an order, and the eviction of their connection, at once.
pub(crate) struct Attentive<'p> {
    single: &'p Single<'p>,
    socket: Arc<Socket>,
    calls: Waiting,
    /// What the session grants.
    until: Option<Instant>,
}

impl Attentive<'_> {
    /// Waits until the socket is ready; with an error after the end of what the session grants, and
    /// after its eviction.
    fn attend(&self, interest: Interest) -> io::Result<()> {
        match self.single.attend(&self.socket, interest, self.until)? {
            Came::Bytes => Ok(()),
            Came::Nothing => Err(io::ErrorKind::WouldBlock.into()),
            Came::End if interest == WRITE => {
                self.single.is_cut.set(true);
                Err(io::ErrorKind::WouldBlock.into())
            }
            Came::End => {
                if !self.single.is_draining() {
                    self.single.count_eviction();
                }
                // As if the peer had closed; a request that was faster is answered before.
                self.socket.shutdown_read()
            }
        }
    }

    /// Makes a call that sends, and once more when there is room.
    fn when_writable<T>(
        &mut self,
        mut send: impl FnMut(&mut Waiting) -> io::Result<T>,
    ) -> io::Result<T> {
        match send(&mut self.calls) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.attend(WRITE)?;
                let sent = send(&mut self.calls);
                if sent.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
                    // There is room, and the kernel has no memory for it.
                    std::thread::sleep(NO_MEMORY_FOR);
                }
                sent
            }
            sent => sent,
        }
    }
}

/// How long a send waits that the kernel has no memory for, before it is tried again.
const NO_MEMORY_FOR: Duration = Duration::from_millis(2);

const WRITE: Interest = Interest { read: false, write: true };

impl Calls for Attentive<'_> {
    const WAIT: bool = true;

    fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.attend(Interest::READ)?;
        self.calls.recv(into)
    }

    fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        self.when_writable(|calls| calls.send(bytes, more))
    }

    fn send_part(&mut self, part: &FilePart<File>, most: u64) -> io::Result<u64> {
        self.when_writable(|calls| calls.send_part(part, most))
    }

    fn shut(&mut self) -> io::Result<()> {
        self.calls.shut()
    }

    fn reset_on_close(&mut self) {
        self.calls.reset_on_close();
    }

    fn hears(&mut self, sends: bool) -> io::Result<bool> {
        self.calls.hears(sends)
    }

    fn may_hear(&self) -> bool {
        self.calls.may_hear()
    }

    fn lies_unread(&mut self) -> bool {
        self.calls.lies_unread()
    }
}

impl Patient for Attentive<'_> {
    fn set_patience(&mut self, view: &View, _: Instant, _: &Limits) {
        self.until = view.deadline.map(|due| due.at);
    }
}
