//! AMPED's helpers: threads that block on the disk so that the loop need not.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use h1::{Loaded, Miss};
use os::{File, Wake};

use crate::connection::perform::step_of;
use crate::shared::performer::Performer;
use crate::shared::server::Clock;
use crate::shared::server::Server;
use crate::shared::trace::{Step, Who};

/// Stack of a helper: opening and reading need little.
const STACK_BYTES: usize = 128 << 10;

/// What loop and helpers share.
pub(crate) struct HelpersShared {
    jobs: Mutex<Jobs>,
    more: Condvar,
    done: Mutex<Vec<Done>>,
    wake: Wake,
    queue_max: usize,
}

struct Jobs {
    queue: VecDeque<(u64, Miss<File>)>,
    over: bool,
}

/// A helper's answer.
pub(crate) struct Done {
    pub(crate) token: u64,
    pub(crate) loaded: Loaded<File>,
    pub(crate) step: Step,
    pub(crate) who: Option<Who>,
}

/// The loop's end: while it lives the helpers wait for jobs.
pub(crate) struct Helpers<'c> {
    shared: &'c HelpersShared,
    finished: Vec<Done>,
}

impl HelpersShared {
    pub(crate) fn new(queue_max: usize) -> io::Result<Self> {
        Ok(Self {
            jobs: Mutex::new(Jobs { queue: VecDeque::new(), over: false }),
            more: Condvar::new(),
            done: Mutex::new(Vec::new()),
            wake: Wake::new()?,
            queue_max,
        })
    }

    /// Becomes readable when an answer is there.
    pub(crate) const fn wake(&self) -> &Wake {
        &self.wake
    }

    /// Starts `n` helpers.
    pub(crate) fn hire<'s, 'c: 's>(
        &'c self,
        scope: &'s Scope<'s, '_>,
        server: &'s Server,
        n: u32,
    ) -> io::Result<Helpers<'c>> {
        let helpers = Helpers { shared: self, finished: Vec::new() };
        for _ in 0..n {
            let helper = Builder::new().name(String::from("weir-helper")).stack_size(STACK_BYTES);
            helper.spawn_scoped(scope, || self.help(server))?;
        }
        Ok(helpers)
    }

    fn help(&self, server: &Server) {
        let who = server.trace.is_some().then(|| Who::me(Performer::Helper));
        let mut clock = Clock::new();
        while let Some((token, miss)) = self.next() {
            let step = step_of(&miss);
            if let Miss::Pages(part) = &miss {
                // A read error shows again when the part is sent.
                let _ = part.file.fetch(part.at, part.end);
            }
            let loaded = server.load(&miss, &clock.now());
            locked(&self.done).push(Done { token, loaded, step, who });
            self.wake.wake();
        }
    }

    fn next(&self) -> Option<(u64, Miss<File>)> {
        let mut jobs = locked(&self.jobs);
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                return Some(job);
            }
            if jobs.over {
                return None;
            }
            jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Helpers<'_> {
    /// Gives a job to the next helper that is free, or back if too many wait already.
    pub(crate) fn hand_over(&mut self, token: u64, miss: Miss<File>) -> Result<(), Miss<File>> {
        let mut jobs = locked(&self.shared.jobs);
        if jobs.queue.len() >= self.shared.queue_max {
            return Err(miss);
        }
        jobs.queue.push_back((token, miss));
        drop(jobs);
        self.shared.more.notify_one();
        Ok(())
    }

    /// The answers that have come in.
    pub(crate) fn finished(&mut self) -> std::vec::Drain<'_, Done> {
        self.shared.wake.clear();
        core::mem::swap(&mut self.finished, &mut locked(&self.shared.done));
        self.finished.drain(..)
    }
}

impl Drop for Helpers<'_> {
    fn drop(&mut self) {
        locked(&self.shared.jobs).over = true;
        self.shared.more.notify_all();
    }
}

// A helper that panicked has not left a queue half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
