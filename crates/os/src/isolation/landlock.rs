//! Landlock: what a process may still reach of the file system and the network, decided by itself
//! and never taken back (landlock(7)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};

use crate::sharing::Descriptor;

/// What may be done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Reading files and directories beneath it; of a file, reading it.
    Read,
    /// Making files beneath it and writing to those; of a file, writing to it.
    Write,
}

/// The version of Landlock that the kernel has.
///
/// # Errors
/// `ENOSYS` or `EOPNOTSUPP`: it has none, or its start line turns it off.
pub fn version() -> io::Result<u32> {
    // SAFETY: asked for the version, the call reads no memory.
    let version = unsafe {
        let nothing = std::ptr::null::<Ruleset>();
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, CREATE_VERSION)
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// What is granted: a process looks the paths up, and others confine themselves later without doing
/// so again.
#[derive(Debug)]
pub struct Rules(Descriptor);

impl Rules {
    /// Grants these, and nothing else: no other file, and as far as this kernel's version goes no
    /// TCP port to bind or connect to (version 4), no device's ioctl (5), no abstract Unix socket
    /// and no signal to a process that is not confined with it (6). A path that is not there, or
    /// that the process may not look up, grants nothing.
    ///
    /// # Errors
    /// The kernel has no Landlock, or no memory.
    pub fn new(grants: &[(&Path, Grant)]) -> io::Result<Self> {
        let version = version()?;
        let ruleset = Ruleset {
            files: files_handled(version),
            network: if version >= 4 { BIND_TCP | CONNECT_TCP } else { 0 },
            scopes: if version >= 6 { ABSTRACT_UNIX_SOCKET | SIGNAL } else { 0 },
        };
        let rules = Descriptor::by(|| {
            // SAFETY: the kernel reads one structure of the size given. Older ones accept one that
            // is longer than theirs if the rest of it is zero, which it is.
            let fd = unsafe {
                let size = size_of::<Ruleset>();
                libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size, 0_u32)
            };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is new, and has no other owner.
            Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
        })?;
        for &(path, grant) in grants {
            add(&rules, path, grant)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        }
        Ok(Self(rules))
    }

    /// From now on the calling thread, and those that it starts, reach what is granted and nothing
    /// else. What is open stays so.
    ///
    /// # Errors
    /// As many rules hold already as there may be, or no memory.
    pub fn confine(&self) -> io::Result<()> {
        crate::process::gain_nothing()?;
        let rules = self.number();
        // SAFETY: numbers go in, and no memory is touched.
        let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0_u32) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Closes the descriptor in a process that was forked and is confined by now, so that nothing
    /// in it can add to what other processes will be granted. The process uses these rules no more,
    /// and ends by [`exit`](crate::process::exit).
    pub fn leave(&self) {
        // SAFETY: takes a number only, whose owner lives as long as the process and, as is said
        // above, does not use it again.
        let _ = unsafe { libc::close(self.number()) };
    }

    /// Its descriptor.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn add(rules: &Descriptor, path: &Path, grant: Grant) -> io::Result<()> {
    // Asked of the path alone: a stat of the file might wait for a slow disk.
    let open = |more| {
        let flags = OFlags::PATH | OFlags::CLOEXEC | more;
        Descriptor::by(|| retry_on_intr(|| openat(CWD, path, flags, Mode::empty())))
    };
    let opened = match open(OFlags::DIRECTORY) {
        Err(Errno::NOTDIR) => open(OFlags::empty()).map(|place| (place, false)),
        opened => opened.map(|place| (place, true)),
    };
    let (place, is_directory) = match opened {
        Ok(found) => found,
        // Among the homes of all users some are closed, or no directories. Less is granted then.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => {
            return Ok(());
        }
        Err(e) => return Err(e.into()),
    };
    let allowed = match (grant, is_directory) {
        (Grant::Read, true) => READ_FILE | READ_DIR,
        (Grant::Read, false) => READ_FILE,
        (Grant::Write, true) => WRITE_FILE | MAKE_REG,
        (Grant::Write, false) => WRITE_FILE,
    };
    let rule = Beneath { allowed, place: place.as_raw_fd() };
    // SAFETY: the kernel reads one structure, which outlives the call.
    let done = unsafe {
        let rules = rules.as_raw_fd();
        libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, &raw const rule, 0_u32)
    };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if done == 0 => Ok(()),
        // A pipe behind a name such as /dev/stdout: it is in no tree, and needs no rule.
        Some(libc::EBADFD) => Ok(()),
        _ => Err(error),
    }
}

/// struct landlock_ruleset_attr of linux/landlock.h.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

/// struct landlock_path_beneath_attr.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    place: i32,
}

const CREATE_VERSION: u32 = 1;
const PATH_BENEATH: u32 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_REG: u64 = 1 << 8;
const BIND_TCP: u64 = 1 << 0;
const CONNECT_TCP: u64 = 1 << 1;
const ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
const SIGNAL: u64 = 1 << 1;

/// All rights to files that a version knows; what is not handled is not refused.
const fn files_handled(version: u32) -> u64 {
    let rights = match version {
        0 | 1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << rights) - 1
}
