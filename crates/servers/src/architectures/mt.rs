//! MT: a pool of kernel threads, each with one connection in hand (JAWS, Apache's worker).
//!
//! Paper: JAWS97 section 3.2.3 (thread pool); Choi05 section 2, figure 1 (b).
//!
//! Same: threads are spawned before the first connection; each accepts for itself, performs every
//! step with blocking calls, and shares one cache with the others. There is a minimum and a maximum
//! of active threads.
//!
//! Different: one free thread at a time waits for connections, with poll, and accepts up to
//! accept-limit of them (Brecht04 4.2): it serves the first, and free threads take the others
//! before more are accepted. With poll, because several listening sockets may be waited for and a
//! drain must end the wait; one at a time, because each connection would wake all who wait.
//! Keep-alive, which JAWS97's clients did not use, holds a thread for an idle connection: when no
//! thread is free the connection idle for longest is closed, and those that are busy end with a
//! reply, so that the threads are shared by all who come. Patience is a timeout of the socket,
//! looked at again after each call, so that a trickle does not renew it.

use std::io;
use std::sync::Arc;

use h1::{Loaded, Miss, Now, Want};
use measure::Duration;
use os::{File, Socket};

use crate::connection::perform::{count_fault, fault, send_part, step_of};
use crate::connection::{Connection, count};
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Clock;
use crate::shared::server::Server;
use crate::shared::trace::Step;
use crate::threads::pool::{Held, Member, Pool};

/// Serves until drained.
///
/// # Errors
/// The machine refuses the first threads or a descriptor.
pub(crate) fn mt(server: &Server, worker: usize) -> io::Result<()> {
    let log = crate::shared::log::start(server, worker)?;
    Pool::new(server, worker)?.run(|member| serve(member, server, worker, log.clone()))
}

/// A thread's life: accept, then serve one after the other.
fn serve(member: &Member<'_>, server: &Server, worker: usize, log: Option<AccessLog>) {
    let clock = Clock::new();
    let mut thread = Thread { server, worker, clock, tally: Tally::default(), log };
    while let Some(mut turn) = member.wait_for_turn() {
        member.accept(&mut turn, server.accept_limit(), &mut thread.tally);
        let held = member.hold(turn);
        thread.tally.publish(&server.counters, worker);
        if let Some(held) = held {
            thread.serve_one(held);
            thread.tally.add(Counter::Closed, 1);
            thread.tally.publish(&server.counters, worker);
        }
    }
}

struct Thread<'h> {
    server: &'h Server,
    worker: usize,
    clock: Clock,
    tally: Tally,
    log: Option<AccessLog>,
}

/// Bytes received per call: a browser's head. On the stack, of which each thread has its own.
const BUFFER_BYTES: usize = 2 << 10;

impl Thread<'_> {
    /// One connection, from accept to close.
    fn serve_one(&mut self, held: Held<'_>) {
        let mut now = self.clock.now();
        let logs = self.log.is_some();
        let mut peer = Connection::new(held.socket(), self.server, Performer::Thread, logs, &now);
        let mut patience = None;
        let mut retired = false;
        loop {
            let is_idle = peer.session.is_idle();
            held.idle(is_idle, now.at);
            let is_asked = || matches!(peer.session.want(), Want::Find(_));
            if !retired && (held.is_draining() || held.is_wanted() && is_asked()) {
                // A request that is on its way is still answered; the pool ends who is idle for
                // long.
                peer.session.retire(&now);
                retired = true;
            }
            self.set_patience(&peer, &now, &mut patience);
            if !self.perform(&mut peer, &mut now) {
                return;
            }
            if peer.session.deadline().is_some_and(|due| due.at <= now.at) {
                let is_over = peer.session.expired(&now);
                self.tally.add(Counter::Timeouts, u64::from(is_over));
            }
        }
    }

    /// Sets the socket's timeout to what the session's patience is, where that has changed: mostly
    /// it has not, so a request costs no call.
    fn set_patience(&self, peer: &Connection<Arc<Socket>>, now: &Now, set: &mut Option<Duration>) {
        let Some(due) = peer.session.deadline() else { return };
        let limits = &self.server.limits;
        let patience = match due.timeout {
            // A drain is to be seen soon by who has asked nothing yet.
            h1::Timeout::Head => limits.head_timeout.min(limits.linger_timeout),
            h1::Timeout::Idle | h1::Timeout::Rate => {
                limits.idle_timeout.min(limits.idle_grace).min(limits.rate_window)
            }
            h1::Timeout::Linger => (due.at - now.at).max(Duration::from_millis(1)),
        };
        if *set != Some(patience)
            && peer.socket.set_timeouts(Some(patience), Some(patience)).is_ok()
        {
            *set = Some(patience);
        }
    }

    /// Performs what the peer wants, blocking; `false`: it is to be dropped.
    fn perform(&mut self, peer: &mut Connection<Arc<Socket>>, now: &mut Now) -> bool {
        match peer.session.want() {
            Want::Recv => self.receive(peer, now),
            Want::Find(head) => {
                let found = self.server.site.find(&head, now);
                self.tally.add(Counter::Requests, 1);
                self.tally.add(Counter::Loads, u64::from(matches!(found, h1::Found::Miss(_))));
                if let Some(journal) = &mut peer.journal {
                    journal.note(&*peer.session);
                    journal.mark(Step::Find, Performer::Thread);
                }
                self.server.orders.tell_near_end(&mut *peer.session, now);
                peer.session.found(found, now);
            }
            Want::Load(miss) => {
                let loaded = self.load(&miss, now);
                peer.mark(step_of(&miss), Performer::Thread);
                peer.session.loaded(loaded, now);
            }
            Want::Send(..) => self.send(peer, now),
            Want::Shut => match peer.socket.shutdown_write() {
                Ok(()) => peer.session.shut(now),
                Err(e) => {
                    self.tally.add(fault(&e), 1);
                    return false;
                }
            },
            Want::Close => return false,
        }
        true
    }

    fn receive(&mut self, peer: &mut Connection<Arc<Socket>>, now: &mut Now) {
        let mut buffer = [0; BUFFER_BYTES];
        let received = peer.socket.recv(&mut buffer);
        *now = self.clock.now();
        match received {
            Ok(0) => peer.session.ended(now),
            Ok(n) => {
                peer.session.received(&buffer[..n], now);
                peer.mark(Step::Receive, Performer::Thread);
            }
            // The socket's patience is over; whether the session's is, its deadline says.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => {
                self.tally.add(fault(&e), 1);
                peer.session.failed();
            }
        }
    }

    fn load(&mut self, miss: &Miss<File>, now: &mut Now) -> Loaded<File> {
        let loaded = self.server.load(miss, now);
        count_fault(&loaded, &mut self.tally);
        let before = now.at;
        *now = self.clock.now();
        self.tally.add(Counter::Blocked, (now.at - before).as_nanos() as u64);
        loaded
    }

    fn send(&mut self, peer: &mut Connection<Arc<Socket>>, now: &mut Now) {
        if let Some(journal) = &mut peer.journal {
            journal.note(&*peer.session);
            journal.mark(Step::Send, Performer::Thread);
        }
        let Want::Send(chunk, part) = peer.session.want() else { return };
        let sent = match part {
            Some(part) if chunk.bytes().is_empty() => {
                let how = self.server.settings.sendfile;
                let sent = send_part(&peer.socket, part, part.len(), how);
                // That may have taken as long as the disk or the peer wanted.
                *now = self.clock.now();
                sent
            }
            _ => {
                let more = part.is_some() && self.server.limits.gather;
                peer.socket.send(chunk.bytes(), more).map(|n| n as u64)
            }
        };
        match sent {
            Ok(0) => {
                self.tally.add(Counter::FileFaults, 1);
                peer.session.failed();
            }
            Ok(n) => {
                self.tally.add(Counter::Bytes, n);
                if let Some(reply) = peer.session.sent(n, now) {
                    count(reply, &mut self.tally);
                    self.tally.publish(&self.server.counters, self.worker);
                    self.server.counters.count_switches(now.date.seconds);
                    if let Some(journal) = &mut peer.journal {
                        let log = self.log.as_mut();
                        journal.finish(reply, self.server, log, now, &mut self.tally);
                    }
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => *now = self.clock.now(),
            Err(e) => {
                self.tally.add(fault(&e), 1);
                peer.session.failed();
            }
        }
    }
}
