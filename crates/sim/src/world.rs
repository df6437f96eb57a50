//! A machine: its resources, and what happens next to each.

use crate::agenda::Agenda;
use crate::resources::cores::{CoreId, Cores, Sharing, TaskId};
use crate::resources::disk::{Begun, Disk, Speed};
use crate::resources::locks::{Lock, LockId, Locking, Waits};
use crate::resources::queues::{Item, Queue, QueueId};
use crate::resources::row::Little;

/// What a machine is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// How many.
    pub cores: u32,
    /// How they are shared.
    pub sharing: Sharing,
    /// What its locks cost.
    pub locking: Locking,
    /// Its disk.
    pub disk: Speed,
}

/// See the head of this file.
#[derive(Debug)]
pub struct World {
    /// What time it is.
    pub now_ns: u64,
    /// What happens next.
    pub agenda: Agenda,
    /// The cores, and who runs.
    pub cores: Cores,
    /// The disk.
    pub disk: Disk,
    locking: Locking,
    locks: Vec<Lock>,
    queues: Vec<Queue>,
    /// Whose each place of the agenda is.
    whose: Vec<Whose>,
    /// In which queues' rows each task stands.
    task_waits: Vec<Vec<QueueId>>,
    channel_places: Vec<u32>,
    /// Events that changed something.
    events: u64,
    digest: u64,
}

/// Whose an alarm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// A core's.
    Core(CoreId),
    /// A channel's of the disk.
    Channel(u32),
    /// Of somebody outside of the machine, by his number: a client.
    Outside(u32),
}

/// Whose alarm has rung.
pub(crate) enum Rung {
    /// A part's of the machine.
    Inside,
    /// See [`Whose::Outside`].
    Outside(u32),
}

impl World {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(hardware: &Hardware) -> Self {
        let (mut agenda, mut whose) = (Agenda::default(), Vec::new());
        let mut place = |of: Whose| {
            whose.push(of);
            agenda.place()
        };
        let cores = Cores::new(hardware.cores, hardware.sharing, |core| place(Whose::Core(core)));
        let channels = 0..hardware.disk.channels;
        let channel_places = channels.map(|channel| place(Whose::Channel(channel))).collect();
        Self {
            now_ns: 0,
            agenda,
            cores,
            disk: Disk::new(hardware.disk),
            locking: hardware.locking,
            locks: Vec::new(),
            queues: Vec::new(),
            whose,
            task_waits: Vec::new(),
            channel_places,
            events: 0,
            digest: 0,
        }
    }

    /// A task of that process, which waits to be woken; see [`Cores::hire`].
    pub fn hire(&mut self, process: u32, pinned: Option<CoreId>) -> TaskId {
        let task = self.cores.hire(process, pinned);
        self.task_waits.push(Vec::new());
        task
    }

    /// A place in the agenda.
    pub fn place(&mut self, of: Whose) -> u32 {
        self.whose.push(of);
        self.agenda.place()
    }

    /// A lock that nobody holds.
    pub fn lock(&mut self) -> LockId {
        self.locks.push(Lock::default());
        self.locks.len() as LockId - 1
    }

    /// An empty queue for so many.
    pub fn queue(&mut self, bound: usize) -> QueueId {
        self.queues.push(Queue::new(bound));
        self.queues.len() as QueueId - 1
    }

    /// What a task waited for is there.
    pub fn wake(&mut self, task: TaskId) {
        self.cores.wake(task, self.now_ns, &mut self.agenda);
    }

    /// Puts something into a queue, and wakes who waits for it; says whether there was room.
    pub fn push(&mut self, queue: QueueId, item: Item) -> bool {
        let has_room = self.queues[queue as usize].push(item, self.now_ns);
        if has_room && let Some(task) = self.queues[queue as usize].waiting() {
            for queue in self.task_waits[task as usize].drain(..) {
                self.queues[queue as usize].leave(task);
            }
            self.wake(task);
        }
        has_room
    }

    /// What stands first in a queue.
    pub fn pop(&mut self, queue: QueueId) -> Option<Item> {
        self.queues[queue as usize].pop(self.now_ns)
    }

    /// A queue.
    #[must_use]
    pub fn queue_at(&self, queue: QueueId) -> &Queue {
        &self.queues[queue as usize]
    }

    /// A lock.
    #[must_use]
    pub fn lock_at(&self, lock: LockId) -> &Lock {
        &self.locks[lock as usize]
    }

    /// What was seen of all locks together.
    #[must_use]
    pub fn all_locks(&self) -> Waits {
        self.locks.iter().fold(Waits::default(), |all, lock| {
            let of = lock.waits();
            Waits {
                asked: all.asked + of.asked,
                waited: all.waited + of.waited,
                waited_ns: all.waited_ns + of.waited_ns,
                held_ns: all.held_ns + of.held_ns,
            }
        })
    }

    /// A soft interrupt for a client, on the core that the network's card sends his packets to.
    pub fn interrupt(&mut self, client: u32, work_ns: u64) {
        if work_ns > 0 {
            let core = client % self.cores.busy().len() as u32;
            self.cores.interrupt(core, self.now_ns, work_ns, &mut self.agenda);
        }
    }

    /// What was lost on the way, a line each: Little's law per resource, and the time of each core.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let now_ns = self.now_ns;
        let rows =
            |rows: &mut dyn Iterator<Item = Little>| rows.fold(Little::default(), Little::and);
        let all = [
            ("processors", self.cores.little(now_ns)),
            ("the disk", self.disk.little(now_ns)),
            ("locks", rows(&mut self.locks.iter().map(|lock| lock.little(now_ns)))),
            ("queues", rows(&mut self.queues.iter().map(|queue| queue.little(now_ns)))),
        ];
        let rows = all.iter().filter(|(_, little)| !little.holds());
        let rows =
            rows.map(|(name, little)| format!("Little's law does not hold of {name}: {little}"));
        let cores = self.cores.accounted_ns(now_ns).enumerate();
        let cores = cores.filter(|(_, accounted_ns)| *accounted_ns != now_ns);
        let cores = cores.map(|(core, accounted_ns)| {
            format!("{accounted_ns} of {now_ns} ns of processor {core} are accounted for")
        });
        rows.chain(cores).collect()
    }

    /// Events that changed something: alarms that rang.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Of when each event was, and whose. It is linear in the times: the same events at twice their
    /// times have twice the digest (modulo 2^64), and no others do but by chance.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// The task on this core that is to be asked what it wants next; see [`Cores::next`].
    pub(crate) fn next(&mut self, core: CoreId) -> Option<TaskId> {
        self.cores.next(core, self.now_ns, &mut self.agenda)
    }

    /// The task waits until something comes into one of these.
    pub(crate) fn wait(&mut self, task: TaskId, queues: &[QueueId]) {
        self.cores.wait(task, self.now_ns);
        self.task_waits[task as usize].extend_from_slice(queues);
        queues.iter().for_each(|queue| self.queues[*queue as usize].wait(task));
    }

    /// The task that runs asks for a lock, for the first time or again: see [`Lock::ask`]. If it
    /// does not have it now it may try again when it is woken.
    pub(crate) fn ask(&mut self, lock: LockId, task: TaskId, since: (u64, bool)) -> bool {
        let has_it = self.locks[lock as usize].ask(task, since, self.now_ns);
        match self.locking.spin_ns {
            _ if has_it => {}
            0 => self.cores.wait(task, self.now_ns),
            spin_ns => self.cores.spin(task, self.now_ns, spin_ns),
        }
        has_it
    }

    /// What it costs the task that holds a lock to have what it protects.
    pub(crate) fn transfer_ns(&mut self, lock: LockId, task: TaskId) -> u64 {
        let moves = self.locks[lock as usize].moves_to(self.cores.core_of(task));
        if moves { self.locking.transfer_ns } else { 0 }
    }

    pub(crate) fn release(&mut self, lock: LockId) {
        if let Some(next) = self.locks[lock as usize].release(self.now_ns) {
            self.wake(next);
        }
    }

    /// The task that runs wants so much of its core.
    pub(crate) fn demand(&mut self, task: TaskId, work_ns: u64) {
        self.cores.demand(task, self.now_ns, work_ns);
    }

    /// The task that runs lets others have its core first.
    pub(crate) fn give_way(&mut self, task: TaskId) {
        self.cores.give_way(task, self.now_ns, &mut self.agenda);
    }

    /// The task that runs waits for so many bytes of the disk.
    pub(crate) fn read(&mut self, task: TaskId, bytes: u64) {
        self.cores.wait(task, self.now_ns);
        let begun = self.disk.ask(task, bytes, self.now_ns);
        self.busy(begun);
    }

    /// The next alarm up to that time. Those of the machine's own parts are seen to.
    pub(crate) fn ring(&mut self, until_ns: u64) -> Option<Rung> {
        let (at_ns, place) = self.agenda.ring(until_ns)?;
        (self.now_ns, self.events) = (at_ns, self.events + 1);
        let weight = (self.events << 32 ^ u64::from(place)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.digest = self.digest.wrapping_add((weight ^ weight >> 32).wrapping_mul(at_ns));
        match self.whose[place as usize] {
            Whose::Core(core) => self.cores.ring(core, at_ns, &mut self.agenda),
            Whose::Channel(channel) => {
                let (task, begun) = self.disk.served(channel, at_ns);
                self.busy(begun);
                self.wake(task);
            }
            Whose::Outside(who) => return Some(Rung::Outside(who)),
        }
        Some(Rung::Inside)
    }

    fn busy(&mut self, begun: Option<Begun>) {
        let Some((channel, lasts_ns)) = begun else { return };
        self.agenda.set(self.channel_places[channel as usize], self.now_ns + lasts_ns);
    }
}
