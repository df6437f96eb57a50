/// Decides which entry goes when room is needed.
///
/// What a policy remembers of the entry at `index` is `nodes[index]`; what it remembers of all of
/// them is `self`. Both are plain data. The caller keeps `nodes` at least as long as the largest
/// index it names, and names only entries that are in, save in `insert`.
pub trait Policy: Default {
    /// What is remembered of one entry.
    type Node: Copy + Default;

    /// The entry at `index` comes in.
    fn insert(&mut self, nodes: &mut [Self::Node], index: u32);

    /// The entry at `index` was asked for.
    fn touch(&mut self, nodes: &mut [Self::Node], index: u32);

    /// The entry at `index` goes, by somebody else's decision.
    fn remove(&mut self, nodes: &mut [Self::Node], index: u32);

    /// Chooses the entry that goes, and forgets it. Nothing if there is none.
    fn evict(&mut self, nodes: &mut [Self::Node]) -> Option<u32>;
}
