//! The table of blocks: which there are, where their bytes lie, and which may be used again.
//!
//! All of it is guarded by the lock, and is read in no other way. Nothing here trusts it all the
//! same: numbers that make no sense are [`Corrupt`], and lead to no memory.

use std::error::Error;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;

use cache::Extents;

use super::bits;
use super::stops::{self, Stop};

/// What a block's place is counted in: a line of the processor's cache, so that whoever writes to a
/// block takes no line from those who read another. A head takes five of them, and half a line is
/// lost with each block.
pub const UNIT: usize = 64;

/// One of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Block {
    state: u32,
    /// The next one that is free, or in limbo, as its number and 1.
    next: u32,
    /// Its first unit, and how many.
    at: u32,
    units: u32,
    length: u64,
    /// As its number and 1.
    descriptor: u32,
    /// What its user calls it.
    name: u32,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing, and has nothing.
    Free = 0,
    /// Found by those who look for it.
    Live = 1,
    /// Found by nobody any more, and kept for who still reads it.
    Limbo = 2,
}

/// Beginnings of lists, and counts.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Ledger {
    /// The first block that is free again, as its number and 1.
    free: u32,
    /// Those from here on were never used, and are in no list.
    used: u32,
    /// The first and the last block in limbo, as their numbers and 1.
    limbo: [u32; 2],
    in_limbo: u32,
}

/// All that the lock guards, but for the bytes of blocks.
#[derive(Debug)]
pub(super) struct Parts<'p> {
    pub(super) ledger: &'p mut Ledger,
    pub(super) blocks: &'p mut [Block],
    /// Which units are free, as whoever looks for room keeps it.
    pub(super) free: &'p mut [u64],
    /// Which units blocks have. What the former says is believed only as far as this agrees.
    pub(super) taken: &'p mut [u64],
    /// Which block begins at a unit, as its number and 1.
    pub(super) starts: &'p mut [u32],
    pub(super) units: u32,
}

/// What stands in the shared memory makes no sense: a process has written there that should not
/// have. Whoever shares it has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt(pub(super) &'static str);

/// Where the bytes of a block lie: the first unit, and how many bytes.
pub(super) type Extent = (u32, usize);

impl Parts<'_> {
    /// All units are free, as none of these words say before.
    pub(super) fn give_all(&mut self) {
        let units = self.units;
        self.room().give(0, units);
    }

    /// Units that are free.
    pub(super) fn free_units(&mut self) -> u32 {
        self.room().free()
    }

    /// A place for so many bytes and a block to have them; `None`: there is none.
    pub(super) fn reserve(&mut self, length: usize) -> Result<Option<(u32, Extent)>, Corrupt> {
        let units = u32::try_from(length.div_ceil(UNIT).max(1));
        let Some(units) = units.ok().filter(|units| *units <= self.units) else { return Ok(None) };
        let number = match self.ledger.free.checked_sub(1) {
            Some(number) => number,
            None if (self.ledger.used as usize) < self.blocks.len() => self.ledger.used,
            None => return Ok(None),
        };
        let next = self.block(number, State::Free)?.next;
        let Some(at) = self.room().take(units) else { return Ok(None) };
        let end = at.checked_add(units).filter(|end| *end <= self.units);
        let end = end.ok_or(Corrupt("room beyond the arena"))?;
        if !bits::set(self.taken, at..end) {
            return Err(Corrupt("room that a block has"));
        }
        if self.ledger.free == 0 {
            self.ledger.used += 1;
        }
        self.ledger.free = next;
        let place = Block { at, units, length: length as u64, ..Block::default() };
        self.blocks[number as usize] = place;
        self.starts[at as usize] = number + 1;
        Ok(Some((number, (at, length))))
    }

    /// A block that was reserved is live from now on.
    pub(super) fn enliven(&mut self, number: u32, descriptor: Option<RawFd>) {
        let block = &mut self.blocks[number as usize];
        block.descriptor = descriptor.map_or(0, |descriptor| descriptor.cast_unsigned() + 1);
        block.state = State::Live as u32;
    }

    /// Where the bytes of a live block lie, and its descriptor; `None`: it is not live.
    pub(super) fn live(&self, number: u32) -> Result<Option<(Extent, Option<RawFd>)>, Corrupt> {
        let block = self.blocks.get(number as usize).ok_or(Corrupt("a number of no block"))?;
        if State::of(block.state)? != State::Live {
            return Ok(None);
        }
        self.extent(block)?;
        Ok(Some(((block.at, block.length as usize), block.descriptor())))
    }

    /// What a block is called, of those that are live.
    pub(super) fn name_mut(&mut self, number: u32) -> Result<&mut u32, Corrupt> {
        self.live(number)?.ok_or(Corrupt("a name of nothing"))?;
        Ok(&mut self.blocks[number as usize].name)
    }

    /// Which blocks lie where so many bytes would in the place of that one, or so many places
    /// behind it, counted around the arena; nothing: there one lies that is larger, or its end.
    pub(super) fn around(
        &self,
        number: u32,
        length: usize,
        nth: u32,
    ) -> Result<Option<Vec<u32>>, Corrupt> {
        let Some(((at, _), _)) = self.live(number)? else { return Ok(None) };
        // A place of the buddies' tree: all that begins in it ends in it.
        let units = u32::try_from(length.div_ceil(UNIT).max(1).next_power_of_two());
        let places = units.as_ref().map_or(0, |units| self.units / units);
        let (Ok(units), 1..) = (units, places) else { return Ok(None) };
        if nth >= places {
            return Ok(None);
        }
        let start = (at / units + nth) % places * units;
        let starts = &self.starts[start as usize..][..units as usize];
        if starts[0] == 0 && bits::is_set(self.taken, start) {
            return Ok(None);
        }
        Ok(Some(starts.iter().filter_map(|start| start.checked_sub(1)).collect()))
    }

    /// Makes a live block free at once, which nobody has pinned; returns its descriptor.
    pub(super) fn free(&mut self, number: u32) -> Result<Option<RawFd>, Corrupt> {
        let block = *self.block(number, State::Live)?;
        self.make_free(number, &block)?;
        Ok(block.descriptor())
    }

    /// Nobody finds it from now on; `false`: nobody did.
    pub(super) fn retire(&mut self, number: u32) -> Result<bool, Corrupt> {
        let Some(_) = self.live(number)? else { return Ok(false) };
        let block = &mut self.blocks[number as usize];
        (block.state, block.next) = (State::Limbo as u32, 0);
        stops::here(Stop::Retired);
        self.queue(number)?;
        Ok(true)
    }

    /// Behind the others in limbo.
    fn queue(&mut self, number: u32) -> Result<(), Corrupt> {
        let [first, last] = &mut self.ledger.limbo;
        match last.checked_sub(1) {
            None => *first = number + 1,
            Some(before) => {
                let before = self.blocks.get_mut(before as usize);
                before.ok_or(Corrupt("a queue that ends nowhere"))?.next = number + 1;
            }
        }
        *last = number + 1;
        self.ledger.in_limbo = self.ledger.in_limbo.wrapping_add(1);
        Ok(())
    }

    /// Makes those free that nobody has pinned, of so many that are in limbo; tells of each which
    /// descriptor it had.
    pub(super) fn sweep(
        &mut self,
        most: u32,
        is_pinned: impl Fn(u32) -> bool,
        mut had: impl FnMut(RawFd) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        for _ in 0..most.min(self.ledger.in_limbo) {
            let [first, last] = self.ledger.limbo;
            let number = first.checked_sub(1).ok_or(Corrupt("a queue shorter than its length"))?;
            let block = *self.block(number, State::Limbo)?;
            self.ledger.limbo = if first == last { [0, 0] } else { [block.next, last] };
            self.ledger.in_limbo -= 1;
            if is_pinned(number) {
                self.blocks[number as usize].next = 0;
                self.queue(number)?;
                continue;
            }
            self.make_free(number, &block)?;
            stops::here(Stop::Swept);
            if let Some(descriptor) = block.descriptor() {
                had(descriptor)?;
            }
        }
        Ok(())
    }

    fn make_free(&mut self, number: u32, block: &Block) -> Result<(), Corrupt> {
        let units = self.extent(block)?;
        bits::clear(self.taken, units.clone());
        self.starts[units.start as usize] = 0;
        self.room().give(units.start, units.end - units.start);
        self.put_free(number);
        Ok(())
    }

    fn put_free(&mut self, number: u32) {
        self.blocks[number as usize] = Block { next: self.ledger.free, ..Block::default() };
        self.ledger.free = number + 1;
    }

    /// Makes all of it anew, with nothing in it but what is pinned: that is in limbo. Returns the
    /// descriptors of that, in order.
    pub(super) fn rebuild(
        &mut self,
        is_pinned: impl Fn(u32) -> bool,
    ) -> Result<Vec<RawFd>, Corrupt> {
        let all = self.blocks.len() as u32;
        let mut kept: Vec<u32> = (0..all).filter(|number| is_pinned(*number)).collect();
        self.free.fill(0);
        self.taken.fill(0);
        self.starts.fill(0);
        *self.ledger = Ledger { used: kept.last().map_or(0, |last| last + 1), ..Ledger::default() };
        let mut descriptors = Vec::new();
        for number in (0..all).rev() {
            if kept.binary_search(&number).is_err() {
                match number < self.ledger.used {
                    true => self.put_free(number),
                    false => self.blocks[number as usize] = Block::default(),
                }
                continue;
            }
            let block = &mut self.blocks[number as usize];
            (block.state, block.next) = (State::Limbo as u32, 0);
            let block = *block;
            let units = self.extent(&block)?;
            self.starts[units.start as usize] = number + 1;
            if !bits::set(self.taken, units) {
                return Err(Corrupt("two blocks at one place"));
            }
            descriptors.extend(block.descriptor());
        }
        kept.iter().try_for_each(|number| self.queue(*number))?;
        kept.sort_unstable_by_key(|number| self.blocks[*number as usize].at);
        let mut at = 0;
        let ends = kept.iter().map(|number| self.blocks[*number as usize]);
        let ends: Vec<_> = ends.map(|block| (block.at, block.at + block.units)).collect();
        for (start, end) in ends.into_iter().chain([(self.units, self.units)]) {
            if start > at {
                self.room().give(at, start - at);
            }
            at = end;
        }
        descriptors.sort_unstable();
        Ok(descriptors)
    }

    /// Where a place for bytes is looked for.
    fn room(&mut self) -> Extents<&mut [u64]> {
        Extents::new(&mut *self.free, self.units)
    }

    fn block(&self, number: u32, state: State) -> Result<&Block, Corrupt> {
        let block = self.blocks.get(number as usize).ok_or(Corrupt("a list of no block"))?;
        let is_so = State::of(block.state)? == state;
        if is_so { Ok(block) } else { Err(Corrupt("a block in a list of others")) }
    }

    /// The units of a block that has some.
    fn extent(&self, block: &Block) -> Result<Range<u32>, Corrupt> {
        let end = block.at.checked_add(block.units).filter(|end| *end <= self.units);
        let end = end.ok_or(Corrupt("a block beyond the arena"))?;
        if block.units == 0 || block.length > u64::from(block.units) * UNIT as u64 {
            return Err(Corrupt("a block that is longer than its place"));
        }
        Ok(block.at..end)
    }

    /// Whether it all fits together.
    pub(super) fn check(
        &mut self,
        is_pinned: impl Fn(u32) -> bool,
        is_in_cache: impl Fn(RawFd) -> bool,
    ) -> Result<(), Corrupt> {
        let mut taken = vec![0; self.taken.len()];
        let mut counts = [0_u32; 3];
        let mut descriptors = Vec::new();
        let used = self.blocks.get(..self.ledger.used as usize);
        let used = used.ok_or(Corrupt("more blocks in use than there are"))?;
        for (number, block) in (0..).zip(used) {
            let state = State::of(block.state)?;
            counts[state as usize] += 1;
            if state == State::Free {
                ensure(!is_pinned(number), "a pin on what is free")?;
                let nothing = Block { next: block.next, ..Block::default() };
                ensure(*block == nothing, "what is free has something")?;
                continue;
            }
            let units = self.extent(block)?;
            let begins = self.starts[units.start as usize] == number + 1;
            ensure(begins, "a block that begins nowhere")?;
            ensure(bits::set(&mut taken, units), "two blocks at one place")?;
            descriptors.extend(block.descriptor());
        }
        ensure(taken == self.taken, "units that no block has")?;
        let free = u64::from(self.free_units()) + bits::count(&taken);
        ensure(free == u64::from(self.units), "units that are lost")?;
        ensure(descriptors.iter().all(|one| is_in_cache(*one)), "a descriptor of somebody else")?;
        descriptors.sort_unstable();
        let is_twice = descriptors.windows(2).any(|two| two[0] == two[1]);
        ensure(!is_twice, "a descriptor of two blocks")?;
        // Where no unit is taken no page of it is looked at.
        let words = self.taken.iter().zip(self.starts.chunks(u64::BITS as usize));
        let begun = words.filter(|(taken, _)| **taken != 0).flat_map(|(_, starts)| starts);
        let begun = begun.filter(|start| **start != 0).count() as u32;
        ensure(begun == counts[1] + counts[2], "a beginning of nothing")?;
        let again = self.list(self.ledger.free, State::Free)?.0;
        ensure(again == counts[State::Free as usize], "a block that is lost")?;
        let [first, last] = self.ledger.limbo;
        let limbo = self.list(first, State::Limbo)?;
        let counted = (counts[State::Limbo as usize], last);
        ensure(limbo == counted && limbo.0 == self.ledger.in_limbo, "limbo that is lost")
    }

    /// How long a list is, and where it ends.
    fn list(&self, first: u32, state: State) -> Result<(u32, u32), Corrupt> {
        let (mut count, mut last, mut next) = (0, 0, first);
        while let Some(number) = next.checked_sub(1) {
            ensure((count as usize) < self.blocks.len(), "a list in a circle")?;
            (count, last, next) = (count + 1, next, self.block(number, state)?.next);
        }
        Ok((count, last))
    }
}

fn ensure(is_so: bool, wrong: &'static str) -> Result<(), Corrupt> {
    if is_so { Ok(()) } else { Err(Corrupt(wrong)) }
}

impl Block {
    fn descriptor(&self) -> Option<RawFd> {
        self.descriptor.checked_sub(1).map(u32::cast_signed)
    }
}

impl State {
    fn of(word: u32) -> Result<Self, Corrupt> {
        let all = [Self::Free, Self::Live, Self::Limbo];
        all.into_iter().find(|state| *state as u32 == word).ok_or(Corrupt("a block of no kind"))
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the shared memory is corrupt: {}", self.0)
    }
}

impl Error for Corrupt {}

impl From<Corrupt> for io::Error {
    fn from(corrupt: Corrupt) -> Self {
        Self::new(io::ErrorKind::InvalidData, corrupt)
    }
}
