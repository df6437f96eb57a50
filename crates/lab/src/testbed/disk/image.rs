//! What is on a slow disk: a directory, as an image of ext4.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::run;
use crate::Failure;

/// Beside the files themselves: tables of inodes, and what is lost to whole blocks.
const ROOM_BYTES: u64 = 16 << 20;
const ROOM_OF_FILE_BYTES: u64 = 8 << 10;
/// What ext4 has of its own, and some to spare.
const INODES: u64 = 64;
/// mke2fs gives each group of blocks, of which the smallest have 8 MiB, the same number of inodes,
/// rounded down to a multiple of 8.
const GROUP_KB: u64 = 8 << 10;
const LOST_INODES: u64 = 8;

/// The image of a directory, beside it: made where it is not there, and kept. Its files are those
/// of a site, which do not change.
pub(in crate::testbed) fn image(of: &Path) -> Result<PathBuf, Failure> {
    let image = beside(of, ".ext4");
    if image.exists() { Ok(image) } else { new_image(of) }
}

/// The same of files that may have changed since there was one: made in any case.
pub(in crate::testbed) fn new_image(of: &Path) -> Result<PathBuf, Failure> {
    let image = beside(of, ".ext4");
    // Others may make theirs at the same time.
    let begun = beside(of, &format!(".ext4.{}.part", std::process::id()));
    let renamed = || fs::rename(&begun, &image).map_err(|e| Failure::machine(image.display(), e));
    let made = make(of, &begun).and_then(|()| renamed());
    if made.is_err() {
        let _ = fs::remove_file(&begun);
    }
    made.map(|()| image)
}

fn beside(of: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(of);
    name.push(end);
    name.into()
}

fn make(of: &Path, image: &Path) -> Result<(), Failure> {
    let (bytes, count) = holds(of).map_err(|error| Failure::machine(of.display(), error))?;
    let kilobytes = (bytes + bytes / 16 + count * ROOM_OF_FILE_BYTES + ROOM_BYTES) / 1024;
    let inodes = (count + INODES + kilobytes / GROUP_KB * LOST_INODES).to_string();
    // Read only, so that a journal would be for nothing.
    let flags = ["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-N", &*inodes, "-d"];
    let size = format!("{kilobytes}K");
    run("mke2fs", &flags, &[of, image, Path::new(&size)])
}

/// The bytes of all files in a directory, and how many files and directories there are.
fn holds(directory: &Path) -> io::Result<(u64, u64)> {
    let (mut bytes, mut count) = (0, 0);
    let mut left = vec![directory.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            // Of a link itself, so that it ends.
            let metadata = entry.metadata()?;
            bytes += metadata.len();
            count += 1;
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok((bytes, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever share of them the files need.
    #[test]
    fn there_are_inodes_for_all() {
        if harness::lacks(&[harness::Need::Program("mkfs.ext4")]) {
            return;
        }
        for (files, bytes) in [(1_000, 420 << 20), (1_260, 230 << 20), (40, 0)] {
            let home = tempfile::tempdir().unwrap();
            let site = home.path().join("site");
            fs::create_dir(&site).unwrap();
            // With a hole, so that it takes no time.
            fs::File::create(site.join("large")).unwrap().set_len(bytes).unwrap();
            (0..files).for_each(|n| drop(fs::File::create(site.join(n.to_string())).unwrap()));
            let image = image(&site).unwrap();
            assert!(fs::metadata(image).unwrap().len() > bytes, "{files} files, {bytes} bytes");
        }
    }
}
