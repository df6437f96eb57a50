//! The kinds of last segments that the rules of a host tell apart.

use std::collections::BTreeSet;

use crate::names::{self, Names};

/// All kinds; a kind is a place among them.
pub(crate) struct Kinds {
    /// The longest first. None: all segments are of one kind.
    endings: Vec<Vec<u8>>,
    kinds: Vec<Kind>,
}

/// Last segments for which the same rules by ending hold.
pub(crate) struct Kind {
    /// What they count as; they have the endings that one of these has.
    names: Vec<Vec<u8>>,
}

/// Of names that have none of the endings.
pub(crate) const OTHER: usize = 0;
/// Of a path that ends with a slash.
const DIRECTORY: usize = 1;
/// Of names without a dot.
const BARE: usize = 2;
/// Of the first ending.
const ENDINGS: usize = 3;

impl Kinds {
    /// Each ending begins with a dot.
    pub(crate) fn new(endings: BTreeSet<Vec<u8>>, names: &Names<'_>) -> Self {
        let mut endings: Vec<_> = endings.into_iter().collect();
        endings.sort_by_key(|ending| std::cmp::Reverse(ending.len()));
        let other = || Kind { names: vec![Vec::new()] };
        if endings.is_empty() {
            return Self { endings, kinds: vec![other()] };
        }
        let directory = Kind { names: names.of_directory() };
        let bare = names.of_bare().map_or_else(other, |name| Kind { names: vec![name] });
        let mut kinds = vec![other(), directory, bare];
        kinds.extend(endings.iter().map(|ending| Kind { names: vec![ending.clone()] }));
        Self { endings, kinds }
    }

    /// Of a path's last segment.
    pub(crate) fn of(&self, path: &[u8]) -> usize {
        if self.endings.is_empty() {
            return OTHER;
        }
        let name = names::last(path);
        if name.is_empty() {
            return DIRECTORY;
        }
        if names::is_bare(name) {
            return BARE;
        }
        let place = self.endings.iter().position(|ending| name.ends_with(ending));
        place.map_or(OTHER, |place| ENDINGS + place)
    }

    /// In the order of their places.
    pub(crate) fn all(&self) -> &[Kind] {
        &self.kinds
    }
}

impl Kind {
    pub(crate) fn has(&self, ending: &[u8]) -> bool {
        self.names.iter().any(|name| name.ends_with(ending))
    }
}
