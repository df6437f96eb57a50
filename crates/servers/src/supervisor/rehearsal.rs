//! A reload is rehearsed by a child, which looks at all that the settings name on disks. A disk or
//! a mount that does not answer holds up the child, and not the supervisor, which has to answer its
//! operator, to replace workers that die, and to end.

use std::{io, mem};

use measure::{Duration, Instant};
use os::process::{self, Fork, Pid};
use site::Site;

use super::{Program, confine, judge};

/// The child that looks at the settings of the next reload.
pub(super) struct Rehearsal {
    pub(super) pid: Pid,
    /// CPU time of the child at the last look.
    ran: Duration,
    /// Looks so far, and how many of the last ones found that it had not run since the one before.
    looks: u32,
    idle_looks: u32,
    /// The next look.
    pub(super) due: Instant,
}

/// How long disks may take to answer. An NFS server that is restarted takes longer, and is asked
/// again with the next reload.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// How often to look whether the child has run. On a busy machine it runs seldom without waiting
/// for a disk.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long all disks together may take, because a reload or an upgrade waits for the one before.
pub(super) const ALL_ANSWERED_WITHIN: Duration = Duration::from_secs(300);

impl Rehearsal {
    /// Starts the child. Its status says nothing, because the reload itself tells every mistake.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(super) fn begin(program: &mut Program<'_>) -> io::Result<Self> {
        match process::fork()? {
            Fork::Parent(pid) => {
                let due = os::clock::monotonic() + LOOK_EVERY;
                Ok(Self { pid, ran: Duration::ZERO, looks: 0, idle_looks: 0, due })
            }
            Fork::Child => {
                process::die_with_parent();
                // A socket listens as long as a process has it. What is kept does no harm soon.
                let _ = process::keep_only(&[]);
                if let Ok(settings) = (program.settings)() {
                    let rules = settings.rules.clone();
                    let site = site::Settings { rules, ..site::Settings::default() };
                    let _ = Site::new(&settings.root, &site);
                    let _ = confine::rules(&settings);
                    judge::look_at_files(&settings);
                }
                process::exit(0)
            }
        }
    }

    /// Looks, if it is time to, whether the child has waited for a disk for too long.
    pub(super) fn is_stuck(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + LOOK_EVERY;
        self.looks += 1;
        let ran = process::cpu_time_of(self.pid).unwrap_or(self.ran);
        let has_run = mem::replace(&mut self.ran, ran) != ran;
        self.idle_looks = if has_run { 0 } else { self.idle_looks + 1 };
        LOOK_EVERY * self.idle_looks >= ANSWERED_WITHIN
            || LOOK_EVERY * self.looks >= ALL_ANSWERED_WITHIN
    }

    /// Ends the child, as soon as the disk lets it.
    pub(super) fn give_up(&self) {
        // One that cannot be killed has ended, and is buried like a worker.
        let _ = process::kill(self.pid);
    }
}
