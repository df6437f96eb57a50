use core::ops::{Deref, DerefMut, Index, IndexMut};

use crate::Weight;

/// The memory of a policy: nodes of so many words each, first those of its own, then one for each
/// entry in the order of their indices.
///
/// The first word of an entry's node is the policy's; it is zero unless the entry is in. Then come
/// the entry's bytes and descriptors, which the slab writes and the policy only reads; then, from
/// [`OWN`] on, as many words of the policy's as it asks for. These are not tidied up when an entry
/// goes. In a node of the policy's own all words are the policy's.
#[derive(Debug)]
pub struct State<W> {
    words: W,
    stride: usize,
    bounds: Weight,
    newest: Option<u32>,
}

/// The first of a node's words that a policy asks for.
pub const OWN: usize = 3;

// Before the nodes stand the words of the slab.

/// Bytes and descriptors: of all entries at the beginning, of one in its node.
pub(crate) const BYTES: usize = 1;
pub(crate) const DESCRIPTORS: usize = 2;
/// Entries in.
pub(crate) const COUNT: usize = 3;
/// Nodes of entries that are taken, or have been: all up to the last.
pub(crate) const PLACES: usize = 4;
/// The first of the chain of vacant nodes.
pub(crate) const VACANT: usize = 5;
/// Where the nodes begin.
pub(crate) const HEAD: usize = 6;

impl<W> State<W> {
    pub(crate) const fn new(words: W, stride: usize, bounds: Weight, newest: Option<u32>) -> Self {
        Self { words, stride, bounds, newest }
    }

    /// The node of who came last and has others go for him: to policies that make room before
    /// somebody comes he is not in yet.
    pub const fn newest(&self) -> Option<u32> {
        self.newest
    }

    /// What all entries may weigh.
    pub const fn bounds(&self) -> Weight {
        self.bounds
    }

    const fn place(&self, node: u32, word: usize) -> usize {
        HEAD + node as usize * self.stride + word
    }
}

impl<W: Deref<Target = [u64]>> State<W> {
    /// The word of a node, if there is one.
    pub fn get(&self, node: u32, word: usize) -> Option<u64> {
        self.words.get(self.place(node, word)).copied()
    }

    /// What an entry weighs; of a node of the policy's own, what it has written there.
    pub fn weight(&self, node: u32) -> Weight {
        Weight { bytes: self[(node, BYTES)], descriptors: self[(node, DESCRIPTORS)] }
    }

    /// Entries that are in or have been at the same time: all indices are below.
    pub fn places(&self) -> u32 {
        self.words[PLACES] as u32
    }
}

impl<W: DerefMut<Target = [u64]>> State<W> {
    /// Of a node of the policy's own: what together weigh those that it counts there.
    pub fn set_weight(&mut self, node: u32, weight: Weight) {
        self[(node, BYTES)] = weight.bytes;
        self[(node, DESCRIPTORS)] = weight.descriptors;
    }
}

/// The first word of a node.
impl<W: Deref<Target = [u64]>> Index<u32> for State<W> {
    type Output = u64;

    fn index(&self, node: u32) -> &u64 {
        &self.words[self.place(node, 0)]
    }
}

impl<W: DerefMut<Target = [u64]>> IndexMut<u32> for State<W> {
    fn index_mut(&mut self, node: u32) -> &mut u64 {
        let place = self.place(node, 0);
        &mut self.words[place]
    }
}

/// That word of a node.
impl<W: Deref<Target = [u64]>> Index<(u32, usize)> for State<W> {
    type Output = u64;

    fn index(&self, (node, word): (u32, usize)) -> &u64 {
        &self.words[self.place(node, word)]
    }
}

impl<W: DerefMut<Target = [u64]>> IndexMut<(u32, usize)> for State<W> {
    fn index_mut(&mut self, (node, word): (u32, usize)) -> &mut u64 {
        let place = self.place(node, word);
        &mut self.words[place]
    }
}
