use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, fcntl_setfl, openat, openat2, readlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::sharing::Descriptor;
use crate::{File, Kind, Stat};

/// A directory from which names are resolved, and which they never leave but where links are
/// [followed](Self::following).
#[derive(Debug)]
pub struct Directory {
    fd: Descriptor,
    follows: Arc<[PathBuf]>,
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

/// Something in a directory.
#[derive(Debug)]
pub struct Entry {
    /// Its name there.
    pub name: Vec<u8>,
    /// What that stands for: as [`Directory::stat_beneath`] says it, except that a name which has
    /// become a link while it was read may be [`Kind::Other`].
    pub stat: io::Result<Stat>,
}

/// What keeps names from leading out.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Times that a name is looked up again because something was renamed meanwhile: openat2(2) cannot
/// vouch for a `..` then and asks for another attempt. An attacker may rename without end.
const ATTEMPTS_MAX: u32 = 8;

/// What names of a directory are read into at once: as much as the C library takes for it.
const ENTRIES_BYTES: usize = 32 << 10;

impl Directory {
    /// Opens a directory; follows symbolic links.
    ///
    /// # Errors
    /// There is no such directory, or this process may not look into it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(opened(path)?))
    }

    /// As [`Self::open`], if no step of the path has to be asked of a disk or of another machine.
    ///
    /// # Errors
    /// `WouldBlock`: that cannot be told without perhaps waiting; else as [`Self::open`]. Linux
    /// before 5.12 always refuses, as `InvalidInput`.
    pub fn open_cached(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let rules = ResolveFlags::CACHED;
        let open = || retry_on_intr(|| openat2(CWD, path, flags, Mode::empty(), rules));
        Ok(Self::of(Descriptor::by(open)?))
    }

    /// The same where symbolic links that lead out of it are followed if what they lead to lies
    /// beneath one of these directories. Each is found anew by its path whenever a link leads out,
    /// and may itself be a link or lie behind one. Needs /proc.
    #[must_use]
    pub fn following(self, places: &Arc<[PathBuf]>) -> Self {
        Self { follows: Arc::clone(places), ..self }
    }

    /// Its path at the moment, without links.
    ///
    /// # Errors
    /// There is no /proc, or the path is too long for it.
    pub fn path(&self) -> io::Result<PathBuf> {
        Ok(whereabouts(&self.fd)?)
    }

    /// A directory beneath this one, by the rules of [`Self::open_beneath`]: names that are
    /// resolved from it do not leave it, by no link either.
    ///
    /// # Errors
    /// As [`Self::open_beneath`]; ENOTDIR for what is no directory.
    pub fn beneath(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self::of(self.resolve(name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?))
    }

    /// Opens a relative name for reading (empty: the directory itself). Follows symbolic links as
    /// long as they stay beneath the directory, or as [`Self::following`] says. Never waits for a
    /// pipe's other end.
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
    /// known, nor what a link leads to that is followed out. A remote file system says what it
    /// heard last.
    ///
    /// # Errors
    /// `WouldBlock`: it cannot be told without perhaps waiting; else as [`Self::stat_beneath`].
    /// Linux before 5.12 always refuses, as `InvalidInput`.
    pub fn stat_beneath_cached(&self, name: &[u8]) -> io::Result<Stat> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let rules = BENEATH.union(ResolveFlags::CACHED);
        let name = own_name(name);
        let open = || retry_on_intr(|| openat2(&self.fd, name, flags, Mode::empty(), rules));
        match Descriptor::by(open) {
            Err(Errno::XDEV) if !self.follows.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            opened => Stat::cached(opened?.as_fd()),
        }
    }

    /// What is in a directory, by the rules of [`Self::open_beneath`], without `.` and `..`, in no
    /// order; and whether that is all, because no more than `most` names are read.
    ///
    /// # Errors
    /// As [`Self::open_beneath`]; ENOTDIR for what is no directory.
    pub fn entries_beneath(&self, name: &[u8], most: usize) -> io::Result<(Vec<Entry>, bool)> {
        let fd = self.resolve(name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let mut room = Vec::with_capacity(ENTRIES_BYTES);
        let mut directory = RawDir::new(&fd, room.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(entry) = directory.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                // It was removed, with all that was in it.
                Err(Errno::NOENT) => break,
                entry => entry?,
            };
            let own = entry.file_name();
            match own.to_bytes() {
                b"." | b".." => continue,
                _ if entries.len() == most => return Ok((entries, false)),
                _ => {}
            }
            let stat = match entry.file_type() {
                FileType::Symlink | FileType::Unknown => {
                    self.stat_beneath(&[own_name(name), b"/", own.to_bytes()].concat())
                }
                // No name from a directory leads out but by a link: one call instead of three.
                _ => Stat::at(fd.as_fd(), own),
            };
            entries.push(Entry { name: own.to_bytes().to_vec(), stat });
        }
        Ok((entries, true))
    }

    fn of(fd: Descriptor) -> Self {
        Self { fd, follows: Arc::default() }
    }

    fn resolve(&self, name: &[u8], flags: OFlags) -> rustix::io::Result<Descriptor> {
        match self.resolve_beneath(name, flags) {
            Err(Errno::XDEV) if !self.follows.is_empty() => self.follow(name, flags),
            outcome => outcome,
        }
    }

    fn resolve_beneath(&self, name: &[u8], flags: OFlags) -> rustix::io::Result<Descriptor> {
        let name = own_name(name);
        let mut attempts = 1;
        loop {
            match Descriptor::by(|| openat2(&self.fd, name, flags, Mode::empty(), BENEATH)) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if attempts < ATTEMPTS_MAX => attempts += 1,
                outcome => return outcome,
            }
        }
    }

    /// Opens what a link leads to that leads out, if that lies beneath a place of
    /// [`Self::following`]; EXDEV if not.
    ///
    /// Where it leads is asked first, of a descriptor that reads nothing. The answer may be old
    /// when it comes, so all it gives is a name to look up: that the kernel resolves beneath the
    /// place, as it does all others, and whoever swaps a link meanwhile gets nothing from anywhere
    /// else. To open that descriptor itself would rely on where it was, and to walk from link to
    /// link by hand would be a second way to resolve names.
    fn follow(&self, name: &[u8], flags: OFlags) -> rustix::io::Result<Descriptor> {
        // Links may lead out; a name that does so by itself may not.
        if name.starts_with(b"/") || name.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err(Errno::XDEV);
        }
        let (path, rules) = (OFlags::PATH | OFlags::CLOEXEC, ResolveFlags::NO_MAGICLINKS);
        let open = || retry_on_intr(|| openat2(&self.fd, name, path, Mode::empty(), rules));
        let path = match Descriptor::by(open) {
            // Or whoever asks would learn what there is outside.
            Err(Errno::ACCESS) => return Err(Errno::XDEV),
            found => whereabouts(&found?)?,
        };
        for place in &*self.follows {
            let place = match opened(place) {
                // It keeps no link from leading to another.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => continue,
                place => Self::of(place?),
            };
            if let Ok(name) = path.strip_prefix(whereabouts(&place.fd)?) {
                return place.resolve_beneath(name.as_os_str().as_bytes(), flags);
            }
        }
        Err(Errno::XDEV)
    }
}

fn opened(directory: &Path) -> rustix::io::Result<Descriptor> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Descriptor::by(|| retry_on_intr(|| openat(CWD, directory, flags, Mode::empty())))
}

/// The path of what a descriptor stands for, at the moment.
fn whereabouts(fd: &Descriptor) -> rustix::io::Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let path = retry_on_intr(|| readlinkat(CWD, &link, Vec::new()))?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

/// No name is the directory's own.
const fn own_name(name: &[u8]) -> &[u8] {
    if name.is_empty() { b"." } else { name }
}
