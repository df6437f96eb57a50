//! SYMPED: symmetric multi-process event driven (µserver).
//!
//! Paper: Pariag07 section 5.1; tuned in 5.3, compared in 7.
//!
//! Same: several processes, each a whole SPED server with its own loop and its own cache, forked
//! after `listen`. They share the listening sockets and nothing else, so they agree on nothing. The
//! system runs another one where one waits for the disk. By `--sendfile blocking` sockets wait, as
//! in the paper's second kind: a file part leaves by one call, its connection is not waited for in
//! the getevents-phase meanwhile, and as many processes are needed as clients are sent to at once.
//!
//! Different: the number of processes can be turned while they serve, which the paper plans. With
//! epoll one of those that wait is woken for each connection, where poll wakes all; with
//! `--listener-queues own` each has a queue. In the blocking kind only the sends of file parts
//! wait, at most as long as a listening socket hands on (SO_SNDTIMEO): receives and heads never do,
//! so that a process is held up by who takes a file and by nobody who is idle. After each such send
//! it is the others' turn. The loop is [`super::sped`]'s, with two passes by default.

use std::io;

use crate::connection::perform::InPlace;
use crate::loops::phases::{Loop, Until};
use crate::shared::server::Worker;

/// One of the processes: serves until drained.
///
/// # Errors
/// The machine refuses a poller or a descriptor, at start or while waiting.
pub(crate) fn symped(worker: &Worker<'_>) -> io::Result<()> {
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
