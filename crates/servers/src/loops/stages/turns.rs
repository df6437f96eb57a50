//! Stages 3 and 4 of WatPipe in turn: while writers work on a batch nobody asks who can be written
//! to, and the other way round (Pariag07 section 6).

use super::belt::Batch;
use super::carried::{Carried, Does, Next};
use super::holding::close;
use super::plant::{Guard, Plant};
use super::turn::{Turn, Worked};
use crate::connection::books::Books;
use crate::connection::perform::InPlace;
use crate::loops::phases::BUFFER_BYTES;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;

/// See the head of this file. What is done is stage 2's then, what is unfinished stage 3's.
pub(crate) struct Turns<'s, 'p> {
    plant: &'p Plant<'s>,
    /// Among whom a batch is shared out.
    writers: usize,
    turn: Turn<Box<Carried>>,
}

impl<'s, 'p> Turns<'s, 'p> {
    /// Of so many writers.
    pub(crate) fn new(plant: &'p Plant<'s>, writers: usize) -> Self {
        Self { plant, writers, turn: Turn::new() }
    }

    /// Stage 4's turn: until all of the batch have been written to.
    pub(crate) fn let_write(&self, batch: &mut Batch) -> Worked<Box<Carried>> {
        // What lies in memory holds no writer up: to wake others costs more than it takes.
        let files = [Does::Part, Does::Pages];
        let is_read = batch.iter().any(|carried| files.contains(&carried.wants()));
        self.turn.give(batch, if is_read { self.writers } else { 1 })
    }

    /// A writer's life.
    pub(crate) fn write(&self, does: &'static [Does]) {
        let _guard = Guard;
        let mut books = Books::new(self.plant.worker, Performer::Writer);
        let mut buffer = vec![0; BUFFER_BYTES];
        let (mut own, mut written) = (Batch::new(), Worked::default());
        while self.turn.take(&mut own) {
            self.write_to(&mut own, &mut written, does, (&mut buffer, &mut books));
            self.turn.give_back(&mut written);
        }
    }

    fn write_to(
        &self,
        own: &mut Batch,
        written: &mut Worked<Box<Carried>>,
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
        // How long the turn takes whoever gives it knows: what several wait for at the same time
        // is no sum.
        books.look_at_clock();
        books.publish();
    }

    /// Nobody is to be written to any more.
    pub(crate) fn end(&self) {
        self.turn.end();
    }
}
