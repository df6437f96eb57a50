//! What becomes of a process one of whose fibers needs more than its stack, or is dropped.

use std::io::Read;
use std::os::fd::AsRawFd;

use os::fiber::{Arena, Fiber, tell_overflows};
use os::process::{self, Exit, Fork};

const SIGSEGV: i32 = 11;
const SIGABRT: i32 = 6;

/// How a process ends that does this, and what it has said.
fn ended(does: impl FnOnce()) -> (Exit, String) {
    let (mut read, write) = std::io::pipe().unwrap();
    match process::fork().unwrap() {
        Fork::Child => {
            tell_overflows(write.as_raw_fd()).unwrap();
            does();
            process::exit(0)
        }
        Fork::Parent(pid) => {
            drop(write);
            let mut said = String::new();
            read.read_to_string(&mut said).unwrap();
            // It has closed its end, and ends.
            let ended = std::iter::repeat_with(|| process::wait_any_exited().unwrap());
            let (ended, exit) = ended.flatten().next().unwrap();
            assert_eq!(ended, pid);
            (exit, said)
        }
    }
}

fn deeper(depth: u64) -> u64 {
    let own = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { deeper(depth + 1) + own[7] }
}

pub(crate) fn an_overflow_ends_the_process_with_a_line() {
    let (exit, said) = ended(|| {
        let arena = Arena::new(4, 16 << 10).unwrap();
        let mut fiber = Fiber::new(&arena, |_| _ = std::hint::black_box(deeper(0))).unwrap();
        fiber.resume();
    });
    assert_eq!(exit, Exit::Killed(SIGSEGV));
    assert!(said.contains("the stack of a fiber has overflowed"), "{said}");
}

pub(crate) fn another_fault_ends_it_without_that() {
    let (exit, said) = ended(|| {
        let _arena = Arena::new(4, 16 << 10).unwrap();
        // SAFETY: it is meant to fault, in a process of its own.
        unsafe { std::ptr::write_volatile(std::ptr::without_provenance_mut::<u8>(16), 1) };
    });
    assert_eq!((exit, said.as_str()), (Exit::Killed(SIGSEGV), ""));
}

pub(crate) fn a_fiber_that_is_parked_is_not_dropped() {
    let (exit, _) = ended(|| {
        let arena = Arena::new(4, 16 << 10).unwrap();
        let mut fiber = Fiber::new(&arena, |parking| parking.park()).unwrap();
        assert!(!fiber.resume());
        drop(fiber);
    });
    assert_eq!(exit, Exit::Killed(SIGABRT));
}
