//! What the machine allows this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors this process may have open, after raising the limit as far as it may (the hard
/// limit of RLIMIT_NOFILE).
#[must_use]
pub fn descriptors() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let limit = if raised.is_ok() { maximum } else { current };
    limit.unwrap_or(NR_OPEN)
}

/// What stands for no limit: the kernel's own (fs.nr_open) unless somebody has changed it.
const NR_OPEN: u64 = 1 << 20;

/// Connections the kernel lets wait in a listening socket's queue (net.core.somaxconn).
#[must_use]
pub fn somaxconn() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(SOMAXCONN)
}

/// The kernel's default since Linux 5.4.
const SOMAXCONN: u32 = 4096;

/// Descriptors open now; `None` without /proc.
#[must_use]
pub fn open_descriptors() -> Option<u64> {
    // One of them is the directory that is being read.
    let listed = std::fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    Some(listed.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told() {
        let raised = descriptors();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(raised));
        assert!(somaxconn() > 0);
        let open = open_descriptors().unwrap();
        assert!(open >= 3 && open < raised);
    }
}
