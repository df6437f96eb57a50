use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, RawMode, StatxFlags, StatxTimestamp, makedev, statat, statx};

/// What the file system says about a file. Two that are equal are of the same file with the same
/// content, unless it was changed twice within one tick of the kernel's clock (1 to 10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The device it is on.
    pub dev: u64,
    /// Its number there.
    pub ino: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since 1970; anybody may set it.
    pub mtime_ns: i128,
    /// Last change of content or attributes, nanoseconds since 1970; set by the kernel alone.
    pub ctime_ns: i128,
    /// What it is.
    pub kind: Kind,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A pipe, a device, a socket.
    Other,
}

impl Stat {
    /// fstat(2).
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self::told(&rustix::fs::fstat(fd)?))
    }

    /// The same of a name in a directory; a link is [`Kind::Other`].
    pub(crate) fn at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Self> {
        Ok(Self::told(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn told(stat: &rustix::fs::Stat) -> Self {
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: stat.st_size.cast_unsigned(),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            kind: Kind::of(stat.st_mode),
        }
    }

    /// The same by statx(2), as the file system knows it without asking another machine: fstat(2)
    /// of a remote file waits for that.
    ///
    /// # Errors
    /// `WouldBlock`: it does not know all of it.
    pub(crate) fn cached(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::TYPE
            | StatxFlags::INO
            | StatxFlags::SIZE
            | StatxFlags::MTIME
            | StatxFlags::CTIME;
        let stat = statx(fd, "", flags, wanted)?;
        if !StatxFlags::from_bits_retain(stat.stx_mask).contains(wanted) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let time = |time: StatxTimestamp| nanoseconds(time.tv_sec, time.tv_nsec.into());
        Ok(Self {
            dev: makedev(stat.stx_dev_major, stat.stx_dev_minor),
            ino: stat.stx_ino,
            size: stat.stx_size,
            mtime_ns: time(stat.stx_mtime),
            ctime_ns: time(stat.stx_ctime),
            kind: Kind::of(stat.stx_mode.into()),
        })
    }
}

/// Whether a name leads to a file, as far as its file system knows without asking another machine.
pub(crate) fn has_name(fd: BorrowedFd<'_>) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(fd, "", flags, StatxFlags::NLINK).is_ok_and(|stat| stat.stx_nlink > 0)
}

impl Kind {
    fn of(mode: RawMode) -> Self {
        match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            _ => Self::Other,
        }
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}
