//! Room on the disk, where programs write that are not asked how they fare.

use std::fs;
use std::path::Path;

use crate::Failure;

/// More than a load tells.
const BYTES: usize = 1 << 20;

/// Whether a directory has room left: tried, as who finds none may have written the half of it and
/// not even be able to say so.
///
/// # Errors
/// [`Failure::Full`]: it has none.
pub(crate) fn check(directory: &Path) -> Result<(), Failure> {
    let trial = directory.join("room");
    let written = fs::write(&trial, vec![1; BYTES]);
    // It may never have been there.
    let _ = fs::remove_file(&trial);
    match written.map_err(|error| Failure::machine(directory.display(), error)) {
        Err(Failure::Full(why)) => Err(Failure::Full(format!(
            "{why}; what was measured before is kept: make room, and start it again"
        ))),
        // Whatever else there is will show where it matters.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_disk_without_room_is_told_and_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        check(home.path()).unwrap();
        symlink("/dev/full", home.path().join("room")).unwrap();
        let full = check(home.path()).unwrap_err();
        let told = "No space left on device (os error 28); what was measured before is kept";
        assert!(matches!(&full, Failure::Full(why) if why.contains(told)), "{full}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        check(&home.path().join("nowhere")).unwrap();
    }
}
