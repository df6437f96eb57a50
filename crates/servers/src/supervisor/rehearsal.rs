//! A reload is rehearsed by a child, which looks at all that the settings name on disks. A disk or
//! a mount that does not answer holds up the child, and not the supervisor, which has to answer its
//! operator, to replace workers that die, and to end.

use std::io;

use measure::{Duration, Instant};
use os::process::{self, Fork, Pid};
use site::Site;

use super::{Program, confine, judge};

/// The child that looks at the settings of the next reload.
pub(super) struct Rehearsal {
    pub(super) pid: Pid,
    began: Instant,
}

/// How long disks may take to answer. An NFS server that is restarted takes longer, and is asked
/// again with the next reload.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

impl Rehearsal {
    /// Starts the child. Its status says nothing, because the reload itself tells every mistake.
    ///
    /// # Errors
    /// The machine refuses a process.
    pub(super) fn begin(program: &mut Program<'_>) -> io::Result<Self> {
        match process::fork()? {
            Fork::Parent(pid) => Ok(Self { pid, began: os::clock::monotonic() }),
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

    /// When the disks should have answered.
    pub(super) fn due(&self) -> Instant {
        self.began + ANSWERED_WITHIN
    }

    /// Ends the child, as soon as the disk lets it.
    pub(super) fn give_up(&self) {
        // One that cannot be killed has ended, and is buried like a worker.
        let _ = process::kill(self.pid);
    }
}
