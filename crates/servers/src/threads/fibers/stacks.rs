//! The fibers of one scheduler, on stacks of one arena.

use std::io;

use os::fiber::{Arena, Fiber, Parking};

use super::{Running, Scheduler};
use crate::shared::server::{Server, Worker};

/// Stack of a fiber: the receive buffer and a few calls. Only touched pages cost memory.
const STACK_BYTES: usize = 64 << 10;

/// Those that there are, by their numbers.
pub(crate) struct Fibers<'f> {
    all: Vec<Option<Fiber<'f>>>,
    arena: Arena,
}

impl<'f> Fibers<'f> {
    /// None yet. One with a connection for each that may be open, and one that accepts.
    ///
    /// # Errors
    /// The machine has no memory to map stacks.
    pub(crate) fn new(worker: &Worker<'_>) -> io::Result<Self> {
        let Server { connections_max, errors, .. } = worker.server;
        os::fiber::tell_overflows(errors.descriptor())?;
        Ok(Self { all: Vec::new(), arena: Arena::new(connections_max + 1, STACK_BYTES)? })
    }

    /// They are left parked where they are: their process ends.
    pub(crate) fn abandon(self) {
        std::mem::forget(self);
    }

    /// Runs the fiber of that number until it parks or ends. If there is none, one is made that
    /// does `body`.
    pub(crate) fn run<'s>(
        &mut self,
        scheduler: &'f Scheduler<'s>,
        number: u32,
        body: impl FnOnce(&Running<'_, 's>) + 'f,
    ) {
        let at = number as usize;
        if self.all.len() <= at {
            self.all.resize_with(at + 1, || None);
        }
        let fiber = self.all[at].get_or_insert_with(|| {
            let run = move |parking: &Parking<'_>| body(&Running::new(scheduler, parking, number));
            Fiber::new(&self.arena, run).expect("a stack for each number")
        });
        if fiber.resume() {
            self.all[at] = None;
            scheduler.ended(number);
        }
    }
}
