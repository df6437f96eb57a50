//! What this machine can do for a test.

use lab::testbed::{Host, Need, lacks};

/// What two hosts need.
pub(crate) const HOSTS: [Need; 4] = [Need::Root, Need::Ip, Need::Namespaces, Need::Veth];

/// Whether all of it is there; says what is not.
pub(crate) fn has(needs: &[Need]) -> bool {
    let lacks = lacks();
    let missing: Vec<_> = lacks.iter().filter(|lack| needs.contains(&lack.what)).collect();
    for lack in &missing {
        println!("skipped: {lack}");
    }
    missing.is_empty()
}

/// By a thread that is there.
pub(crate) fn within<T: Send>(host: &Host, work: impl FnOnce() -> std::io::Result<T> + Send) -> T {
    os::namespace::within(host.placement.namespace.as_ref().unwrap(), work).unwrap()
}
