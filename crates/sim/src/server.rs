//! What all models do with a connection: the verbs, each with its costs. Who performs which, and
//! where, is the models' affair.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::clients::{Asked, Clients};
use crate::crew::Crew;
use crate::footprint::Footprint;
use crate::parameters::Parameters;
use crate::resources::cores::TaskId;
use crate::resources::locks::LockId;
use crate::resources::memory::Kept;
use crate::resources::queues::{Item, QueueId};
use crate::task::Task;
use crate::world::World;

/// A server, as far as its tasks share it.
#[derive(Debug)]
pub struct Server {
    /// The machine.
    pub world: Rc<RefCell<World>>,
    /// Who works in it.
    pub crew: Crew,
    /// Connections that wait to be accepted.
    pub listening: QueueId,
    /// Whether what is one per core stays on it.
    is_pinned: bool,
    /// Whether all other tasks have a core for good, too.
    has_task_rows: bool,
    /// Whether a stage gives its core up behind each request.
    takes_one: bool,
    covers: Covers,
    /// Who asks.
    pub clients: RefCell<Clients>,
    /// What is kept of files.
    pub files: RefCell<Kept>,
    /// What is kept of paths.
    pub paths: RefCell<Kept>,
    footprint: Footprint,
    costs: Costs,
    locks: Option<Locks>,
    /// Of files, with what was sent of those that are on their way.
    sent_bytes: Cell<u64>,
    /// Who has done what, at first.
    done: RefCell<Vec<Done>>,
    /// Files that are being read, and who waits for them too.
    reading: RefCell<BTreeMap<u32, Vec<TaskId>>>,
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The send buffer is full: who sends hears of the connection when there is room.
    InPart,
    /// The connection is kept.
    Whole,
    /// It is not.
    Closed,
}

/// A step of a request, as the registry of `servers` has them, and the task that has done it.
pub type Done = (Step, TaskId);

/// See [`Done`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The connection is accepted.
    Accept,
    /// The request is read.
    Receive,
    /// A path that is not kept is translated.
    Path,
    /// The head of the reply is sent.
    Send,
    /// A file that is not in memory is read.
    Pages,
    /// The file is sent.
    Files,
}

/// What the cache's lock is held for: a look, and what is named beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Covers {
    Look,
    Read,
    Send,
}

/// So many steps are remembered: enough to see who does what.
const DONE_MAX: usize = 1_000;

/// Nanoseconds, but for what says bytes, and a count of events.
#[derive(Debug, Clone, Copy)]
struct Costs {
    accept: u64,
    close: u64,
    receive: u64,
    header: u64,
    transmit: u64,
    transmit_block_bytes: u64,
    events_call: u64,
    event: u64,
    events_batch: usize,
    hand_over: u64,
    path_lookup: u64,
    path_miss: u64,
    path_miss_reads_bytes: u64,
    cache_lookup: u64,
    lookup_bytes: u64,
    disk_read: u64,
}

/// Of what threads of one process share.
#[derive(Debug)]
struct Locks {
    path: LockId,
    cache: Vec<LockId>,
}

impl Server {
    /// A server with these clients. `files` and `paths` may be warm.
    #[must_use]
    pub fn new(
        world: &Rc<RefCell<World>>,
        parameters: &Parameters,
        (crew, footprint): (Crew, Footprint),
        (clients, listening): (Clients, QueueId),
        (files, paths): (Kept, Kept),
    ) -> Self {
        let mut machine = world.borrow_mut();
        let locks = crew.shares_entries.then(|| Locks {
            path: machine.lock(),
            cache: (0..parameters.whole("cache-locks").max(1)).map(|_| machine.lock()).collect(),
        });
        drop(machine);
        Self {
            world: Rc::clone(world),
            crew,
            listening,
            is_pinned: parameters.word("pinned") == "yes",
            has_task_rows: parameters.word("task-rows") == "each",
            takes_one: parameters.word("stage-takes") == "one",
            covers: match parameters.word("lock-covers") {
                "read" => Covers::Read,
                "send" => Covers::Send,
                _ => Covers::Look,
            },
            clients: RefCell::new(clients),
            files: RefCell::new(files),
            paths: RefCell::new(paths),
            footprint,
            costs: Costs::of(parameters),
            locks,
            sent_bytes: Cell::new(0),
            done: RefCell::default(),
            reading: RefCell::default(),
        }
    }

    /// A queue for as many as there are connections.
    pub fn queue(&self) -> QueueId {
        self.world.borrow_mut().queue(usize::MAX)
    }

    /// The core that belongs to a copy of something that is there once for each.
    #[must_use]
    pub fn core(&self, copy: u32) -> Option<u32> {
        (self.is_pinned || self.has_task_rows).then_some(copy % self.crew.cores)
    }

    /// That of a task of which there may be any number.
    #[must_use]
    pub fn any_core(&self, number: u32) -> Option<u32> {
        self.has_task_rows.then_some(number % self.crew.cores)
    }

    /// A stage is done with a request, and goes on with the next one of this queue: it may give its
    /// core up before.
    pub async fn rest(&self, task: &Task, queue: QueueId) {
        if self.takes_one && !task.is_empty(queue) {
            task.give_way().await;
        }
    }

    /// Waits until something comes, and says which connections want to be heard.
    pub async fn events(&self, task: &Task, queues: &[QueueId], heard: QueueId) -> Vec<Item> {
        if queues.iter().all(|queue| task.is_empty(*queue)) {
            task.wait(queues).await;
        }
        let costs = &self.costs;
        let ready = std::iter::from_fn(|| task.pop(heard));
        let events: Vec<Item> = ready.take(costs.events_batch).collect();
        task.work(costs.events_call + costs.event * events.len() as u64).await;
        events
    }

    /// Takes a connection that waits, if one does.
    pub async fn accept(&self, task: &Task) -> Option<Item> {
        let connection = task.pop(self.listening)?;
        self.has_done(task, Step::Accept);
        task.work(self.costs.accept).await;
        Some(connection)
    }

    /// The same, and waits for one.
    pub async fn accepted(&self, task: &Task) -> Item {
        let connection = task.take(self.listening).await;
        self.has_done(task, Step::Accept);
        task.work(self.costs.accept).await;
        connection
    }

    /// Whoever wants to hear of a connection hears of it there from now on.
    pub fn hear(&self, connection: Item, queue: QueueId) {
        self.clients.borrow_mut().hear(&mut self.world.borrow_mut(), connection, queue);
    }

    /// Reads the request of a connection of which was heard.
    pub async fn receive(&self, task: &Task, connection: Item) -> Asked {
        self.has_done(task, Step::Receive);
        self.clients.borrow_mut().taken(connection);
        task.work(self.costs.receive).await;
        self.clients.borrow().asked(connection)
    }

    /// Looks the path up; says whether it was kept.
    pub async fn find(&self, task: &Task, file: u32) -> bool {
        let lock = self.locks.as_ref().map(|locks| locks.path);
        self.under(task, lock, self.costs.path_lookup).await;
        self.paths.borrow_mut().look(file)
    }

    /// Translates a path that was not.
    pub async fn translate(&self, task: &Task, file: u32) {
        self.has_done(task, Step::Path);
        task.work(self.costs.path_miss).await;
        if self.costs.path_miss_reads_bytes > 0 {
            task.work(self.costs.disk_read).await;
            task.read(self.costs.path_miss_reads_bytes).await;
        }
        let mut paths = self.paths.borrow_mut();
        if !paths.has(file) {
            paths.keep(file, 1);
        }
    }

    /// Looks whether the file is in memory.
    pub async fn has(&self, task: &Task, file: u32) -> bool {
        self.under(task, self.cache_lock(file), self.costs.cache_lookup).await;
        self.files.borrow_mut().look(file)
    }

    /// Reads a file that is not. Who comes while somebody else reads it waits for him.
    pub async fn load(&self, task: &Task, asked: Asked) {
        let Asked { file, bytes, .. } = asked;
        self.has_done(task, Step::Pages);
        if self.files.borrow().has(file) {
            return;
        }
        let waits = self.reading.borrow_mut().get_mut(&file).map(|row| row.push(task.id));
        if waits.is_some() {
            return task.sleep().await;
        }
        self.reading.borrow_mut().insert(file, Vec::new());
        let lock = self.cache_lock(file).filter(|_| self.covers == Covers::Read);
        let transfer_ns = match lock {
            Some(lock) => task.lock(lock).await,
            None => 0,
        };
        task.work(transfer_ns + self.costs.disk_read).await;
        task.read(bytes).await;
        self.files.borrow_mut().keep(file, self.footprint.weight(bytes));
        if let Some(lock) = lock {
            task.unlock(lock);
        }
        let row = self.reading.borrow_mut().remove(&file).expect("who reads takes it out");
        row.into_iter().for_each(|task| self.world.borrow_mut().wake(task));
    }

    /// Makes and sends the head.
    pub async fn send_header(&self, task: &Task, connection: Item) {
        self.has_done(task, Step::Send);
        task.work(self.costs.header).await;
        let now_ns = self.world.borrow().now_ns;
        self.clients.borrow_mut().first_byte(connection, now_ns);
    }

    /// Sends the file as far as the send buffer has room, and ends the connection behind its last
    /// reply.
    pub async fn send(&self, task: &Task, connection: Item, asked: Asked) -> Sent {
        self.has_done(task, Step::Files);
        if !self.transmit(task, connection, asked).await {
            return Sent::InPart;
        }
        self.clients.borrow_mut().sent(&mut self.world.borrow_mut(), connection);
        // Who is answered may have asked again by now.
        if !asked.is_last && !self.clients.borrow().is_reset(connection) {
            return Sent::Whole;
        }
        self.clients.borrow_mut().closes(connection);
        task.work(self.costs.close).await;
        self.clients.borrow_mut().close(connection);
        Sent::Closed
    }

    /// The same by who does nothing else meanwhile. Says whether the connection is over.
    pub async fn send_all(
        &self,
        task: &Task,
        connection: Item,
        asked: Asked,
        heard: QueueId,
    ) -> bool {
        loop {
            match self.send(task, connection, asked).await {
                Sent::InPart => drop(task.take(heard).await),
                Sent::Whole => return false,
                Sent::Closed => return true,
            }
        }
    }

    /// Whether what was heard of a connection is a request. Else there is room to send more of a
    /// reply, or the client has reset it, which who sends finds out.
    #[must_use]
    pub fn asks(&self, connection: Item) -> bool {
        self.clients.borrow().asks(connection)
    }

    /// Puts a connection into another task's queue.
    pub async fn hand_over(&self, task: &Task, queue: QueueId, connection: Item) {
        task.work(self.costs.hand_over).await;
        let has_room = task.push(queue, connection);
        debug_assert!(has_room, "a queue for all connections");
    }

    /// The first steps, in the order in which they were begun.
    #[must_use]
    pub fn done(&self) -> Vec<Done> {
        self.done.borrow().clone()
    }

    fn has_done(&self, task: &Task, step: Step) {
        let mut done = self.done.borrow_mut();
        if done.len() < DONE_MAX {
            done.push((step, task.id));
        }
    }

    /// Of files, from the start.
    #[must_use]
    pub const fn sent_bytes(&self) -> u64 {
        self.sent_bytes.get()
    }

    /// What the connection asks for.
    #[must_use]
    pub fn asked(&self, connection: Item) -> Asked {
        self.clients.borrow().asked(connection)
    }

    /// Says whether all of it is sent.
    async fn transmit(&self, task: &Task, connection: Item, asked: Asked) -> bool {
        let Costs { transmit, transmit_block_bytes, lookup_bytes, cache_lookup, .. } = self.costs;
        let lock = self.cache_lock(asked.file).filter(|_| self.covers == Covers::Send);
        let piece_bytes = if lookup_bytes == 0 { u64::MAX } else { lookup_bytes };
        loop {
            let now_ns = self.world.borrow().now_ns;
            let (unsent, room) = self.clients.borrow().unsent(connection, now_ns);
            if unsent == 0 {
                return true;
            }
            if lookup_bytes > 0 && unsent < asked.bytes {
                self.under(task, self.cache_lock(asked.file), cache_lookup).await;
            }
            // Room that is told of may be less by rounding.
            let room = room.max(1);
            let piece = room.min(piece_bytes);
            self.under(task, lock, piece.div_ceil(transmit_block_bytes) * transmit).await;
            let mut clients = self.clients.borrow_mut();
            let taken = clients.send(&mut self.world.borrow_mut(), connection, piece);
            self.sent_bytes.set(self.sent_bytes.get() + taken);
            // What drains meanwhile is left for later: crumbs would take its processor for ever.
            if piece == room && room < unsent && taken > 0 {
                clients.wait_for_room(&mut self.world.borrow_mut(), connection);
                return false;
            }
        }
    }

    /// Works for so long, with that lock.
    async fn under(&self, task: &Task, lock: Option<LockId>, lasts_ns: u64) {
        match lock {
            Some(lock) => task.hold(lock, lasts_ns).await,
            None => task.work(lasts_ns).await,
        }
    }

    fn cache_lock(&self, file: u32) -> Option<LockId> {
        let locks = self.locks.as_ref()?;
        Some(locks.cache[file as usize % locks.cache.len()])
    }
}

impl Costs {
    fn of(parameters: &Parameters) -> Self {
        Self {
            accept: parameters.whole("accept"),
            close: parameters.whole("close"),
            receive: parameters.whole("receive"),
            header: parameters.whole("header"),
            transmit: parameters.whole("transmit"),
            transmit_block_bytes: parameters.whole("transmit-block").max(1),
            events_call: parameters.whole("events-call"),
            event: parameters.whole("event"),
            events_batch: match parameters.whole("events-batch") {
                0 => usize::MAX,
                most => most as usize,
            },
            hand_over: parameters.whole("hand-over"),
            path_lookup: parameters.whole("path-lookup"),
            path_miss: parameters.whole("path-miss"),
            path_miss_reads_bytes: parameters.whole("path-miss-reads"),
            cache_lookup: parameters.whole("cache-lookup"),
            lookup_bytes: parameters.whole("lookup-bytes"),
            disk_read: parameters.whole("disk-read"),
        }
    }
}
