//! Makes the files of a workload beneath a directory, for the server that is to be measured.
//!
//! A file that is there with the right size is left as it is, so that a second call, or one after
//! an interruption, makes only what is missing: a file that was being written is too short.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::files::{Files, content, unescaped};
use crate::units;

/// Written at a time: one file system call for each small file, and few for a large one.
const PIECE_BYTES: usize = 256 << 10;

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files that are there, made or not.
    pub files: u64,
    /// Files in all.
    pub files_all: u64,
    /// Bytes that are there.
    pub bytes: u64,
    /// Bytes in all.
    pub bytes_all: u64,
    /// Of the files, those that were there before.
    pub kept: u64,
}

/// Why files could not be made.
#[derive(Debug)]
pub enum Fault {
    /// The operator's: nobody knows what is in the files of this workload.
    Unknown,
    /// The operator's: a target that cannot be the name of a file.
    Name(Box<str>),
    /// The machine's: no room is left.
    Full {
        /// The directory that was to have all files.
        dir: PathBuf,
        /// What is there.
        progress: Progress,
    },
    /// The machine's, or the operator's: this cannot be written.
    Write(PathBuf, io::Error),
    /// Nobody's: whoever was told wanted no more.
    Stopped,
}

/// How many they are, and how large, in words; `None`: nobody knows.
#[must_use]
pub fn size(files: &Files) -> Option<String> {
    let bytes = bytes(files)?;
    Some(format!("{} files, {}", units::count(files.count() as u64), units::bytes(bytes)))
}

fn bytes(files: &Files) -> Option<u64> {
    let bytes: Option<u64> = files.iter().map(|(_, file)| file.bytes).sum();
    bytes.filter(|_| files.is_made)
}

/// Makes all `files` beneath `dir`, which is made where it is missing, and tells after each of them
/// how far it is, until who is told wants no more. Whatever else is in `dir` stays there.
///
/// # Errors
/// The content of the files is not known, a target is no plain path, or the system refuses; or it
/// was stopped.
pub fn make(
    files: &Files,
    dir: &Path,
    mut tell: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Progress, Fault> {
    let bytes_all = bytes(files).ok_or(Fault::Unknown)?;
    // Before anything is written, so that nothing is left of what cannot be made whole.
    let bad = files.iter().find(|(_, file)| relative(&file.target).is_none());
    if let Some((_, file)) = bad {
        return Err(Fault::Name(file.target.clone()));
    }
    let files_all = files.count() as u64;
    let mut progress = Progress { files_all, bytes_all, ..Progress::default() };
    // The targets of one directory follow each other, so it is made once.
    let mut parent = PathBuf::new();
    for (_, file) in files.iter() {
        let (Some(below), Some(bytes)) = (relative(&file.target), file.bytes) else { continue };
        let path = dir.join(&below);
        if let Some(its) = path.parent().filter(|its| **its != *parent) {
            fs::create_dir_all(its).map_err(|error| fault(dir, its, error, progress))?;
            parent = its.to_path_buf();
        }
        if is_there(&path, bytes) {
            progress.kept += 1;
        } else if let Err(error) = write(&path, &file.target, bytes) {
            return Err(fault(dir, &path, error, progress));
        }
        progress.files += 1;
        progress.bytes += bytes;
        if tell(progress).is_break() {
            return Err(Fault::Stopped);
        }
    }
    Ok(progress)
}

/// The path of a target beneath the directory; `None`: a server would not find it there, or it
/// would lie elsewhere.
#[must_use]
pub fn relative(target: &str) -> Option<PathBuf> {
    let is_odd = |byte: u8| !byte.is_ascii_graphic() || b"?#\\".contains(&byte);
    let below = target.strip_prefix('/').filter(|below| !below.bytes().any(is_odd))?;
    below.split('/').map(|raw| name(&unescaped(raw)?)).collect()
}

/// A name within a directory.
fn name(unescaped: &[u8]) -> Option<PathBuf> {
    let is_name =
        !matches!(unescaped, b"" | b"." | b"..") && !unescaped.iter().any(|b| b"/\0".contains(b));
    is_name.then(|| OsStr::from_bytes(unescaped).into())
}

fn is_there(path: &Path, bytes: u64) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == bytes)
}

fn write(path: &Path, target: &str, bytes: u64) -> io::Result<()> {
    let mut file = io::BufWriter::with_capacity(PIECE_BYTES, File::create(path)?);
    let mut result = Ok(());
    content(target, bytes, |piece| {
        if result.is_ok() {
            result = file.write_all(piece);
        }
    });
    let result = result.and_then(|()| file.flush());
    if result.is_err() {
        // What there is of it is of no use; its room may be. If that fails, it is too short to be
        // taken for whole.
        let _ = fs::remove_file(path);
    }
    result
}

fn fault(dir: &Path, path: &Path, error: io::Error, progress: Progress) -> Fault {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Fault::Full { dir: dir.to_path_buf(), progress }
        }
        _ => Fault::Write(path.to_path_buf(), error),
    }
}

impl Progress {
    /// Of all bytes, rounded down.
    #[must_use]
    pub fn percent(&self) -> u64 {
        // Of nothing, all is there.
        self.bytes.saturating_mul(100).checked_div(self.bytes_all).unwrap_or(100)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [files, files_all] = [self.files, self.files_all].map(units::count);
        let [bytes, bytes_all] = [self.bytes, self.bytes_all].map(|bytes| bytes as f64 / 1e6);
        write!(f, "{files} of {files_all} files, {bytes:.1} of {bytes_all:.1} MB")
    }
}

impl fmt::Display for Fault {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => {
                write!(f, "the content of its files is not known, so they cannot be made")
            }
            Self::Name(target) => write!(f, "{target} cannot be the name of a file"),
            Self::Full { dir, progress } => {
                let missing = (progress.bytes_all - progress.bytes) as f64 / 1e6;
                let dir = dir.display();
                write!(f, "no room is left in {dir} after {progress}: ")?;
                write!(f, "make room for {missing:.1} MB more and call it again, ")?;
                write!(f, "or take fewer files")
            }
            Self::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Stopped => f.write_str("stopped; what was made is kept"),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use crate::files;

    use super::*;

    /// Three files, of which one is larger than a piece that is written at a time.
    fn three() -> Files {
        let rows = [("/a/1", 1_000), ("/a/2", 0), ("/b/c/3", 300_000)];
        Files::new(rows.map(|(target, bytes)| files::File::sized(target, bytes)).into(), true)
    }

    fn read(path: &Path, below: &str) -> Vec<u8> {
        fs::read(path.join(below)).expect("it was made")
    }

    #[test]
    fn files_are_made_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path().join("site");
        let mut told = Vec::new();
        let made = make(&three(), &dir, |progress| {
            told.push(progress.percent());
            ControlFlow::Continue(())
        });
        let all = Progress { files: 3, files_all: 3, bytes: 301_000, bytes_all: 301_000, kept: 0 };
        assert_eq!(made.expect("there is room"), all);
        assert_eq!(told, [0, 0, 100]);
        for (below, bytes) in [("a/1", 1_000), ("a/2", 0), ("b/c/3", 300_000)] {
            let mut expected = Vec::new();
            content(&format!("/{below}"), bytes, |piece| expected.extend_from_slice(piece));
            assert!(read(&dir, below) == expected, "{below} is not what a client compares it with");
        }
        // One was interrupted, one is of another content but whole, one is gone.
        fs::write(dir.join("b/c/3"), "short").expect("written");
        fs::write(dir.join("a/1"), [7_u8; 1_000]).expect("written");
        fs::remove_file(dir.join("a/2")).expect("removed");
        let made = make(&three(), &dir, |_| ControlFlow::Continue(())).expect("there is room");
        assert_eq!(made, Progress { kept: 1, ..all });
        assert_eq!(read(&dir, "b/c/3").len(), 300_000);
        assert_eq!(read(&dir, "a/1"), [7; 1_000]);
        assert!(read(&dir, "a/2").is_empty());
    }

    #[test]
    fn who_wants_no_more_gets_no_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut left = 2;
        let stopped = make(&three(), dir.path(), |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(Fault::Stopped)), "{stopped:?}");
        assert_eq!(read(dir.path(), "a/1").len(), 1_000);
        assert!(!dir.path().join("b").exists());
    }

    #[test]
    fn escapes_are_undone_as_servers_do() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = "/%C3%A9%20x/a%3Fb%25";
        let files = Files::new(vec![files::File::sized(target, 10)], true);
        make(&files, dir.path(), |_| ControlFlow::Continue(())).expect("there is room");
        let mut expected = Vec::new();
        content(target, 10, |piece| expected.extend_from_slice(piece));
        assert_eq!(read(dir.path(), "\u{e9} x/a?b%"), expected, "by the name that asks for it");
    }

    #[test]
    fn what_cannot_be_made_is_told_in_one_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        fs::create_dir_all(path.join("full/a")).expect("made");
        symlink("/dev/full", path.join("full/a/2")).expect("linked");
        fs::create_dir_all(path.join("taken/a/1")).expect("made");
        fs::write(path.join("file"), "").expect("written");
        let one = |target: &str, is_made| Files::new(vec![files::File::sized(target, 10)], is_made);
        let two = Files::new(
            ["/a/1", "/a/2"].map(|target| files::File::sized(target, 1_000_000)).into(),
            true,
        );
        let rows = [
            (one("/a", false), "new", "the content of its files is not known"),
            (one("/../a", true), "new", "/../a cannot be the name of a file"),
            (one("/a/", true), "new", "/a/ cannot be"),
            (one("/a?b", true), "new", "/a?b cannot be"),
            (one("/a%2fb", true), "new", "/a%2fb cannot be"),
            (one("/a/%2E%2e/b", true), "new", "/a/%2E%2e/b cannot be"),
            (one("/a%00", true), "new", "/a%00 cannot be"),
            (one("/a%zz", true), "new", "/a%zz cannot be"),
            (one("/a\0b", true), "new", "/a\0b cannot be"),
            (one("a", true), "new", "a cannot be"),
            (
                two,
                "full",
                "no room is left in DIR/full after 1 of 2 files, 1.0 of 2.0 MB: make room for \
                 1.0 MB more and call it again, or take fewer files",
            ),
            (three(), "taken", "cannot write DIR/taken/a/1: Is a directory"),
            (three(), "file", "cannot write DIR/file/a: Not a directory"),
        ];
        for (files, below, expected) in rows {
            let told = make(&files, &path.join(below), |_| ControlFlow::Continue(()))
                .expect_err("it cannot be made");
            let told = told.to_string().replace(&path.display().to_string(), "DIR");
            assert!(told.starts_with(expected) && !told.contains('\n'), "{told}");
        }
        assert!(!path.join("new").exists(), "nothing is left of what cannot be made whole");
    }
}
