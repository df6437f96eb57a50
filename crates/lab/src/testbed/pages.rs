//! The page cache's share of a directory: whose memory a page counts for is decided when it is
//! read, so whatever another process has read before costs a limited server nothing.

use std::fs::{self, File};
use std::io::{self, BufRead};
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

/// What the lab's own program is called with, after `lab testbed`, to read files.
pub const READ: &str = "read";

/// Reads the files whose names are said, one a line.
///
/// # Errors
/// One of them cannot be read.
pub(super) fn read(names: impl BufRead) -> Result<(), Failure> {
    for name in names.lines() {
        let name = name.map_err(|error| failed(Path::new("names of files"), error))?;
        let copied = File::open(&name).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
        copied.map_err(|error| failed(Path::new(&name), error))?;
    }
    Ok(())
}

/// How much of a directory's files, all the way down, is in memory. `None`: nobody tells, as this
/// kernel has no cachestat (Linux 6.5), or a sandbox is in the way.
///
/// # Errors
/// A file cannot be opened.
pub fn share(directory: &Path) -> Result<Option<Share>, Failure> {
    share_by(directory, os::page_cache::cached_bytes)
}

fn share_by(
    directory: &Path,
    cached_bytes: impl Fn(&File) -> io::Result<u64>,
) -> Result<Option<Share>, Failure> {
    let mut share = Some(Share::default());
    for_each_file(directory, &mut |file| {
        let Some(sum) = &mut share else { return Ok(()) };
        match cached_bytes(file) {
            Ok(bytes) => sum.cached_bytes += bytes,
            Err(error) if is_untold(&error) => {
                share = None;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        sum.bytes += file.metadata()?.len();
        sum.files += 1;
        Ok(())
    })?;
    Ok(share)
}

/// Of cachestat: ENOSYS, EOPNOTSUPP and EPERM.
pub(super) fn is_untold(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// A site is not deeper; links are not followed, so it ends.
const DEPTH_MAX: usize = 64;

pub(super) fn for_each_file(
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

#[cfg(test)]
mod tests {
    use super::*;

    const ENOSYS: i32 = 38;
    const EOPNOTSUPP: i32 = 95;
    const EPERM: i32 = 1;
    const EIO: i32 = 5;

    #[test]
    fn where_nobody_tells_nothing_is_known() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("deeper")).unwrap();
        for name in ["one", "deeper/two"] {
            fs::write(home.path().join(name), "123").unwrap();
        }
        let told = share_by(home.path(), |_| Ok(4096)).unwrap();
        assert_eq!(told, Some(Share { cached_bytes: 8192, bytes: 6, files: 2 }));
        let refused = |errno| share_by(home.path(), |_| Err(io::Error::from_raw_os_error(errno)));
        for errno in [ENOSYS, EOPNOTSUPP, EPERM] {
            assert_eq!(refused(errno).unwrap(), None, "{errno}");
        }
        refused(EIO).expect_err("a disk that fails");
    }
}
