//! Fibers: threads of a program's own making, many on one thread of the kernel's, each with a stack
//! (Pariag07 section 4; von Behren and others, Capriccio, SOSP 2003).
//!
//! A fiber runs when it is resumed, until it parks or ends; who resumes them, and when, is its
//! owner's to decide. To switch costs a few instructions: `corosensei` saves what the ABI wants
//! saved and moves the stack pointer.
//!
//! One that is parked is never dropped: there is nothing that could unwind it, as releases abort
//! instead. Each runs to its end, and an owner waits for that; one that does not is ended with its
//! process.

mod arena;
mod overflow;

use std::io;
use std::marker::PhantomData;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use self::arena::Stack;
pub use self::arena::{Arena, stacks_max};
pub use self::overflow::tell_overflows;

/// One of them. It borrows for `'f` what its body does.
pub struct Fiber<'f> {
    coroutine: Coroutine<(), (), (), Stack>,
    /// Its body may hold anything that lives so long, and is dropped with it.
    body: PhantomData<&'f ()>,
}

/// What a fiber parks by. Each has its own, for as long as it runs.
pub struct Parking<'p>(&'p Yielder<(), ()>);

impl<'f> Fiber<'f> {
    /// On a stack of the arena; it runs when it is resumed.
    ///
    /// # Errors
    /// `OutOfMemory`: as many fibers as the arena has stacks are there.
    pub fn new(arena: &Arena, body: impl FnOnce(&Parking<'_>) + 'f) -> io::Result<Self> {
        let stack = arena.take().ok_or(io::ErrorKind::OutOfMemory)?;
        let run = move |yielder: &Yielder<(), ()>, ()| body(&Parking(yielder));
        // SAFETY: what the body borrows lives for as long as this has its lifetime. It is used only
        // while the fiber is resumed, which takes the fiber, and by its drop, which runs no body
        // that has begun. One that is forgotten is never resumed, and keeps its stack.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
        Ok(Self { coroutine, body: PhantomData })
    }

    /// Runs it until it parks or ends; whether it has ended.
    ///
    /// # Panics
    /// It has ended before; or its body panics, which goes on here.
    pub fn resume(&mut self) -> bool {
        matches!(self.coroutine.resume(()), CoroutineResult::Return(()))
    }
}

impl Drop for Fiber<'_> {
    fn drop(&mut self) {
        if self.coroutine.started() && !self.coroutine.done() && !std::thread::panicking() {
            overflow::end("a fiber that is parked was dropped");
        }
    }
}

impl Parking<'_> {
    /// Gives way to whoever has resumed the fiber, until it is resumed again.
    pub fn park(&self) {
        self.0.suspend(());
    }
}
