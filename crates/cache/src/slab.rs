use core::{marker::PhantomData, mem};

use crate::{Corrupt, Lru, Memory, Nodes, Policy, Weight};

/// Entries under stable `u32` indices, weighed together, with a policy that says who goes.
///
/// What an entry is, its user keeps under its index. An index stays valid until its entry is
/// removed or evicted and is then given to a later one. Every method that is given the index of an
/// entry panics if there is none at it: that is a mistake of the caller's.
///
/// All that is remembered is in the memory, so that a slab over lent memory is made anew for each
/// loan.
#[derive(Debug)]
pub struct Slab<M, P = Lru> {
    memory: M,
    bounds: Weight,
    policy: PhantomData<P>,
}

/// Entries there can be: half of what a `u32` numbers, so that a policy can number its own nodes
/// with them.
const ENTRIES_MAX: u32 = 1 << 31;

// The memory is rows: two are the head, then come those of the policy's own nodes, then those of
// the entries.

/// Words of a row.
const ROW: usize = 3;
/// The policy's. It is zero in a vacant row, and only there.
const NODE: usize = 0;
const BYTES: usize = 1;
const DESCRIPTORS: usize = 2;
/// In a vacant row: the next of their chain, as its index + 1; 0 ends the chain.
const NEXT: usize = 1;

/// The first row is of all entries: its weight is the sum.
const ALL: usize = 0;
/// Entries in.
const COUNT: usize = ROW;
/// Rows of entries that are taken, or have been: all up to the last.
const PLACES: usize = ROW + 1;
/// The first of the chain of vacant rows, told as by them.
const VACANT: usize = ROW + 2;
const HEAD: usize = 2 * ROW;

impl<M: Memory, P: Policy> Slab<M, P> {
    /// The entries that these words hold, none if they are zero, which are to weigh no more than
    /// `bounds` together.
    ///
    /// # Panics
    /// If the memory has fewer words than no entries need and cannot grow.
    #[must_use]
    pub fn new(mut memory: M, bounds: Weight) -> Self {
        assert!(memory.make_room(Self::words_for(0)), "words for a slab");
        Self { memory, bounds, policy: PhantomData }
    }

    /// The words that so many entries need.
    #[must_use]
    pub const fn words_for(entries: u32) -> usize {
        HEAD + (P::HEAD as usize + entries as usize) * ROW
    }

    /// Whether an entry of that weight fits at all, were it alone.
    #[must_use]
    pub const fn admits(&self, weight: Weight) -> bool {
        weight.fits(self.bounds)
    }

    /// Takes an entry in and says where. Others may have to go for it: see [`Self::evict`].
    /// Nothing if there is no place for it, and the memory cannot grow: see [`Self::evict_one`].
    pub fn insert(&mut self, weight: Weight) -> Option<u32> {
        let index = self.occupy()?;
        let mut used = self.used();
        used += weight;
        self.set_weight(ALL, used);
        self.set_weight(Self::row(index), weight);
        self.memory.words_mut()[COUNT] += 1;
        P::insert(&mut self.nodes(), index);
        Some(index)
    }

    /// The entry was asked for.
    pub fn touch(&mut self, index: u32) {
        self.expect(index);
        P::touch(&mut self.nodes(), index);
    }

    /// Takes the entry out.
    pub fn remove(&mut self, index: u32) {
        self.expect(index);
        P::remove(&mut self.nodes(), index);
        self.vacate(index);
    }

    /// Takes out the entry that has to go next, and says which, while together they weigh more
    /// than the bounds. To be called after each `insert` until it gives nothing.
    pub fn evict(&mut self) -> Option<u32> {
        if self.used().fits(self.bounds) { None } else { self.evict_one() }
    }

    /// Takes out the entry that has to go next whatever they weigh, and says which: for whoever
    /// lacks something else than weight. Nothing if none is in.
    pub fn evict_one(&mut self) -> Option<u32> {
        let index = P::choose(&mut self.nodes())?;
        self.remove(index);
        Some(index)
    }

    /// What all entries weigh.
    #[must_use]
    pub fn used(&self) -> Weight {
        self.weight(ALL)
    }

    /// Entries in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.words()[COUNT] as usize
    }

    /// Whether no entry is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices of all entries, in order.
    pub fn indices(&self) -> impl Iterator<Item = u32> {
        (0..self.places()).filter(|index| self.is_taken(*index))
    }

    /// Whether the words are what operations leave behind. Does not panic, whatever they are.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self) -> Result<(), Corrupt> {
        let words = self.memory.words();
        let (places, room) = (self.places(), self.room());
        if words[PLACES] != u64::from(places) {
            return Err(Corrupt::new("places beyond the memory", words[PLACES]));
        }
        if let Some(index) = (places..room).find(|index| self.is_taken(*index)) {
            return Err(Corrupt::new("in use, but beyond the places", index.into()));
        }
        let count = self.indices().count() as u32;
        if words[COUNT] != u64::from(count) {
            return Err(Corrupt::new("not the count of the entries", words[COUNT]));
        }
        for part in [BYTES, DESCRIPTORS] {
            let weights = self.indices().map(|index| u128::from(words[Self::row(index) + part]));
            if weights.sum::<u128>() != u128::from(words[ALL + part]) {
                return Err(Corrupt::new("not the sum of the weights", words[ALL + part]));
            }
        }
        self.check_vacant(places - count)?;
        P::check(&Nodes::new(&words[HEAD + NODE..], ROW), count)
    }

    /// Whether so many rows are in the chain of vacant ones.
    fn check_vacant(&self, count: u32) -> Result<(), Corrupt> {
        let words = self.memory.words();
        let is_vacant = |index: &u32| *index < self.places() && !self.is_taken(*index);
        let mut next = words[VACANT];
        for _ in 0..count {
            let index = next.checked_sub(1).and_then(|index| u32::try_from(index).ok());
            let Some(index) = index.filter(is_vacant) else {
                return Err(Corrupt::new("not vacant, but in that chain", next));
            };
            next = words[Self::row(index) + NEXT];
        }
        if next == 0 { Ok(()) } else { Err(Corrupt::new("more in the chain than vacant", next)) }
    }

    /// Takes a row out of the chain of vacant ones, or one that never was taken.
    fn occupy(&mut self) -> Option<u32> {
        let words = self.memory.words();
        let vacant = words[VACANT].checked_sub(1);
        let index = u32::try_from(vacant.unwrap_or(words[PLACES])).ok();
        let index = index.filter(|index| *index < ENTRIES_MAX)?;
        if !self.memory.make_room(Self::words_for(index + 1)) {
            return None;
        }
        assert!(!self.is_taken(index), "an entry at {index} already");
        let words = self.memory.words_mut();
        match vacant {
            Some(_) => words[VACANT] = words[Self::row(index) + NEXT],
            None => words[PLACES] += 1,
        }
        Some(index)
    }

    /// Puts a row, which the policy has forgotten, into that chain.
    fn vacate(&mut self, index: u32) {
        let row = Self::row(index);
        let mut used = self.used();
        used -= self.weight(row);
        self.set_weight(ALL, used);
        let words = self.memory.words_mut();
        words[row + NEXT] = mem::replace(&mut words[VACANT], u64::from(index) + 1);
        words[COUNT] -= 1;
    }

    fn weight(&self, row: usize) -> Weight {
        let words = self.memory.words();
        Weight { bytes: words[row + BYTES], descriptors: words[row + DESCRIPTORS] }
    }

    fn set_weight(&mut self, row: usize, weight: Weight) {
        let words = self.memory.words_mut();
        words[row + BYTES] = weight.bytes;
        words[row + DESCRIPTORS] = weight.descriptors;
    }

    fn expect(&self, index: u32) {
        assert!(self.is_taken(index), "no entry at {index}");
    }

    fn is_taken(&self, index: u32) -> bool {
        self.memory.words().get(Self::row(index) + NODE).is_some_and(|node| *node != 0)
    }

    /// Rows of entries that are taken or have been, of those that there are.
    fn places(&self) -> u32 {
        self.memory.words()[PLACES].min(u64::from(self.room())) as u32
    }

    /// Rows that there are for entries.
    fn room(&self) -> u32 {
        let rows = (self.memory.words().len() - Self::words_for(0)) / ROW;
        rows.min(ENTRIES_MAX as usize) as u32
    }

    fn nodes(&mut self) -> Nodes<&mut [u64]> {
        Nodes::new(&mut self.memory.words_mut()[HEAD + NODE..], ROW)
    }

    /// Where the row of an entry begins.
    const fn row(index: u32) -> usize {
        Self::words_for(index)
    }
}
