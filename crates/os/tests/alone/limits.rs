//! What the machine allows, and how much of it is in use.

use std::fs;

use os::{Wake, limits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits before, soft and hard; the hard one is what may be had.
pub(crate) fn the_limit_is_raised() {
    let before = getrlimit(Resource::Nofile);
    let most = before.maximum.expect("a limit");
    for current in [0, 3, 100, most - 1, most] {
        setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..before }).unwrap();
        assert_eq!(limits::descriptors(), most, "from {current}");
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
    }
    setrlimit(Resource::Nofile, before).unwrap();
}

pub(crate) fn open_descriptors_are_counted() {
    let is_open = |n: &u32| fs::symlink_metadata(format!("/proc/self/fd/{n}")).is_ok();
    let before = (0..10_000).filter(is_open).count() as u64;
    assert_eq!(limits::open_descriptors(), Some(before));
    let mut wakes = Vec::new();
    for more in 1..=20 {
        wakes.push(Wake::new().unwrap());
        assert_eq!(limits::open_descriptors(), Some(before + more));
    }
    drop(wakes);
    assert_eq!(limits::open_descriptors(), Some(before), "asking leaves none behind");
}

pub(crate) fn the_longest_queue_is_told() {
    let text = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    assert_eq!(limits::somaxconn().to_string(), text.trim());
}
