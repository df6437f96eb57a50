//! What this machine can do for a test.

use lab::testbed::{Need, lacks};

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
