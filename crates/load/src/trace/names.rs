//! Targets by name, each held once, and what is known of their sizes.

use std::collections::HashMap;

use super::fault::Fault;
use crate::files::{File, FileId, Files};

/// Targets of one trace; the largest that Choi05 names has half a million.
pub(crate) const FILES_MAX: u32 = 4 << 20;

/// A larger size is a slip of the log: nobody served such files over HTTP when it was logged, and
/// who makes the files would fill a disk.
const FILE_BYTES_MAX: u64 = 16 << 30;

#[derive(Debug, Default)]
pub(crate) struct Names {
    by: HashMap<Box<str>, u32>,
    /// By number: the longest reply, as shorter ones were broken off.
    bytes: Vec<Option<u64>>,
}

impl Names {
    pub(crate) fn id(&mut self, target: &str) -> Result<FileId, Fault> {
        if let Some(&id) = self.by.get(target) {
            return Ok(FileId(id));
        }
        let id = self.by.len() as u32;
        if id == FILES_MAX {
            return Err(Fault::TooMany { what: "different targets", most: FILES_MAX.into() });
        }
        self.by.insert(target.into(), id);
        self.bytes.push(None);
        Ok(FileId(id))
    }

    /// A reply of that length was whole, for all that is known.
    pub(crate) fn learn(&mut self, id: FileId, bytes: u64) {
        let known = &mut self.bytes[id.0 as usize];
        if bytes <= FILE_BYTES_MAX {
            *known = (*known).max(Some(bytes));
        }
    }

    /// Nobody knows what is in them.
    pub(crate) fn into_files(self) -> Files {
        let mut named: Vec<(u32, Box<str>)> =
            self.by.into_iter().map(|(target, id)| (id, target)).collect();
        named.sort_unstable_by_key(|(id, _)| *id);
        let all = named.into_iter().zip(self.bytes);
        let all = all.map(|((_, target), bytes)| match bytes {
            Some(bytes) => File::sized(target, bytes),
            None => File::unknown(target),
        });
        Files::new(all.collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_once_with_its_longest_reply() {
        let mut names = Names::default();
        let a = names.id("/a").unwrap();
        let b = names.id("/b").unwrap();
        assert_eq!(names.id("/a").unwrap(), a);
        assert_eq!((a, b), (FileId(0), FileId(1)));
        for bytes in [100, 1025, 1024, u64::MAX] {
            names.learn(b, bytes);
        }
        let files = names.into_files();
        assert!(!files.is_made);
        let seen: Vec<_> = files.iter().map(|(_, file)| file.clone()).collect();
        assert_eq!(seen, [File::unknown("/a"), File::sized("/b", 1025)]);
    }
}
