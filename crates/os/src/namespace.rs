//! Looking into a network namespace without going there.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What `look` sees in a network namespace; without a file, in the caller's own. Of /proc it has to
/// take `/proc/thread-self/net`: the rest belongs to the process.
///
/// # Errors
/// There is no such file, it is no namespace, or the caller may not enter it; no thread can be
/// made.
pub fn within<T: Send + 'static>(
    network: Option<&Path>,
    look: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let Some(network) = network.map(File::open).transpose()? else { return look() };
    // A thread that has moved stays where it is; so it is one that ends.
    let looks = std::thread::Builder::new().spawn(move || {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        look()
    });
    looks?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_handed_back() {
        let look = || std::fs::read_to_string("/proc/thread-self/net/snmp");
        assert!(within(None, look).unwrap().contains("Tcp:"));
        // Entering even one's own needs a right.
        match within(Some(Path::new("/proc/self/ns/net")), look) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                println!("skipped: needs root: {e}");
            }
            seen => assert!(seen.unwrap().contains("Tcp:")),
        }
        for (path, kind) in [
            ("/nowhere", io::ErrorKind::NotFound),
            ("/proc/self/stat", io::ErrorKind::InvalidInput),
        ] {
            assert_eq!(within(Some(Path::new(path)), look).unwrap_err().kind(), kind, "{path}");
        }
    }
}
