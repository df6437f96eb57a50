//! How helpers of a pipeline load: in place. Where several ask for the same path one helper looks
//! for it, and the others take none meanwhile; they do afterwards, if it cannot be kept in memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, MutexGuard, PoisonError};

use h1::{Lookup, Miss, Tag};
use measure::Instant;
use os::File;

use super::belt::{Batch, Belt};
use super::carried::Carried;
use super::plant::Plant;
use crate::connection::books::Books;
use crate::connection::perform::{Load, Service};

/// What a thread loads by, for one connection. It waits for pages, too.
pub(super) struct Fetching<'l, 's> {
    plant: &'l Plant<'s>,
    askers: &'l Askers,
    /// To the first stage, which sees what is in memory.
    back: &'l Belt<'l>,
    /// Connections that helpers have to do with.
    out: &'l AtomicUsize,
    /// The path that is looked for, if others may wait for it.
    looks_for: Option<Lookup>,
}

/// Who waits for each path that is being looked for.
#[derive(Default)]
pub(super) struct Askers {
    waiting: Mutex<HashMap<Lookup, Batch>>,
}

impl<'l, 's> Fetching<'l, 's> {
    pub(super) const fn new(
        plant: &'l Plant<'s>,
        askers: &'l Askers,
        (back, out): (&'l Belt<'l>, &'l AtomicUsize),
    ) -> Self {
        Self { plant, askers, back, out, looks_for: None }
    }

    /// The first one who asks for a path has it looked for; any other waits until it was.
    pub(super) fn asks(&mut self, mut carried: Box<Carried>) -> Option<Box<Carried>> {
        if mem::take(&mut carried.has_waited) {
            return Some(carried);
        }
        let Some(lookup) = carried.lookup() else { return Some(carried) };
        let first = self.askers.first(&lookup, carried);
        match first {
            Some(_) => self.looks_for = Some(lookup),
            // No helper has to do with it for now.
            None => drop(self.out.fetch_sub(1, SeqCst)),
        }
        first
    }

    /// Those who have waited for the path go on.
    pub(super) fn found(&mut self, now: Instant) {
        let Some(lookup) = self.looks_for.take() else { return };
        let mut waited = self.askers.found(&lookup);
        self.back.put(&mut waited, now);
    }
}

impl Service for Fetching<'_, '_> {
    fn load(&mut self, _: u64, _: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        self.plant.fetches(true);
        let known = match &miss {
            // Another may have loaded it meanwhile.
            Miss::Path(lookup) => books.server.site.compare(lookup, &books.now),
            Miss::Pages(part) => {
                // A read error shows again when the part is sent.
                let _ = part.file.fetch(part.at, part.end);
                None
            }
            Miss::More(_) => None,
        };
        let loaded = known.unwrap_or_else(|| books.load_here(&miss));
        self.plant.fetches(false);
        // The disk's time is nobody's fault: patience begins now.
        books.look_at_clock();
        self.found(books.now.at);
        Load::Done(loaded)
    }
}

impl Askers {
    /// Whether that path is being looked for.
    pub(super) fn has(&self, lookup: &Lookup) -> bool {
        self.locked().contains_key(lookup)
    }

    fn first(&self, lookup: &Lookup, mut carried: Box<Carried>) -> Option<Box<Carried>> {
        match self.locked().entry(lookup.clone()) {
            Entry::Vacant(path) => {
                path.insert(Batch::new());
                Some(carried)
            }
            Entry::Occupied(path) => {
                carried.has_waited = true;
                path.into_mut().push_back(carried);
                None
            }
        }
    }

    fn found(&self, lookup: &Lookup) -> Batch {
        self.locked().remove(lookup).unwrap_or_default()
    }

    // A thread that panics ends the process.
    fn locked(&self) -> MutexGuard<'_, HashMap<Lookup, Batch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
