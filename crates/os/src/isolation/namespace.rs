//! Network namespaces that have names, as ip-netns(8) keeps them: what a thread sees of one.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags};
use rustix::mount::{fsconfig_create, fsmount, fsopen, unmount};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Does something there, by a thread of its own: sockets, devices, processes that it makes belong
/// there, and /proc/sys/net is that namespace's. /proc/net is not, but /proc/thread-self/net is.
///
/// # Errors
/// There is no such namespace, or only root may.
///
/// # Panics
/// `work` does.
pub fn within<T: Send>(
    namespace: &Path,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    on_a_thread(|| enter(namespace).and_then(|()| work()))
}

/// Does something in a namespace that nobody else sees, with nothing in it but a loopback that is
/// down; it is gone when this returns.
///
/// # Errors
/// Only root may make one, or this kernel has none.
///
/// # Panics
/// `work` does.
pub fn within_new<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    on_a_thread(|| {
        // SAFETY: the table of descriptors stays shared with the other threads.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        work()
    })
}

/// Moves the calling thread there for good.
///
/// # Errors
/// There is no such namespace, or only root may.
pub fn enter(namespace: &Path) -> io::Result<()> {
    let file = File::open(namespace)?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Takes the name away; the namespace ends with what is still in it. Names that are no namespace
/// (any more) go too.
///
/// # Errors
/// There is no such name, or only root may.
pub fn remove_name(namespace: &Path) -> io::Result<()> {
    match unmount(namespace, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        // Nothing is mounted there: a name from before the machine started.
        Ok(()) | Err(rustix::io::Errno::INVAL) => fs::remove_file(namespace),
        Err(e) => Err(e.into()),
    }
}

/// The processes in it, without those that ended meanwhile. Only the first thread of each is looked
/// at.
///
/// # Errors
/// There is no such namespace, or no /proc.
pub fn inhabitants(namespace: &Path) -> io::Result<Vec<u32>> {
    let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let this = fs::metadata(namespace).map(number)?;
    let is_there = |pid: &u32| {
        let its = fs::metadata(format!("/proc/{pid}/ns/net")).map(number);
        its.is_ok_and(|its| its == this)
    };
    let processes = fs::read_dir("/proc")?;
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.filter(is_there).collect())
}

/// Settings of the network devices of one namespace, as files: /sys shows only those of the
/// namespace in which it was mounted.
#[derive(Debug)]
pub struct Devices {
    /// A sysfs that is mounted nowhere, and gone with its descriptor.
    sysfs: OwnedFd,
}

impl Devices {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// Only root may, or the kernel is older than Linux 5.2.
    pub fn here() -> io::Result<Self> {
        let made = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&made)?;
        let flags = FsMountFlags::FSMOUNT_CLOEXEC;
        Ok(Self { sysfs: fsmount(&made, flags, MountAttrFlags::empty())? })
    }

    /// The directory of a device, as under /sys/class/net; good as long as this lives, and in this
    /// process alone.
    #[must_use]
    pub fn device(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/class/net/{name}", self.sysfs.as_raw_fd()).into()
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let joined = thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        Ok::<_, io::Error>(thread.join())
    });
    joined?.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_there_is_handed_back() {
        let look = || fs::read_to_string("/proc/thread-self/net/snmp");
        // Entering even one's own needs a right.
        match within(Path::new("/proc/self/ns/net"), look) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                harness::skip(format!("needs root: {e}"));
            }
            seen => assert!(seen.unwrap().contains("Tcp:")),
        }
        for (path, kind) in [
            ("/nowhere", io::ErrorKind::NotFound),
            ("/proc/self/stat", io::ErrorKind::InvalidInput),
        ] {
            assert_eq!(within(Path::new(path), look).unwrap_err().kind(), kind, "{path}");
        }
    }
}
