use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};

/// An open file; closed when dropped.
#[derive(Debug)]
pub struct File(OwnedFd);

/// What identifies a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Device.
    pub dev: u64,
    /// Inode on it.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of content, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Last change of content or attributes, nanoseconds since 1970.
    pub ctime_ns: i128,
    /// What it is.
    pub kind: Kind,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, a socket, a device.
    Other,
}

/// A directory under which files are opened and above which nothing is.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// What was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File, Stat),
    /// A directory.
    Directory(Stat),
    /// Something that is not to be read.
    Other,
}

/// Bytes that one read of [`File::fetch`] asks for.
const FETCH_BYTES: usize = 64 << 10;

impl File {
    /// Reads at a position; 0 at the end.
    ///
    /// # Errors
    /// The disk fails.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        Ok(retry_on_intr(|| rustix::io::pread(&self.0, &mut *buffer, at))?)
    }

    /// Whether every page of `at..end` is in memory, as the kernel tells it; `false` where it does
    /// not tell.
    #[must_use]
    pub fn is_resident(&self, at: u64, end: u64) -> bool {
        crate::cachestat::is_resident(self.0.as_fd(), at, end)
    }

    /// Waits until the pages of `at..end` have been read.
    ///
    /// # Errors
    /// The disk fails.
    pub fn fetch(&self, mut at: u64, end: u64) -> io::Result<()> {
        let mut scratch = [0; FETCH_BYTES];
        while at < end {
            let most = (end - at).min(FETCH_BYTES as u64) as usize;
            match self.read_at(&mut scratch[..most], at)? {
                0 => break,
                n => at += n as u64,
            }
        }
        Ok(())
    }

    /// Its state now.
    ///
    /// # Errors
    /// The file system fails.
    pub fn stat(&self) -> io::Result<Stat> {
        stat(&self.0)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl Directory {
    /// Opens a directory; symlinks in `path` are followed.
    ///
    /// # Errors
    /// It does not exist, is none, or may not be entered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?))
    }

    /// Opens what lies beneath; an empty path is the directory itself. No symlink leads out of it.
    /// Never blocks on a FIFO, never opens a device's driver for more than a look.
    ///
    /// # Errors
    /// As `openat2`; also where the kernel does not have it, because then nothing keeps symlinks
    /// inside.
    pub fn open_beneath(&self, path: &[u8]) -> io::Result<Opened> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = match self.resolve(path, flags) {
            // A socket, or a device without a driver: it exists, and is not to be read.
            Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                return Ok(Opened::Other);
            }
            opened => opened?,
        };
        let stat = stat(&fd)?;
        Ok(match stat.kind {
            Kind::File => Opened::File(File(fd), stat),
            Kind::Directory => Opened::Directory(stat),
            Kind::Other => Opened::Other,
        })
    }

    /// Looks at what lies beneath, without opening it.
    ///
    /// # Errors
    /// As [`Directory::open_beneath`].
    pub fn stat_beneath(&self, path: &[u8]) -> io::Result<Stat> {
        stat(&self.resolve(path, OFlags::PATH)?)
    }

    /// The directory's own state.
    ///
    /// # Errors
    /// The file system fails.
    pub fn stat(&self) -> io::Result<Stat> {
        stat(&self.0)
    }

    fn resolve(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        let path = CString::new(path).map_err(|_| io::ErrorKind::InvalidInput)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // EAGAIN: something was renamed meanwhile, and the kernel could not be sure.
        for _ in 0..8 {
            let flags = flags | OFlags::CLOEXEC;
            match rustix::fs::openat2(&self.0, &path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return Ok(opened?),
            }
        }
        Err(Errno::AGAIN.into())
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The state of what a path leads to, symlinks followed.
///
/// # Errors
/// It does not exist or may not be looked at.
pub fn stat_path(path: &Path) -> io::Result<Stat> {
    Ok(from_raw(&rustix::fs::stat(path)?))
}

fn stat(fd: &OwnedFd) -> io::Result<Stat> {
    Ok(from_raw(&rustix::fs::fstat(fd)?))
}

fn from_raw(raw: &rustix::fs::Stat) -> Stat {
    let ns = |seconds: i128, ns: i128| seconds * 1_000_000_000 + ns;
    Stat {
        dev: raw.st_dev,
        ino: raw.st_ino,
        size: raw.st_size.unsigned_abs(),
        mtime_ns: ns(i128::from(raw.st_mtime), i128::from(raw.st_mtime_nsec)),
        ctime_ns: ns(i128::from(raw.st_ctime), i128::from(raw.st_ctime_nsec)),
        kind: match FileType::from_raw_mode(raw.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        },
    }
}
