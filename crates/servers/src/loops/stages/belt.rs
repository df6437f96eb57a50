//! The queue in front of a stage: bounded, filled and emptied by batches, and it tells how many
//! wait in it and for how long the eldest of a batch has.

use std::collections::VecDeque;
use std::io;

use measure::{Duration, Instant};
use os::thread::Queue;
pub(crate) use os::thread::Took;

use super::carried::Carried;
use super::plant::Plant;
use crate::connection::books::Books;
use crate::shared::counters::Counter;

/// Connections on their way to a stage.
pub(crate) type Batch = VecDeque<Box<Carried>>;

/// See the head of this file.
pub(crate) struct Belt<'s> {
    plant: &'s Plant<'s>,
    queue: Queue<Box<Carried>>,
    /// Newcomers who wait in it hold up those who are to be accepted.
    is_counted: bool,
}

impl<'s> Belt<'s> {
    /// To a stage of threads that wait for nothing else, for so many.
    pub(crate) fn new(plant: &'s Plant<'s>, max: usize) -> Self {
        Self { plant, queue: Queue::new(max), is_counted: true }
    }

    /// To helpers. As many connections have room as there may be, so that nobody waits for room who
    /// is waited for; and who waits there waits for the disk, which is nobody else's business.
    pub(crate) fn to_helpers(plant: &'s Plant<'s>) -> Self {
        Self { is_counted: false, ..Self::new(plant, plant.connections_max()) }
    }

    /// To a stage that waits for sockets, too, with as much room.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn to_holding(plant: &'s Plant<'s>) -> io::Result<Self> {
        Ok(Self { plant, queue: Queue::polled(plant.connections_max())?, is_counted: true })
    }

    /// Passes all of them on, and waits where there is no room.
    pub(crate) fn put(&self, batch: &mut Batch, now: Instant) {
        if batch.is_empty() {
            return;
        }
        let mut newcomers = 0;
        for carried in batch.iter_mut() {
            newcomers += usize::from(carried.waits_in_queue(now, self.is_counted));
        }
        self.plant.queues(newcomers);
        self.queue.put_all(batch);
    }

    /// Waits for some, no longer than that, and takes up to `most`.
    pub(crate) fn take(&self, batch: &mut Batch, most: usize, patience: Duration) -> Took {
        self.queue.take_some(batch, most, patience)
    }

    /// How long the eldest of a batch that was taken has waited.
    pub(super) fn tell_wait(batch: &Batch, books: &mut Books<'_>) {
        let Some(eldest) = batch.front() else { return };
        let waited = books.now.at - eldest.since();
        books.tally.add(Counter::StageSamples, 1);
        books.tally.add(Counter::StageDelay, waited.as_nanos() as u64);
    }

    /// Takes all there are, without waiting.
    pub(super) fn drain(&self, batch: &mut Batch) {
        self.queue.drain(batch);
    }

    /// Becomes readable when some are there.
    pub(super) fn wake(&self) -> &os::Wake {
        self.queue.wake()
    }

    /// How many wait.
    pub(crate) fn length(&self) -> usize {
        self.queue.length()
    }

    /// A stage that waits for sockets is to look up; others only look for connections.
    pub(super) fn nudge(&self) {
        self.queue.try_wake();
    }

    /// Nobody comes any more.
    pub(super) fn close(&self) {
        self.queue.close();
    }
}
