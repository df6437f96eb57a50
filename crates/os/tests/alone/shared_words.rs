//! Words that processes have in common.

use std::sync::atomic::Ordering::SeqCst;

use os::process::{self, Exit, Fork};
use os::{Notices, SharedWords};
use rustix::mm::{MprotectFlags, mprotect};
use rustix::process::{WaitId, WaitIdOptions, waitid};

/// Sizes around those of a page of 4,096 bytes.
pub(crate) fn all_processes_see_all_changes() {
    for count in [1, 2, 511, 512, 513, 100_000] {
        let words = SharedWords::new(count).unwrap();
        words[count - 1].store(7, SeqCst);
        children(1, |_| {
            assert_eq!(words[count - 1].load(SeqCst), 7);
            assert_eq!(words.len(), count);
            for (n, word) in (1..).zip(words.iter()) {
                word.store(n, SeqCst);
            }
        });
        assert!((1..).zip(words.iter()).all(|(n, word)| word.load(SeqCst) == n), "{count}");
    }
}

pub(crate) fn no_count_is_lost() {
    const EACH: u64 = 10_000;
    let words = SharedWords::new(1).unwrap();
    children(4, |_| {
        for _ in 0..EACH {
            words[0].fetch_add(1, SeqCst);
        }
    });
    assert_eq!(words[0].load(SeqCst), 4 * EACH);
}

pub(crate) fn words_outlive_who_wrote_them() {
    let words = SharedWords::new(8).unwrap();
    children(8, |n| words[n].store(n as u64 + 1, SeqCst));
    let seen: Vec<u64> = words.iter().map(|word| word.load(SeqCst)).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Unmapped in a child, they are still there in the parent.
pub(crate) fn one_process_may_forget_them() {
    let mut words = Some(SharedWords::new(1).unwrap());
    children(1, |_| {
        if let Some(words) = words.take() {
            words[0].store(5, SeqCst);
        }
    });
    assert_eq!(words.map(|words| words[0].load(SeqCst)), Some(5));
}

/// Others see what changes, also later, and can change nothing: neither through them nor in memory.
pub(crate) fn notices_are_written_by_who_made_them() {
    for count in [1, 512, 513, 100_000] {
        let notices = Notices::new(count).unwrap();
        let (told, heard) = (SharedWords::new(1).unwrap(), count - 1);
        notices.words()[heard].store(6, SeqCst);
        let child = process::fork().unwrap();
        if child == Fork::Child {
            let look = std::panic::AssertUnwindSafe(|| {
                told[0].store(notices.load(heard, SeqCst), SeqCst);
                while notices.load(heard, SeqCst) == 6 {
                    std::thread::yield_now();
                }
                assert_eq!(notices.load(heard, SeqCst), 7);
                let write = std::panic::AssertUnwindSafe(|| notices.words().len());
                std::panic::set_hook(Box::new(|_| ()));
                std::panic::catch_unwind(write).expect_err("has words to write");
                drop(std::panic::take_hook());
                let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
                let ours: Vec<_> = maps.lines().filter(|map| map.contains("notices")).collect();
                assert_eq!(ours.len(), 1, "{maps}");
                assert!(ours[0].contains(" r--s "), "{ours:?}");
                let at = usize::from_str_radix(ours[0].split('-').next().unwrap(), 16).unwrap();
                let at = std::ptr::with_exposed_provenance_mut(at);
                let access = MprotectFlags::READ | MprotectFlags::WRITE;
                // SAFETY: more rights to a mapping that nobody uses while it has them.
                unsafe { mprotect(at, 4096, access) }.expect_err("may be written again");
                drop(notices);
            });
            process::exit(i32::from(std::panic::catch_unwind(look).is_err()));
        }
        while told[0].load(SeqCst) != 6 {
            std::thread::yield_now();
        }
        notices.words()[heard].store(7, SeqCst);
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let (_, exit) = process::wait_any_exited().unwrap().unwrap();
        assert_eq!(exit, Exit::Status(0));
        assert_eq!(notices.load(heard, SeqCst), 7);
    }
    for count in [0, usize::MAX, usize::MAX / 8] {
        Notices::new(count).unwrap_err();
    }
}

/// Forks so many, each doing `work` with its number, and waits until they have.
fn children(count: usize, mut work: impl FnMut(usize)) {
    for n in 0..count {
        if process::fork().unwrap() == Fork::Child {
            let work = std::panic::AssertUnwindSafe(|| work(n));
            process::exit(i32::from(std::panic::catch_unwind(work).is_err()));
        }
    }
    for _ in 0..count {
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let (_, exit) = process::wait_any_exited().unwrap().unwrap();
        assert_eq!(exit, Exit::Status(0));
    }
}
