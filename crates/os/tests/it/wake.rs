//! Waking a thread that waits, and waiting for a few descriptors.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::connection::{Connection, PATIENCE};
use os::poller::{Mechanism, Poller};
use os::{Blocking, Wake, wait_readable};

/// How often it is woken and cleared, in this order, and whether it is readable then.
#[test]
fn many_wakes_are_one_event() {
    let rows: &[(&[usize], bool)] = &[
        (&[], false),
        (&[1], true),
        (&[2], true),
        (&[1000], true),
        (&[1, 1], false),
        (&[1000, 1], false),
        (&[0, 1], false),
        (&[0, 3, 1], true),
        (&[5, 2, 5], true),
        (&[5, 2, 5, 1], false),
    ];
    for (counts, expected) in rows {
        let wake = Wake::new().unwrap();
        for (n, count) in counts.iter().enumerate() {
            let act = if n % 2 == 0 { Wake::wake } else { Wake::clear };
            (0..*count).for_each(|_| act(&wake));
        }
        // Looking does not change it.
        for _ in 0..2 {
            assert_eq!(readable(&[wake.as_fd()]), [*expected], "{counts:?}");
            assert_eq!(readable(&[wake.as_fd_ref()]), [*expected], "{counts:?}");
        }
    }
}

/// A full counter is as readable as any.
#[test]
fn more_wakes_than_can_be_counted_do_not_block() {
    let wake = Wake::new().unwrap();
    rustix::io::write(&wake, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    wake.wake();
    assert_eq!(readable(&[wake.as_fd()]), [true]);
    wake.clear();
    assert_eq!(readable(&[wake.as_fd()]), [false]);
}

/// Cleared before one looks, no wake-up is lost: the waiter sees all that was done.
#[test]
fn threads_wake_each_other() {
    const THREADS: u64 = 3;
    const EACH: u64 = 2000;
    for mechanism in Mechanism::ALL {
        let (wake, done) = (Wake::new().unwrap(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        done.fetch_add(1, Ordering::SeqCst);
                        wake.wake();
                    }
                });
            }
            let mut poller = Poller::new(mechanism, 1).unwrap();
            poller.add_level(&wake, 9).unwrap();
            while done.load(Ordering::SeqCst) < THREADS * EACH {
                let events = poller.wait(Some(PATIENCE)).unwrap();
                assert_eq!((events.len(), events[0].token), (1, 9), "{mechanism}");
                wake.clear();
            }
        });
    }
}

/// Two threads that hand a turn to each other, each waiting for the other's.
#[test]
fn turns_are_handed_over() {
    const TURNS: usize = 1000;
    let wakes = [Wake::new().unwrap(), Wake::new().unwrap()];
    let play = |mine: usize| {
        for _ in 0..TURNS {
            assert_eq!(wait_readable([wakes[mine].as_fd()], Some(PATIENCE)).unwrap(), [true]);
            wakes[mine].clear();
            wakes[1 - mine].wake();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| play(1));
        wakes[0].wake();
        play(0);
    });
    assert_eq!(readable(&[wakes[0].as_fd(), wakes[1].as_fd()]), [true, false]);
}

/// Which of some wakes are awake, and what is said of all.
#[test]
fn each_descriptor_has_its_answer() {
    let rows: &[&[bool]] = &[
        &[],
        &[false],
        &[true],
        &[true, false],
        &[false, true],
        &[true, true],
        &[false, true, false, true, true],
    ];
    for row in rows {
        let wakes: Vec<Wake> = row.iter().map(|_| Wake::new().unwrap()).collect();
        let awake = wakes.iter().zip(*row).filter(|(_, is_awake)| **is_awake);
        awake.for_each(|(wake, _)| wake.wake());
        let fds: Vec<BorrowedFd<'_>> = wakes.iter().map(AsFd::as_fd).collect();
        assert_eq!(readable(&fds), *row);
        if !row.contains(&true) {
            continue;
        }
        for timeout in [Some(Duration::from_nanos(1)), Some(Duration::MAX), None] {
            assert_eq!(wait_readable(fds.iter().copied(), timeout).unwrap(), *row);
        }
    }
    assert_eq!(wait_readable([], Some(Duration::from_nanos(1))).unwrap(), []);
}

/// Whatever a receive would tell is worth waking up for.
#[test]
fn ends_are_readable() {
    let mut heard = Connection::new(Blocking::Yes);
    assert_eq!(readable(&[heard.ours.as_fd()]), [false]);
    heard.hear(b"a");
    let mut ended = Connection::new(Blocking::Yes);
    ended.hear_fin();
    let reset = Connection::new(Blocking::Yes).hear_reset();
    for socket in [&heard.ours, &ended.ours, &reset] {
        assert_eq!(wait_readable([socket.as_fd()], None).unwrap(), [true]);
    }
}

fn readable(fds: &[BorrowedFd<'_>]) -> Vec<bool> {
    wait_readable(fds.iter().copied(), Some(Duration::ZERO)).unwrap()
}
