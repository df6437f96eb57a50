//! Queues between threads.

use std::collections::VecDeque;

use measure::Duration;
use os::thread::Queue;

#[test]
fn what_has_no_room_comes_back() {
    let queue = Queue::new(2);
    assert_eq!([1, 2, 3].map(|item| queue.push(item)), [Ok(()), Ok(()), Err(3)]);
    assert_eq!(queue.pop(), Some(1));
    assert!(!queue.push_all(&[4, 5], 1));
    assert!(queue.push_all(&[4], 1));
    queue.close();
    assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(2), Some(4), None]);
}

#[test]
fn threads_share_what_comes_and_end_with_it() {
    let (queue, took) = (Queue::new(10), Queue::new(1000));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(item) = queue.pop() {
                    took.push(item).unwrap();
                }
            });
        }
        for item in 0..1000 {
            while queue.push(item).is_err() {
                std::thread::yield_now();
            }
        }
        queue.close();
    });
    let mut all = VecDeque::new();
    assert!(took.take(&mut all, 1, Duration::ZERO));
    all.make_contiguous().sort_unstable();
    assert!(all.iter().copied().eq(0..1000));
}

#[test]
fn a_poller_hears_of_what_is_there() {
    let queue = Queue::polled(4).unwrap();
    let is_told =
        || os::wait_readable([queue.wake().as_fd_ref()], Some(Duration::ZERO)).unwrap()[0];
    assert!(!is_told());
    queue.push(1).unwrap();
    assert!(is_told());
    let mut all = VecDeque::new();
    queue.drain(&mut all);
    assert!(!is_told() && all == [1]);
}
