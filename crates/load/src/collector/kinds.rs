//! What results are told by: the sizes of files where there are few, else their classes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::files::{File, FileId, Files};

/// Files that are told together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// As in [`File::class`].
    pub class: u16,
    /// Of each of them; `None`: they differ, or nobody knows.
    pub bytes: Option<u64>,
}

/// SPECweb99's set has 36 sizes (Pariag07 3.4 judges each); a set of more than these is told by
/// classes, of which there are never more, because a size has 64 bits.
pub(super) const KINDS_MAX: usize = 64;

/// Which file is of which kind.
#[derive(Debug, Clone)]
pub(super) struct Kinds {
    /// By file.
    of: Box<[u16]>,
    /// In order.
    all: Vec<Kind>,
}

impl Kinds {
    pub(super) fn new(files: &Files) -> Self {
        let of_size = |file: &File| Kind { class: file.class, bytes: file.bytes };
        let of_class = |file: &File| Kind { class: file.class, bytes: None };
        Self::by(files, of_size).unwrap_or_else(|| {
            Self::by(files, of_class).unwrap_or_else(|| {
                // Classes of a workload's own that are too many say nothing.
                let all = vec![Kind { class: 0, bytes: None }];
                Self { of: vec![0; files.count()].into(), all }
            })
        })
    }

    /// `None`: that would be too many.
    fn by(files: &Files, kind: impl Fn(&File) -> Kind) -> Option<Self> {
        let mut all = BTreeSet::new();
        for (_, file) in files.iter() {
            all.insert(kind(file));
            if all.len() > KINDS_MAX {
                return None;
            }
        }
        let all: Vec<Kind> = all.into_iter().collect();
        let place = |file: &File| all.binary_search(&kind(file)).unwrap_or_default() as u16;
        let of = files.iter().map(|(_, file)| place(file)).collect();
        Some(Self { of, all })
    }

    /// Of one file, its place among all.
    ///
    /// # Panics
    /// The file is of another set.
    pub(super) fn place(&self, file: FileId) -> usize {
        usize::from(self.of[file.0 as usize])
    }

    pub(super) fn all(&self) -> &[Kind] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_size_where_there_are_few() {
        let file = |class, bytes| File { target: "/".into(), bytes, class };
        let few = vec![file(1, Some(2048)), file(0, Some(102)), file(1, Some(2048)), file(0, None)];
        let sizes = (0..65).map(|size| file((size / 40) as u16, Some(size))).collect();
        let classes = (0..65).map(|size| file(size as u16, Some(size))).collect();
        // (files, kinds, places of the first and the last file)
        type Told<'t> = &'t [(u16, Option<u64>)];
        let rows: [(Vec<File>, Told<'_>, [usize; 2]); 3] = [
            (few, &[(0, None), (0, Some(102)), (1, Some(2048))], [2, 0]),
            (sizes, &[(0, None), (1, None)], [0, 1]),
            (classes, &[(0, None)], [0, 0]),
        ];
        for (files, expected, places) in rows {
            let last = FileId(files.len() as u32 - 1);
            let kinds = Kinds::new(&Files::new(files, true));
            let told: Vec<_> = kinds.all().iter().map(|kind| (kind.class, kind.bytes)).collect();
            assert_eq!(told, expected);
            assert_eq!([kinds.place(FileId(0)), kinds.place(last)], places);
        }
    }
}
