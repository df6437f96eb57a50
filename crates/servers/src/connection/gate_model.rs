//! A model of workers at their limit that share a listening socket: whatever happens, a connection
//! that waits is accepted soon, by a worker with room or in place of an idle one.

use measure::{Duration, Instant};

use super::gate::{DEFERS_FOR, Gate};

/// Connections that each worker may hold. All are idle, so that each may be evicted.
const OPEN_MAX: usize = 2;
/// A connection that waits is accepted within so many times [`DEFERS_FOR`].
const SOON: u32 = 3;

#[derive(Clone)]
struct Model {
    now: Instant,
    waiting: usize,
    workers: Vec<Worker>,
}

#[derive(Clone)]
struct Worker {
    gate: Gate,
    open: usize,
    /// A stopped worker has room, and takes nothing.
    is_stopped: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives,
    /// A client of this worker leaves.
    Leaves(usize),
    /// This worker is woken, for whatever reason.
    Runs(usize),
    Passes(Duration),
}

impl Model {
    fn new(workers: usize, stopped: Option<usize>) -> Self {
        let worker = |number| Worker {
            gate: Gate::of(OPEN_MAX, false),
            open: 0,
            is_stopped: stopped == Some(number),
        };
        let workers = (0..workers).map(worker).collect();
        let mut model = Self { now: Instant::from_ms(1_000), waiting: 0, workers };
        // All that run are full.
        for number in 0..model.workers.len() {
            model.waiting = if stopped == Some(number) { 0 } else { OPEN_MAX };
            model.run(number);
        }
        assert_eq!(model.waiting, 0);
        model
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Arrives => self.waiting += 1,
            Event::Passes(time) => self.now = self.now + time,
            Event::Runs(number) => self.run(number),
            Event::Leaves(number) => {
                let worker = &mut self.workers[number];
                if worker.open > 0 && !worker.is_stopped {
                    worker.open -= 1;
                    worker.gate.closed(worker.open);
                    self.run(number);
                }
            }
        }
    }

    /// One round of a worker, as the loops have it: accepts, and looks whether it may evict.
    fn run(&mut self, number: usize) {
        if self.workers[number].is_stopped {
            return;
        }
        self.look_for_room(number);
        while self.workers[number].gate.is_open() && self.waiting > 0 {
            self.waiting -= 1;
            let worker = &mut self.workers[number];
            worker.open = (worker.open + 1).min(OPEN_MAX);
            worker.gate.accepted(worker.open);
            self.look_for_room(number);
        }
    }

    fn look_for_room(&mut self, number: usize) {
        let mut others = self.workers.iter().enumerate().filter(|(other, _)| *other != number);
        let others_have_room = others.any(|(_, other)| other.open < OPEN_MAX);
        let (now, waits) = (self.now, self.waiting > 0);
        let worker = &mut self.workers[number];
        if worker.gate.is_full() {
            let defers = worker.gate.defers_if(now, others_have_room, || waits);
            worker.gate.may_make_room(!defers, worker.open);
        }
    }

    /// Lets time pass, in which a worker is woken by its timer, or by a connection if its gate is
    /// open. Returns whether nothing waits in the end.
    fn settles(mut self) -> bool {
        for _ in 0..SOON {
            self.now = self.now + DEFERS_FOR;
            for number in 0..self.workers.len() {
                let gate = &self.workers[number].gate;
                let is_due = gate.looks_again().is_some_and(|at| at <= self.now);
                if is_due || gate.is_open() && self.waiting > 0 {
                    self.run(number);
                }
            }
        }
        self.waiting == 0
    }
}

/// Tries all sequences of so many events.
fn check(model: &Model, events: &[Event], depth: usize, before: &mut Vec<Event>) {
    assert!(model.clone().settles(), "a connection waits for ever after {before:?}");
    if depth == 0 {
        return;
    }
    for &event in events {
        let mut next = model.clone();
        next.happens(event);
        before.push(event);
        check(&next, events, depth - 1, before);
        before.pop();
    }
}

#[test]
fn a_connection_that_waits_is_accepted_soon_whatever_happens() {
    for (workers, depth) in [(2, 7), (3, 5), (4, 5)] {
        for stopped in [None, Some(0)] {
            let mut events = vec![Event::Arrives, Event::Passes(DEFERS_FOR / 2)];
            events.extend((0..workers).map(Event::Leaves));
            events.extend((0..workers).map(Event::Runs));
            check(&Model::new(workers, stopped), &events, depth, &mut Vec::new());
        }
    }
}
