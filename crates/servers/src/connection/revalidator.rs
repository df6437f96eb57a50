//! Compares old answers with the disk behind the requests that they answer.
//!
//! An answer in memory is compared with the disk when it has come of age. Where helpers look at the
//! disk, a request need not wait for that: it gets the old answer, and one thread of the worker
//! compares afterwards. So what is in memory is sent while every helper waits for a slow disk. An
//! answer that is too old for that ([`site::Site::old`]) is loaded by helpers.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{Builder, Scope};

use h1::{Lookup, Miss};
use os::thread::Queue;

use super::books::Books;
use super::perform::Load;
use crate::shared::server::{Clock, Server, Worker};

/// Stack of its thread: opening and reading need little.
const STACK_BYTES: usize = 128 << 10;

/// The thread that revalidates, and the paths that wait for it.
pub(crate) struct Revalidator {
    paths: Queue<Lookup>,
    is_closed: AtomicBool,
}

impl Revalidator {
    /// Without a thread yet. As many paths may wait as loads for helpers.
    pub(crate) fn new(server: &Server) -> Self {
        let paths = Queue::new(server.settings.helper_queue as usize);
        Self { paths, is_closed: AtomicBool::new(false) }
    }

    /// Starts its thread, which ends when this is [closed](Self::close).
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn spawn<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        worker: &'s Worker<'s>,
    ) -> io::Result<()> {
        let thread = Builder::new().name("weir-revalidate".into()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, || self.revalidate(worker)).map(drop)
    }

    fn revalidate(&self, worker: &Worker<'_>) {
        let mut clock = Clock::new();
        while let Some(lookup) = self.paths.pop() {
            if self.is_closed.load(Acquire) {
                return;
            }
            worker.server.load(worker.number, &Miss::Path(lookup), &clock.now());
        }
    }

    /// Answers a request with an old answer, and has that compared with the disk. `None`: there is
    /// none that may be sent, or too many paths wait.
    pub(crate) fn answer(&self, lookup: &Lookup, books: &Books<'_>) -> Option<Load> {
        let old = books.server.site.old(lookup, &books.now)?;
        self.paths.push(lookup.clone()).ok()?;
        Some(Load::Came(old, None))
    }

    /// Ends the thread. Paths that still wait are not compared.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Release);
        self.paths.close();
    }
}
