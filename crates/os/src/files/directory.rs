use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, fcntl_setfl, openat, openat2};
use rustix::io::{Errno, retry_on_intr};

use crate::{File, Kind, Stat};

/// A directory from which names are resolved, and which they never leave.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
}

/// What a name stood for.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File, Stat),
    /// A directory.
    Directory(Stat),
    /// A pipe, a device, a socket.
    Other,
}

/// What keeps names from leading out.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Times that a name is looked up again because something was renamed meanwhile: openat2(2) cannot
/// vouch for a `..` then and asks for another attempt. An attacker may rename without end.
const ATTEMPTS_MAX: u32 = 8;

impl Directory {
    /// Opens a directory; follows symbolic links.
    ///
    /// # Errors
    /// There is no such directory, or this process may not look into it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?;
        Ok(Self { fd })
    }

    /// As [`Self::open`], if no step of the path has to be asked of a disk or of another machine.
    ///
    /// # Errors
    /// `WouldBlock`: that cannot be told without perhaps waiting; else as [`Self::open`]. Linux
    /// before 5.12 always refuses, as `InvalidInput`.
    pub fn open_cached(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let rules = ResolveFlags::CACHED;
        let fd = retry_on_intr(|| openat2(CWD, path, flags, Mode::empty(), rules))?;
        Ok(Self { fd })
    }

    /// A directory beneath this one, by the rules of [`Self::open_beneath`]: names that are
    /// resolved from it do not leave it either.
    ///
    /// # Errors
    /// As [`Self::open_beneath`]; ENOTDIR for what is no directory.
    pub fn beneath(&self, name: &[u8]) -> io::Result<Self> {
        let fd = self.resolve(name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        Ok(Self { fd })
    }

    /// Opens a relative name for reading (empty: the directory itself). Follows symbolic links as
    /// long as they stay beneath the directory. Never waits for a pipe's other end.
    ///
    /// # Errors
    /// ENOENT, EACCES and so on; EXDEV for a name that leads out; ENOSYS or EPERM from a kernel
    /// that cannot resolve beneath a directory: nothing is opened another way.
    pub fn open_beneath(&self, name: &[u8]) -> io::Result<Opened> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = match self.resolve(name, flags) {
            Ok(fd) => fd,
            // A socket, or a device without a driver.
            Err(Errno::NXIO | Errno::NODEV) => return Ok(Opened::Other),
            Err(e) => return Err(e.into()),
        };
        let stat = Stat::of(fd.as_fd())?;
        match stat.kind {
            Kind::File => {
                // A ring would take the flag for an order never to wait for the disk.
                fcntl_setfl(&fd, OFlags::empty())?;
                Ok(Opened::File(File::new(fd), stat))
            }
            Kind::Directory => Ok(Opened::Directory(stat)),
            Kind::Other => Ok(Opened::Other),
        }
    }

    /// What a name stands for, by the rules of [`Self::open_beneath`], without opening it.
    ///
    /// # Errors
    /// As [`Self::open_beneath`], except that a file need not be readable.
    pub fn stat_beneath(&self, name: &[u8]) -> io::Result<Stat> {
        Stat::of(self.resolve(name, OFlags::PATH | OFlags::CLOEXEC)?.as_fd())
    }

    /// As [`Self::stat_beneath`], if that is known without asking a disk or another machine. A name
    /// that is said not to be there is known not to be: one that nobody has asked for yet is not
    /// known. A remote file system says what it heard last.
    ///
    /// # Errors
    /// `WouldBlock`: it cannot be told without perhaps waiting; else as [`Self::stat_beneath`].
    /// Linux before 5.12 always refuses, as `InvalidInput`.
    pub fn stat_beneath_cached(&self, name: &[u8]) -> io::Result<Stat> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let rules = BENEATH.union(ResolveFlags::CACHED);
        let name = own_name(name);
        let fd = retry_on_intr(|| openat2(&self.fd, name, flags, Mode::empty(), rules))?;
        Stat::cached(fd.as_fd())
    }

    /// The names in a directory, by the rules of [`Self::open_beneath`], without `.` and `..`, in
    /// no order; and whether these are all, because no more than `most` are read.
    ///
    /// # Errors
    /// As [`Self::open_beneath`]; ENOTDIR for what is no directory.
    pub fn names_beneath(&self, name: &[u8], most: usize) -> io::Result<(Vec<Vec<u8>>, bool)> {
        let fd = self.resolve(name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let mut names = Vec::new();
        for entry in Dir::new(fd)? {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                _ if names.len() == most => return Ok((names, false)),
                name => names.push(name.to_vec()),
            }
        }
        Ok((names, true))
    }

    fn resolve(&self, name: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let name = own_name(name);
        let mut attempts = 1;
        loop {
            match openat2(&self.fd, name, flags, Mode::empty(), BENEATH) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if attempts < ATTEMPTS_MAX => attempts += 1,
                outcome => return outcome,
            }
        }
    }
}

/// No name is the directory's own.
const fn own_name(name: &[u8]) -> &[u8] {
    if name.is_empty() { b"." } else { name }
}
