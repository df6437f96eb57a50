//! Proactor: every want is a submission, every event a completion.
//!
//! Paper: JAWS97 section 3.1, which has concurrency strategies and I/O strategies. It does not say
//! which go together: single-threaded with asynchronous is our pair.
//!
//! Same: one thread starts operations and never waits for any single one; the system performs them
//! and reports what is done, and only then is the next want looked at. The unit of work is a
//! completed operation, not a readiness.
//!
//! Different: the completion mechanism is io_uring where JAWS97 had the overlapped I/O of Windows
//! NT. Connections are accepted by one multishot submission when accept-limit is inf and it is no
//! flood, else by so many one-shot ones, which are submitted again once all have completed.
//! Receives are multishot into buffers that the ring owns. What is in a file is read by the ring
//! and sent by the ring (`--ring-files read`); by default only what is not in memory: the rest the
//! loop sends by `sendfile`, which no ring has, for half of the CPU at 100 KB. That call does not
//! wait, and a completion says when there is room for the next. Where rings are forbidden, `sped`
//! serves.
//!
//! Not a submission: paths are translated and files opened by helper threads, as in
//! [`super::amped`]. Two of the calls for that, readlink and the reading of a directory, are no
//! operations of a ring, and an open that finds the name in memory is performed by the thread that
//! submits it, which then waits for a remote file system. The loop itself compares a path that the
//! cache has with what the kernel knows.
//!
//! With `--threads N` a process runs N such loops over one cache, each in a thread with a ring of
//! its own: the pool of threads and the asynchronous I/O of JAWS97 together. Nothing of that is in
//! the loop.

use std::io;

use os::ring::Ring;

use crate::loops::helpers::Helpers;
use crate::rings::completions::Completions;
use crate::shared::server::Worker;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a descriptor or a thread at start, or the ring while waiting.
pub(crate) fn proactor(worker: &Worker<'_>, ring: Ring) -> io::Result<()> {
    let helpers = Helpers::new(worker.server)?;
    std::thread::scope(|scope| {
        let handed_over = helpers.hire(scope, worker)?;
        let mut ring = Completions::new(worker, ring, handed_over)?;
        worker.ready();
        while ring.go_on() {
            ring.accept()?;
            ring.submit_and_wait()?;
            while ring.complete()? {}
            ring.start_all()?;
            ring.expire()?;
            ring.look()?;
        }
        Ok(())
    })
}
