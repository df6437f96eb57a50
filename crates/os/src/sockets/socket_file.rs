//! The file of a Unix socket: who may connect, and when it goes.

use std::fs::symlink_metadata;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, chmodat, chownat, fstat, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use super::socket::stream_socket;
use crate::users;

/// The file that a socket was bound to, and not one that another has put in its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    pub(super) path: PathBuf,
    /// Device and inode.
    pub(super) identity: (u64, u64),
}

impl SocketFile {
    /// The file that a socket was just bound to; `None` if the file is gone already.
    pub(super) fn bound_to(path: &Path) -> Option<Self> {
        let is = symlink_metadata(path).ok()?;
        let identity = (is.dev(), is.ino());
        is.file_type().is_socket().then(|| Self { path: path.to_owned(), identity })
    }

    /// Sets the mode, and the group if one is given. A symbolic link is not followed, because a
    /// user who may write to the directory would choose which file is changed.
    ///
    /// # Errors
    /// As [`Listener::set_access`](crate::Listener::set_access).
    pub(super) fn set_access(&self, mode: u32, group: Option<u32>) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, &self.path, flags, Mode::empty())?;
        let is = fstat(&file)?;
        if (is.st_dev, is.st_ino) != self.identity || is.st_nlink != 1 {
            return Err(Errno::ADDRINUSE.into());
        }
        // What is so already is not asked for: this process may be a user by now who may not.
        if group.is_some_and(|group| group != is.st_gid) {
            chownat(&file, "", None, group.map(Gid::from_raw), AtFlags::EMPTY_PATH)?;
        }
        if is.st_mode & 0o777 != mode {
            // Descriptors of this kind take no other way before Linux 6.6.
            let this = format!("/proc/self/fd/{}", file.as_raw_fd());
            chmodat(CWD, this, Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
        Ok(())
    }

    /// Removes the file, if the path still leads to it. If this process has no right to, the file
    /// stays, and the next server at this path replaces it.
    pub(super) fn remove(&self) {
        let is_it = |is: std::fs::Metadata| (is.dev(), is.ino()) == self.identity;
        if symlink_metadata(&self.path).is_ok_and(is_it) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The address of a path, which is bounded by the kernel's 108 bytes.
///
/// # Errors
/// It is longer.
pub(super) fn address_of(path: &Path) -> io::Result<SocketAddrUnix> {
    /// With the NUL behind it, and one that the kernel adds to what it tells.
    const PATH_BYTES_MAX: usize = 106;
    if path.as_os_str().len() > PATH_BYTES_MAX {
        let what = format!("the path of a socket has at most {PATH_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, what));
    }
    Ok(SocketAddrUnix::new(path)?)
}

/// The number of a group that an address names.
///
/// # Errors
/// There is no such group, or no table of groups.
pub(super) fn group(name: &str) -> io::Result<u32> {
    users::group(Path::new(users::GROUPS), name).map_err(|e| {
        let is_missing = e.raw_os_error().is_none() && e.kind() == io::ErrorKind::NotFound;
        let why = if is_missing { format!("has no group {name}") } else { e.to_string() };
        io::Error::new(e.kind(), format!("{} {why}", users::GROUPS))
    })
}

/// Returns whether a socket's file is left over from a process that has ended: connections are
/// refused. A server that has bound the file and does not listen yet, or begins to listen between
/// this check and the removal, loses its name. A user who may write to the directory can exchange
/// the file meanwhile, but nothing outside of the directory is removed.
pub(super) fn is_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    if !symlink_metadata(path)?.file_type().is_socket() {
        return Ok(false);
    }
    let fd = stream_socket(AddressFamily::UNIX)?;
    Ok(rustix::net::connect(&fd, address) == Err(Errno::CONNREFUSED))
}
