use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use site::rules::Place;

use crate::Fault;

/// Bytes of a file at most: more is not configuration but a mistaken name, and it is all in memory.
const BYTES_MAX: u64 = 1 << 20;

/// A file that was read.
pub(crate) struct Source {
    /// As the operator named it.
    pub(crate) name: Arc<str>,
    pub(crate) text: String,
    lines: Vec<usize>,
    /// What relative paths are relative to.
    folder: PathBuf,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is no regular file, is too long or is not UTF-8.
    pub(crate) fn read(path: &Path) -> Result<Self, Fault> {
        let fault = |told| Fault {
            file: path.display().to_string().into(),
            place: None,
            key: String::new(),
            told,
        };
        Self::of(path, bytes(path).map_err(fault)?)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub(crate) fn of(path: &Path, bytes: Vec<u8>) -> Result<Self, Fault> {
        let name: Arc<str> = path.display().to_string().into();
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, lines: lines(&text), text, folder }),
            Err(e) => {
                let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
                let good = String::from_utf8_lossy(good);
                let place = place(&good, &lines(&good), good.len());
                let told = "not UTF-8 from here on; save it as UTF-8".into();
                Err(Fault { file: name, place: Some(place), key: String::new(), told })
            }
        }
    }

    pub(crate) fn fault(&self, at: &Range<usize>, key: &str, told: String) -> Fault {
        let place = Some(self.place(at));
        Fault { file: Arc::clone(&self.name), place, key: key.into(), told }
    }

    fn place(&self, at: &Range<usize>) -> Place {
        place(&self.text, &self.lines, at.start)
    }

    /// A path that is written in this file.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        self.folder.join(written)
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let kind = fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?;
    if kind.is_dir() {
        return Err("is a directory; name a file in it".into());
    }
    // Opening a pipe would wait for whoever writes, and a reload would find it empty.
    if !kind.is_file() {
        return Err("is no regular file, so it could not be read again".into());
    }
    let file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("has more than {BYTES_MAX} bytes; is it the right file?"));
    }
    Ok(bytes)
}

/// The starts of all lines.
fn lines(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

/// The place of a byte, which may be past the end or within a character.
fn place(text: &str, lines: &[usize], at: usize) -> Place {
    let line = lines.partition_point(|&start| start <= at).max(1);
    let start = lines.get(line - 1).map_or(0, |&start| start);
    let before = text[start..].char_indices().take_while(|&(from, _)| start + from < at);
    Place { line: line as u32, column: before.count() as u32 + 1 }
}
