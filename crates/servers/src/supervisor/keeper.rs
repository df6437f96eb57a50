//! The keeper: a process between the supervisor and workers that have one table of descriptors and
//! one cache. It is what the supervisor calls their worker, and talks to no client.
//!
//! The supervisor's descriptors are in another table, and so are other generations': who takes a
//! worker over finds none of them, and what a generation has open ends with it. A worker that dies
//! closes nothing, as others have the same table. So the keeper, who starts the workers and buries
//! them, closes what a dead one had open, forgets what it was sending, and mends the cache where it
//! died while it changed that. When the keeper ends, its workers do, and the kernel closes all.
//!
//! It has one thread, so that it may fork at any time, and like the supervisor it is not confined:
//! each worker confines itself before it serves.

use std::io;

use measure::{Duration, Instant};
use os::process::{self, Exit, Fork, Pid, SingleThreaded};
use os::sharing::{Members, Orphans, descriptors};
use os::signals::{Signal, Signals};

use crate::shared::error_log::By;
use crate::shared::failure::Failure;
use crate::shared::server::Server;
use crate::supervisor::voice::Voice;
use crate::supervisor::worker::{Nursery, keep_only};
use crate::supervisor::workers::{Kind, Workers};

/// How soon it is looked again who has a descriptor that nobody has noted: one that is being made
/// is noted within microseconds, unless a disk keeps who makes it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How soon a dial that was turned is seen: ten looks a second cost next to nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// See the head of this file.
struct Keeper<'s, 'p> {
    server: &'s Server,
    workers: Workers,
    orphans: Orphans,
    /// There may be some.
    looks: bool,
    /// What is shared is still to be looked at.
    checks: bool,
    voice: &'s mut Voice<'p>,
}

/// Starts it.
///
/// # Errors
/// The machine refuses a process.
pub(super) fn forked(server: &Server, voice: &mut Voice<'_>) -> io::Result<Pid> {
    match process::fork()? {
        Fork::Parent(pid) => Ok(pid),
        Fork::Child => {
            os::thread::set_name("weir-keeper");
            process::die_with_parent();
            keep_only((server, By::Keeper), 0..server.counters.workers(), voice.descriptor());
            voice.become_keeper(&server.errors);
            let kept = keep(server, voice);
            if let Err(text) = &kept {
                voice.complain(text);
            }
            process::exit(i32::from(kept.is_err()))
        }
    }
}

/// In its process: keeps the workers until they have drained.
///
/// # Errors
/// Why they cannot go on: a line for the operator.
fn keep(server: &Server, voice: &mut Voice<'_>) -> Result<(), String> {
    let members = server.counters.workers().try_into().expect("as many as there are numbers for");
    let refused = |e: io::Error| format!("cannot keep workers: {e}");
    let alone = SingleThreaded::counted().map_err(refused)?;
    let signals = Signals::take(&[Signal::Child]).map_err(refused)?;
    descriptors::share(&alone, members).map_err(refused)?;
    let said = || server.settings.said("cache-mb", server.settings.cache_mb);
    let shared = server.site.share(members);
    shared.map_err(|e| format!("{}: no memory to share: {e}; give less", said()))?;
    let nursery = Nursery { alone, members: Members::new(members) };
    let workers = Workers::start(server, Kind::Kept(nursery), false, voice).map_err(refused)?;
    let mut keeper =
        Keeper { server, workers, orphans: Orphans::default(), looks: false, checks: false, voice };
    while keeper.goes_on() {
        let now = os::clock::monotonic();
        let patience = keeper.due(now) - now;
        if signals.wait(Some(patience)).map_err(refused)?.is_some() {
            while let Some((pid, exit)) = process::wait_any_exited().map_err(refused)? {
                keeper.bury(pid, exit)?;
            }
        }
        keeper.tick()?;
    }
    Ok(())
}

impl Keeper<'_, '_> {
    /// Until its workers have ended as they were told.
    fn goes_on(&self) -> bool {
        !self.is_ending() || !self.workers.are_over()
    }

    fn due(&self, now: Instant) -> Instant {
        let look = now + if self.looks || self.checks { LOOK_AGAIN } else { LOOK_EVERY };
        self.workers.due().map_or(look, |due| due.min(look))
    }

    fn tick(&mut self) -> Result<(), String> {
        let now = os::clock::monotonic();
        self.server.errors.obey(By::Keeper);
        if self.is_ending() {
            self.workers.end();
            self.workers.kill_late(now, self.voice);
        } else {
            self.workers.tick(self.server, now, true, self.voice);
        }
        self.looks = self.looks && !self.orphans.step();
        self.checks = self.checks && !self.server.site.check().map_err(nonsense)?;
        Ok(())
    }

    /// A worker has ended: clears up behind it.
    fn bury(&mut self, pid: Pid, exit: Exit) -> Result<(), String> {
        let Some(n) = self.workers.named(pid) else { return Ok(()) };
        if self.clear_up(pid)? {
            let text = format!("worker {n} ended while it changed the cache, which begins anew");
            self.voice.warn(&text);
        }
        let now = os::clock::monotonic();
        let serves = !self.is_ending();
        let cut = self.workers.bury(self.server, n, exit, (now, serves, true), self.voice);
        match cut {
            Ok(0) => Ok(()),
            Ok(cut) => {
                self.voice.warn(&format!("worker {n}: {cut} connections were cut off"));
                Ok(())
            }
            Err(Failure::Machine(text) | Failure::Operator(text)) => Err(text),
            Err(Failure::Cut) => Ok(()),
        }
    }

    /// Closes what that process had open, and forgets what it was sending; whether the cache begins
    /// anew for it.
    fn clear_up(&mut self, pid: Pid) -> Result<bool, String> {
        let Some(nursery) = self.workers.nursery() else { return Ok(false) };
        let dead = nursery.members.dead(pid).map_err(|e| format!("cannot bury a worker: {e}"))?;
        let Some(dead) = dead else { return Ok(false) };
        // First the lock, for which others may wait.
        let begins_anew = self.server.site.bury(&dead).map_err(nonsense)?;
        descriptors::bury(&dead);
        self.orphans.look();
        self.looks = true;
        self.checks = true;
        Ok(begins_anew)
    }

    fn is_ending(&self) -> bool {
        self.server.orders.all().is_draining()
    }
}

/// Why all of them end: a line for the operator.
fn nonsense(what: String) -> String {
    format!("what workers share makes no sense: {what}; all begin anew")
}
