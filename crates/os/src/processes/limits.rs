//! What the machine allows this process.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub use super::memory::{Memory, give_back_large_allocations, memory};

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

/// Ports that the kernel connects from, over IPv4 and IPv6 (net.ipv4.ip_local_port_range), as they
/// were when this was first asked; `None` without /proc.
#[must_use]
pub fn local_ports() -> Option<&'static RangeInclusive<u16>> {
    static PORTS: LazyLock<Option<RangeInclusive<u16>>> = LazyLock::new(|| {
        let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
        let (first, last) = text.trim().split_once(char::is_whitespace)?;
        Some(first.parse().ok()?..=last.trim().parse().ok()?)
    });
    PORTS.as_ref()
}

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
        assert!(local_ports().is_some_and(|ports| !ports.is_empty()));
        let open = open_descriptors().unwrap();
        assert!(open >= 3 && open < raised);
    }
}
