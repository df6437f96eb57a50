use crate::{Corrupt, State, Weight};

/// Entries that are looked at for one that goes, at most. Who was asked for again and again is
/// passed over; where that are all, the one who would be next goes. A thousand take 10 to 100 µs,
/// by what the processor has of them, and so many in a row were asked for only where nearly all
/// were.
pub const STEPS_MAX: u32 = 1 << 10;

/// An entry that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Of its name. Whoever comes again is known by it, so all of its bits are to be mixed well.
    pub hash: u64,
    /// What it takes.
    pub weight: Weight,
    /// What it is to a policy that makes differences: see [`crate::Class`].
    pub class: u32,
}

/// Decides which entry goes when room is needed, and which may come.
///
/// All that a policy remembers of entries is in the [`State`]: with all of it zero, none is in. The
/// caller names only entries that are in, or in `insert` such as are not, and none that has no
/// node. No function walks further than [`STEPS_MAX`] entries, but for `check`.
pub trait Policy {
    /// How many nodes are the policy's own.
    fn heads(&self) -> u32;

    /// How many words it needs in each node besides the first.
    fn words(&self) -> usize;

    /// Whether it lets that entry come.
    fn admits(&self, _arrival: &Arrival) -> bool {
        true
    }

    /// The entry at `index` comes in.
    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival);

    /// The entry at `index` was asked for.
    fn touch(&self, state: &mut State<&mut [u64]>, index: u32);

    /// The entry at `index` goes, because its user takes it out.
    fn remove(&self, state: &mut State<&mut [u64]>, index: u32);

    /// The entry at `index` goes, because it was chosen.
    fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
        self.remove(state, index);
    }

    /// Chooses the entry that is to go. Nothing if there is none.
    ///
    /// `hear` tells how often an entry was asked for that the policy was not told of by `touch`,
    /// since it was asked for that entry last: so that whoever finds an entry need not write where
    /// others read. A policy makes use of it if its [`crate::PolicyKind::hits_are_local`].
    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32>;

    /// Whether the state is what the other functions leave behind with so many entries in. Does
    /// not panic, whatever it is.
    ///
    /// # Errors
    /// What is wrong first.
    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt>;
}
