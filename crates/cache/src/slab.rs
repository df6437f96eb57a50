use core::mem;

use crate::state::{BYTES, COUNT, DESCRIPTORS, HEAD, OWN, PLACES, VACANT};
use crate::{Arrival, Corrupt, Lru, Memory, Policy, State, Weight};

/// Entries under stable `u32` indices, weighed together, with a policy that says who goes.
///
/// What an entry is, its user keeps under its index. An index stays valid until its entry is
/// removed or evicted and is then given to a later one. Every method that is given the index of an
/// entry panics if there is none at it: that is a mistake of the caller's.
///
/// All that is remembered is in the memory, but for who came last: a slab over lent memory is made
/// anew for each loan, in which whoever takes an entry in lets go who has to. The memory is six
/// words, of which the first three are a node that has the weight of all entries; then come the
/// nodes of a [`State`].
#[derive(Debug, Clone)]
pub struct Slab<M, P = Lru> {
    memory: M,
    bounds: Weight,
    policy: P,
    /// Words of a node.
    stride: usize,
    /// Where the nodes of entries begin.
    first: usize,
    /// Who came last, while he is in: others go for him.
    newest: Option<u32>,
}

/// Entries there can be: half of what a `u32` numbers, so that a policy can number its own nodes
/// with them.
const ENTRIES_MAX: u32 = 1 << 31;

/// The node that weighs all entries.
const ALL: usize = 0;
/// The policy's word of a node. It is zero in a vacant one, and only there.
const NODE: usize = 0;
/// In a vacant node: the next of their chain, as its index + 1; 0 ends the chain.
const NEXT: usize = BYTES;

impl<M: Memory, P: Policy> Slab<M, P> {
    /// The entries that these words hold, none if they are zero, which are to weigh no more than
    /// `bounds` together.
    ///
    /// # Panics
    /// If the memory has fewer words than no entries need and cannot grow.
    #[must_use]
    pub fn new(mut memory: M, bounds: Weight, policy: P) -> Self {
        assert!(memory.make_room(Self::words_for(&policy, 0)), "words for a slab");
        let first = Self::words_for(&policy, 0);
        let stride = OWN + policy.words();
        Self { memory, bounds, policy, stride, first, newest: None }
    }

    /// The words that so many entries need with that policy.
    #[must_use]
    pub fn words_for(policy: &P, entries: u32) -> usize {
        HEAD + (policy.heads() as usize + entries as usize) * (OWN + policy.words())
    }

    /// Whether the policy lets an entry come, and it fits at all, were it alone.
    #[must_use]
    pub fn admits(&self, arrival: &Arrival) -> bool {
        arrival.weight.fits(self.bounds) && self.policy.admits(arrival)
    }

    /// From now on all may weigh so much. If that is less, some may have to go: see
    /// [`Self::evict`].
    pub const fn set_bounds(&mut self, bounds: Weight) {
        self.bounds = bounds;
    }

    /// Takes an entry in and says where. Others may have to go for it, or it for others: see
    /// [`Self::evict`]. Nothing if there is no place for it, and the memory cannot grow: see
    /// [`Self::evict_one`].
    pub fn insert(&mut self, arrival: &Arrival) -> Option<u32> {
        let index = self.occupy()?;
        let mut used = self.used();
        used += arrival.weight;
        self.set_weight(ALL, used);
        self.set_weight(self.place(index), arrival.weight);
        self.memory.words_mut()[COUNT] += 1;
        let (policy, mut state) = self.state();
        policy.insert(&mut state, index, arrival);
        self.newest = Some(index);
        Some(index)
    }

    /// The entry was asked for.
    pub fn touch(&mut self, index: u32) {
        self.expect(index);
        let (policy, mut state) = self.state();
        policy.touch(&mut state, index);
    }

    /// Takes the entry out.
    pub fn remove(&mut self, index: u32) {
        self.expect(index);
        let (policy, mut state) = self.state();
        policy.remove(&mut state, index);
        self.vacate(index);
    }

    /// Takes out the entry that has to go next, and says which, while together they weigh more
    /// than the bounds. To be called after each `insert` until it gives nothing.
    pub fn evict(&mut self) -> Option<u32> {
        self.evict_hearing(|_| 0)
    }

    /// The same, where some hits were not told by [`Self::touch`]: see [`Policy::choose`].
    pub fn evict_hearing(&mut self, hear: impl FnMut(u32) -> u32) -> Option<u32> {
        if self.used().fits(self.bounds) {
            self.newest = None;
            return None;
        }
        self.evict_next(hear)
    }

    /// Takes out the entry that has to go next whatever they weigh, and says which: for whoever
    /// lacks something else than weight. Nothing if none is in.
    pub fn evict_one(&mut self) -> Option<u32> {
        self.evict_next(|_| 0)
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
            let weights = self.indices().map(|index| u128::from(words[self.place(index) + part]));
            if weights.sum::<u128>() != u128::from(words[ALL + part]) {
                return Err(Corrupt::new("not the sum of the weights", words[ALL + part]));
            }
        }
        self.check_vacant(places - count)?;
        self.policy.check(&State::new(words, self.stride, self.bounds, None), count)
    }

    /// Whether so many nodes are in the chain of vacant ones.
    fn check_vacant(&self, count: u32) -> Result<(), Corrupt> {
        let words = self.memory.words();
        let is_vacant = |index: &u32| *index < self.places() && !self.is_taken(*index);
        let mut next = words[VACANT];
        for _ in 0..count {
            let index = next.checked_sub(1).and_then(|index| u32::try_from(index).ok());
            let Some(index) = index.filter(is_vacant) else {
                return Err(Corrupt::new("not vacant, but in that chain", next));
            };
            next = words[self.place(index) + NEXT];
        }
        if next == 0 { Ok(()) } else { Err(Corrupt::new("more in the chain than vacant", next)) }
    }

    fn evict_next(&mut self, mut hear: impl FnMut(u32) -> u32) -> Option<u32> {
        let (policy, mut state) = self.state();
        let index = policy.choose(&mut state, &mut hear)?;
        self.expect(index);
        let (policy, mut state) = self.state();
        policy.evict(&mut state, index);
        self.vacate(index);
        Some(index)
    }

    /// Takes a node out of the chain of vacant ones, or one that never was taken.
    fn occupy(&mut self) -> Option<u32> {
        let words = self.memory.words();
        let vacant = words[VACANT].checked_sub(1);
        let index = u32::try_from(vacant.unwrap_or(words[PLACES])).ok();
        let index = index.filter(|index| *index < ENTRIES_MAX)?;
        if !self.memory.make_room(self.place(index + 1)) {
            return None;
        }
        assert!(!self.is_taken(index), "an entry at {index} already");
        let place = self.place(index);
        let words = self.memory.words_mut();
        match vacant {
            Some(_) => words[VACANT] = words[place + NEXT],
            None => words[PLACES] += 1,
        }
        Some(index)
    }

    /// Puts a node, which the policy has forgotten, into that chain.
    fn vacate(&mut self, index: u32) {
        self.newest.take_if(|newest| *newest == index);
        let place = self.place(index);
        let mut used = self.used();
        used -= self.weight(place);
        self.set_weight(ALL, used);
        let words = self.memory.words_mut();
        words[place + NEXT] = mem::replace(&mut words[VACANT], u64::from(index) + 1);
        words[COUNT] -= 1;
    }

    fn weight(&self, node: usize) -> Weight {
        let words = self.memory.words();
        Weight { bytes: words[node + BYTES], descriptors: words[node + DESCRIPTORS] }
    }

    fn set_weight(&mut self, node: usize, weight: Weight) {
        let words = self.memory.words_mut();
        words[node + BYTES] = weight.bytes;
        words[node + DESCRIPTORS] = weight.descriptors;
    }

    fn expect(&self, index: u32) {
        assert!(self.is_taken(index), "no entry at {index}");
    }

    fn is_taken(&self, index: u32) -> bool {
        self.memory.words().get(self.place(index) + NODE).is_some_and(|node| *node != 0)
    }

    /// Nodes of entries that are taken or have been, of those that there are.
    fn places(&self) -> u32 {
        self.memory.words()[PLACES].min(u64::from(self.room())) as u32
    }

    /// Nodes that there are for entries.
    fn room(&self) -> u32 {
        let nodes = (self.memory.words().len() - self.first) / self.stride;
        nodes.min(ENTRIES_MAX as usize) as u32
    }

    fn state(&mut self) -> (&P, State<&mut [u64]>) {
        let newest = self.newest.map(|index| self.policy.heads() + index);
        (&self.policy, State::new(self.memory.words_mut(), self.stride, self.bounds, newest))
    }

    /// Where the node of an entry begins.
    fn place(&self, index: u32) -> usize {
        self.first + index as usize * self.stride
    }
}
