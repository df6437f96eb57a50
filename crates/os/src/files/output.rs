//! Where logs go: lines added to what others read, without waiting for them.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, fcntl_setfl, fstat, openat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendFlags, send};
use rustix::process::geteuid;

use crate::sharing::Descriptor;

/// Where lines are written to that nobody waits for: a reader that sleeps costs lines, not time.
/// Only the disk of a regular file may take its time.
#[derive(Debug)]
pub struct Output {
    fd: Descriptor,
    way: Way,
    /// It ends within a line: a disk was full then.
    is_torn: bool,
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
    /// The standard output.
    ///
    /// # Errors
    /// No descriptor is left, or it is closed.
    pub fn stdout() -> io::Result<Self> {
        Self::shared(io::stdout().as_fd(), "/proc/self/fd/1")
    }

    /// The standard error output.
    ///
    /// # Errors
    /// As [`Self::stdout`].
    pub fn stderr() -> io::Result<Self> {
        Self::shared(io::stderr().as_fd(), "/proc/self/fd/2")
    }

    /// A file, made if there is none; lines are added at its end.
    ///
    /// # Errors
    /// It cannot be made or written; a pipe that nobody reads.
    pub fn append(path: &Path) -> io::Result<Self> {
        Ok(Self::by(open(path, OFlags::CREATE)?, Way::Nonblocking))
    }

    /// Goes on in another one, by the number that it has: so do all who have that number, as they
    /// share a table of descriptors.
    ///
    /// # Errors
    /// The machine refuses, and it stays what it is.
    pub fn go_on_in(&mut self, other: Self) -> io::Result<()> {
        self.fd.becomes(&other.fd)?;
        (self.way, self.is_torn) = (other.way, other.is_torn);
        Ok(())
    }

    /// Writes whole lines, for a thread that has the time to wait for their reader: for so long at
    /// each part of them that a pipe takes at once. What is longer than that, or does not go at
    /// once, may mix with the lines of other processes.
    ///
    /// # Errors
    /// As [`Self::write`], with how many bytes were written before.
    pub fn write_lines(
        &mut self,
        lines: &[u8],
        patience_ms: u32,
    ) -> Result<(), (usize, io::Error)> {
        let mut at = 0;
        while at < lines.len() {
            let end = at + whole_lines(&lines[at..]);
            match self.write(&lines[at..end]) {
                Ok(()) => at = end,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    match self.awaits_room(patience_ms) {
                        Ok(true) => {}
                        Ok(false) => return Err((at, e)),
                        Err(e) => return Err((at, e)),
                    }
                }
                Err(e) => return Err((at, e)),
            }
        }
        Ok(())
    }

    /// The number of its descriptor.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Writes a line. With at most 4,096 bytes (PIPE_BUF) it does not mix with those of other
    /// processes, and a pipe takes it whole or not at all.
    ///
    /// # Errors
    /// `WouldBlock`: the reader is behind. `StorageFull`: the disk took a part of it; the next line
    /// begins on one of its own. The disk's, among others.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let parted;
        let bytes = if self.is_torn {
            parted = [b"\n", line].concat();
            &parted
        } else {
            line
        };
        let n = self.write_some(bytes)?;
        let is_whole = n == bytes.len();
        if n > 0 {
            self.is_torn = !is_whole;
        }
        if is_whole { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.way {
            Way::Socket => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                Ok(retry_on_intr(|| send(&self.fd, bytes, flags))?)
            }
            Way::Asked if !self.has_room()? => Err(io::ErrorKind::WouldBlock.into()),
            Way::Asked | Way::Nonblocking => {
                Ok(retry_on_intr(|| rustix::io::write(&self.fd, bytes))?)
            }
        }
    }

    /// `again`: where it can be opened for ourselves.
    fn shared(fd: BorrowedFd<'_>, again: &str) -> io::Result<Self> {
        let mode = fstat(fd)?.st_mode;
        let way = match FileType::from_raw_mode(mode) {
            FileType::Socket => Way::Socket,
            // Opened anew it would have another position, and what others write to the first would
            // fall on our lines.
            FileType::RegularFile => Way::Asked,
            _ => {
                // Refused where another user has made it, and where there is no /proc.
                match Descriptor::by(|| openat(CWD, again, OWN, Mode::empty())) {
                    Ok(fd) => return Ok(Self::by(fd, Way::Nonblocking)),
                    Err(_) => Way::Asked,
                }
            }
        };
        Ok(Self::by(Descriptor::by(|| fd.try_clone_to_owned())?, way))
    }

    const fn by(fd: Descriptor, way: Way) -> Self {
        Self { fd, way, is_torn: false }
    }

    fn has_room(&self) -> io::Result<bool> {
        self.awaits_room(0)
    }

    fn awaits_room(&self, patience_ms: u32) -> io::Result<bool> {
        let seconds = i64::from(patience_ms / 1000);
        let patience =
            Timespec { tv_sec: seconds, tv_nsec: i64::from(patience_ms % 1000) * 1_000_000 };
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        Ok(retry_on_intr(|| poll(&mut fds, Some(&patience)))? > 0)
    }
}

/// Bytes that a pipe takes whole or not at all (PIPE_BUF).
const WHOLE_BYTES: usize = 4096;

/// How many of the first bytes are lines that a pipe takes whole; the first line, if it does not.
fn whole_lines(lines: &[u8]) -> usize {
    let fits = &lines[..lines.len().min(WHOLE_BYTES)];
    let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    let last = fits.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    last.or_else(|| end(lines)).unwrap_or(lines.len())
}

/// A file that lines are added to by whole writes, one after the other.
#[derive(Debug)]
pub struct Appended(Descriptor);

/// A file to add lines to, made if there is none, for a thread that has the time to wait for its
/// reader or its disk. Opening it never waits.
///
/// # Errors
/// It cannot be made or written; a pipe that nobody reads.
pub fn append(path: &Path) -> io::Result<Appended> {
    let fd = open(path, OFlags::CREATE)?;
    fcntl_setfl(&fd, OFlags::APPEND)?;
    Ok(Appended(fd))
}

/// The same for a thread that has no time: a pipe whose reader is behind is `WouldBlock`.
///
/// # Errors
/// As [`append`].
pub fn append_now(path: &Path) -> io::Result<Appended> {
    Ok(Appended(open(path, OFlags::CREATE)?))
}

impl Write for &Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Appended {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Appended {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Whether [`append`] would open that file. Nothing is made, and nothing written.
///
/// # Errors
/// As [`append`].
pub fn probe(path: &Path) -> io::Result<()> {
    match open(path, OFlags::empty()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => can_make(path),
        opened => opened.map(drop),
    }
}

/// Whether this process could make a file at `path`, where there is none.
pub(crate) fn can_make(path: &Path) -> io::Result<()> {
    /// Links that Linux follows in a row (path_resolution(7)).
    const LINKS_MAX: usize = 40;
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(Errno::ISDIR.into());
    }
    let mut path = path.to_path_buf();
    // A link to nowhere is followed to where the file would be.
    for _ in 0..LINKS_MAX {
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    // The dot is in directories alone.
    let place = path.parent().unwrap_or(Path::new("")).join(".");
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    Ok(accessat(CWD, &place, rights, AtFlags::EACCESS)?)
}

/// Not to wait is asked of the opening too: a pipe would wait for its reader. Root follows no link
/// from the directory of a log: whoever may write there would say which file root writes to.
fn open(path: &Path, create: OFlags) -> io::Result<Descriptor> {
    let mode = Mode::from_raw_mode(0o666);
    let stays = geteuid().is_root() && !is_lent(path);
    let link = if stays { OFlags::NOFOLLOW } else { OFlags::empty() };
    let refused = |what| Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    let open = || retry_on_intr(|| openat(CWD, path, OWN | create | link, mode));
    let fd = match Descriptor::by(open) {
        Err(Errno::LOOP) if stays => {
            return refused("root follows no symbolic link to a file that it writes");
        }
        opened => opened?,
    };
    let is = fstat(&fd)?;
    let is_file = FileType::from_raw_mode(is.st_mode) == FileType::RegularFile;
    if stays && is_file && is.st_nlink > 1 {
        return refused("root writes to no file that has another name, too");
    }
    Ok(fd)
}

/// Whether a name stands for what the process has already. All others in /dev are like elsewhere:
/// everybody may write to /dev/shm.
fn is_lent(path: &Path) -> bool {
    let named: Vec<_> = path.iter().filter_map(OsStr::to_str).collect();
    matches!(
        named[..],
        ["/", "dev", "stdin" | "stdout" | "stderr"]
            | ["/", "dev", "fd", _]
            | ["/", "proc", _, "fd", _]
    )
}

/// What has to be writable for a log at `path`: the directory, in which it may be made anew, or a
/// pipe or a device itself. Of names such as /dev/stdout only what they lead to: beside it are all
/// disks.
#[must_use]
pub fn place(path: &Path) -> PathBuf {
    let is_special = std::fs::metadata(path).is_ok_and(|is| !is.is_file() && !is.is_dir());
    let is_special = is_special || is_lent(path);
    let Ok(path) = std::path::absolute(path) else { return path.to_path_buf() };
    if is_special {
        return path;
    }
    // A link leads to where it is made anew.
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    real.parent().map_or(path, Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use rustix::pipe::pipe;

    /// More than pipes and sockets hold.
    const LINES_MAX: usize = 100_000;

    fn check_full(mut output: Output) {
        let line = [b'x'; 4096];
        let refused = (0..LINES_MAX).find_map(|_| output.write(&line).err());
        assert_eq!(refused.map(|e| e.kind()), Some(io::ErrorKind::WouldBlock), "{output:?}");
    }

    #[test]
    fn a_reader_that_sleeps_is_not_waited_for() {
        let (_read, write) = pipe().unwrap();
        check_full(Output::by(write.into(), Way::Asked));
        let (_read, write) = pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        check_full(Output::by(write.into(), Way::Nonblocking));
        let kind = SocketType::STREAM;
        let (_read, write) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        check_full(Output::by(write.into(), Way::Socket));
    }

    #[test]
    fn lines_go_whole_as_far_as_there_is_room() {
        let line = [&[b'x'; 999][..], b"\n"].concat();
        let lines = line.repeat(200);
        let (read, write) = pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        let (written, why) =
            Output::by(write.into(), Way::Nonblocking).write_lines(&lines, 1).unwrap_err();
        assert_eq!((written % line.len(), why.kind()), (0, io::ErrorKind::WouldBlock));
        assert!(written > 0 && written < lines.len());
        drop(read);
        let (read, write) = pipe().unwrap();
        drop(read);
        let closed = Output::by(write.into(), Way::Nonblocking).write_lines(&lines, 1).unwrap_err();
        assert_eq!((closed.0, closed.1.kind()), (0, io::ErrorKind::BrokenPipe));
        let (read, write) = pipe().unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            io::Read::read_to_end(&mut fs::File::from(read), &mut all).map(|_| all)
        });
        let mut output = Output::by(write.into(), Way::Nonblocking);
        output.write_lines(&lines, 60_000).expect("a reader");
        drop(output);
        assert_eq!(reader.join().unwrap().unwrap(), lines);
        for (lines, expected) in [(&b"a\nb\nc"[..], 4), (b"abc", 3), (b"", 0)] {
            assert_eq!(whole_lines(lines), expected);
        }
        assert_eq!(whole_lines(&[&[b'x'; 5000][..], b"\na\n"].concat()), 5001);
    }

    #[test]
    fn lines_are_added_to_files() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        for line in ["one\n", "two\n"] {
            Output::append(&path).unwrap().write(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        Output::append(home.path()).expect_err("a directory");
        let mut full = Output::append(Path::new("/dev/full")).unwrap();
        assert_eq!(full.write(b"line\n").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pipe");
        let kind = FileType::Fifo;
        rustix::fs::mknodat(CWD, &path, kind, Mode::from_raw_mode(0o600), 0).unwrap();
        append(&path).expect_err("nobody reads");
        Output::append(&path).expect_err("nobody reads");
        let reader = OFlags::RDONLY | OFlags::NONBLOCK;
        let _reader = openat(CWD, &path, reader, Mode::empty()).unwrap();
        let written = append(&path).expect("somebody reads");
        let flags = rustix::fs::fcntl_getfl(&written).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "then it waits for him");
    }

    #[test]
    fn root_writes_to_no_file_by_a_link() {
        let mut homes = vec![tempfile::tempdir().unwrap()];
        match tempfile::tempdir_in("/dev/shm") {
            Ok(home) => homes.push(home),
            Err(error) => harness::skip(format!("needs to write to /dev/shm: {error}")),
        }
        let refused = geteuid().is_root().then_some(io::ErrorKind::PermissionDenied);
        for home in &homes {
            let [file, link, other] = ["file", "link", "other"].map(|name| home.path().join(name));
            append(&file).expect("what is no link");
            symlink(&file, &link).unwrap();
            let told = [append(&link).map(drop), Output::append(&link).map(drop)];
            assert_eq!(told.map(|told| told.err().map(|e| e.kind())), [refused; 2]);
            fs::hard_link(&file, other).unwrap();
            assert_eq!(append(&file).map(drop).err().map(|e| e.kind()), refused);
        }
        let roundabout = format!("/proc/self/root{}", homes[0].path().join("link").display());
        assert_eq!(append(Path::new(&roundabout)).map(drop).err().map(|e| e.kind()), refused);
    }

    #[test]
    fn what_a_process_has_is_written_whoever_it_is() {
        // Not the standard error, which another user may have opened for this process.
        let own = tempfile::tempfile().unwrap();
        let names = ["/proc/self/fd", "/dev/fd"].map(|at| format!("{at}/{}", own.as_raw_fd()));
        for name in names.iter().map(String::as_str).chain(["/dev/null"]) {
            append(Path::new(name)).expect(name);
        }
    }

    #[test]
    fn a_log_is_written_where_it_is_made() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("logs")).unwrap();
        fs::create_dir_all(home.join("disk")).unwrap();
        fs::write(home.join("disk/log"), "").unwrap();
        symlink("../disk/log", home.join("logs/link")).unwrap();
        let [logs, disk] = ["logs", "disk"].map(|name| home.join(name));
        let rows = [
            (logs.join("new"), logs.clone()),
            (disk.join("log"), disk.clone()),
            (logs.join("link"), disk),
            (PathBuf::from("/dev/null"), PathBuf::from("/dev/null")),
            ("/dev/stdout".into(), "/dev/stdout".into()),
            ("/dev/shm/no log".into(), "/dev/shm".into()),
            ("/proc/self/fd/1".into(), "/proc/self/fd/1".into()),
        ];
        for (path, expected) in rows {
            assert_eq!(place(&path), expected, "{}", path.display());
        }
    }
}
