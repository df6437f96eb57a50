//! Entries of a completion ring: reads of one byte from the page cache, which complete at once.

use std::io;
use std::sync::Arc;

use os::ring::{self, Ring, RingSettings, SetUp, Sockets};

use super::{Place, each, files, timed};

const MANY: usize = 64;
const CALLS: usize = 32;

const SETTINGS: RingSettings = RingSettings {
    entries: 2 * MANY as u32,
    completions: 4 * MANY as u32,
    buffers: 2,
    buffer_bytes: 4096,
    handles: 1,
    sockets: Sockets::Direct,
    set_up: SetUp::Deferred,
};

pub(super) fn call(_: &Place) -> io::Result<f64> {
    calls(1)
}

pub(super) fn entry(_: &Place) -> io::Result<f64> {
    Ok(each(calls(1)?, calls(MANY)?, MANY - 1))
}

/// A call with so many entries, whose completions are taken.
fn calls(entries: usize) -> io::Result<f64> {
    ring::probe().map_err(|_| io::ErrorKind::Unsupported)?;
    let mut ring = Ring::new(&SETTINGS)?;
    let file = Arc::new(files::file(1)?);
    timed(
        CALLS,
        || Ok(()),
        |()| {
            (0..CALLS).try_for_each(|_| {
                (0..entries).try_for_each(|token| ring.read(&file, 0, 1, token as u64))?;
                let mut left = entries;
                while left > 0 {
                    ring.submit_and_wait(left as u32, None)?;
                    while ring.completion().is_some() {
                        left -= 1;
                    }
                }
                Ok(())
            })
        },
    )
}
