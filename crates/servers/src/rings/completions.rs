//! The verbs of the completion loops: accept, submit_and_wait, complete, start, expire.
//!
//! A connection has at most one receive in flight, which stays armed while it sends, at most one
//! send or wait for room to send by a call, and a read for each load that it has in hand. It is
//! freed when the last of them has come back.

mod accepts;
mod ends;
mod files;
mod room;

use std::collections::VecDeque;
use std::{io, mem};

use h1::Want;
use measure::{Duration, Instant};
use os::Socket;
use os::ring::{Done, How, Ring};

use super::connection::{Ending, Receive, RingConnection};
use super::ways;
use crate::connection::books::Books;
use crate::connection::fetches::Fetches;
use crate::connection::gate::Gate;
use crate::connection::intake::Intake;
use crate::connection::places::{Places, TOKENS_END, place_of};
use crate::connection::timers::Timers;
use crate::loops::helpers::HandedOver;
use crate::session::Event;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::shared::settings::RingFiles;

use accepts::Accepts;

/// Tokens that are no connection's.
const ORDER: u64 = u64::MAX;
const VERDICTS: u64 = u64::MAX - 1;
const BELL: u64 = u64::MAX - 2;
const HELPERS: u64 = u64::MAX - 3;
const LISTENER_0: u64 = TOKENS_END;

/// Bytes of a file that one read brings: most files in one, and no reader far behind. Also the
/// window of a session here, so that each is read as a load: a slow disk is no slow client.
pub(crate) const READ_BYTES: u64 = 128 << 10;
/// What is read and not yet sent, of all connections; beyond it each read brings less, because
/// thousands of slow clients would otherwise hold gigabytes. The other reads of a window are then
/// the client's time.
const PIECES_BYTES_MAX: u64 = 64 << 20;
pub(crate) const READ_BYTES_MIN: u64 = 16 << 10;
/// So many completions are asked for where all are wanted: newer kernels bring 20 at a time unless
/// more are waited for (IO_LOCAL_TW_DEFAULT_MAX). No more receives than there are buffers for.
const BROUGHT_ALL: u32 = 2048;
/// Turns of a connection with one request: it comes, has asked, and is answered.
const TURNS: u32 = 3;
/// The same where each completion has a turn of its own: also it has ended. A ring of slots, which
/// hears of FIN and waits for the peer's, takes one more.
const TURNS_SINGLY: u32 = 4;
/// Where work goes on while it is worked on what has been started leaves each so often: the kernel
/// would otherwise hear of a reply when its queue is full.
const SUBMIT_EVERY: u32 = 256;
/// So many receives are begun again that have found no buffer, where all buffers have come back:
/// as many as the smallest ring has.
const QUENCHED_MAX: usize = 128;
/// Turns in a round of which an entry into the kernel is more work than wait.
const WORKS_FROM: usize = 16;
/// Bytes that go out together with FIN: behind more, a slow client's progress would not be seen.
const SENT_THEN_SHUT_MAX: usize = 16 << 10;

/// A completion loop's state.
pub(crate) struct Completions<'s> {
    ring: Ring,
    books: Books<'s>,
    connections: Places<RingConnection>,
    timers: Timers,
    /// Connections for which something completed in this round.
    touched: Vec<u64>,
    /// Turns of connections in the last round.
    turns: usize,
    /// There was one in this round.
    has_worked: bool,
    gate: Gate,
    intake: Intake,
    /// Connections that may come in beyond the maximum, until those are closed that go for them.
    beyond: usize,
    /// Those of them that are to be closed, and wait only for what is in flight.
    going: usize,
    /// Of each listening socket.
    accepts: Vec<Accepts>,
    /// Each accept is for one connection, whatever accept-limit says.
    are_single: bool,
    /// Accepts are to tell who it is, because their sockets cannot be asked.
    tell_who: bool,
    /// When to look whether somebody waits whom no accept brings.
    look_at: Instant,
    /// Bytes that had been received by then have been processed. Evictions compare with this time
    /// and not with the clock, because a delayed loop may not have read a head yet.
    polled: Instant,
    /// It waits for the bell.
    hears_bell: bool,
    /// The order to drain has come and is yet to be obeyed.
    ordered: bool,
    /// Threads that translate paths and open files.
    helpers: HandedOver<'s>,
    /// Bytes being read, or read and not yet sent.
    pieces_bytes: u64,
    /// Connections whose receive found no buffer, in that order.
    thirsty: VecDeque<u64>,
    /// The last phase of pending work has left some of it.
    was_cut: bool,
    /// What is in memory of a file leaves by `sendfile`.
    sends_files: bool,
    /// By the ring.
    fetches: Fetches,
}

impl<'s> Completions<'s> {
    pub(crate) fn new(
        worker: &'s Worker<'s>,
        mut ring: Ring,
        helpers: HandedOver<'s>,
    ) -> io::Result<Self> {
        os::thread::set_name("weir-loop");
        let server = worker.server;
        let tell_who = ways::accepts_tell_who(&server.settings);
        ring.poll(worker.wake(), ORDER)?;
        ring.poll(helpers.wake(), HELPERS)?;
        if let Some(verifiers) = &worker.verifiers {
            ring.poll(verifiers.wake(), VERDICTS)?;
        }
        Ok(Self {
            ring,
            books: Books::new(worker, Performer::Ring),
            connections: Places::new(),
            timers: Timers::new(),
            touched: Vec::new(),
            turns: 0,
            has_worked: false,
            gate: Gate::new(server),
            intake: Intake::new(worker, TURNS),
            beyond: ways::beyond(&server.settings, server.connections_max),
            going: 0,
            accepts: vec![Accepts::default(); server.listeners.len()],
            are_single: tell_who,
            tell_who,
            look_at: Instant::ORIGIN,
            polled: Instant::ORIGIN,
            hears_bell: false,
            ordered: false,
            helpers,
            pieces_bytes: 0,
            thirsty: VecDeque::new(),
            was_cut: false,
            sends_files: ways::files(&server.settings) == RingFiles::Sendfile,
            fetches: Fetches::default(),
        })
    }

    /// Each accept takes one connection, so that whoever comes later waits in the socket's queue.
    pub(crate) fn accepts_singly(self) -> Self {
        let intake = Intake::new(self.books.worker, TURNS_SINGLY);
        Self { are_single: true, intake, ..self }
    }

    /// Until drained.
    pub(crate) fn go_on(&self) -> bool {
        !self.gate.is_draining() || !self.connections.is_empty() || self.gate.due().is_some()
    }

    /// Enters the kernel once: submits what was started, waits for a completion or a deadline.
    pub(crate) fn submit_and_wait(&mut self) -> io::Result<()> {
        self.quench(QUENCHED_MAX)?;
        let timers = self.timers.earliest().into_iter().chain(self.gate.due());
        let due = timers.chain(self.goes_at()).chain(self.looks()).min();
        let worked = self.books.look_at_clock();
        let patience = due.map(|at| at - self.books.now.at);
        // Where much is submitted the kernel works on it, and there is no need to wait. All that is
        // there is to be in a round: of the few that an entry brings others would be the first.
        let works = mem::take(&mut self.turns) >= WORKS_FROM;
        self.has_worked = false;
        match works {
            true => self.ring.submit_and_wait(BROUGHT_ALL, Some(Duration::ZERO))?,
            false => self.ring.submit_and_wait(1, patience)?,
        }
        let entered = self.books.look_at_clock();
        self.books.disk.asked_for_events(entered);
        self.gate.tick(self.books.now.at, self.connections.len());
        let (work, wait) =
            if works { (entered, Duration::ZERO) } else { (Duration::ZERO, entered) };
        let tally = &mut self.books.tally;
        tally.add(Counter::GeteventsCalls, 1);
        tally.add(Counter::GeteventsNs, wait.as_nanos() as u64);
        tally.add(Counter::WorkNs, (worked + work).as_nanos() as u64);
        Ok(())
    }

    /// Takes one piece of pending work to its connection, which touches that, and counts it off
    /// from what a phase may take; `false`: nothing is pending, or that is used up, or somebody has
    /// come at the maximum, and another is to go first. Where nothing is any more, what was started
    /// is submitted: what the kernel performs at once is pending then.
    pub(crate) fn take_pending(&mut self, pending_max: &mut u32) -> io::Result<bool> {
        let is_to_go = self.owed() > 0 && self.next_evictable(self.books.now.at).is_some();
        let Some(left) = pending_max.checked_sub(1).filter(|_| !is_to_go) else {
            self.was_cut = *pending_max == 0;
            return Ok(false);
        };
        self.was_cut = false;
        if left % SUBMIT_EVERY == 0 {
            self.ring.submit()?;
        }
        if !self.complete()? {
            self.quench(QUENCHED_MAX)?;
            self.ring.submit()?;
            let worked = self.books.look_at_clock();
            self.books.tally.add(Counter::WorkNs, worked.as_nanos() as u64);
            // A phase may be long, and its supervisor is to know of it.
            self.books.publish();
            if !self.complete()? {
                return Ok(false);
            }
        }
        *pending_max = left;
        Ok(true)
    }

    /// Takes one completion to the connection it belongs to; `false`: there are no more.
    pub(crate) fn complete(&mut self) -> io::Result<bool> {
        let Some(completion) = self.ring.completion() else { return Ok(false) };
        self.books.tally.add(Counter::Events, 1);
        let (token, more) = (completion.token, completion.more);
        match completion.done {
            Done::Accepted(accepted) => {
                let listener = (token - LISTENER_0) as usize;
                self.accepts[listener].came_back(more);
                self.accepted(accepted, listener, more)?;
            }
            Done::Ready(_) if token == VERDICTS => self.hear_verdicts()?,
            Done::Ready(_) if token == HELPERS => self.hear_helpers()?,
            Done::Ready(_) if token == BELL => self.hear_bell(),
            Done::Ready(_) => self.ordered = true,
            // Whether it has ended the next call tells.
            Done::Writable(_) => self.sent(token, Ok(0)),
            Done::Received(received) => {
                let gives_back = received.as_ref().is_ok_and(|bytes| !bytes.is_empty());
                if let Some(connection) = self.connections.named(token) {
                    connection.received(received, more, &mut self.books);
                    if connection.receive == Receive::Thirsty {
                        self.books.tally.add(Counter::Thirsts, 1);
                        self.thirsty.push_back(token);
                    } else {
                        connection.touch(token, &mut self.touched);
                    }
                }
                self.quench(usize::from(gives_back))?;
            }
            Done::Sent(sent) => self.sent(token, sent),
            Done::Read(read) => self.has_read(token, read)?,
            Done::Shut(_) => {
                let Some(connection) = self.connections.named(token) else { return Ok(true) };
                let left = connection.shutdowns.checked_sub(1);
                connection.shutdowns = left.expect("a shutdown that was begun");
                connection.touch(token, &mut self.touched);
            }
            Done::Installed(socket) => socket.iter().for_each(Socket::reset_on_close),
        }
        Ok(true)
    }

    /// Starts what every connection of this round wants next.
    pub(crate) fn start_all(&mut self) -> io::Result<()> {
        if mem::take(&mut self.ordered) {
            self.drain()?;
        }
        self.start_touched()?;
        // Whoever went has made room, and the last to go is not the end while others wait.
        while self.gate.is_draining() && self.gate.is_open() {
            self.accept_waiting()?;
            self.start_touched()?;
        }
        Ok(())
    }

    fn start_touched(&mut self) -> io::Result<()> {
        let mut touched = mem::take(&mut self.touched);
        let is_first = !touched.is_empty() && !mem::replace(&mut self.has_worked, true);
        self.books.tally.add(Counter::WorkPhases, u64::from(is_first));
        self.books.tally.add(Counter::Worked, touched.len() as u64);
        self.turns += touched.len();
        for token in touched.drain(..) {
            if let Some(connection) = self.connections.named(token) {
                connection.touched = false;
                connection.had_its_turn = false;
                self.start(token)?;
            }
        }
        self.touched = touched;
        Ok(())
    }

    /// Lets deadlines that have passed take effect, and publishes what was counted.
    pub(crate) fn expire(&mut self) -> io::Result<()> {
        self.catch_up()?;
        let now = self.books.now.at;
        while let Some(place) = self.timers.passed(now) {
            let Some((token, connection)) = self.connections.at(place) else { continue };
            let sends = matches!(connection.dialog.session.want(), Want::Send(..));
            let is_over = match connection.ending {
                // What was to be said is out, and the peer only keeps his end open: elsewhere that
                // is closed without waiting for him.
                Ending::Closing => true,
                _ => self.books.expired(&mut connection.dialog, now),
            };
            if is_over && matches!(connection.dialog.session.want(), Want::Close) {
                self.break_off(token, sends)?;
            }
            self.start(token)?;
        }
        self.make_room()?;
        self.books.tally.add(Counter::RingEnters, self.ring.take_entered());
        self.books.tally.add(Counter::RingOverflows, self.ring.take_overflowed());
        self.books.publish();
        self.intake.give_way(self.books.worker);
        Ok(())
    }

    /// Begins receives again that have found no buffer: so many as have come back. Each has
    /// something to receive, so who is not begun now is after one of these.
    fn quench(&mut self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            let Some(token) = self.thirsty.pop_front() else { break };
            let Some(connection) = self.connections.named(token) else { continue };
            let was = mem::replace(&mut connection.receive, Receive::Off);
            debug_assert!(was == Receive::Thirsty, "it is among them as long as it is thirsty");
            // Who waits only for the peer's FIN reads away what comes before it.
            if connection.goes { self.receive(token)? } else { self.start(token)? }
        }
        Ok(())
    }

    /// Before a deadline takes effect, or somebody goes for another: what has come by now is looked
    /// at first. An entry into the kernel that asks for much brings all there is, so there are as
    /// many as all connections may need.
    fn catch_up(&mut self) -> io::Result<()> {
        for _ in 0..=self.connections.len() / BROUGHT_ALL as usize {
            let now = self.books.now.at;
            let is_due = self.timers.earliest().is_some_and(|at| at <= now);
            if !is_due && (self.owed() == 0 || self.next_evictable(now).is_none()) {
                break;
            }
            self.polled = now;
            self.ring.submit_and_wait(BROUGHT_ALL, Some(Duration::ZERO))?;
            if !self.complete()? {
                break;
            }
            while self.complete()? {}
            self.start_all()?;
        }
        Ok(())
    }

    fn sent(&mut self, token: u64, sent: io::Result<usize>) {
        let Some(connection) = self.connections.named(token) else { return };
        connection.sends = false;
        connection.touch(token, &mut self.touched);
        match sent {
            Ok(0) => {}
            Ok(n) => {
                if self.books.sent(&mut connection.dialog, n as u64) {
                    forget(&mut self.pieces_bytes, connection.let_go());
                }
            }
            Err(e) => connection.broke_off(&e, &mut self.books),
        }
    }

    /// Performs what needs no waiting, until an operation is in flight or bytes are awaited.
    fn start(&mut self, token: u64) -> io::Result<()> {
        while let Some(connection) = self.connections.named(token) {
            if connection.is_busy() {
                break;
            }
            let dialog = &mut connection.dialog;
            match dialog.session.want() {
                Want::Recv => {
                    connection.ahead_bytes = 0;
                    self.receive(token)?;
                    break;
                }
                Want::Find(tag, head) => {
                    let host = self.books.server.site.host_number(&head);
                    let found = self.books.find(&head);
                    self.books.found(dialog, (tag, host), found);
                }
                Want::Load(..) if dialog.is_loaded() => break,
                Want::Load(tag, miss) => self.load(token, tag, miss)?,
                Want::Send(..) => self.send(token)?,
                Want::Wait => {
                    if dialog.session.view().hears {
                        self.receive(token)?;
                    }
                    break;
                }
                Want::Shut => {
                    dialog.session.tell(Event::Shut, &self.books.now);
                    if connection.ending == Ending::Open {
                        connection.ending = Ending::FinOut;
                        self.shut(token, How::Write)?;
                    }
                }
                Want::Close => return self.close(token),
            }
        }
        if let Some(connection) = self.connections.named(token) {
            let view = connection.dialog.session.view();
            self.timers.set(place_of(token), view.deadline);
            if connection.is_far_ahead() && !view.hears {
                connection.receive = Receive::Ends;
                self.ring.cancel(token)?;
                // At once: with each entry into the kernel more comes.
                self.ring.submit()?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        if connection.receive == Receive::Off {
            self.ring.recv(connection.handle, token)?;
            connection.receive = Receive::Armed;
        }
        Ok(())
    }

    /// Takes what has come, connections and bytes; every connection ends after what it has.
    fn drain(&mut self) -> io::Result<()> {
        self.gate.drain(self.books.server.waiting_max(), self.connections.len());
        if self.books.worker.order.is_retiring() {
            self.hand_on()?;
        }
        self.accept_waiting()?;
        for token in self.connections.tokens() {
            if let Some(connection) = self.connections.named(token) {
                self.books.tell_end(&mut connection.dialog);
                connection.touch(token, &mut self.touched);
            }
        }
        Ok(())
    }
}

/// So many bytes of files are not held any more.
fn forget(held: &mut u64, bytes: u64) {
    *held = held.checked_sub(bytes).expect("no more than was read");
}
