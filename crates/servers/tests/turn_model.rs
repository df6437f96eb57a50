//! The turns of WatPipe's stages 3 and 4, as they ship, in every order in which a few threads can
//! take them. Loom tries these orders one after the other, and fails where all wait for each other.
#![forbid(unsafe_code)]

#[path = "../../os/tests/queue_model/sync.rs"]
#[allow(dead_code, reason = "a queue waits in more ways")]
mod sync;
#[path = "../src/loops/stages/turn.rs"]
#[allow(unreachable_pub, reason = "a module of a library, all alone")]
mod turn;

use std::collections::VecDeque;
use std::sync::Arc;

use loom::thread;

use turn::{Turn, Worked};

/// How often at most a thread is interrupted where it could go on.
const INTERRUPTIONS_MAX: usize = 2;

/// A writer: what is odd it finishes.
fn write(turn: &Turn<u8>) {
    let (mut own, mut worked) = (VecDeque::new(), Worked::default());
    while turn.take(&mut own) {
        for item in own.drain(..) {
            let is_odd = item % 2 == 1;
            if is_odd { worked.done.push_back(item) } else { worked.unfinished.push_back(item) }
        }
        turn.give_back(&mut worked);
    }
}

#[test]
fn each_of_a_batch_is_worked_on_once_before_the_next() {
    // Batches, and among how many each is shared out.
    let cases: [&[(&[u8], usize)]; 4] = [
        &[(&[1, 2], 2)],
        &[(&[1, 2, 3], 2), (&[4], 2)],
        &[(&[1, 2], 1), (&[], 2), (&[3, 4], 2)],
        // More shares than there are writers.
        &[(&[1, 2, 3], 3)],
    ];
    for case in cases {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(INTERRUPTIONS_MAX);
        model.check(move || {
            let turn = Arc::new(Turn::new());
            let writers = [0, 1].map(|_| {
                let turn = Arc::clone(&turn);
                thread::spawn(move || write(&turn))
            });
            for (batch, among) in case {
                let Worked { done, unfinished } =
                    turn.give(&mut batch.iter().copied().collect(), *among);
                let (mut done, mut unfinished) = (Vec::from(done), Vec::from(unfinished));
                done.sort_unstable();
                unfinished.sort_unstable();
                let (odd, even): (Vec<u8>, Vec<u8>) = batch.iter().partition(|item| *item % 2 == 1);
                assert_eq!((done, unfinished), (odd, even));
            }
            turn.end();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    }
}
