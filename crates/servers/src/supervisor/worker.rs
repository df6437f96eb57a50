//! The process of a worker: how it is made, what it keeps of its parent's, and its end.

use std::io;
use std::ops::Range;
use std::os::fd::RawFd;

use os::process::{self, Fork, Pid, SingleThreaded};
use os::sharing::Members;

use crate::shared::error_log::By;
use crate::shared::server::Server;
use crate::shared::settings::Level;
use crate::supervisor::serving;

/// What starts workers that share their table of descriptors with who starts them.
pub(super) struct Nursery {
    /// That it may fork.
    pub(super) alone: SingleThreaded,
    pub(super) members: Members,
}

impl Nursery {
    /// Starts a worker.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(super) fn start(&mut self, server: &Server, n: usize) -> io::Result<Pid> {
        match self.members.start(&self.alone, number(n))? {
            Fork::Parent(pid) => Ok(pid),
            Fork::Child => {
                process::die_with_parent();
                live(server, n)
            }
        }
    }
}

/// Of a worker among those that share.
fn number(n: usize) -> u16 {
    u16::try_from(n + 1).expect("fewer than there are numbers for")
}

/// Starts a worker in a process that has descriptors of its own.
///
/// # Errors
/// The machine refuses a process.
pub(super) fn forked(server: &Server, n: usize) -> io::Result<Pid> {
    match process::fork()? {
        Fork::Parent(pid) => Ok(pid),
        Fork::Child => {
            process::die_with_parent();
            keep_only((server, By::Worker(n)), n..n + 1, None);
            live(server, n)
        }
    }
}

/// In a process that was forked: what it inherits and these workers do not need, it has not. That
/// is the admin listener, its connections, the signals, other workers' orders.
pub(super) fn keep_only((server, by): (&Server, By), workers: Range<usize>, beside: Option<RawFd>) {
    let theirs = workers.flat_map(|worker| server.descriptors(worker));
    let kept: Vec<_> = theirs.chain(beside).collect();
    if let Err(e) = process::keep_only(&kept) {
        let text = format!("keeps descriptors that it does not need: {e}");
        server.errors.write(Level::Warn, by, &text);
    }
}

/// In the process of a worker: serves until it has drained, and ends. Signals stay blocked: a ^C at
/// the terminal reaches workers too, and it is the supervisor who decides what it means.
fn live(server: &Server, n: usize) -> ! {
    let name = server.architecture.name;
    let by = By::Worker(n);
    let text = format!("begins as process {} by {name}", process::id());
    server.errors.write(Level::Debug, by, &text);
    let served = serving::serve(server, n);
    match &served {
        Ok(()) => server.errors.write(Level::Info, by, "has drained"),
        Err(e) => server.errors.write(Level::Error, by, &format!("{name}: {e}")),
    }
    process::exit(i32::from(served.is_err()))
}
