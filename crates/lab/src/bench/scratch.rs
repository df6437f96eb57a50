//! Where a point writes what is gone with it: settings and logs of servers, what a load tells.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::Failure;

/// An empty directory that is gone with this.
pub(super) struct Scratch {
    /// What is removed.
    outer: PathBuf,
    /// What is used: within the other, so that the mark is in nobody's way.
    inner: PathBuf,
}

/// Says that a directory is a lab's, which may remove it: somebody may have one of that name where
/// he puts results.
const MARK: &str = ".made-by-weir-lab";
const INNER: &str = "point";

impl Scratch {
    /// Whether there is nothing in the way: no directory, an empty one, or one that a lab has left.
    ///
    /// # Errors
    /// The operator's: something of his own is there. The machine's: it does not let itself be
    /// looked at.
    pub(super) fn check(at: &Path) -> Result<(), Failure> {
        let failed = |error| Failure::machine(at.display(), error);
        let is_ours = match at.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(failed(error)),
            Ok(there) if !there.is_dir() => false,
            Ok(_) => at.join(MARK).exists() || fs::read_dir(at).map_err(failed)?.next().is_none(),
        };
        let refused = || {
            format!(
                "{}: a lab removes what is there, and this was not made by one; move it away, or \
                 take another --dir",
                at.display()
            )
        };
        is_ours.then_some(()).ok_or_else(|| Failure::Operator(refused()))
    }

    /// Makes it; what a lab has left there is removed.
    ///
    /// # Errors
    /// As [`Self::check`]; it cannot be made.
    pub(super) fn make(at: &Path) -> Result<Self, Failure> {
        Self::check(at)?;
        let failed = |error| Failure::machine(at.display(), error);
        let made = Self { outer: at.into(), inner: at.join(INNER) };
        made.remove().map_err(failed)?;
        let mark = |()| fs::write(at.join(MARK), "");
        fs::create_dir_all(at).and_then(mark).map_err(failed)?;
        fs::create_dir(&made.inner).map_err(failed)?;
        Ok(made)
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.inner
    }

    /// The mark goes last: of what is left when this is broken off it still says whose it is.
    fn remove(&self) -> io::Result<()> {
        for directory in [&self.inner, &self.outer] {
            match fs::remove_dir_all(directory) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is removed by the next point.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_removed_but_what_a_lab_made() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("scratch");
        let rows: [(&[&str], bool); 5] = [
            (&[], true),
            (&["thesis.tex"], false),
            (&["point"], false),
            (&[MARK], true),
            (&[MARK, "left"], true),
        ];
        for (files, is_ours) in rows {
            fs::create_dir(&at).unwrap();
            for file in files {
                fs::write(at.join(file), "").unwrap();
            }
            match Scratch::make(&at) {
                Ok(made) => {
                    assert!(is_ours, "{files:?}");
                    assert_eq!(fs::read_dir(made.path()).unwrap().count(), 0, "{files:?}");
                    fs::write(made.path().join("settings"), "").unwrap();
                    drop(made);
                    assert!(!at.exists(), "{files:?}");
                }
                Err(Failure::Operator(why)) => {
                    assert!(!is_ours && why.contains("take another --dir"), "{files:?}: {why}");
                    assert_eq!(fs::read_dir(&at).unwrap().count(), files.len(), "{files:?}");
                    fs::remove_dir_all(&at).unwrap();
                }
                Err(other) => panic!("{files:?}: {other}"),
            }
        }
        fs::write(&at, "a file").unwrap();
        assert!(Scratch::make(&at).is_err());
        assert_eq!(fs::read_to_string(&at).unwrap(), "a file");
    }
}
