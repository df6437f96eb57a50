//! What is published, and the files that belong to it.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::path::Path;

use os::sharing::{Store, UNIT};
use os::{Directory, File, Opened, Stat, Wake};

/// How many there are.
pub(crate) const KEYS: u64 = 16;

/// Publishes what belongs to a key, with its file.
pub(crate) fn publish(store: &Store, home: &Path, key: u64) -> u32 {
    let mut file = open(home, key).0.into_descriptor().ok();
    let number =
        store.lock().blocks().publish(&[&content(key)], &mut file).unwrap().expect("there is room");
    assert!(file.is_none(), "it was taken");
    number
}

/// A few units of a pattern.
pub(crate) fn content(key: u64) -> Vec<u8> {
    (0..key as usize * UNIT / 2 + 1).map(|at| (at as u64 * 7 + key) as u8).collect()
}

/// A directory with a file for each key.
pub(crate) fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for key in 0..KEYS {
        std::fs::write(home.path().join(key.to_string()), format!("file {key}")).unwrap();
    }
    home
}

pub(crate) fn open(home: &Path, key: u64) -> (File, Stat) {
    open_beneath(&Directory::open(home).unwrap(), key)
}

pub(crate) fn open_beneath(directory: &Directory, key: u64) -> (File, Stat) {
    match directory.open_beneath(key.to_string().as_bytes()).unwrap() {
        Opened::File(file, stat) => (file, stat),
        other => panic!("{other:?}"),
    }
}

/// It is an event, and nothing else.
pub(crate) fn is_whole(wake: &Wake) {
    let is_readable = || os::wait_readable([wake.as_fd_ref()], Some(measure::Duration::ZERO));
    assert_eq!(is_readable().unwrap(), [false]);
    wake.wake();
    assert_eq!(is_readable().unwrap(), [true]);
    wake.clear();
}
