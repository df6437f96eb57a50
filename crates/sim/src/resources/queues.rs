//! Queues between tasks, and those who wait at them: the listening queue, what a loop hears of its
//! connections, a stage's work, helpers' orders.

use std::collections::VecDeque;

use super::cores::TaskId;
use super::row::{Little, Row};

/// A queue, by its number.
pub type QueueId = u32;

/// What stands in queues: connections, mostly, by their number.
pub type Item = u32;

/// What was seen of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// What came in.
    pub items: u64,
    /// What found no room.
    pub refused: u64,
    /// How many stood in it at once, at most.
    pub longest: usize,
}

/// One queue.
#[derive(Debug)]
pub struct Queue {
    /// Each with the time at which it came.
    items: VecDeque<(Item, u64)>,
    row: Row,
    bound: usize,
    /// Who came first is woken first.
    waiting: VecDeque<TaskId>,
    traffic: Traffic,
}

impl Queue {
    /// One for so many.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        Self {
            items: VecDeque::new(),
            row: Row::default(),
            bound,
            waiting: VecDeque::new(),
            traffic: Traffic::default(),
        }
    }

    /// Whether there was room.
    pub fn push(&mut self, item: Item, now_ns: u64) -> bool {
        if self.is_full() {
            self.traffic.refused += 1;
            return false;
        }
        self.items.push_back((item, now_ns));
        self.row.come(now_ns);
        self.traffic.items += 1;
        self.traffic.longest = self.traffic.longest.max(self.items.len());
        true
    }

    /// What stands first.
    pub fn pop(&mut self, now_ns: u64) -> Option<Item> {
        let (item, came_ns) = self.items.pop_front()?;
        self.row.go(now_ns, came_ns);
        Some(item)
    }

    /// Of what stands in it.
    #[must_use]
    pub fn little(&self, now_ns: u64) -> Little {
        self.row.little(now_ns, self.items.iter().map(|(_, came_ns)| *came_ns))
    }

    /// How many stand in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// How many it has room for.
    #[must_use]
    pub const fn bound(&self) -> usize {
        self.bound
    }

    /// Whether there is room for no more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.items.len() == self.bound
    }

    /// Whether nothing does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whoever is woken by the next that comes.
    pub fn wait(&mut self, task: TaskId) {
        self.waiting.push_back(task);
    }

    /// Does not wait any more.
    pub fn leave(&mut self, task: TaskId) {
        if self.waiting.front() == Some(&task) {
            self.waiting.pop_front();
        } else {
            self.waiting.retain(|waiting| *waiting != task);
        }
    }

    /// Who has waited longest.
    #[must_use]
    pub fn waiting(&self) -> Option<TaskId> {
        self.waiting.front().copied()
    }

    /// From the start.
    #[must_use]
    pub const fn traffic(&self) -> Traffic {
        self.traffic
    }
}
