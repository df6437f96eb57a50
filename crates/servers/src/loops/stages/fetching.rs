//! How helpers of a pipeline load: in place. Where several ask for the same path one helper looks
//! for it, and the others take none meanwhile; they do afterwards, if it cannot be kept in memory.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use h1::{Lookup, Miss, Tag};
use measure::{Duration, Instant};
use os::File;

use super::belt::Belt;
use super::carried::Carried;
use super::plant::Plant;
use crate::connection::books::Books;
use crate::connection::pending::{Joined, Pending};
use crate::connection::perform::{Load, Service};

/// What a thread loads by, for one connection. It waits for pages, too.
pub(super) struct Fetching<'l, 's> {
    plant: &'l Plant<'s>,
    askers: &'l Askers,
    /// To the first stage, which sees what is in memory.
    back: &'l Belt<'l>,
    /// The path that is looked for, if others may wait for it.
    looks_for: Option<Lookup>,
    /// How long the disk took. `None` if it was not asked.
    took: Option<Duration>,
}

/// Who waits for each path that is being looked for.
pub(super) type Askers = Mutex<Pending<Box<Carried>>>;

impl<'l, 's> Fetching<'l, 's> {
    pub(super) const fn new(plant: &'l Plant<'s>, askers: &'l Askers, back: &'l Belt<'l>) -> Self {
        Self { plant, askers, back, looks_for: None, took: None }
    }

    /// How long the disk took. `None` if it was not asked: what another thread has found meanwhile
    /// tells nothing of it.
    pub(super) const fn took(&self) -> Option<Duration> {
        self.took
    }

    /// The first one who asks for a path has it looked for; any other waits until it was.
    pub(super) fn asks(&mut self, mut carried: Box<Carried>) -> Option<Box<Carried>> {
        if mem::take(&mut carried.has_waited) {
            return Some(carried);
        }
        let Some(lookup) = carried.lookup() else { return Some(carried) };
        match locked(self.askers).join(&lookup, carried) {
            Joined::First(first) => {
                self.looks_for = Some(lookup);
                Some(first)
            }
            Joined::Waits => None,
            Joined::Full(other) => Some(other),
        }
    }

    /// Those who have waited for the path go on.
    pub(super) fn found(&mut self, now: Instant) {
        let Some(lookup) = self.looks_for.take() else { return };
        let mut waited = VecDeque::from(locked(self.askers).ended(&lookup));
        waited.iter_mut().for_each(|carried| carried.has_waited = true);
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
        let has_asked = known.is_none();
        let loaded = known.unwrap_or_else(|| books.load_here(&miss));
        self.plant.fetches(false);
        // The disk's time is nobody's fault: patience begins now.
        let took = books.look_at_clock();
        if has_asked {
            self.took = Some(self.took.unwrap_or_default() + took);
        }
        self.found(books.now.at);
        Load::Done(loaded)
    }
}

// A thread that panics ends the process.
fn locked(askers: &Askers) -> MutexGuard<'_, Pending<Box<Carried>>> {
    askers.lock().unwrap_or_else(PoisonError::into_inner)
}
