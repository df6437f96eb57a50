//! Stages 3 and 4 of WatPipe in turn: while writers work on a batch nobody asks who can be written
//! to, and the other way round (Pariag07 section 6).

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::belt::Batch;
use super::carried::{Does, Next};
use super::holding::close;
use super::plant::{Guard, Plant};
use crate::connection::books::Books;
use crate::connection::perform::InPlace;
use crate::loops::phases::BUFFER_BYTES;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;

/// See the head of this file.
pub(crate) struct Turns<'s, 'p> {
    plant: &'p Plant<'s>,
    /// Among whom a batch is shared out.
    writers: usize,
    turn: Mutex<Turn>,
    /// Somebody is to be written to, or nobody will be any more.
    more: Condvar,
    /// All of a batch have been.
    over: Condvar,
}

#[derive(Default)]
struct Turn {
    /// To be written to.
    batch: Batch,
    /// How many of them a writer takes.
    each: usize,
    /// Writers at work.
    writing: usize,
    written: Written,
    is_end: bool,
}

/// What became of a batch.
#[derive(Default)]
pub(crate) struct Written {
    /// Something else is wanted: stage 2's.
    pub(crate) done: Batch,
    /// More is to be written: stage 3's.
    pub(crate) unfinished: Batch,
}

impl<'s, 'p> Turns<'s, 'p> {
    /// Of so many writers.
    pub(crate) fn new(plant: &'p Plant<'s>, writers: usize) -> Self {
        let (more, over) = (Condvar::new(), Condvar::new());
        Self { plant, writers, turn: Mutex::default(), more, over }
    }

    /// Stage 4's turn: until all of the batch have been written to.
    pub(crate) fn let_write(&self, batch: &mut Batch) -> Written {
        if batch.is_empty() {
            return Written::default();
        }
        let mut turn = self.locked();
        mem::swap(&mut turn.batch, batch);
        // What lies in memory holds no writer up: to wake others costs more than it takes.
        let files = [Does::Part, Does::Pages];
        let is_read = turn.batch.iter().any(|carried| files.contains(&carried.wants()));
        let writers = if is_read { self.writers } else { 1 };
        turn.each = turn.batch.len().div_ceil(writers);
        self.more.notify_one();
        let is_going_on = |turn: &mut Turn| !turn.batch.is_empty() || turn.writing > 0;
        let waited = self.over.wait_while(turn, is_going_on);
        mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).written)
    }

    /// A writer's life.
    pub(crate) fn write(&self, does: &'static [Does]) {
        let _guard = Guard;
        let mut books = Books::new(self.plant.worker, Performer::Writer);
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut own, mut written) = (Batch::new(), Written::default());
        let mut turn = self.locked();
        loop {
            let is_waiting = |turn: &mut Turn| turn.batch.is_empty() && !turn.is_end;
            let waited = self.more.wait_while(turn, is_waiting);
            turn = waited.unwrap_or_else(PoisonError::into_inner);
            let count = turn.each.min(turn.batch.len());
            if count == 0 {
                return;
            }
            own.extend(turn.batch.drain(..count));
            turn.writing += 1;
            let goes_on = !turn.batch.is_empty();
            drop(turn);
            if goes_on {
                // In case this one has to wait for the disk.
                self.more.notify_one();
            }
            self.write_to(&mut own, &mut written, does, (&mut buffer, &mut books));
            turn = self.locked();
            turn.writing -= 1;
            turn.written.done.append(&mut written.done);
            turn.written.unfinished.append(&mut written.unfinished);
            if turn.batch.is_empty() && turn.writing == 0 {
                self.over.notify_one();
            }
        }
    }

    fn write_to(
        &self,
        own: &mut Batch,
        written: &mut Written,
        does: &[Does],
        (buffer, books): (&mut [u8], &mut Books<'_>),
    ) {
        books.look_at_clock();
        books.tally.add(Counter::Worked, own.len() as u64);
        for mut carried in own.drain(..) {
            if self.plant.is_draining() {
                carried.hear_end(buffer, books);
            }
            match carried.work(0, does, buffer, (&mut InPlace, books, self.plant)) {
                Next::Moves(_) => written.done.push_back(carried),
                Next::Again | Next::Rests(_) => written.unfinished.push_back(carried),
                Next::Over => close(carried, self.plant, books),
            }
        }
        let took = books.look_at_clock().as_nanos() as u64;
        books.tally.add(Counter::WorkNs, took);
        books.publish();
    }

    /// Nobody is to be written to any more.
    pub(crate) fn end(&self) {
        self.locked().is_end = true;
        self.more.notify_all();
    }

    // A thread that panics ends the process.
    fn locked(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
