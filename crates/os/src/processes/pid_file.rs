//! A file with the number of a process, locked for as long as that lives.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};

use crate::files::output::can_make;
use crate::process;

/// The file. When it is dropped and has this process's number it goes, or is emptied where this
/// process may not remove it.
#[derive(Debug)]
pub struct PidFile {
    file: File,
    path: PathBuf,
    /// It has this process's number.
    is_written: bool,
}

/// Times that a file is opened again that another process has just removed.
const ATTEMPTS_MAX: u32 = 8;

impl PidFile {
    /// Takes a file that no living process has, made if there is none. Its content stays as it is
    /// until [`Self::write`].
    ///
    /// # Errors
    /// `WouldBlock`: another process has it, and its number is what the error says. It cannot be
    /// made or written; it is no regular file of one name, or has something else in it than a
    /// number: somebody else's would be written.
    pub fn take(path: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS_MAX {
            let file = open(path, OFlags::CREATE)?;
            match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    let whose = number_in(&file).unwrap_or("of an unknown number".into());
                    let whose = format!("process {whose} has it");
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, whose));
                }
                Err(e) => return Err(e.into()),
            }
            judge(&file)?;
            let taken = Self { file, path: std::path::absolute(path)?, is_written: false };
            if taken.is_there() {
                return Ok(taken);
            }
            // Whoever had it has removed it: the lock is of a file that nobody finds.
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Whether [`Self::take`] would have it, if nobody else has. Nothing is made, and nothing
    /// locked.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn probe(path: &Path) -> io::Result<()> {
        match open(path, OFlags::empty()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => can_make(path),
            opened => judge(&opened?),
        }
    }

    /// Takes over that which whoever started this process has, with its lock.
    ///
    /// # Errors
    /// There is no such descriptor.
    pub fn take_over(number: RawFd, path: &Path) -> io::Result<Self> {
        let fd: OwnedFd = crate::processes::handed::claim(number)?;
        Ok(Self { file: fd.into(), path: path.to_owned(), is_written: false })
    }

    /// Writes the number of this process.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&mut self) -> io::Result<()> {
        self.is_written = true;
        let line = format!("{}\n", process::id());
        self.file.write_all_at(line.as_bytes(), 0)?;
        self.file.set_len(line.len() as u64)
    }

    /// Whether that process has written its number.
    #[must_use]
    pub fn is_of(&self, process: process::Pid) -> bool {
        number_in(&self.file) == Some(process.to_string())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of its descriptor, for a child that inherits it.
    #[must_use]
    pub fn number(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Its descriptor.
    #[must_use]
    pub fn as_fd_ref(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Leaves it to the process that has taken it over.
    pub fn hand_on(mut self) {
        self.is_written = false;
    }

    /// Whether it is the file that has this name.
    fn is_there(&self) -> bool {
        let of = |is: std::fs::Metadata| (is.dev(), is.ino());
        let named = std::fs::symlink_metadata(&self.path).map(of);
        let open = self.file.metadata().map(of);
        matches!((named, open), (Ok(named), Ok(open)) if named == open)
    }
}

fn open(path: &Path, create: OFlags) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | create;
    let file = retry_on_intr(|| openat(CWD, path, flags, Mode::from_raw_mode(0o644)))?;
    let file = File::from(file);
    let is = file.metadata()?;
    if !is.is_file() || is.nlink() > 1 {
        let what = "it is no regular file, or has another name, too";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(file)
}

/// Whether it is empty or has a number in it. Anything else would be lost.
fn judge(file: &File) -> io::Result<()> {
    if file.metadata()?.len() == 0 || number_in(file).is_some() {
        return Ok(());
    }
    let what = "something else than a process's number is in it; name another file, or remove it";
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if self.is_written && self.is_there() && std::fs::remove_file(&self.path).is_err() {
            // A number of the past would be signalled by somebody.
            let _ = self.file.set_len(0);
        }
    }
}

/// Digits alone, perhaps with a line feed behind them.
fn number_in(file: &File) -> Option<String> {
    // More than any number has.
    let mut bytes = [0; 20];
    let read = file.read_at(&mut bytes, 0).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..read]);
    let number = text.trim();
    let is_one = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_one && read < bytes.len()).then(|| number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_is_one_processs_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("pid");
        fs::write(&path, "12345678901\n").unwrap();
        let mut taken = PidFile::take(&path).unwrap();
        taken.write().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", process::id()));
        let refused = PidFile::take(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(refused.to_string(), format!("process {} has it", process::id()));
        drop(taken);
        assert!(!path.exists());
        let mut again = PidFile::take(&path).expect("nobody has it");
        again.write().unwrap();
        again.hand_on();
        assert!(path.exists(), "it is somebody else's");
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let [path, other, link] = ["pid", "other", "link"].map(|name| home.path().join(name));
        fs::write(&other, "other").unwrap();
        symlink(&other, &link).unwrap();
        PidFile::take(&link).expect_err("a symbolic link");
        for content in ["other", "1 2", "12345678901 of long ago", "1234567890123456789012345"] {
            fs::write(&other, content).unwrap();
            for judge in [|path: &Path| PidFile::take(path).map(drop), PidFile::probe] {
                // A program that another test starts has the lock as well, until it runs.
                let is_locked = |said: &io::Error| said.kind() == io::ErrorKind::WouldBlock;
                let mut all = std::iter::repeat_with(|| judge(&other).expect_err(content));
                let said = all.find(|said| !is_locked(said)).expect("no end").to_string();
                assert!(said.contains("name another file"), "{content}: {said}");
            }
            assert_eq!(fs::read_to_string(&other).unwrap(), content);
        }
        fs::write(&other, "other").unwrap();
        fs::hard_link(&other, home.path().join("second name")).unwrap();
        PidFile::take(&other).expect_err("it has two names");
        PidFile::take(home.path()).expect_err("a directory");
        PidFile::take(&home.path().join("no/pid")).expect_err("no directory");
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        let mut taken = PidFile::take(&path).unwrap();
        taken.write().unwrap();
        fs::rename(&path, home.path().join("moved")).unwrap();
        fs::write(&path, "new").unwrap();
        drop(taken);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new", "not the one that was taken");
    }
}
