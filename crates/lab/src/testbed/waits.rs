//! Has the kernel count for how long threads wait for disks (delay accounting), which it does of
//! those that begin while it is on.

use std::fs;

use crate::vitals::COUNTS_WAITS;

/// As long as there is this. A lab that is killed leaves it on, which costs next to nothing.
#[derive(Debug)]
pub(super) struct Counting(());

impl Counting {
    /// None: it is on already, or nobody may turn it on.
    pub(super) fn begin() -> Option<Self> {
        let is_off = fs::read_to_string(COUNTS_WAITS).is_ok_and(|text| text.trim() == "0");
        (is_off && fs::write(COUNTS_WAITS, "1").is_ok()).then_some(Self(()))
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = fs::write(COUNTS_WAITS, "0");
    }
}
