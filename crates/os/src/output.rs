use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::retry_on_intr;
use rustix::net::{SendFlags, send};

/// Where lines are written to that nobody waits for: a reader that sleeps costs lines, not time.
/// Only the disk of a regular file may take its time.
#[derive(Debug)]
pub struct Output {
    fd: OwnedFd,
    way: Way,
}

/// How it is written to without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The descriptor was opened non-blocking, by ourselves and for nobody else.
    Nonblocking,
    /// Each call says that it does not wait.
    Socket,
    /// Others have it too and expect it to block, so it is asked before each line.
    Asked,
}

const OWN: OFlags = OFlags::WRONLY
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Output {
    /// The standard error output.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn stderr() -> io::Result<Self> {
        let shared = io::stderr().as_fd().try_clone_to_owned()?;
        let mode = fstat(&shared)?.st_mode;
        let way = match FileType::from_raw_mode(mode) {
            FileType::Socket => Way::Socket,
            // Opened anew it would have another position, and what others write to the first would
            // fall on our lines.
            FileType::RegularFile => Way::Asked,
            _ => {
                // Refused where another user has made it, and where there is no /proc.
                match openat(CWD, "/proc/self/fd/2", OWN, Mode::empty()) {
                    Ok(fd) => return Ok(Self { fd, way: Way::Nonblocking }),
                    Err(_) => Way::Asked,
                }
            }
        };
        Ok(Self { fd: shared, way })
    }

    /// A file, made if there is none; lines are added at its end.
    ///
    /// # Errors
    /// It cannot be made or written; a pipe that nobody reads.
    pub fn append(path: &Path) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(0o666);
        let fd = retry_on_intr(|| openat(CWD, path, OWN | OFlags::CREATE, mode))?;
        Ok(Self { fd, way: Way::Nonblocking })
    }

    /// Writes a line. With at most 4,096 bytes (PIPE_BUF) it does not mix with those of other
    /// processes, and is written whole or not at all.
    ///
    /// # Errors
    /// `WouldBlock`: the reader is behind. The disk's, among others.
    pub fn write(&self, line: &[u8]) -> io::Result<()> {
        match self.way {
            Way::Socket => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                retry_on_intr(|| send(&self.fd, line, flags))?;
            }
            Way::Asked if !self.has_room()? => return Err(io::ErrorKind::WouldBlock.into()),
            Way::Asked | Way::Nonblocking => {
                retry_on_intr(|| rustix::io::write(&self.fd, line))?;
            }
        }
        Ok(())
    }

    fn has_room(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        Ok(retry_on_intr(|| poll(&mut fds, Some(&Timespec::default())))? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use rustix::pipe::pipe;

    /// More than pipes and sockets hold.
    const LINES_MAX: usize = 100_000;

    fn check_full(output: &Output) {
        let line = [b'x'; 4096];
        let refused = (0..LINES_MAX).find_map(|_| output.write(&line).err());
        assert_eq!(refused.map(|e| e.kind()), Some(io::ErrorKind::WouldBlock), "{output:?}");
    }

    #[test]
    fn a_reader_that_sleeps_is_not_waited_for() {
        let (_read, write) = pipe().unwrap();
        check_full(&Output { fd: write, way: Way::Asked });
        let (_read, write) = pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        check_full(&Output { fd: write, way: Way::Nonblocking });
        let kind = SocketType::STREAM;
        let (_read, write) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        check_full(&Output { fd: write, way: Way::Socket });
    }

    #[test]
    fn lines_are_added_to_files() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        for line in ["one\n", "two\n"] {
            Output::append(&path).unwrap().write(line.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        Output::append(home.path()).expect_err("a directory");
        let full = Output::append(Path::new("/dev/full")).unwrap();
        assert_eq!(full.write(b"line\n").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
