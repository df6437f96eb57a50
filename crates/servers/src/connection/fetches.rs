//! Whether pages of files are in memory, while others of the same files are just being fetched.

use std::collections::HashMap;

use h1::{FilePart, Shared};
use os::File;

/// Files of which pages are being fetched for a loop, by address, and for how many loads: each of
/// them holds its file.
#[derive(Default)]
pub(crate) struct Fetches {
    files: HashMap<*const File, usize>,
}

impl Fetches {
    /// Whether a part is in memory. While somebody fetches pages of its file, those that are on
    /// their way count as there: then each run of them is asked for.
    pub(crate) fn are_over(&self, part: &FilePart<File>) -> bool {
        if self.files.contains_key(&Shared::as_ptr(&part.file)) {
            part.file.is_resident_throughout(part.at, part.end)
        } else {
            part.file.is_resident(part.at, part.end)
        }
    }

    /// Pages of that file are being fetched.
    pub(crate) fn begin(&mut self, file: &Shared<File>) {
        *self.files.entry(Shared::as_ptr(file)).or_default() += 1;
    }

    /// They have come.
    pub(crate) fn end(&mut self, file: &Shared<File>) {
        let key = Shared::as_ptr(file);
        let left = self.files[&key] - 1;
        if left == 0 {
            self.files.remove(&key);
        } else {
            self.files.insert(key, left);
        }
    }
}
