//! Files whose names and pages are in memory.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use os::{Directory, File, Opened};

use super::{Place, each, timed};

const CALLS: usize = 64;
const NAME: &[u8] = b"file";
/// The longer one of two reads.
const LONG_KB: usize = 65;

/// A directory of this process's own, away with it all when this is dropped.
struct Own {
    path: PathBuf,
    directory: Directory,
}

impl Own {
    fn new(bytes: usize) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-cost-{}-{number}", os::process::id()));
        // Of a process of this number that was killed.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        let directory = Directory::open(&path);
        let own = directory.map(|directory| Self { path: path.clone(), directory })?;
        std::fs::write(path.join("file"), vec![b'x'; bytes])?;
        Ok(own)
    }

    fn open(&self) -> io::Result<File> {
        match self.directory.open_beneath(NAME)? {
            Opened::File(file, _) => Ok(file),
            Opened::Directory(_) | Opened::Other => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // What cannot be removed stays.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A file of so many bytes, which has no name any more.
pub(super) fn file(bytes: usize) -> io::Result<File> {
    Own::new(bytes)?.open()
}

pub(super) fn open(_: &Place) -> io::Result<f64> {
    let own = Own::new(1)?;
    timed(CALLS, || Ok(()), |()| (0..CALLS).try_for_each(|_| own.open().map(drop)))
}

pub(super) fn stat(_: &Place) -> io::Result<f64> {
    let own = Own::new(1)?;
    let stat = || own.directory.stat_beneath(NAME).map(|_| ());
    timed(CALLS, || Ok(()), |()| (0..CALLS).try_for_each(|_| stat()))
}

pub(super) fn read_kb(_: &Place) -> io::Result<f64> {
    let file = file(LONG_KB * 1024)?;
    let of = |kb: usize| {
        let mut buffer = vec![0; kb * 1024];
        timed(
            CALLS,
            || Ok(()),
            |()| (0..CALLS).try_for_each(|_| file.read_at(&mut buffer, 0).map(|_| ())),
        )
    };
    Ok(each(of(1)?, of(LONG_KB)?, LONG_KB - 1))
}
