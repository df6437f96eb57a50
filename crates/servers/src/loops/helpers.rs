//! AMPED's helpers: threads that block on the disk so that the loop need not.

use std::collections::VecDeque;
use std::io;
use std::thread::{Builder, Scope};
use std::vec::Drain;

use control::loads::Loads;
use h1::{FilePart, Loaded, Lookup, Miss, Tag};
use os::thread::Queue;
use os::{File, Wake};

use crate::connection::books::Books;
use crate::connection::fetches::Fetches;
use crate::connection::pending::{Joined, Pending};
use crate::connection::perform::{Load, Service, step_of};
use crate::session::LOADS_MAX;
use crate::shared::performer::Performer;
use crate::shared::server::{Clock, Server, Worker};
use crate::shared::trace::{Step, Who};

/// Stack of a helper: opening and reading need little.
const STACK_BYTES: usize = 128 << 10;

/// What loop and helpers share.
pub(crate) struct Helpers {
    jobs: Queue<Job>,
    answers: Queue<Answer>,
    jobs_max: usize,
    answers_max: usize,
    number: usize,
}

struct Job {
    token: u64,
    tag: Tag,
    miss: Miss<File>,
}

struct Answer {
    job: Job,
    loaded: Loaded<File>,
    who: Option<Who>,
}

/// A load that has come back, for one of those who waited for it.
pub(crate) struct Fetched {
    pub(crate) token: u64,
    pub(crate) tag: Tag,
    pub(crate) step: Step,
    pub(crate) who: Option<Who>,
    pub(crate) loaded: Loaded<File>,
}

/// The loop's end: while it lives the helpers wait for jobs.
pub(crate) struct HandedOver<'h> {
    helpers: &'h Helpers,
    /// Swapped with the queue of answers, and what becomes of them: their allocations serve the
    /// next.
    answers: VecDeque<Answer>,
    fetched: Vec<Fetched>,
    paths: Pending,
    /// By helpers.
    fetches: Fetches,
    /// Jobs that have not been answered.
    out: usize,
    /// How soon they will be.
    loads: Loads,
}

impl Helpers {
    /// None yet.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(server: &Server) -> io::Result<Self> {
        let jobs_max = server.settings.helper_queue as usize;
        // Each answers a load that a connection has in hand.
        let answers_max = server.connections_max * LOADS_MAX;
        let (jobs, answers) = (Queue::new(jobs_max), Queue::polled(answers_max)?);
        let number = server.settings.helpers as usize;
        Ok(Self { jobs, answers, jobs_max, answers_max, number })
    }

    /// Becomes readable when an answer is there.
    pub(crate) const fn wake(&self) -> &Wake {
        self.answers.wake()
    }

    /// Starts as many as the settings say.
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn hire<'s, 'h: 's>(
        &'h self,
        scope: &'s Scope<'s, '_>,
        worker: &'s Worker<'s>,
    ) -> io::Result<HandedOver<'h>> {
        let handed_over = HandedOver {
            helpers: self,
            answers: VecDeque::new(),
            fetched: Vec::new(),
            paths: Pending::new(self.jobs_max),
            fetches: Fetches::default(),
            out: 0,
            loads: Loads::default(),
        };
        for _ in 0..worker.server.settings.helpers {
            let helper = Builder::new().name(String::from("weir-helper")).stack_size(STACK_BYTES);
            helper.spawn_scoped(scope, || self.help(worker))?;
        }
        Ok(handed_over)
    }

    fn help(&self, worker: &Worker<'_>) {
        let server = worker.server;
        let who = server.trace.is_some().then(|| Who::me(Performer::Helper));
        let mut clock = Clock::new();
        while let Some(job) = self.jobs.pop() {
            if let Miss::Pages(part) = &job.miss {
                // A read error shows again when the part is sent.
                let _ = part.file.fetch(part.at, part.end);
            }
            let loaded = server.load(worker.number, &job.miss, &clock.now());
            let answered = self.answers.push(Answer { job, loaded, who });
            assert!(answered.is_ok(), "no more jobs are given than answers have room");
        }
    }
}

impl HandedOver<'_> {
    /// What has come back, for all who waited for it.
    pub(crate) fn fetched(&mut self) -> Drain<'_, Fetched> {
        self.helpers.answers.drain(&mut self.answers);
        let done = self.answers.len();
        let (now, left) = (os::clock::monotonic(), self.out - done);
        self.loads.done(now, done, left, self.helpers.number);
        while let Some(Answer { job, loaded, who }) = self.answers.pop_front() {
            let step = step_of(&job.miss);
            self.out -= 1;
            let others = match job.miss {
                Miss::Path(lookup) => self.paths.ended(&lookup),
                Miss::Pages(part) | Miss::More(part) => {
                    self.fetches.end(&part.file);
                    Vec::new()
                }
            };
            for (token, tag) in others {
                let loaded = loaded.clone();
                self.fetched.push(Fetched { token, tag, step, who, loaded });
            }
            let Job { token, tag, .. } = job;
            self.fetched.push(Fetched { token, tag, step, who, loaded });
        }
        self.fetched.drain(..)
    }

    /// A path that the cache has may be compared with the disk without one; else it is a helper's
    /// to translate, once for all who ask for it.
    fn load_path(&mut self, token: u64, tag: Tag, lookup: Lookup, books: &Books<'_>) -> Load {
        if let Some(loaded) = books.server.site.compare(&lookup, &books.now) {
            return Load::Done(loaded);
        }
        match self.paths.join(&lookup, token, tag) {
            Joined::Waits => return Load::Joined,
            Joined::Full => return Load::Refused,
            Joined::First if !self.has_room(books) => {
                self.paths.ended(&lookup);
                books.server.site.give_up(&lookup);
                return Load::Refused;
            }
            Joined::First => {}
        }
        match self.push(Job { token, tag, miss: Miss::Path(lookup.clone()) }) {
            Ok(()) => Load::HandedOver,
            Err(_) => {
                self.paths.ended(&lookup);
                books.server.site.give_up(&lookup);
                Load::Refused
            }
        }
    }

    fn load_pages(&mut self, job: Job, part: &FilePart<File>, books: &Books<'_>) -> Load {
        let here = |miss| Load::Done(books.load_here(&miss));
        if self.fetches.are_over(part) {
            return here(job.miss);
        }
        match self.push(job) {
            Ok(()) => {
                self.fetches.begin(&part.file);
                Load::HandedOver
            }
            // An answer that has begun is finished, if the loop has to block for it.
            Err(job) => here(job.miss),
        }
    }

    /// Whether a request that comes now will be loaded in time.
    fn has_room(&self, books: &Books<'_>) -> bool {
        let within = books.server.settings.load_delay;
        self.out < self.helpers.number || self.loads.has_room(self.out, within)
    }

    /// Gives a job to the next helper that is free.
    fn push(&mut self, job: Job) -> Result<(), Job> {
        if self.out >= self.helpers.answers_max {
            return Err(job);
        }
        self.helpers.jobs.push(job)?;
        self.out += 1;
        Ok(())
    }
}

impl Service for HandedOver<'_> {
    fn load(&mut self, token: u64, tag: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        match miss {
            Miss::Path(lookup) => self.load_path(token, tag, lookup, books),
            Miss::Pages(ref part) | Miss::More(ref part) => {
                let part = part.clone();
                self.load_pages(Job { token, tag, miss }, &part, books)
            }
        }
    }
}

impl Drop for HandedOver<'_> {
    fn drop(&mut self) {
        self.helpers.jobs.close();
    }
}
