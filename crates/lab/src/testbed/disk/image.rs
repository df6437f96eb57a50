//! What is on a slow disk: a directory, as an image of ext4.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::pages::for_each_file;
use super::run;
use crate::Failure;

/// Beside the files themselves: tables of inodes, and what is lost to whole blocks.
const ROOM_BYTES: u64 = 16 << 20;
const ROOM_OF_FILE_BYTES: u64 = 8 << 10;

/// The image of a directory, beside it: made where it is not there, and kept. Its files are those
/// of a site, which do not change.
pub(in crate::testbed) fn image(of: &Path) -> Result<PathBuf, Failure> {
    let named = |end: &str| {
        let mut name = OsString::from(of);
        name.push(end);
        PathBuf::from(name)
    };
    let (image, begun) = (named(".ext4"), named(".ext4.part"));
    if image.exists() {
        return Ok(image);
    }
    let (mut bytes, mut files) = (0, 0);
    for_each_file(of, &mut |file| {
        bytes += file.metadata()?.len();
        files += 1;
        Ok(())
    })?;
    // Read only, so that a journal would be for nothing.
    let flags = ["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d"];
    let kilobytes = (bytes + bytes / 16 + files * ROOM_OF_FILE_BYTES + ROOM_BYTES) / 1024;
    let size = format!("{kilobytes}K");
    run("mke2fs", &flags, &[of, &begun, Path::new(&size)])?;
    fs::rename(&begun, &image).map_err(|error| Failure::machine(image.display(), error))?;
    Ok(image)
}
