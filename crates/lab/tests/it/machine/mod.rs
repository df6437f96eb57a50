//! What this machine can do for a test.

use lab::testbed::{Need, lacks};

/// What two hosts need.
pub(crate) const HOSTS: [Need; 4] = [Need::Root, Need::Ip, Need::Namespaces, Need::Veth];

/// Whether the machine has all of it. If not, records that the calling test is skipped.
#[track_caller]
pub(crate) fn has(needs: &[Need]) -> bool {
    let installed: Vec<harness::Need> =
        needs.iter().flat_map(|need| installed(*need)).copied().collect();
    if harness::lacks(&installed) {
        return false;
    }
    let mut missing = lacks();
    missing.retain(|lack| needs.contains(&lack.what));
    for lack in &missing {
        harness::skip(lack);
    }
    missing.is_empty()
}

/// The part of a need that a package or another user would bring.
fn installed(need: Need) -> &'static [harness::Need] {
    match need {
        Need::Root => &[harness::Need::Root],
        Need::Ip | Need::Rate => &[harness::Need::Program("ip")],
        Need::Disk => &[
            harness::Need::Root,
            harness::Need::Program("mkfs.ext4"),
            harness::Need::Program("losetup"),
            harness::Need::Program("mount"),
        ],
        _ => &[],
    }
}
