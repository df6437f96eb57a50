//! The turns of WatPipe's stages 3 and 4, as they ship, in every order in which a few threads can
//! take them. Loom tries these orders one after the other, and fails where all wait for each other.

#[path = "../../../os/tests/it/queue_model/sync.rs"]
#[allow(dead_code, reason = "a queue waits in more ways")]
mod sync;
#[path = "../../src/loops/stages/turn.rs"]
#[allow(unreachable_pub, reason = "a module of a library, all alone")]
mod turn;

use std::collections::VecDeque;
use std::sync::Arc;

use loom::thread;

use sync::{Condvar, Mutex};
use turn::{Turn, Worked};

/// How often at most a thread is interrupted where it could go on.
const INTERRUPTIONS_MAX: usize = 2;

/// Batches, with among how many each is shared out.
type Case = &'static [(&'static [u8], usize)];

/// Two writers: each share of the first batch that was taken ends only when so many were.
struct Writers {
    turn: Turn<u8>,
    together: usize,
    taken: Mutex<usize>,
    another: Condvar,
}

impl Writers {
    /// What is odd is finished.
    fn write(&self) {
        let (mut own, mut worked) = (VecDeque::new(), Worked::default());
        while self.turn.take(&mut own) {
            let mut taken = self.taken.lock().unwrap();
            *taken += 1;
            self.another.notify_one();
            drop(self.another.wait_while(taken, |taken| *taken < self.together));
            for item in own.drain(..) {
                let is_odd = item % 2 == 1;
                if is_odd { worked.done.push_back(item) } else { worked.unfinished.push_back(item) }
            }
            self.turn.give_back(&mut worked);
        }
    }
}

fn check(together: usize, case: Case) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(INTERRUPTIONS_MAX);
    model.check(move || {
        let (taken, another) = (Mutex::new(0), Condvar::new());
        let shared = Arc::new(Writers { turn: Turn::new(), together, taken, another });
        let writers = [0, 1].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        });
        for (batch, among) in case {
            let given = &mut batch.iter().copied().collect();
            let Worked { done, unfinished } = shared.turn.give(given, *among);
            let (mut done, mut unfinished) = (Vec::from(done), Vec::from(unfinished));
            done.sort_unstable();
            unfinished.sort_unstable();
            let (odd, even): (Vec<u8>, Vec<u8>) = batch.iter().partition(|item| *item % 2 == 1);
            assert_eq!((done, unfinished), (odd, even));
        }
        shared.turn.end();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn each_of_a_batch_is_worked_on_once_before_the_next() {
    check(0, &[(&[1, 2], 2)]);
    check(0, &[(&[1, 2, 3], 2), (&[4], 2)]);
    check(0, &[(&[1, 2], 1), (&[], 2), (&[3, 4], 2)]);
    // More shares than there are writers.
    check(0, &[(&[1, 2, 3], 3)]);
}

/// One waits for the disk until the other has what is left.
#[test]
fn a_batch_is_shared_out() {
    check(2, &[(&[1, 2], 2)]);
    check(2, &[(&[1, 2], 2), (&[3], 2)]);
}
