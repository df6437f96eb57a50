//! Network namespaces: what a thread sees of one.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Does something there, by a thread of its own: sockets that it makes belong there. /proc/net is
/// not that namespace's, but /proc/thread-self/net is.
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
    let namespace = File::open(namespace)?;
    // A thread that has moved stays where it is; so it is one that ends.
    std::thread::scope(|scope| {
        let works = std::thread::Builder::new().spawn_scoped(scope, || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        });
        works?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_handed_back() {
        let look = || std::fs::read_to_string("/proc/thread-self/net/snmp");
        // Entering even one's own needs a right.
        match within(Path::new("/proc/self/ns/net"), look) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                println!("skipped: needs root: {e}");
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
