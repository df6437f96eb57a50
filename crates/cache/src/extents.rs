use core::ops::Range;

use crate::{Corrupt, Memory};

/// Which units of an arena are free: a buddy allocator, which takes and gives any number of units
/// in time that grows with the logarithm of all of them.
///
/// The arena is halved until a block is one unit, and the blocks are a binary tree of bytes. Each
/// tells of the largest block within it that is all free: 0 if there is none, otherwise one more
/// than its order (a block of order `n` has 2ⁿ units). Blocks beneath one that is all taken or all
/// free are not kept up. So two free buddies are one block as soon as their parent is noted, there
/// are no lists of free blocks to go wrong, and with zero words nothing is free yet.
///
/// Source: Knowlton, *A Fast Storage Allocator* (CACM 1965).
#[derive(Debug)]
pub struct Extents<M> {
    memory: M,
    units: u32,
}

/// Units there can be: no sum of two places in the arena overflows, and an order is below 32.
const UNITS_MAX: u32 = 1 << 31;

/// Units that are free.
const FREE: usize = 0;
/// Where the tree begins.
const HEAD: usize = 1;

/// A node of the tree.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Its number: 1 is the root, those within `n` are `2n` and `2n + 1`.
    node: usize,
    order: u32,
    /// Its first unit.
    at: u32,
}

impl<M: Memory> Extents<M> {
    /// The free units that these words tell of, none if they are zero, all below `units`.
    ///
    /// # Panics
    /// With more than 2³¹ units; if the memory is too small for them and cannot grow.
    #[must_use]
    pub fn new(mut memory: M, units: u32) -> Self {
        assert!(units <= UNITS_MAX, "2^31 units at most");
        assert!(memory.make_room(Self::words_for(units)), "words for extents");
        Self { memory, units }
    }

    /// The words that so many units need: two bytes each, and up to twice that where their number
    /// is no power of two.
    #[must_use]
    pub const fn words_for(units: u32) -> usize {
        HEAD + (2_usize << all(units).order).div_ceil(size_of::<u64>())
    }

    /// Units that are free.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.memory.words()[FREE] as u32
    }

    /// Makes these units free, be they part of what was taken, all of it, or more.
    ///
    /// # Panics
    /// If one of them is free already, or beyond the arena.
    pub fn give(&mut self, at: u32, units: u32) {
        let end = at.checked_add(units).filter(|end| *end <= self.units);
        let end = end.expect("units of the arena");
        self.note(all(self.units), &(at..end), true);
        self.memory.words_mut()[FREE] += u64::from(units);
    }

    /// Takes so many units that lie together, and says where they begin. Nothing if no block is
    /// free whole that is at least as large; there may then be room across blocks.
    ///
    /// # Panics
    /// If `units` is zero: nothing is nowhere.
    pub fn take(&mut self, units: u32) -> Option<u32> {
        assert!(units > 0, "units to take");
        if units > self.units {
            return None;
        }
        let order = units.next_power_of_two().trailing_zeros();
        let has_room = |block: &Block| u32::from(self.largest(*block)) > order;
        let mut block = Some(all(self.units)).filter(has_room)?;
        while block.order > order && self.largest(block) != block.whole() {
            // The smaller of two that are large enough, so that large ones stay whole.
            let halves = block.halves().into_iter().filter(has_room);
            block = halves.min_by_key(|half| self.largest(*half))?;
        }
        // What is left of the block stays free.
        self.note(all(self.units), &(block.at..block.at + units), false);
        self.memory.words_mut()[FREE] -= u64::from(units);
        Some(block.at)
    }

    /// Whether the words are what operations leave behind. Does not panic, whatever they are.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self) -> Result<(), Corrupt> {
        let free = self.check_block(all(self.units))?;
        match self.memory.words()[FREE] {
            noted if noted == u64::from(free) => Ok(()),
            noted => Err(Corrupt::new("not the count of the free units", noted)),
        }
    }

    /// How many units of the block are free.
    fn check_block(&self, block: Block) -> Result<u32, Corrupt> {
        let wrong = |what| Err(Corrupt::new(what, block.at.into()));
        let largest = self.largest(block);
        if largest == 0 {
            return Ok(0);
        }
        if largest == block.whole() {
            let is_within = block.end() <= self.units;
            return if is_within { Ok(1 << block.order) } else { wrong("free beyond the arena") };
        }
        if largest > block.whole() {
            return wrong("a block with a larger one in it");
        }
        let [low, high] = block.halves();
        let free = self.check_block(low)? + self.check_block(high)?;
        if largest == self.joined(block) { Ok(free) } else { wrong("a block unlike its halves") }
    }

    /// Makes those units of the block free that are in the range, or takes them. At most two blocks
    /// of each order have an end of the range within; no others are gone into.
    fn note(&mut self, block: Block, range: &Range<u32>, is_free: bool) {
        let within = range.start.max(block.at)..range.end.min(block.end());
        if within.is_empty() {
            return;
        }
        let largest = self.largest(block);
        if within == (block.at..block.end()) {
            assert!(largest == block.of_one_kind(!is_free), "given or taken twice: {within:?}");
            self.set(block, block.of_one_kind(is_free));
            return;
        }
        assert!(largest != block.of_one_kind(is_free), "given or taken twice: {within:?}");
        let halves = block.halves();
        if largest == block.of_one_kind(!is_free) {
            for half in halves {
                self.set(half, half.of_one_kind(!is_free));
            }
        }
        for half in halves {
            self.note(half, range, is_free);
        }
        self.set(block, self.joined(block));
    }

    /// The largest free block, as its halves have it.
    fn joined(&self, block: Block) -> u8 {
        let [low, high] = block.halves();
        match (self.largest(low), self.largest(high)) {
            all if all == (low.whole(), high.whole()) => block.whole(),
            (low, high) => low.max(high),
        }
    }

    fn largest(&self, block: Block) -> u8 {
        (self.memory.words()[block.word()] >> block.shift()) as u8
    }

    fn set(&mut self, block: Block, largest: u8) {
        let word = &mut self.memory.words_mut()[block.word()];
        *word = *word & !(0xff << block.shift()) | u64::from(largest) << block.shift();
    }
}

/// The block that has all units in it, and others behind them that never become free.
const fn all(units: u32) -> Block {
    Block { node: 1, order: units.next_power_of_two().trailing_zeros(), at: 0 }
}

impl Block {
    const fn end(self) -> u32 {
        self.at + (1 << self.order)
    }

    const fn halves(self) -> [Self; 2] {
        let (node, order) = (2 * self.node, self.order - 1);
        let middle = self.at + (1 << order);
        [Self { node, order, at: self.at }, Self { node: node + 1, order, at: middle }]
    }

    /// What is noted of it when all of it is free.
    const fn whole(self) -> u8 {
        self.order as u8 + 1
    }

    /// What is noted of it when all of it is free, or all is taken.
    const fn of_one_kind(self, is_free: bool) -> u8 {
        if is_free { self.whole() } else { 0 }
    }

    const fn word(self) -> usize {
        HEAD + self.node / size_of::<u64>()
    }

    const fn shift(self) -> u32 {
        (self.node % size_of::<u64>()) as u32 * u8::BITS
    }
}
