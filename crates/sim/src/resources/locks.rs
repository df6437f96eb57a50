//! Locks: who asks for one that is taken waits in a row, at first with his core, then without.
//!
//! A lock that is released is free: who is first in the row is woken and tries again, and who runs
//! already may come before him, as with the mutexes of today's systems. Were it given to the first,
//! nobody else would have it until he got a core, and all would soon wait for that (Blasgen and
//! others, The Convoy Phenomenon, 1979).

use std::collections::VecDeque;

use super::cores::{CoreId, TaskId};
use super::row::{Little, Row};

/// A lock, by its number.
pub type LockId = u32;

/// What locks cost, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    /// How long a waiting task keeps its core before it gives it up.
    pub spin_ns: u64,
    /// That what the lock protects is brought from the core that had it last.
    pub transfer_ns: u64,
}

/// What was seen of a lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How often it was asked for.
    pub asked: u64,
    /// How often it was taken then.
    pub waited: u64,
    /// How long those waited together, until they had it.
    pub waited_ns: u64,
    /// For how long it was held.
    pub held_ns: u64,
}

/// One lock.
#[derive(Debug, Default)]
pub struct Lock {
    holder: Option<TaskId>,
    taken_ns: u64,
    /// Who wait, and since when.
    row: VecDeque<(TaskId, u64)>,
    /// Who were woken from there, and have not tried again yet.
    woken: Vec<(TaskId, u64)>,
    /// Of these and those.
    waiting: Row,
    last: Option<CoreId>,
    waits: Waits,
}

impl Lock {
    /// Whether the task has it now, which has wanted it since then. If not it waits in the row: who
    /// `comes` as the last, who was woken from there as the first.
    pub fn ask(&mut self, task: TaskId, (since_ns, comes): (u64, bool), now_ns: u64) -> bool {
        self.waits.asked += u64::from(comes);
        if !comes {
            self.woken.retain(|(woken, _)| *woken != task);
        }
        if self.holder.is_none() {
            (self.holder, self.taken_ns) = (Some(task), now_ns);
            self.waits.waited_ns += now_ns - since_ns;
            if !comes {
                self.waiting.go(now_ns, since_ns);
            }
            return true;
        }
        if comes {
            self.waits.waited += 1;
            self.waiting.come(now_ns);
            self.row.push_back((task, since_ns));
        } else {
            self.row.push_front((task, since_ns));
        }
        false
    }

    /// It is free, and who is first in the row may try again.
    pub fn release(&mut self, now_ns: u64) -> Option<TaskId> {
        self.waits.held_ns += now_ns - self.taken_ns;
        self.holder = None;
        let (task, since_ns) = self.row.pop_front()?;
        self.woken.push((task, since_ns));
        Some(task)
    }

    /// Whether another core had it last than that one, which has it from now on.
    pub fn moves_to(&mut self, core: CoreId) -> bool {
        self.last.replace(core).is_some_and(|last| last != core)
    }

    /// Of who waits for it.
    #[must_use]
    pub fn little(&self, now_ns: u64) -> Little {
        let present = self.row.iter().chain(&self.woken);
        self.waiting.little(now_ns, present.map(|(_, since_ns)| *since_ns))
    }

    /// From the start.
    #[must_use]
    pub const fn waits(&self) -> Waits {
        self.waits
    }
}
