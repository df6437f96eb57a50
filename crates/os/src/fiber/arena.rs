//! Where stacks of fibers lie: one mapping for all, each with a page below it that nobody may
//! touch.

use std::cell::RefCell;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::stack::{Stack as IsStack, StackPointer};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;

use super::overflow;

/// Since Linux 6.13: pages that may not be touched, without a mapping for each of them.
const MADV_GUARD_INSTALL: i32 = 102;

/// Of a process, where nobody has said anything else (DEFAULT_MAX_MAP_COUNT).
const MAPPINGS_MAX: u64 = 65_530;
/// Of those, what is not of stacks.
const MAPPINGS_SPARE: u64 = 4096;

/// So many stacks, each of the same size. Only what is touched of them takes memory.
#[derive(Clone)]
pub struct Arena(Rc<Stacks>);

struct Stacks {
    base: NonNull<u8>,
    /// Of a stack and the page below it.
    stride: usize,
    count: usize,
    /// Guards take no mapping each.
    has_cheap_guards: bool,
    /// Those that nobody has: the one given back last is taken first, as its pages are warm.
    free: RefCell<Vec<usize>>,
}

/// One of them, given back when dropped.
pub(super) struct Stack {
    stacks: Rc<Stacks>,
    nth: usize,
}

impl Arena {
    /// For so many fibers at the same time.
    ///
    /// # Errors
    /// The machine has no memory to map so much, or no mapping for a guard.
    ///
    /// # Panics
    /// For no fiber, or stacks of less than a page.
    pub fn new(count: usize, stack_bytes: usize) -> io::Result<Self> {
        let page = page_size();
        assert!(count > 0 && stack_bytes >= page, "stacks of something");
        let stride = stack_bytes.next_multiple_of(page) + page;
        let bytes = stride.checked_mul(count).ok_or(io::ErrorKind::OutOfMemory)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, at an address of the kernel's choice, touches no memory in use.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let free = RefCell::new((0..count).rev().collect());
        let mut stacks = Stacks { base, stride, count, has_cheap_guards: true, free };
        for nth in 0..count {
            stacks.has_cheap_guards &= stacks.guard(nth)?;
        }
        overflow::guards(base.as_ptr() as usize, bytes, stride);
        Ok(Self(Rc::new(stacks)))
    }

    /// How many are free.
    #[must_use]
    pub fn room(&self) -> usize {
        self.0.free.borrow().len()
    }

    pub(super) fn take(&self) -> Option<Stack> {
        let nth = self.0.free.borrow_mut().pop()?;
        Some(Stack { stacks: Rc::clone(&self.0), nth })
    }
}

/// How many stacks a process may have where each takes mappings of its own; nothing: none does.
#[must_use]
pub fn stacks_max() -> Option<u64> {
    if Arena::new(1, page_size()).is_ok_and(|arena| arena.0.has_cheap_guards) {
        return None;
    }
    let said = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let mappings = said.ok().and_then(|said| said.trim().parse::<u64>().ok());
    // Two each; the rest is the program's own.
    Some(mappings.unwrap_or(MAPPINGS_MAX).saturating_sub(MAPPINGS_SPARE) / 2)
}

impl Stacks {
    /// The lowest page of a stack is not to be touched; whether that took no mapping.
    fn guard(&self, nth: usize) -> io::Result<bool> {
        // SAFETY: it is within the mapping.
        let at = unsafe { self.base.add(nth * self.stride) }.as_ptr().cast();
        // SAFETY: the page is of this mapping, and nobody has a stack of it yet.
        if unsafe { libc::madvise(at, page_size(), MADV_GUARD_INSTALL) } == 0 {
            return Ok(true);
        }
        // SAFETY: as above.
        unsafe { mprotect(at, page_size(), MprotectFlags::empty()) }?;
        Ok(false)
    }

    /// Where a stack ends, and its guard begins.
    fn limit(&self, nth: usize) -> usize {
        self.base.as_ptr() as usize + nth * self.stride
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        overflow::guards(0, 0, 1);
        // SAFETY: each stack holds the arena, so none is in use; nothing else points there.
        // Refused only for what is not mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.stride * self.count) };
    }
}

// SAFETY: it is mapped for as long as this is there, at least a page of it can be written, nobody
// else has it, and the page at its limit is a guard.
unsafe impl IsStack for Stack {
    fn base(&self) -> StackPointer {
        let base = self.stacks.limit(self.nth) + self.stacks.stride;
        NonZeroUsize::new(base).expect("not at zero")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.stacks.limit(self.nth)).expect("not at zero")
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.stacks.free.borrow_mut().push(self.nth);
    }
}
