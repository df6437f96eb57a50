//! The file of this program: all loads and Weir's own servers are started from it, so that points
//! belong together only as long as it stays the same.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use blake2::{Blake2b256, Digest};

use crate::Failure;

/// See the head of this file.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    hash: String,
    /// When it was read last.
    seen: Stamp,
}

/// What changes when a file is written, or another one takes its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    bytes: u64,
    /// In seconds and nanoseconds: of its content, and of what is said of it.
    changed: [(i64, i64); 2],
}

/// What the kernel calls the file of the calling process, whatever its name is by now.
const THIS: &str = "/proc/self/exe";

/// Read at a time.
const PIECE_BYTES: usize = 256 << 10;

impl Executable {
    /// That of the calling process, as it runs.
    ///
    /// # Errors
    /// It cannot be read, or is not there any more.
    pub fn own() -> Result<Self, Failure> {
        let path = std::env::current_exe().map_err(|e| Failure::machine("this program", e))?;
        let mut own = Self { path, ..Self::at(Path::new(THIS))? };
        own.check()?;
        Ok(own)
    }

    /// Another one, for whoever is not `weir` himself.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let (hash, seen) = read(path).map_err(|error| Failure::machine(path.display(), error))?;
        Ok(Self { path: path.into(), hash, seen })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `b2sum -l 256` says of it (RFC 7693, BLAKE2b), in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether it still is what it was; it is read again only where it seems to be another one.
    ///
    /// # Errors
    /// The operator's: it was replaced, or removed.
    pub fn check(&mut self) -> Result<(), Failure> {
        let metadata = std::fs::metadata(&self.path);
        if metadata.is_ok_and(|now| Stamp::of(&now) == self.seen) {
            return Ok(());
        }
        match read(&self.path) {
            Ok((hash, seen)) if hash == self.hash => {
                self.seen = seen;
                Ok(())
            }
            Ok(_) => Err(self.replaced("is another program than the one that began")),
            Err(error) => Err(self.replaced(&error.to_string())),
        }
    }

    fn replaced(&self, why: &str) -> Failure {
        let path = self.path.display();
        Failure::Operator(format!(
            "{path}: {why}; loads and servers are started from it, so let nobody build or install \
             it meanwhile; what was measured before is kept"
        ))
    }
}

fn read(path: &Path) -> io::Result<(String, Stamp)> {
    let mut file = File::open(path)?;
    let seen = Stamp::of(&file.metadata()?);
    let mut hash = Blake2b256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => hash.update(&piece[..n]),
        }
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        // A text takes all that is written.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok((digits, seen))
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            file: (file.dev(), file.ino()),
            bytes: file.size(),
            changed: [(file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec())],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_known_by_what_is_in_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("program");
        fs::write(&path, "abc").unwrap();
        let mut executable = Executable::at(&path).unwrap();
        // As b2sum -l 256 has it.
        let hash = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
        assert_eq!(executable.hash(), hash);
        executable.check().unwrap();
        let other = home.path().join("other");
        for (content, is_same) in [("abc", true), ("abd", false), ("abcabc", false), ("abc", true)]
        {
            fs::write(&other, content).unwrap();
            fs::rename(&other, &path).unwrap();
            match executable.check() {
                Ok(()) => assert!(is_same, "{content}"),
                Err(Failure::Operator(why)) => {
                    assert!(!is_same && why.contains("is another program"), "{content}: {why}");
                }
                Err(failure) => panic!("{content}: {failure}"),
            }
        }
        fs::remove_file(&path).unwrap();
        let gone = executable.check().unwrap_err();
        assert!(matches!(&gone, Failure::Operator(why) if why.contains("No such file")), "{gone}");
    }

    #[test]
    fn this_one_is_its_own() {
        let mut own = Executable::own().unwrap();
        assert_eq!((own.hash().len(), own.path().exists()), (64, true));
        own.check().unwrap();
    }
}
