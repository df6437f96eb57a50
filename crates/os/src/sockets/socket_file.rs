//! The file of a Unix socket: who may connect, and when it goes.

use std::ffi::OsStr;
use std::fs::symlink_metadata;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, chmodat, chownat, fstat, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};

use super::address::UnixAddress;
use super::socket::stream_socket;
use crate::users;

/// The file that a socket was bound to, and not one that another has put in its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// That of a listening socket; none: it has no file, or the file is gone.
    pub(super) fn of(socket: impl AsFd) -> Option<Self> {
        let address = SocketAddrUnix::try_from(rustix::net::getsockname(socket).ok()?).ok()?;
        let path = Path::new(OsStr::from_bytes(address.path_bytes()?)).to_owned();
        let is = symlink_metadata(&path).ok()?;
        is.file_type().is_socket().then(|| Self { path, device: is.dev(), inode: is.ino() })
    }

    /// Gives it the mode and the group that the address asks for. Not through a link: whoever may
    /// write to the directory would choose whose file is changed.
    ///
    /// # Errors
    /// As [`Listener::set_access`](crate::Listener::set_access).
    pub(super) fn set_access(&self, asked: &UnixAddress) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, &self.path, flags, Mode::empty())?;
        let is = fstat(&file)?;
        if (is.st_dev, is.st_ino) != (self.device, self.inode) {
            return Err(Errno::ADDRINUSE.into());
        }
        // What is so already is not asked for: this process may be a user by now who may not.
        let group = asked.group.as_deref().map(group).transpose()?;
        if group.is_some_and(|group| group != is.st_gid) {
            chownat(&file, "", None, group.map(Gid::from_raw), AtFlags::EMPTY_PATH)?;
        }
        if is.st_mode & 0o777 != asked.mode {
            // Descriptors of this kind take no other way before Linux 6.6.
            let this = format!("/proc/self/fd/{}", file.as_raw_fd());
            chmodat(CWD, this, Mode::from_raw_mode(asked.mode), AtFlags::empty())?;
        }
        Ok(())
    }

    /// Takes it away, if it is still there. Whoever may not leaves it to the next server at this
    /// path, which replaces it.
    pub(super) fn remove(&self) {
        let is_it = |is: std::fs::Metadata| (is.dev(), is.ino()) == (self.device, self.inode);
        if symlink_metadata(&self.path).is_ok_and(is_it) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
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

/// Whether a socket's file is left over from a process that is gone: nobody answers there. Another
/// that listens there between this question and the removal loses its name, and whoever may write
/// to the directory may exchange the file meanwhile; he could remove it as well, and of what lies
/// elsewhere nothing is removed.
pub(super) fn is_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    if !symlink_metadata(path)?.file_type().is_socket() {
        return Ok(false);
    }
    let fd = stream_socket(AddressFamily::UNIX)?;
    Ok(rustix::net::connect(&fd, address) == Err(Errno::CONNREFUSED))
}
