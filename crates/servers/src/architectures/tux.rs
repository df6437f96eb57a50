//! TUX (ring, user mode): an accept phase and a work phase that goes on while work comes.
//!
//! Paper: Brecht04 section 4.3.
//!
//! Same: there is no getevents phase, because what has happened stands in memory that the kernel
//! shares. Two queues: the accept queue, from which an accept phase takes up to accept-limit
//! connections, and pending work, all of which a work phase does before the next accept phase. New
//! work joins the queue while it is worked on and prolongs the phase, so that who waits to be
//! accepted waits in the listening socket's queue, and it overflows there.
//!
//! Different: TUX ran in the kernel, and found events in the kernel's own structures. Here the
//! pending work is what a ring has completed: it is looked for in its completion queue without a
//! system call, and the kernel is entered to submit what follows, or to sleep when nothing is
//! pending. Each accept is an operation for one connection; of as many as accept-limit says, others
//! are begun when all have come back; without a limit there are as many as wait. A work phase is
//! bounded (`--work-pending-max`), so that a load without an end cannot shut newcomers out; `inf`
//! is the paper's. What is in memory of a large file leaves by `sendfile`, as TUX sent from the
//! page cache. What else a server in the kernel saves cannot be seen here: requests parsed where
//! they lie, and small replies that are not copied. With `--ring-setup polled` a thread of the
//! kernel does what is submitted, and work enters the kernel no more. Where rings are forbidden,
//! `sped` serves.
//!
//! Not a submission: paths are translated and files opened by helper threads, as in
//! [`super::proactor`].

use std::io;

use os::ring::Ring;

use crate::loops::helpers::Helpers;
use crate::rings::completions::Completions;
use crate::shared::server::Worker;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a descriptor or a thread at start, or the ring while waiting.
pub(crate) fn tux(worker: &Worker<'_>, ring: Ring) -> io::Result<()> {
    let helpers = Helpers::new(worker.server)?;
    std::thread::scope(|scope| {
        let handed_over = helpers.hire(scope, worker)?;
        let mut ring = Completions::new(worker, ring, handed_over)?.accepts_singly();
        worker.ready();
        while ring.go_on() {
            ring.accept()?;
            ring.submit_and_wait()?;
            let mut pending_max = worker.server.settings.work_pending_max;
            while ring.take_pending(&mut pending_max)? {
                ring.start_all()?;
            }
            ring.expire()?;
            ring.look()?;
        }
        Ok(())
    })
}
