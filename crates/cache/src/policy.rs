use core::ops::{Deref, DerefMut, Index, IndexMut};

use crate::Corrupt;

/// Decides which entry goes when room is needed.
///
/// All that a policy remembers is in [`Nodes`], so there is no value of its type. With all of them
/// zero no entry is in; the node of an entry is zero unless it is in, and is not while it is. The
/// caller names only entries that are in, or in `insert` such as are not, and none that has no
/// node.
pub trait Policy {
    /// How many nodes are the policy's own.
    const HEAD: u32;

    /// The entry at `index` comes in.
    fn insert(nodes: &mut Nodes<&mut [u64]>, index: u32);

    /// The entry at `index` was asked for.
    fn touch(nodes: &mut Nodes<&mut [u64]>, index: u32);

    /// The entry at `index` goes, chosen or not.
    fn remove(nodes: &mut Nodes<&mut [u64]>, index: u32);

    /// Chooses the entry that is to go. Nothing if there is none.
    fn choose(nodes: &mut Nodes<&mut [u64]>) -> Option<u32>;

    /// Whether the nodes are what the other functions leave behind with so many entries in. Does
    /// not panic, whatever they hold.
    ///
    /// # Errors
    /// What is wrong first.
    fn check(nodes: &Nodes<&[u64]>, count: u32) -> Result<(), Corrupt>;
}

/// The memory of a policy, in words: first [`Policy::HEAD`] of its own, then one for each entry in
/// the order of their indices.
#[derive(Debug)]
pub struct Nodes<W> {
    words: W,
    stride: usize,
}

impl<W> Nodes<W> {
    /// The first of these words and each that is a multiple of `stride` from it.
    pub(crate) const fn new(words: W, stride: usize) -> Self {
        Self { words, stride }
    }
}

impl<W: Deref<Target = [u64]>> Nodes<W> {
    /// The node of that number, if there is one.
    pub fn get(&self, node: u32) -> Option<u64> {
        self.words.get(node as usize * self.stride).copied()
    }
}

impl<W: Deref<Target = [u64]>> Index<u32> for Nodes<W> {
    type Output = u64;

    fn index(&self, node: u32) -> &u64 {
        &self.words[node as usize * self.stride]
    }
}

impl<W: DerefMut<Target = [u64]>> IndexMut<u32> for Nodes<W> {
    fn index_mut(&mut self, node: u32) -> &mut u64 {
        &mut self.words[node as usize * self.stride]
    }
}
