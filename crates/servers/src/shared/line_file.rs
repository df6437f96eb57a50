//! A file that workers write lines to: a trace, or what is seen of listening queues.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use os::output::Appended;

/// The file, opened once for all workers.
pub struct LineFile(Appended);

impl LineFile {
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

    /// Writes a line, and its end.
    pub(crate) fn write(&self, mut line: String) {
        line.push('\n');
        // One write for a line: with O_APPEND lines of several workers do not mix. A disk that is
        // full loses lines, not requests.
        let _ = (&self.0).write_all(line.as_bytes());
    }
}
