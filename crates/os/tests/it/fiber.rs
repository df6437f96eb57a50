//! Fibers: they run when they are resumed, keep what they have on their stacks, and end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

use os::fiber::{Arena, Fiber};

const STACK_BYTES: usize = 16 << 10;

fn arena(count: usize) -> Arena {
    Arena::new(count, STACK_BYTES).unwrap()
}

#[test]
fn a_fiber_runs_until_it_parks_or_ends() {
    let arena = arena(1);
    let steps = RefCell::new(Vec::new());
    let mut fiber = Fiber::new(&arena, |parking| {
        for step in 0..3 {
            steps.borrow_mut().push(step);
            parking.park();
        }
    })
    .unwrap();
    assert!(steps.borrow().is_empty(), "nobody has resumed it");
    for expected in [1, 2, 3] {
        assert!(!fiber.resume());
        assert_eq!(steps.borrow().len(), expected);
    }
    assert!(fiber.resume(), "it has ended");
}

#[test]
fn what_lies_on_a_stack_stays() {
    const FIBERS: usize = 100;
    let arena = arena(FIBERS);
    let sums = Cell::new(0);
    let of = |n: usize| {
        let sums = &sums;
        move |parking: &os::fiber::Parking<'_>| {
            let mut own = [n; 100];
            for place in &mut own[..10] {
                parking.park();
                *place += 1;
            }
            sums.set(sums.get() + own.iter().sum::<usize>());
        }
    };
    let mut ready: VecDeque<_> = (0..FIBERS).map(|n| Fiber::new(&arena, of(n)).unwrap()).collect();
    assert_eq!(arena.room(), 0);
    assert_eq!(Fiber::new(&arena, |_| {}).err().unwrap().kind(), io::ErrorKind::OutOfMemory);
    while let Some(mut fiber) = ready.pop_front() {
        if !fiber.resume() {
            ready.push_back(fiber);
        }
    }
    assert_eq!(sums.get(), (0..FIBERS).sum::<usize>() * 100 + FIBERS * 10);
    assert_eq!(arena.room(), FIBERS, "stacks are given back");
}

#[test]
fn one_that_was_never_resumed_drops_what_it_was_to_have() {
    let arena = arena(1);
    let given = std::rc::Rc::new(());
    let held = std::rc::Rc::clone(&given);
    drop(Fiber::new(&arena, move |_| drop(held)).unwrap());
    assert_eq!((std::rc::Rc::strong_count(&given), arena.room()), (1, 1));
}

/// Stacks of all fibers are one mapping and their guards none, where the kernel can do that.
#[test]
fn many_stacks_take_no_mapping_each() {
    const FIBERS: usize = 10_000;
    if os::fiber::stacks_max().is_some() {
        return harness::skip("needs a kernel that installs guards without mappings");
    }
    let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let before = mappings();
    let arena = Arena::new(FIBERS, STACK_BYTES).unwrap();
    assert_eq!(arena.room(), FIBERS);
    let taken = mappings().saturating_sub(before);
    // Tests beside this one have threads, with stacks of theirs.
    assert!(taken < FIBERS / 10, "{taken}");
}
