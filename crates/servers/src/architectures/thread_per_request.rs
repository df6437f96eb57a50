//! Thread-per-request: an acceptor makes a kernel thread for each connection (JAWS, inetd).
//!
//! Paper: JAWS97 sections 3.1 and 3.2.3, figure 14.
//!
//! Same: one thread accepts and spawns another for whoever has come, which performs every step with
//! blocking calls, shares one cache with the others, and ends with its connection. JAWS97's clients
//! send one request on each connection, so that is a thread for each request.
//!
//! Different: a connection may ask for more, by keep-alive, and has its thread for so long. There
//! are at most as many threads as `--threads` says. Then new connections wait in the kernel's
//! queue, and as many connections as wait there are evicted, those that have waited for longest,
//! as in [`super::mt`]; one thread in 64 is kept free so. If the machine refuses a thread, the
//! connection waits for a second and is answered 503 then. Up to accept-limit connections are
//! accepted before threads are made for them. Stacks are small, and the C library keeps those of
//! threads that have ended for the next ones.

use std::io;

use crate::connection::books::Books;
use crate::connection::{Connection, Dialog};
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::threads::entrance::Held;
use crate::threads::life::{Waiting, live};
use crate::threads::spawner::Spawner;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a thread or a descriptor, at start, or to wait.
pub(crate) fn thread_per_request(worker: &Worker<'_>) -> io::Result<()> {
    let spawner = Spawner::new(worker)?;
    std::thread::scope(|scope| {
        let mut acceptor = spawner.acceptor()?;
        worker.ready();
        while acceptor.waits()? {
            acceptor.accept();
            acceptor.spawn(scope, |held, dialog| serve(held, dialog, worker));
        }
        Ok(())
    })
}

/// A thread's life: that of its connection.
fn serve(held: &Held<'_>, mut dialog: Dialog, worker: &Worker<'_>) {
    let (server, socket) = (worker.server, held.socket());
    let mut books = Books::new(worker, Performer::Thread);
    books.introduce(&mut dialog, || socket.peer_ip());
    let calls = Waiting::new(socket, server.settings.sendfile, &server.limits);
    live(&mut Connection::new(calls, dialog), held, &mut held.service(), &mut books);
    books.tally.add(Counter::Closed, 1);
    books.publish();
}
