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
//! Keep-alive, which JAWS97's clients did not use, holds a thread for an idle connection, and so
//! does a slow client: when too few threads are free the connection that has waited for longest is
//! closed (`--make-room off`: idle ones only, when no thread is), or, if connections wait, the
//! slowest transfer is ended. Where none can be, those that are busy end with a reply, so that the
//! threads are shared by all connections. Patience is a timeout of the socket, as its listening
//! socket hands it on, and is looked at again after each call, so that a trickle does not renew it.
//! Who asks for what another thread loads already waits for that one.

use std::io;

use crate::connection::Connection;
use crate::connection::books::Books;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::threads::life::{Waiting, live};
use crate::threads::pool::{Member, Pool};

/// Serves until drained.
///
/// # Errors
/// The machine refuses the first threads or a descriptor.
pub(crate) fn mt(worker: &Worker<'_>) -> io::Result<()> {
    Pool::new(worker)?.run(|member| serve(member, worker))
}

/// A thread's life: accept, then serve one after the other.
fn serve(member: &Member<'_>, worker: &Worker<'_>) {
    let server = worker.server;
    let mut books = Books::new(worker, Performer::Thread);
    while let Some(mut accepting) = member.wait_to_accept() {
        books.look_at_clock();
        member.accept(&mut accepting, &mut books);
        let held = member.hold(accepting);
        books.publish();
        if let Some(held) = held {
            let socket = held.socket();
            let dialog = books.dialog(held.listener(), || socket.peer_ip());
            let calls = Waiting::new(socket, server.settings.sendfile, &server.limits);
            live(&mut Connection::new(calls, dialog), &held, &mut held.service(), &mut books);
            books.tally.add(Counter::Closed, 1);
            books.publish();
        }
    }
}
