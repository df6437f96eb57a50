//! Memory, as far as it holds what was read: the files, whole, and where their names lead.
//!
//! A replacement policy of `cache` says who goes, as in the server. What a process, a thread or an
//! entry takes is not here: it is taken off what files may take; see [`crate::footprint`].

use cache::{Arrival, PolicyKind, Slab, Weight};
use measure::draw::mixed;

use crate::classes::Classes;

/// Numbers of files that are kept, bounded by what they weigh.
#[derive(Debug, Clone)]
pub struct Kept {
    slab: Slab<Vec<u64>, PolicyKind>,
    /// Where each file is in the slab, as its index + 1; 0: it is not.
    places: Vec<u32>,
    /// Which file is there.
    files: Vec<u32>,
    classes: Classes,
    seen: Seen,
}

/// What memory holds before a run: it can be the same for several.
#[derive(Debug, Clone)]
pub struct Warm {
    /// Files.
    pub files: Kept,
    /// Translated paths.
    pub paths: Kept,
}

/// What was seen of what is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Looks that found the file.
    pub hits: u64,
    /// Looks that did not.
    pub misses: u64,
}

impl Kept {
    /// Nothing is kept of so many files, and so much may be at once.
    #[must_use]
    pub fn new(files: usize, bytes: u64, policy: PolicyKind, classes: Classes) -> Self {
        let bounds = Weight { bytes, descriptors: u64::MAX };
        let slab = Slab::new(Vec::new(), bounds, policy);
        let places = vec![0; files];
        Self { slab, places, files: Vec::new(), classes, seen: Seen::default() }
    }

    /// Looks for a file: it was asked for.
    pub fn look(&mut self, file: u32) -> bool {
        let place = self.places[file as usize];
        if place == 0 {
            self.seen.misses += 1;
            return false;
        }
        self.seen.hits += 1;
        self.slab.touch(place - 1);
        true
    }

    /// Whether it is here, which nobody asked for.
    #[must_use]
    pub fn has(&self, file: u32) -> bool {
        self.places[file as usize] != 0
    }

    /// Takes a file in that is not here, if the policy lets it come.
    pub fn keep(&mut self, file: u32, bytes: u64) {
        // Not 0, which stays what it is.
        let hash = mixed(u64::from(file) + 1);
        let class = self.classes.get(file as usize).copied().unwrap_or_default();
        let arrival = Arrival { hash, weight: Weight { bytes, descriptors: 0 }, class };
        if !self.slab.admits(&arrival) {
            return;
        }
        let index = self.slab.insert(&arrival).expect("memory that grows has room");
        match self.files.get_mut(index as usize) {
            Some(vacant) => *vacant = file,
            None => self.files.push(file),
        }
        self.places[file as usize] = index + 1;
        while let Some(gone) = self.slab.evict() {
            self.places[self.files[gone as usize] as usize] = 0;
        }
    }

    /// From now on counted anew: what was found so far was warm-up.
    pub fn forget_seen(&mut self) {
        self.seen = Seen::default();
    }

    /// Since then.
    #[must_use]
    pub const fn seen(&self) -> Seen {
        self.seen
    }
}
