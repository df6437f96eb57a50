//! Cores, and the tasks that share them: threads and processes.
//!
//! A task asks for so much of a core at a time (a *segment*), or waits for something else and gives
//! its core up. Whoever is ready waits in a queue: of one core, if he is pinned to it, else of all.
//! A slice ends only if somebody waits, so that a long segment on a core that nobody else wants is
//! one event. Soft interrupts go first: they make the segment that they interrupt longer.

use std::collections::VecDeque;
use std::mem;

use super::row::{Little, Row};
use crate::agenda::Agenda;

/// A task, by its number.
pub type TaskId = u32;
/// A core, by its number.
pub type CoreId = u32;

/// What it costs to share a core, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// How long a task runs while others wait.
    pub slice_ns: u64,
    /// Another thread of the same process comes to run.
    pub thread_switch_ns: u64,
    /// A thread of another process does.
    pub process_switch_ns: u64,
    /// One that had nothing to do begins with something.
    pub wake_ns: u64,
}

/// What a core was busy with. Together it is the time in which it was not idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    /// With segments.
    pub work_ns: u64,
    /// With switches from one task to another, and with beginning when there was nothing to do.
    pub switching_ns: u64,
    /// With tasks that spin for a lock.
    pub spinning_ns: u64,
    /// With soft interrupts.
    pub interrupts_ns: u64,
    /// How often another task came to run.
    pub switches: u64,
}

impl Busy {
    /// All of it.
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.work_ns + self.switching_ns + self.spinning_ns + self.interrupts_ns
    }
}

/// See the head of this file.
#[derive(Debug)]
pub struct Cores {
    sharing: Sharing,
    cores: Vec<Core>,
    tasks: Vec<Task>,
    /// Those that any core may take.
    ready: VecDeque<TaskId>,
    /// Cores whose task is to go on, or who are to look for one.
    turns: VecDeque<CoreId>,
    /// Tasks that are ready, and those that have a core.
    able: Row,
}

#[derive(Debug)]
struct Core {
    /// Its place in the agenda.
    place: u32,
    runs: Option<TaskId>,
    /// Who ran here last: who comes back finds everything as it was.
    last: Option<TaskId>,
    /// Those who may run here only.
    ready: VecDeque<TaskId>,
    /// Nobody runs, and it was not told to look for somebody.
    is_idle: bool,
    /// It was idle until somebody called it.
    wakes: bool,
    /// From when on the segment gets done: switches and interrupts come before.
    starts_ns: u64,
    slice_ends_ns: u64,
    busy: Busy,
    /// While it was idle, up to then, and since when it is.
    idle_ns: u64,
    idle_since_ns: u64,
}

#[derive(Debug)]
struct Task {
    process: u32,
    pinned: Option<CoreId>,
    /// What is left of its segment.
    left_ns: u64,
    standing: Standing,
    /// When it was ready after it had waited.
    able_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// For a core.
    Ready,
    Runs(CoreId),
    /// For a lock, with a core.
    Spins(CoreId),
    /// For something else, without a core.
    Waits,
    Over,
}

impl Cores {
    /// So many cores, which have no task yet.
    #[must_use]
    pub fn new(count: u32, sharing: Sharing, mut place: impl FnMut(CoreId) -> u32) -> Self {
        let core = |core| Core {
            place: place(core),
            runs: None,
            last: None,
            ready: VecDeque::new(),
            is_idle: true,
            wakes: false,
            starts_ns: 0,
            slice_ends_ns: 0,
            busy: Busy::default(),
            idle_ns: 0,
            idle_since_ns: 0,
        };
        let cores = (0..count).map(core).collect();
        let (tasks, ready, turns, able) = Default::default();
        Self { sharing, cores, tasks, ready, turns, able }
    }

    /// A task that waits, of that process. Pinned: it runs on that core only.
    pub fn hire(&mut self, process: u32, pinned: Option<CoreId>) -> TaskId {
        let standing = Standing::Waits;
        self.tasks.push(Task { process, pinned, left_ns: 0, standing, able_ns: 0 });
        self.tasks.len() as TaskId - 1
    }

    /// The task that runs wants so much of its core.
    pub fn demand(&mut self, task: TaskId, now_ns: u64, work_ns: u64) {
        let core = self.core_of(task);
        self.tasks[task as usize].left_ns = work_ns;
        let core = &mut self.cores[core as usize];
        core.starts_ns = core.starts_ns.max(now_ns);
    }

    /// The task that runs waits for something else than a core.
    pub fn wait(&mut self, task: TaskId, now_ns: u64) {
        self.leave(task, Standing::Waits, now_ns);
    }

    /// The task that runs wants to go on behind all who wait for its core.
    pub fn give_way(&mut self, task: TaskId, now_ns: u64, agenda: &mut Agenda) {
        let core = self.core_of(task);
        self.cores[core as usize].runs = None;
        self.enqueue(task, now_ns, agenda);
    }

    /// Whether somebody waits for the core of the task that runs.
    #[must_use]
    pub fn others_wait(&self, task: TaskId) -> bool {
        let core = self.core_of(task);
        !self.ready.is_empty() || !self.cores[core as usize].ready.is_empty()
    }

    /// The task that runs waits for a lock, and keeps its core for so long.
    pub fn spin(&mut self, task: TaskId, now_ns: u64, most_ns: u64) {
        self.demand(task, now_ns, most_ns);
        self.tasks[task as usize].standing = Standing::Spins(self.core_of(task));
    }

    /// The task that runs is done for ever.
    pub fn end(&mut self, task: TaskId, now_ns: u64) {
        self.leave(task, Standing::Over, now_ns);
    }

    /// What the task waited for is there.
    pub fn wake(&mut self, task: TaskId, now_ns: u64, agenda: &mut Agenda) {
        match self.tasks[task as usize].standing {
            Standing::Waits => {
                self.able.come(now_ns);
                self.tasks[task as usize].able_ns = now_ns;
                self.enqueue(task, now_ns, agenda);
            }
            Standing::Spins(core) => {
                self.stop_spinning(core, task, now_ns);
                self.tasks[task as usize].standing = Standing::Runs(core);
                self.turns.push_back(core);
            }
            standing => unreachable!("woken while it {standing:?}"),
        }
    }

    /// A soft interrupt on a core: whoever runs there waits.
    pub fn interrupt(&mut self, core: CoreId, now_ns: u64, work_ns: u64, agenda: &mut Agenda) {
        let of = &mut self.cores[core as usize];
        of.busy.interrupts_ns += work_ns;
        let done_ns = now_ns.saturating_sub(of.starts_ns);
        of.starts_ns = of.starts_ns.max(now_ns) + work_ns;
        if of.is_idle {
            of.idle_ns += now_ns.saturating_sub(of.idle_since_ns);
            of.idle_since_ns = of.starts_ns;
        }
        if let Some(task) = of.runs {
            let task = &mut self.tasks[task as usize];
            task.left_ns -= done_ns;
            *match task.standing {
                Standing::Spins(_) => &mut of.busy.spinning_ns,
                _ => &mut of.busy.work_ns,
            } += done_ns;
            self.set_alarm(core, now_ns, agenda);
        }
    }

    /// A core whose task is to go on.
    pub fn turn(&mut self) -> Option<CoreId> {
        self.turns.pop_front()
    }

    /// The task that is to be asked what it wants next; `None`: the core is busy, or idle.
    pub fn next(&mut self, core: CoreId, now_ns: u64, agenda: &mut Agenda) -> Option<TaskId> {
        loop {
            let Core { runs, starts_ns, .. } = self.cores[core as usize];
            if let Some(task) = runs {
                let of = &self.tasks[task as usize];
                match of.standing {
                    // Not before it has been switched to: it would take locks while it is away.
                    Standing::Runs(_) if of.left_ns == 0 && starts_ns <= now_ns => {
                        return Some(task);
                    }
                    Standing::Runs(_) | Standing::Spins(_) => {
                        self.set_alarm(core, now_ns, agenda);
                        return None;
                    }
                    Standing::Waits | Standing::Ready | Standing::Over => {
                        self.cores[core as usize].runs = None;
                    }
                }
            }
            let pinned = self.cores[core as usize].ready.pop_front();
            if pinned.is_some() && !self.ready.is_empty() {
                // It was called for who waits for any: another one has to look for him.
                self.call_idle(now_ns, agenda);
            }
            match pinned.or_else(|| self.ready.pop_front()) {
                Some(task) => self.dispatch(core, task, now_ns),
                None => {
                    let of = &mut self.cores[core as usize];
                    (of.is_idle, of.wakes) = (true, false);
                    // An interrupt may not be over.
                    of.idle_since_ns = of.starts_ns.max(now_ns);
                    agenda.clear(of.place);
                    return None;
                }
            }
        }
    }

    /// The alarm of a core: its segment, its slice or its patience is over.
    pub fn ring(&mut self, core: CoreId, now_ns: u64, agenda: &mut Agenda) {
        let task = self.cores[core as usize].runs.expect("only a busy core has an alarm");
        if let Standing::Spins(_) = self.tasks[task as usize].standing {
            self.stop_spinning(core, task, now_ns);
            self.wait(task, now_ns);
        } else {
            let of = &mut self.cores[core as usize];
            let done_ns = now_ns.saturating_sub(of.starts_ns);
            of.busy.work_ns += done_ns;
            of.starts_ns = of.starts_ns.max(now_ns);
            let left_ns = &mut self.tasks[task as usize].left_ns;
            *left_ns -= done_ns;
            if *left_ns > 0 {
                of.runs = None;
                self.enqueue(task, now_ns, agenda);
            }
        }
        self.turns.push_back(core);
    }

    /// On which core the task runs.
    #[must_use]
    pub fn core_of(&self, task: TaskId) -> CoreId {
        match self.tasks[task as usize].standing {
            Standing::Runs(core) | Standing::Spins(core) => core,
            standing => unreachable!("not asked while it {standing:?}"),
        }
    }

    /// What each core was busy with, from the start.
    pub fn busy(&self) -> impl ExactSizeIterator<Item = Busy> {
        self.cores.iter().map(|core| core.busy)
    }

    /// Of the tasks that are ready, or have a core.
    #[must_use]
    pub fn little(&self, now_ns: u64) -> Little {
        let is_able = |task: &&Task| !matches!(task.standing, Standing::Waits | Standing::Over);
        self.able.little(now_ns, self.tasks.iter().filter(is_able).map(|task| task.able_ns))
    }

    /// What each core was busy with and idle, together, with what it has begun with: the time that
    /// it is, or somebody's work was lost or done twice.
    pub fn accounted_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        self.cores.iter().map(move |core| {
            let all_ns = core.busy.busy_ns() + core.idle_ns;
            match core.is_idle {
                true if core.idle_since_ns > now_ns => all_ns - (core.idle_since_ns - now_ns),
                true => all_ns + (now_ns - core.idle_since_ns),
                // Switches and interrupts are counted when they begin, work when it is done.
                false if core.starts_ns > now_ns => all_ns - (core.starts_ns - now_ns),
                false => all_ns + (now_ns - core.starts_ns),
            }
        })
    }

    fn leave(&mut self, task: TaskId, standing: Standing, now_ns: u64) {
        let of = &mut self.tasks[task as usize];
        of.standing = standing;
        self.able.go(now_ns, of.able_ns);
    }

    fn stop_spinning(&mut self, core: CoreId, task: TaskId, now_ns: u64) {
        let of = &mut self.cores[core as usize];
        of.busy.spinning_ns += now_ns.saturating_sub(of.starts_ns);
        of.starts_ns = of.starts_ns.max(now_ns);
        self.tasks[task as usize].left_ns = 0;
    }

    fn dispatch(&mut self, core: CoreId, task: TaskId, now_ns: u64) {
        let of = &mut self.cores[core as usize];
        let switch_ns = match of.last {
            None => 0,
            Some(last) if last == task => 0,
            Some(last) => {
                of.busy.switches += 1;
                let process = |task: TaskId| self.tasks[task as usize].process;
                match process(last) == process(task) {
                    true => self.sharing.thread_switch_ns,
                    false => self.sharing.process_switch_ns,
                }
            }
        };
        let wake_ns = if mem::take(&mut of.wakes) { self.sharing.wake_ns } else { 0 };
        let switch_ns = switch_ns + wake_ns;
        of.busy.switching_ns += switch_ns;
        of.starts_ns = now_ns.max(of.starts_ns) + switch_ns;
        of.slice_ends_ns = of.starts_ns + self.sharing.slice_ns;
        (of.runs, of.last, of.is_idle) = (Some(task), Some(task), false);
        self.tasks[task as usize].standing = Standing::Runs(core);
    }

    fn enqueue(&mut self, task: TaskId, now_ns: u64, agenda: &mut Agenda) {
        self.tasks[task as usize].standing = Standing::Ready;
        if let Some(core) = self.tasks[task as usize].pinned {
            self.cores[core as usize].ready.push_back(task);
            self.call(core, now_ns, agenda);
            return;
        }
        self.ready.push_back(task);
        if !self.call_idle(now_ns, agenda) && self.ready.len() == 1 {
            (0..self.cores.len()).for_each(|core| self.call(core as CoreId, now_ns, agenda));
        }
    }

    /// Whether a core is idle: then one looks for who waits for any.
    fn call_idle(&mut self, now_ns: u64, agenda: &mut Agenda) -> bool {
        let idle = self.cores.iter().position(|core| core.is_idle);
        idle.map(|core| self.call(core as CoreId, now_ns, agenda)).is_some()
    }

    /// Somebody is ready for a core: an idle one looks, in a busy one the slice ends.
    fn call(&mut self, core: CoreId, now_ns: u64, agenda: &mut Agenda) {
        let of = &mut self.cores[core as usize];
        if of.is_idle {
            (of.is_idle, of.wakes) = (false, true);
            of.idle_ns += now_ns.saturating_sub(of.idle_since_ns);
            self.turns.push_back(core);
        } else if let Some(task) = of.runs
            && self.tasks[task as usize].standing == Standing::Runs(core)
            && self.tasks[task as usize].left_ns > 0
        {
            self.set_alarm(core, now_ns, agenda);
        }
    }

    fn set_alarm(&mut self, core: CoreId, now_ns: u64, agenda: &mut Agenda) {
        let of = &self.cores[core as usize];
        let task = &self.tasks[of.runs.expect("who runs has an alarm") as usize];
        let ends_ns = of.starts_ns + task.left_ns;
        let somebody_waits = !of.ready.is_empty() || !self.ready.is_empty();
        let may_be_cut = somebody_waits && matches!(task.standing, Standing::Runs(_));
        let slice_ends_ns = if may_be_cut { of.slice_ends_ns.max(now_ns) } else { u64::MAX };
        agenda.set(of.place, ends_ns.min(slice_ends_ns));
    }
}
