//! MP: a pool of processes, each with one connection in hand (Apache's prefork).
//!
//! Paper: Choi05 section 2, figure 1 (a); Pariag07 section 2. Brecht04 section 4.2 for how such a
//! process accepts.
//!
//! Same: processes are forked before the first connection; each accepts for itself, performs one
//! step after the other and waits with each, and has a cache of its own. A disk stops one of them.
//!
//! Different: a process takes one connection and serves it to its end before the next, whatever
//! accept-limit says. It waits by epoll for several listening sockets and for the order to end,
//! and of all that are free one is woken for each connection. Its connection's socket does not
//! block: where a call would have waited it waits by poll for the socket and for its eviction.
//! Keep-alive holds a process for an idle connection, and so does a slow client. When more
//! connections wait than processes are free, the supervisor evicts as many as wait, those that have
//! waited for longest. It reads from a scoreboard, as Apache has one, what each process does. As
//! the processes are many, what an address has and which process may verify a password are words
//! that all of them share, each writes its log itself, and the memory for cached content is divided
//! among them.

use std::io;

use crate::connection::Connection;
use crate::connection::books::Books;
use crate::connection::perform::InPlace;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::threads::life::live;
use crate::threads::single::Single;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a descriptor, or to wait.
pub(crate) fn mp(worker: &Worker<'_>) -> io::Result<()> {
    let process = Single::new(worker)?;
    let mut books = Books::new(worker, Performer::Process);
    worker.ready();
    while let Some((socket, listener)) = process.accept(&mut books)? {
        // It is told of while it is served, and if its process is killed.
        books.publish();
        let dialog = books.dialog(listener, || socket.peer_ip());
        let calls = process.calls(socket);
        live(&mut Connection::new(calls, dialog), &process, &mut InPlace, &mut books);
        books.tally.add(Counter::Closed, 1);
        books.publish();
    }
    Ok(())
}
