//! Shared-SYMPED: SYMPED whose processes have one cache and one table of descriptors (µserver).
//!
//! Paper: Pariag07 section 5.2; compared in 7.
//!
//! Same: several processes, each with a loop of its own and memory of its own, but for the cache of
//! open files and heads: that lies in shared memory, a futex lets one of them change it at a time,
//! and `clone` with CLONE_FILES gives them one table, so that a file which one has opened is open
//! for all. A site takes as many descriptors and as much memory as with one process, whatever their
//! number is.
//!
//! Different: contents of small files lie in the cache, too, as in all architectures here. A
//! process may die at any instruction and takes nothing with it but its own connections: one more
//! process, the keeper, starts the others, closes what a dead one had open, forgets what it was
//! sending, and makes the cache whole again ([`crate::supervisor`], `keeper.rs`). What is known of
//! names that do not exist each process keeps for itself. The loop is [`super::sped`]'s, with two
//! passes by default; for processes see [`super::symped`].

use std::io;

use crate::connection::perform::InPlace;
use crate::loops::phases::{Loop, Until};
use crate::shared::server::Worker;

/// One of the processes: serves until drained.
///
/// # Errors
/// The machine refuses a poller or a descriptor, at start or while waiting.
pub(crate) fn shared_symped(worker: &Worker<'_>) -> io::Result<()> {
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
