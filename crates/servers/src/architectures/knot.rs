//! Knot: a user-level thread for each connection, and worker threads for what blocks.
//!
//! Paper: Pariag07 section 4; von Behren and others, Capriccio, SOSP 2003.
//!
//! Same: each connection has a thread of its own, written as if its calls blocked; all of them run
//! on one thread of the kernel, under a cooperative scheduler that asks the poller who may go on.
//! What would block that one is done by a pool of workers: they look for files, and send them as
//! `--sendfile` says. `off` with `--small-file-kb 1024` is the paper's application-level cache:
//! contents from memory, by `write`. `nonblocking`: a worker sends at once, and waits up to a
//! second for a client that takes nothing. `nonblocking-polled`: only when the poller has told that
//! the client takes something, which the paper dropped for its calls of poll. `blocking`: a worker
//! waits for disk and client. `--acceptor off` is Knot-C, where each thread accepts for itself,
//! `on` is Knot-A.
//!
//! Different: threads are called fibers here. What a worker would be asked for and a look into
//! memory can tell costs no worker: cached answers, and readiness that an edge-triggered poller has
//! told before, so that `nonblocking-polled`, the default, asks only where a client has taken
//! nothing. There a fiber sends by itself what the kernel has in memory (cachestat), and a worker
//! the rest. A free fiber takes what another has accepted, instead of leaving it to wait behind
//! that one's client. Knot-C's fibers are made when they are first needed, and stay. Passwords have
//! threads of their own. A deadline ends each wait, and who has used up his turn runs again when
//! all others have.

use std::io;

use crate::connection::books::Books;
use crate::loops::helpers::Helpers;
use crate::shared::server::Worker;
use crate::threads::fibers::{Fibers, Running, Scheduler};
use crate::threads::life::live;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a thread, a descriptor or memory for stacks at start, or the poller.
pub(crate) fn knot(worker: &Worker<'_>) -> io::Result<()> {
    let workers = Helpers::new(worker.server)?;
    std::thread::scope(|scope| {
        let scheduler = Scheduler::new(worker, &workers, workers.hire(scope, worker)?)?;
        let mut fibers = Fibers::new(worker)?;
        worker.ready();
        while scheduler.go_on() {
            if let Err(e) = scheduler.get_events() {
                fibers.abandon();
                return Err(e);
            }
            while let Some(number) = scheduler.next() {
                fibers.run(&scheduler, number, |fiber| match worker.server.settings.acceptor {
                    true if fiber.is_acceptor() => accept(fiber),
                    true => serve(fiber, &mut fiber.books()),
                    false => accept_and_serve(fiber),
                });
            }
            scheduler.expire();
        }
        Ok(())
    })
}

/// The life of a fiber of Knot-C: accept, then serve one after the other.
fn accept_and_serve(fiber: &Running<'_, '_>) {
    let mut books = fiber.books();
    while fiber.waits_to_accept() {
        fiber.accept();
        serve(fiber, &mut books);
    }
}

/// That of Knot-A's acceptor: others are made for whom it accepts.
fn accept(fiber: &Running<'_, '_>) {
    while fiber.waits_to_accept() {
        fiber.accept();
    }
}

/// That of a connection, with the fiber that has it.
fn serve(fiber: &Running<'_, '_>, books: &mut Books<'_>) {
    if let Some(mut connection) = fiber.takes() {
        books.look_at_clock();
        live(&mut connection, fiber, &mut fiber.service(), books);
        books.publish();
    }
}
