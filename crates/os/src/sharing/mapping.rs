//! The memory of a store, and where in it what lies.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use cache::Extents;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::blocks::{Block, Ledger, Parts, UNIT};
use super::lock::Lock;
use super::owner::MEMBERS_MAX;

/// How large a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Processes beside the keeper.
    pub members: u16,
    /// Words of the user's own.
    pub words: usize,
    /// Blocks of bytes at most.
    pub blocks: u32,
    /// Units that all blocks have together.
    pub units: u32,
}

/// Memory that is there for as long as this is, the same in all processes, zero at first.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    places: Places,
    shape: Shape,
}

/// Where each part begins. At the beginning is the lock, on a line of its own.
#[derive(Debug, Clone, Copy)]
struct Places {
    ledger: usize,
    words: usize,
    blocks: usize,
    free: usize,
    taken: usize,
    starts: usize,
    pins: usize,
    arena: usize,
}

impl Mapping {
    pub(super) fn new(shape: &Shape) -> io::Result<Self> {
        let (places, bytes) = plan(shape).ok_or(io::ErrorKind::InvalidInput)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choice, touches no memory in use.
        let base = unsafe {
            // Without NORESERVE: what the machine can never give is refused here.
            mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::SHARED)
        }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, bytes, places, shape: *shape })
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn lock(&self) -> &Lock {
        // SAFETY: at the beginning of a page is a lock, which is free as zero. It is only atomics,
        // and nobody looks at it in another way.
        unsafe { self.base.cast::<Lock>().as_ref() }
    }

    /// How often the process of this number has pinned a block.
    pub(super) fn pins(&self, number: u16, block: u32) -> &AtomicU32 {
        assert!(number <= self.shape.members && block < self.shape.blocks, "a pin of the store");
        let at = usize::from(number) * self.shape.blocks as usize + block as usize;
        // SAFETY: there are so many for each number, aligned, and they are only used as atomics.
        unsafe { self.base.add(self.places.pins).cast::<AtomicU32>().add(at).as_ref() }
    }

    /// The user's words.
    ///
    /// # Safety
    /// The calling process has the lock, and uses nothing that it had from here before.
    #[expect(clippy::mut_from_ref, reason = "the lock is what makes it the only one")]
    pub(super) unsafe fn words(&self) -> &mut [u64] {
        // SAFETY: as in `parts`.
        unsafe { self.words_at(self.places.words, self.shape.words) }
    }

    /// All else that the lock guards, but for the bytes of blocks.
    ///
    /// # Safety
    /// The calling process has the lock, and uses nothing that it had from here before.
    pub(super) unsafe fn parts(&self) -> Parts<'_> {
        let Shape { blocks, units, .. } = self.shape;
        let places = self.places;
        // SAFETY: each part has so many, which `plan` has laid side by side and aligned. They hold
        // any bits, and nobody else in any process uses them meanwhile, as the caller promises.
        unsafe {
            let at = |place| self.base.add(place);
            let first = at(places.blocks).cast::<Block>().as_ptr();
            Parts {
                ledger: at(places.ledger).cast::<Ledger>().as_mut(),
                blocks: std::slice::from_raw_parts_mut(first, blocks as usize),
                free: self.words_at(places.free, Extents::<&mut [u64]>::words_for(units)),
                taken: self.words_at(places.taken, words_of_bits(units)),
                starts: std::slice::from_raw_parts_mut(
                    at(places.starts).cast::<u32>().as_ptr(),
                    units as usize,
                ),
                units,
            }
        }
    }

    /// # Safety
    /// There are so many, and nobody else uses them.
    #[expect(clippy::mut_from_ref, reason = "as above")]
    unsafe fn words_at(&self, place: usize, count: usize) -> &mut [u64] {
        // SAFETY: they are of the mapping, aligned, hold any bits, and are the caller's.
        unsafe {
            let first = self.base.add(place).cast::<u64>();
            std::slice::from_raw_parts_mut(first.as_ptr(), count)
        }
    }

    /// The bytes from a unit on; `None`: they are not all in the arena.
    pub(super) fn bytes(&self, unit: u32, length: usize) -> Option<NonNull<[u8]>> {
        let (at, all) = (unit as usize * UNIT, self.shape.units as usize * UNIT);
        if at > all || length > all - at {
            return None;
        }
        // SAFETY: as many bytes of the mapping lie behind the arena's beginning.
        let first = unsafe { self.base.add(self.places.arena + at) };
        Some(NonNull::slice_from_raw_parts(first, length))
    }
}

/// Words that have a bit for each unit.
pub(super) const fn words_of_bits(units: u32) -> usize {
    units.div_ceil(u64::BITS) as usize
}

/// One part behind the other, and the length of all; `None`: it has no blocks, or no address space
/// is that large.
fn plan(shape: &Shape) -> Option<(Places, usize)> {
    if shape.blocks == 0 || shape.units == 0 || shape.members > MEMBERS_MAX {
        return None;
    }
    let (blocks, units) = (shape.blocks as usize, shape.units);
    let rows = usize::from(shape.members) + 1;
    let mut end = size_of::<Lock>();
    let mut place = |count: usize, size: usize| {
        let at = end.checked_next_multiple_of(UNIT)?;
        end = at.checked_add(count.checked_mul(size)?)?;
        isize::try_from(end).is_ok().then_some(at)
    };
    let places = Places {
        ledger: place(1, size_of::<Ledger>())?,
        words: place(shape.words, size_of::<u64>())?,
        blocks: place(blocks, size_of::<Block>())?,
        free: place(Extents::<&mut [u64]>::words_for(units), size_of::<u64>())?,
        taken: place(words_of_bits(units), size_of::<u64>())?,
        starts: place(units as usize, size_of::<u32>())?,
        pins: place(rows.checked_mul(blocks)?, size_of::<AtomicU32>())?,
        arena: place(units as usize, UNIT)?,
    };
    Some((places, end))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrowed from it outlives `self`. Failure would
        // leave it mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: it owns its mapping, and `munmap` may be called by any thread.
unsafe impl Send for Mapping {}
// SAFETY: what it gives without a promise are atomics, and addresses.
unsafe impl Sync for Mapping {}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Shape = Shape { members: 3, words: 5, blocks: 7, units: 100 };

    #[test]
    fn parts_lie_side_by_side() {
        let rows = [SMALL, Shape { members: 0, words: 0, blocks: 1, units: 1 }];
        for shape in rows {
            let (places, bytes) = plan(&shape).unwrap();
            let Places { ledger, words, blocks, free, taken, starts, pins, arena } = places;
            let rows = (usize::from(shape.members) + 1) * shape.blocks as usize;
            let parts = [
                (0, size_of::<Lock>()),
                (ledger, size_of::<Ledger>()),
                (words, shape.words * 8),
                (blocks, shape.blocks as usize * size_of::<Block>()),
                (free, Extents::<&mut [u64]>::words_for(shape.units) * 8),
                (taken, words_of_bits(shape.units) * 8),
                (starts, shape.units as usize * 4),
                (pins, rows * 4),
                (arena, shape.units as usize * UNIT),
            ];
            let ends = parts.iter().skip(1).map(|(at, _)| *at).chain([bytes]);
            for ((at, length), end) in parts.into_iter().zip(ends) {
                assert!(at % UNIT == 0 && at + length <= end, "{places:?} of {shape:?}");
            }
        }
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let rows = [
            Shape { blocks: 0, ..SMALL },
            Shape { units: 0, ..SMALL },
            Shape { members: u16::MAX, ..SMALL },
            Shape { words: usize::MAX, ..SMALL },
            Shape { words: usize::MAX / 16, ..SMALL },
        ];
        for shape in rows {
            let refused = Mapping::new(&shape).map(drop).unwrap_err().kind();
            assert_eq!(refused, io::ErrorKind::InvalidInput, "{shape:?}");
        }
        // More than any machine has, but not more than it has addresses for.
        let large = Shape { members: 60_000, blocks: 1 << 31, units: 1 << 31, ..SMALL };
        assert!(Mapping::new(&large).is_err());
    }

    #[test]
    fn bytes_are_in_the_arena() {
        let mapping = Mapping::new(&SMALL).unwrap();
        let all = SMALL.units as usize * UNIT;
        let rows = [
            (0, all, true),
            (0, all + 1, false),
            (99, UNIT, true),
            (99, UNIT + 1, false),
            (100, 0, true),
            (100, 1, false),
            (101, 0, false),
            (u32::MAX, usize::MAX, false),
        ];
        for (unit, length, expected) in rows {
            assert_eq!(mapping.bytes(unit, length).is_some(), expected, "{unit} {length}");
        }
    }
}
