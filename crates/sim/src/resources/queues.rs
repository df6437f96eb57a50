//! Queues between tasks, and those who wait at them: the listening queue, what a loop hears of its
//! connections, a stage's work, helpers' orders.

use std::collections::VecDeque;

use super::cores::TaskId;

/// A queue, by its number.
pub type QueueId = u32;

/// What stands in queues: connections, mostly, by their number.
pub type Item = u32;

/// What was seen of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
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
    items: VecDeque<Item>,
    bound: usize,
    /// Who came first is woken first.
    waiting: VecDeque<TaskId>,
    passed: Passed,
}

impl Queue {
    /// One for so many.
    #[must_use]
    pub const fn new(bound: usize) -> Self {
        let passed = Passed { items: 0, refused: 0, longest: 0 };
        Self { items: VecDeque::new(), bound, waiting: VecDeque::new(), passed }
    }

    /// Whether there was room.
    pub fn push(&mut self, item: Item) -> bool {
        if self.items.len() == self.bound {
            self.passed.refused += 1;
            return false;
        }
        self.items.push_back(item);
        self.passed.items += 1;
        self.passed.longest = self.passed.longest.max(self.items.len());
        true
    }

    /// What stands first.
    pub fn pop(&mut self) -> Option<Item> {
        self.items.pop_front()
    }

    /// How many stand in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
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
    pub const fn passed(&self) -> Passed {
        self.passed
    }
}
