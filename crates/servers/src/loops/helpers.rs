//! Helper threads, and Knot's workers: threads that block on the disk so that a loop, or the thread
//! of all fibers, need not. Those of AMPED translate paths and read files. Those of a ring only
//! translate paths, because the ring reads. Workers also send parts of files, and may wait for
//! clients then.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, Scope};
use std::vec::Drain;

use control::loads::Loads;
use h1::{FilePart, Loaded, Lookup, Miss, Shared, Tag};
use measure::Duration;
use os::thread::Queue;
use os::{File, Socket, Wake};
use site::Opening;

use crate::connection::books::Books;
use crate::connection::fetches::Fetches;
use crate::connection::pending::{Joined, Pending};
use crate::connection::perform::{Load, Service, step_of};
use crate::connection::revalidator::Revalidator;
use crate::session::LOADS_MAX;
use crate::shared::performer::Performer;
use crate::shared::server::{Clock, Server, Worker};
use crate::shared::settings::Sendfile;
use crate::shared::trace::{Step, Who};

/// Stack of a helper: opening and reading need little.
const STACK_BYTES: usize = 128 << 10;

/// How long a worker waits for a client that takes nothing, where its calls do not (Pariag07 4).
const SEND_FOR: Duration = Duration::from_secs(1);

/// What loop and helpers share.
pub(crate) struct Helpers {
    jobs: Queue<Job>,
    answers: Queue<Answer>,
    jobs_max: usize,
    answers_max: usize,
    number: usize,
    are: Performer,
    /// How workers send.
    how: Option<Sendfile>,
    revalidator: Revalidator,
}

struct Job {
    token: u64,
    tag: Tag,
    task: Task,
}

enum Task {
    Load(Miss<File>),
    Open(Lookup),
    Send(Part),
}

/// A part of a file that a worker sends up to `most` bytes of.
pub(crate) struct Part {
    pub(crate) socket: Arc<Socket>,
    pub(crate) part: FilePart<File>,
    pub(crate) most: u64,
}

struct Answer {
    job: Job,
    done: Done,
    who: Option<Who>,
}

enum Done {
    /// With the time that the helper took.
    Loaded(Loaded<File>, Duration),
    /// The same.
    Opened(Box<Opening>, Duration),
    Sent(io::Result<u64>),
}

/// A load that has come back, for one of those who waited for it.
pub(crate) struct Fetched {
    pub(crate) token: u64,
    pub(crate) tag: Tag,
    pub(crate) step: Step,
    pub(crate) who: Option<Who>,
    pub(crate) loaded: Loaded<File>,
}

/// What a path leads to, for the first connection that asked for it.
pub(crate) struct Opened {
    pub(crate) token: u64,
    pub(crate) tag: Tag,
    pub(crate) lookup: Lookup,
    pub(crate) who: Option<Who>,
    pub(crate) opening: Box<Opening>,
}

/// What a worker has sent for one.
pub(crate) struct Sent {
    pub(crate) token: u64,
    pub(crate) who: Option<Who>,
    pub(crate) sent: io::Result<u64>,
}

/// The loop's end: while it lives the helpers wait for jobs.
pub(crate) struct HandedOver<'h> {
    helpers: &'h Helpers,
    /// Swapped with the queue of answers, and what becomes of them: their allocations serve the
    /// next.
    answers: VecDeque<Answer>,
    fetched: Vec<Fetched>,
    opened: Vec<Opened>,
    sent: Vec<Sent>,
    paths: Pending<(u64, Tag)>,
    /// By helpers.
    fetches: Fetches,
    /// Loads that have not been answered.
    loads_out: usize,
    /// How long one takes.
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
        let (are, how) = (server.architecture.path, server.settings.sendfile);
        // Of a connection one part is sent at a time.
        let sends_max = if are == Performer::Worker { server.connections_max } else { 0 };
        let number = server.settings.helpers as usize;
        let jobs = Queue::new(jobs_max + number + sends_max);
        let answers = Queue::polled(answers_max + sends_max)?;
        let revalidator = Revalidator::new(server);
        Ok(Self { jobs, answers, jobs_max, answers_max, number, are, how, revalidator })
    }

    /// Becomes readable when an answer is there.
    pub(crate) const fn wake(&self) -> &Arc<Wake> {
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
            opened: Vec::new(),
            sent: Vec::new(),
            paths: Pending::new(self.jobs_max),
            fetches: Fetches::default(),
            loads_out: 0,
            loads: Loads::default(),
        };
        self.revalidator.spawn(scope, worker)?;
        for _ in 0..self.number {
            let name = format!("weir-{}", self.are.name());
            let helper = Builder::new().name(name).stack_size(STACK_BYTES);
            helper.spawn_scoped(scope, || self.help(worker))?;
        }
        Ok(handed_over)
    }

    fn help(&self, worker: &Worker<'_>) {
        let server = worker.server;
        let who = server.trace.is_some().then(|| Who::me(self.are));
        let mut clock = Clock::new();
        while let Some(job) = self.jobs.pop() {
            let begun = os::clock::monotonic();
            let done = match &job.task {
                Task::Load(miss) => {
                    if let Miss::Pages(part) = miss {
                        // A read error shows again when the part is sent.
                        let _ = part.file.fetch(part.at, part.end);
                    }
                    let loaded = server.load(worker.number, miss, &clock.now());
                    Done::Loaded(loaded, os::clock::monotonic() - begun)
                }
                Task::Open(lookup) => {
                    let opening = server.site.open(lookup);
                    Done::Opened(Box::new(opening), os::clock::monotonic() - begun)
                }
                Task::Send(part) => Done::Sent(part.send(self.how)),
            };
            let answered = self.answers.push(Answer { job, done, who });
            assert!(answered.is_ok(), "no more jobs are given than answers have room");
        }
    }
}

impl Part {
    /// As [`Socket::send_file`], and for a client that takes nothing it waits no longer than is
    /// meant.
    fn send(&self, how: Option<Sendfile>) -> io::Result<u64> {
        let Self { socket, part, most } = self;
        match socket.send_file(&part.file, part.at, *most) {
            Err(e)
                if e.kind() == io::ErrorKind::WouldBlock
                    && how == Some(Sendfile::Nonblocking)
                    && socket.is_writable(Some(SEND_FOR))? =>
            {
                socket.send_file(&part.file, part.at, *most)
            }
            sent => sent,
        }
    }
}

impl<'h> HandedOver<'h> {
    /// Becomes readable when something has come back.
    pub(crate) const fn wake(&self) -> &'h Arc<Wake> {
        self.helpers.wake()
    }

    /// What has come back, for all who waited for it.
    pub(crate) fn fetched(&mut self) -> Drain<'_, Fetched> {
        self.hear();
        self.fetched.drain(..)
    }

    /// What was opened. Others may wait for each path until it [ends](Self::ended).
    pub(crate) fn opened(&mut self) -> Drain<'_, Opened> {
        self.hear();
        self.opened.drain(..)
    }

    /// Sorts the answers that have come.
    fn hear(&mut self) {
        self.helpers.answers.drain(&mut self.answers);
        let now = os::clock::monotonic();
        while let Some(Answer { job, done, who }) = self.answers.pop_front() {
            let Job { token, tag, task } = job;
            match (task, done) {
                (Task::Load(miss), Done::Loaded(loaded, took)) => {
                    self.loads_out -= 1;
                    self.loads.done(now, took);
                    self.load_ended((token, tag), miss, loaded, who);
                }
                (Task::Open(lookup), Done::Opened(opening, took)) => {
                    self.loads_out -= 1;
                    self.loads.done(now, took);
                    self.opened.push(Opened { token, tag, lookup, who, opening });
                }
                (Task::Send(part), Done::Sent(sent)) => {
                    self.fetches.end(&part.part.file);
                    self.sent.push(Sent { token, who, sent });
                }
                (Task::Load(_) | Task::Open(_) | Task::Send(_), _) => {
                    unreachable!("a task has its own answer")
                }
            }
        }
    }

    /// The first connection that asked for a path has gone. Returns the next, if any waits.
    pub(crate) fn next(&mut self, lookup: &Lookup) -> Option<(u64, Tag)> {
        self.paths.next(lookup)
    }

    /// A path that was opened is answered. Returns which others wait for the answer.
    pub(crate) fn ended(&mut self, lookup: &Lookup) -> Vec<(u64, Tag)> {
        self.paths.ended(lookup)
    }

    /// What was sent, as far as [`Self::fetched`] has found it.
    pub(crate) fn sent(&mut self) -> Drain<'_, Sent> {
        self.sent.drain(..)
    }

    /// Whether a part of a file is in memory: pages that are just being fetched are not.
    pub(crate) fn has_pages(&self, part: &FilePart<File>) -> bool {
        self.fetches.are_over(part)
    }

    /// Gives a part of a file to a worker.
    pub(crate) fn send(&mut self, token: u64, part: Part) {
        self.fetches.begin(&part.part.file);
        let job = Job { token, tag: Tag::default(), task: Task::Send(part) };
        assert!(self.helpers.jobs.push(job).is_ok(), "of a connection one part at a time");
    }

    fn load_ended(
        &mut self,
        (token, tag): (u64, Tag),
        miss: Miss<File>,
        loaded: Loaded<File>,
        who: Option<Who>,
    ) {
        let step = step_of(&miss);
        let others = match miss {
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
        self.fetched.push(Fetched { token, tag, step, who, loaded });
    }

    /// A path that the cache has may be compared with the disk without a helper, or behind the
    /// request; else a helper translates it, once for all requests that ask for it.
    fn load_path(&mut self, of: (u64, Tag), lookup: Lookup, books: &Books<'_>) -> Load {
        let load = |lookup| Task::Load(Miss::Path(lookup));
        self.translate(of, lookup, load, books)
    }

    /// The same for a loop that reads what the path leads to: a helper only opens the file.
    pub(crate) fn open(&mut self, of: (u64, Tag), lookup: Lookup, books: &Books<'_>) -> Load {
        self.translate(of, lookup, Task::Open, books)
    }

    fn translate(
        &mut self,
        of: (u64, Tag),
        lookup: Lookup,
        task: impl FnOnce(Lookup) -> Task,
        books: &Books<'_>,
    ) -> Load {
        if let Some(loaded) = books.server.site.compare(&lookup, &books.now) {
            return Load::Done(loaded);
        }
        if let Some(old) = self.helpers.revalidator.answer(&lookup, books) {
            return old;
        }
        match self.paths.join(&lookup, of) {
            Joined::Waits => return Load::Joined,
            // The first request goes on to look.
            Joined::Full(_) => return Load::Refused,
            Joined::First(_) => {}
        }
        if self.has_room(books) && self.push(of, task(lookup.clone())).is_ok() {
            return Load::HandedOver;
        }
        self.paths.ended(&lookup);
        refused(&lookup, books)
    }

    fn load_pages(&mut self, of: (u64, Tag), miss: Miss<File>, books: &Books<'_>) -> Load {
        let (Miss::Pages(part) | Miss::More(part)) = &miss else {
            unreachable!("a path has no pages")
        };
        let here = |miss| Load::Done(books.load_here(&miss));
        if self.fetches.are_over(part) {
            return here(miss);
        }
        let file = Shared::clone(&part.file);
        match self.push(of, Task::Load(miss)) {
            Ok(()) => {
                self.fetches.begin(&file);
                Load::HandedOver
            }
            // An answer that has begun is finished, if the loop has to block for it.
            Err(Task::Load(miss)) => here(miss),
            Err(_) => unreachable!("the task that was refused"),
        }
    }

    /// Whether a request that comes now will be loaded in time.
    fn has_room(&mut self, books: &Books<'_>) -> bool {
        let within = books.server.settings.load_delay;
        self.loads.admit(books.now.at, self.loads_out, self.helpers.number, within)
    }

    /// Gives a load to the next helper that is free.
    fn push(&mut self, (token, tag): (u64, Tag), task: Task) -> Result<(), Task> {
        let Helpers { jobs, jobs_max, answers_max, number, .. } = self.helpers;
        if self.loads_out >= (jobs_max + number).min(*answers_max) {
            return Err(task);
        }
        let pushed = jobs.push(Job { token, tag, task });
        assert!(pushed.is_ok(), "no more jobs are given than there is room for");
        self.loads_out += 1;
        Ok(())
    }
}

impl Service for HandedOver<'_> {
    fn load(&mut self, token: u64, tag: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        match miss {
            Miss::Path(lookup) => self.load_path((token, tag), lookup, books),
            pages => self.load_pages((token, tag), pages, books),
        }
    }
}

/// No helper looks for a path soon. An answer that is old is better than none.
fn refused(lookup: &Lookup, books: &Books<'_>) -> Load {
    books.server.site.give_up(lookup, &books.now).map_or(Load::Refused, Load::Done)
}

impl Drop for HandedOver<'_> {
    fn drop(&mut self) {
        self.helpers.jobs.close();
        self.helpers.revalidator.close();
    }
}
