//! The lock that processes share, as it ships, in every order in which a few of them can use it,
//! and with one that dies. What it sleeps at is loom's, which fails where all sleep: there a
//! wake-up was lost.

#[path = "../../src/sharing/lock.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod lock;
mod sync;

use std::sync::Arc;

use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread::{self, JoinHandle};

use lock::Lock;

/// See the model of the queue. Four threads have many more orders than three.
const INTERRUPTIONS_MAX: usize = 3;
const INTERRUPTIONS_OF_FOUR_MAX: usize = 2;

const KEEPER: u16 = 1;
const FIRST: u16 = 2;
const SECOND: u16 = 3;
const THIRD: u16 = 4;

/// The lock, and what it guards: changed in two steps, so that two at once would be seen.
struct Guarded {
    lock: Lock,
    count: AtomicU32,
}

impl Guarded {
    fn add(&self) {
        let before = self.count.load(Relaxed);
        self.count.store(before + 1, Relaxed);
    }

    fn lock_and_add(&self, me: u16) {
        self.lock.lock(me);
        self.add();
        self.lock.unlock(me);
    }

    /// What the keeper does when one has died; whether he had the lock.
    fn bury(&self, dead: u16) -> bool {
        let had_it = self.lock.take_from(dead, KEEPER);
        if had_it {
            self.add();
            self.lock.unlock(KEEPER);
        }
        self.lock.wake_all();
        had_it
    }
}

fn explore(interruptions_max: usize, uses: impl Fn(Arc<Guarded>) + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions_max);
    model
        .check(move || uses(Arc::new(Guarded { lock: Lock::default(), count: AtomicU32::new(0) })));
}

fn spawn(guarded: &Arc<Guarded>, does: impl FnOnce(&Guarded) + 'static) -> JoinHandle<()> {
    let guarded = Arc::clone(guarded);
    thread::spawn(move || does(&guarded))
}

/// Whatever came before, it is free, and as many have added to the count.
fn check(guarded: &Guarded, expected: u32) {
    assert!(guarded.lock.take(KEEPER, 0), "nobody has it");
    assert_eq!(guarded.count.load(Relaxed), expected);
}

#[test]
fn one_at_a_time_has_it_and_all_get_it() {
    explore(INTERRUPTIONS_MAX, |guarded| {
        let others = [FIRST, SECOND].map(|me| spawn(&guarded, move |it| it.lock_and_add(me)));
        guarded.lock_and_add(THIRD);
        others.into_iter().for_each(|other| other.join().unwrap());
        check(&guarded, 3);
    });
}

#[test]
fn one_that_dies_with_it_is_relieved_of_it() {
    explore(INTERRUPTIONS_OF_FOUR_MAX, |guarded| {
        let dies = spawn(&guarded, |it| it.lock.lock(FIRST));
        let others = [SECOND, THIRD].map(|me| spawn(&guarded, move |it| it.lock_and_add(me)));
        dies.join().unwrap();
        assert!(guarded.bury(FIRST));
        others.into_iter().for_each(|other| other.join().unwrap());
        check(&guarded, 3);
    });
}

/// It sleeps if it does not get the lock, and dies when it wakes up.
#[test]
fn one_that_dies_when_it_was_woken_takes_no_wake_up_along() {
    explore(INTERRUPTIONS_MAX, |guarded| {
        guarded.lock.lock(FIRST);
        let dies = spawn(&guarded, |it| {
            if it.lock.take(SECOND, 0) {
                it.lock.unlock(SECOND);
            } else {
                it.lock.wait();
            }
        });
        let other = spawn(&guarded, |it| it.lock_and_add(THIRD));
        guarded.lock.unlock(FIRST);
        // It may sleep for good only where nobody has let go of the lock meanwhile.
        dies.join().unwrap();
        assert!(!guarded.bury(SECOND));
        other.join().unwrap();
        check(&guarded, 1);
    });
}

#[test]
fn one_that_dies_before_it_wakes_the_next_is_stood_in_for() {
    explore(INTERRUPTIONS_OF_FOUR_MAX, |guarded| {
        let dies = spawn(&guarded, |it| {
            it.lock.lock(FIRST);
            it.lock.release();
        });
        let others = [SECOND, THIRD].map(|me| spawn(&guarded, move |it| it.lock_and_add(me)));
        dies.join().unwrap();
        assert!(!guarded.bury(FIRST));
        others.into_iter().for_each(|other| other.join().unwrap());
        check(&guarded, 2);
    });
}

/// Nobody else may get it while the keeper mends what it guards.
#[test]
fn the_keeper_has_it_for_itself() {
    explore(INTERRUPTIONS_MAX, |guarded| {
        let dies = spawn(&guarded, |it| it.lock.lock(FIRST));
        let other = spawn(&guarded, |it| it.lock_and_add(SECOND));
        dies.join().unwrap();
        assert!(guarded.lock.is_held_by(FIRST) && !guarded.lock.take_from(SECOND, KEEPER));
        assert!(guarded.lock.take_from(FIRST, KEEPER));
        assert!(!guarded.lock.take(THIRD, 0));
        guarded.add();
        guarded.lock.unlock(KEEPER);
        guarded.lock.wake_all();
        other.join().unwrap();
        check(&guarded, 2);
    });
}
