//! The page cache's share of a directory: whose memory a page counts for is decided when it is
//! read, so whatever another process has read before costs a limited server nothing.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::Failure;

/// How much of a directory is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Of its files, in the page cache: whole pages, so a little more than the files have.
    pub cached_bytes: u64,
    /// All of its files.
    pub bytes: u64,
    /// How many there are.
    pub files: u64,
}

/// Drops the pages of a directory's files, all the way down, so that whoever reads them next has
/// them on his account. What other processes hold on to stays: [`share`] tells.
///
/// # Errors
/// A file cannot be opened, or not be written to the disk.
pub fn drop_pages(directory: &Path) -> Result<(), Failure> {
    for_each_file(directory, &mut |file| os::page_cache::drop_pages(file))
}

/// How much of a directory's files, all the way down, is in memory.
///
/// # Errors
/// A file cannot be opened, or this kernel does not tell (Linux 6.5).
pub fn share(directory: &Path) -> Result<Share, Failure> {
    let mut share = Share::default();
    for_each_file(directory, &mut |file| {
        share.cached_bytes += os::page_cache::cached_bytes(file)?;
        share.bytes += file.metadata()?.len();
        share.files += 1;
        Ok(())
    })?;
    Ok(share)
}

/// A site is not deeper; links are not followed, so it ends.
const DEPTH_MAX: usize = 64;

fn for_each_file(
    directory: &Path,
    work: &mut dyn FnMut(&File) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut open = vec![fs::read_dir(directory).map_err(|e| failed(directory, e))?];
    while let Some(entries) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        let entry = entry.map_err(|error| failed(directory, error))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|error| failed(&path, error))?;
        if kind.is_dir() && open.len() < DEPTH_MAX {
            open.push(fs::read_dir(&path).map_err(|error| failed(&path, error))?);
        } else if kind.is_file() {
            let file = File::open(&path);
            file.and_then(|file| work(&file)).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::machine(path.display(), error)
}
