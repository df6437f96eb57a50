//! The queue between threads, as it ships, in every order in which a few threads can use it. What
//! it waits with is loom's, which tries these orders one after the other, and fails where all wait
//! for each other: there a wake-up was lost.

#[path = "../../src/processes/queue.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod queue;
mod sync;

use std::collections::VecDeque;
use std::sync::Arc;

use loom::thread;
use measure::Duration;

use queue::{Queue, Took};

/// How often at most a thread is interrupted where it could go on: bugs that need more than two
/// are hardly known, and each more makes the orders many times as many.
const INTERRUPTIONS_MAX: usize = 3;

/// See [`sync::Condvar::wait_timeout_while`].
const NEVER: Duration = Duration::MAX;

/// Tries `uses`, in all orders, on a queue that was made for it.
fn explore<T: 'static>(
    queue: fn() -> Queue<T>,
    uses: impl Fn(Arc<Queue<T>>) + Sync + Send + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(INTERRUPTIONS_MAX);
    model.check(move || uses(Arc::new(queue())));
}

/// A thread that does this with the queue.
fn spawn<T: Send + 'static, R: 'static>(
    queue: &Arc<Queue<T>>,
    does: impl FnOnce(&Queue<T>) -> R + 'static,
) -> thread::JoinHandle<R> {
    let queue = Arc::clone(queue);
    thread::spawn(move || does(&queue))
}

fn pop_all(queue: &Queue<u8>) -> Vec<u8> {
    std::iter::from_fn(|| queue.pop()).collect()
}

#[test]
fn each_item_is_popped_once_and_all_hear_of_the_end() {
    explore(
        || Queue::new(2),
        |queue| {
            let poppers = [spawn(&queue, pop_all), spawn(&queue, pop_all)];
            let refused = [1, 2, 3].into_iter().filter_map(|item| queue.push(item).err());
            let refused: Vec<u8> = refused.collect();
            queue.close();
            let popped = poppers.map(|popper| popper.join().unwrap()).concat();
            let mut all = [popped, refused].concat();
            all.sort_unstable();
            assert_eq!(all, [1, 2, 3]);
        },
    );
}

#[test]
fn items_of_several_threads_are_popped_while_these_go_on() {
    explore(
        || Queue::new(1),
        |queue| {
            let pushers = [1, 2].map(|item| spawn(&queue, move |queue| queue.push(item).err()));
            // One of them finds room, whatever becomes of the other.
            let first = queue.pop();
            let refused = pushers.map(|pusher| pusher.join().unwrap());
            queue.close();
            let mut all = [vec![first, queue.pop()], refused.to_vec()].concat();
            all.retain(Option::is_some);
            all.sort_unstable();
            assert_eq!(all, [Some(1), Some(2)]);
        },
    );
}

/// As a log's thread takes lines: some at once, or what there is when its patience is over.
#[test]
fn all_that_is_added_is_taken_in_order() {
    for patience in [Duration::ZERO, NEVER] {
        for enough in [1, 2, 3] {
            explore(
                || Queue::new(4),
                move |queue| {
                    let taker = spawn(&queue, move |queue| {
                        let (mut all, mut batch) = (Vec::new(), VecDeque::new());
                        let mut was_enough = true;
                        while queue.take(&mut batch, enough, patience) {
                            assert!(was_enough || patience == Duration::ZERO, "not the last");
                            was_enough = batch.len() >= enough;
                            all.extend(batch.drain(..));
                        }
                        all
                    });
                    for items in [&[1, 2][..], &[3], &[4]] {
                        assert!(queue.push_all(items, enough));
                    }
                    queue.close();
                    assert_eq!(taker.join().unwrap(), [1, 2, 3, 4], "{enough} and {patience:?}");
                },
            );
        }
    }
}

/// Whoever waits for enough of them is told when there are, though the queue stays open.
#[test]
fn enough_items_are_taken_before_the_end() {
    explore(
        || Queue::new(4),
        |queue| {
            let adder = |item| move |queue: &Queue<u8>| queue.push_all(&[item], 2);
            let adders = [spawn(&queue, adder(1)), spawn(&queue, adder(2))];
            let mut batch = VecDeque::new();
            assert!(queue.take(&mut batch, 2, NEVER));
            batch.make_contiguous().sort_unstable();
            assert_eq!(batch, [1, 2]);
            assert!(adders.into_iter().all(|adder| adder.join().unwrap()));
        },
    );
}

/// As a loop hears of its helpers: it sleeps until the descriptor is readable.
#[test]
fn a_poller_misses_nothing() {
    explore(
        || Queue::polled(2).unwrap(),
        |queue| {
            let pushers = [1, 2].map(|item| spawn(&queue, move |queue| queue.push(item).is_ok()));
            let (mut all, mut batch) = (Vec::new(), VecDeque::new());
            while all.len() < 2 {
                queue.wake().wait();
                queue.drain(&mut batch);
                all.extend(batch.drain(..));
            }
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
            assert!(pushers.into_iter().all(|pusher| pusher.join().unwrap()));
        },
    );
}

fn take_all(queue: &Queue<u8>, most: usize) -> Vec<u8> {
    let (mut all, mut batch) = (Vec::new(), VecDeque::new());
    while queue.take_some(&mut batch, most, NEVER) != Took::End {
        all.extend(batch.drain(..));
    }
    all
}

/// As a stage passes its batch on: whoever puts waits for room, and what it puts stays in order.
#[test]
fn batches_find_room_one_after_the_other() {
    for max in [1, 2] {
        explore(
            || Queue::new(1),
            move |queue| {
                let taker = spawn(&queue, move |queue| take_all(queue, max));
                let mut batch = VecDeque::from([1, 2, 3]);
                queue.put_all(&mut batch);
                assert!(batch.is_empty());
                queue.close();
                assert_eq!(taker.join().unwrap(), [1, 2, 3]);
            },
        );
    }
}

/// Whoever waits for room hears of the end, and keeps what had none.
#[test]
fn a_full_queue_that_is_closed_holds_nobody_up() {
    explore(
        || Queue::new(1),
        |queue| {
            let putter = spawn(&queue, |queue| {
                let mut batch = VecDeque::from([1, 2]);
                queue.put_all(&mut batch);
                batch.len()
            });
            queue.close();
            let left = putter.join().unwrap();
            assert_eq!(take_all(&queue, 4).len() + left, 2);
        },
    );
}

/// As the threads of a stage take: what one of them leaves another takes.
#[test]
fn of_a_batch_each_item_is_taken_once() {
    explore(
        || Queue::new(4),
        |queue| {
            let takers = [1, 1].map(|most| spawn(&queue, move |queue| take_all(queue, most)));
            queue.put_all(&mut VecDeque::from([1, 2, 3]));
            queue.close();
            let mut all = takers.map(|taker| taker.join().unwrap()).concat();
            all.sort_unstable();
            assert_eq!(all, [1, 2, 3]);
        },
    );
}

/// As stages put for one that waits for sockets, too: it sleeps until the descriptor is readable,
/// though only who finds the queue empty tells it so.
#[test]
fn a_poller_misses_none_of_several_batches() {
    explore(
        || Queue::polled(1).unwrap(),
        |queue| {
            let put = |item| move |queue: &Queue<u8>| queue.put_all(&mut VecDeque::from([item]));
            let putters = [1, 2].map(|item| spawn(&queue, put(item)));
            let (mut all, mut batch) = (Vec::new(), VecDeque::new());
            while all.len() < 2 {
                queue.wake().wait();
                queue.drain(&mut batch);
                all.extend(batch.drain(..));
            }
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
            putters.into_iter().for_each(|putter| putter.join().unwrap());
        },
    );
}
