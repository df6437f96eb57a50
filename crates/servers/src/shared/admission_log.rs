//! What was seen of listening queues and what was decided of them, to be replayed: see
//! [`control::record`]. Before each line stand the worker and the place of the listening socket.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use control::record::Record;

/// The file, opened once for all workers.
pub struct AdmissionLog(File);

impl AdmissionLog {
    /// Opens it for appending.
    ///
    /// # Errors
    /// As [`os::output::append`].
    pub fn open(path: &Path) -> io::Result<Self> {
        os::output::append(path).map(Self)
    }

    /// The number of its descriptor.
    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Writes a line.
    pub(crate) fn tell(&self, worker: usize, place: usize, record: &Record) {
        let line = format!("{worker}.{place} {record}\n");
        // One write for a line: with O_APPEND lines of several workers do not mix. A disk that is
        // full loses lines, not requests.
        let _ = (&self.0).write_all(line.as_bytes());
    }
}
