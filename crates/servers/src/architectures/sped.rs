//! SPED: single process, event driven (µserver, Zeus).
//!
//! Paper: Brecht04 section 4.1; Choi05 section 2, figure 1 (c).
//!
//! Same: one process and one thread repeat three phases. The getevents-phase asks which
//! connections can make progress. The accept-phase takes up to accept-limit connections
//! consecutively, if the listening socket was reported. The work-phase performs what the reported
//! connections want and leaves out those just accepted (a knob lets them in). Whatever touches the
//! disk blocks the loop, and with it everybody.
//!
//! Different: epoll, edge-triggered, beside the paper's select and poll, because its cost does not
//! grow with the number of connections. By default the work-phase makes two passes, receive and
//! find for all, then send for all: the kernel's receive and its send path each stay warm. With
//! `--passes 1` it is the paper's loop. A connection's turn is bounded in bytes and wants.
//!
//! With `--threads N` a process runs N such loops over one cache, each in a thread of its own, as
//! h2o and memcached do: the pool of threads and the reactive I/O of JAWS97 section 3.1 together.
//! Each asks for events, accepts from the listening sockets that all have, and holds its
//! connections from accept to close; a disk blocks one of N. Nothing of that is in the loop.

use std::io;

use crate::connection::perform::InPlace;
use crate::loops::phases::{Loop, Until};
use crate::shared::server::Worker;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller or a descriptor, at start or while waiting.
pub(crate) fn sped(worker: &Worker<'_>) -> io::Result<()> {
    let mut phases = Loop::new(worker)?;
    worker.ready();
    while phases.go_on() {
        phases.get_events()?;
        if phases.is_listener_ready() {
            phases.accept();
        }
        let round = phases.ready();
        if worker.server.settings.passes == 2 {
            for &token in &round {
                phases.work(token, Until::Send, &mut InPlace);
            }
        }
        phases.flush(round, &mut InPlace);
        phases.expire();
    }
    Ok(())
}
