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
    /// How long it had run at the last look, and since when it has not run for longer.
    ran: Duration,
    waits_since: Instant,
    /// The next look.
    pub(super) due: Instant,
}

/// How long disks may take to answer. An NFS server that is restarted takes longer, and is asked
/// again with the next reload.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// How often to look whether the child has run. On a busy machine it runs seldom without waiting for
/// a disk.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Rehearsal {
    /// Starts the child. Its status says nothing, because the reload itself tells every mistake.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(super) fn begin(program: &mut Program<'_>) -> io::Result<Self> {
        match process::fork()? {
            Fork::Parent(pid) => {
                let now = os::clock::monotonic();
                Ok(Self { pid, ran: Duration::ZERO, waits_since: now, due: now + LOOK_EVERY })
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
        if now >= self.due {
            self.due = now + LOOK_EVERY;
            let ran = process::cpu_time_of(self.pid).unwrap_or(self.ran);
            if mem::replace(&mut self.ran, ran) != ran {
                self.waits_since = now;
            }
        }
        now - self.waits_since >= ANSWERED_WITHIN
    }

    /// Ends the child, as soon as the disk lets it.
    pub(super) fn give_up(&self) {
        // One that cannot be killed has ended, and is buried like a worker.
        let _ = process::kill(self.pid);
    }
}
