//! Entries in a row, closed to a ring by a node that is no entry's: the first one stands after it,
//! the last one before it, so that nobody is without neighbours.
//!
//! A word holds how the numbers of a node's neighbours differ from its own (by exclusive or). So
//! one that is alone is zero: the end of an empty row, and an entry that is not in.

use crate::{Corrupt, State};

type Words<'w> = State<&'w mut [u64]>;

/// The row that a node closes, with its links in one word of all nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub(crate) end: u32,
    pub(crate) word: usize,
}

/// Links in the first words, which tell that an entry is in.
pub(crate) const fn ring(end: u32) -> Ring {
    Ring { end, word: 0 }
}

impl Ring {
    /// Goes to the front.
    pub(crate) fn join(self, state: &mut Words<'_>, node: u32) {
        let first = self.first(state);
        state[(node, self.word)] = Link { before: self.end, after: first }.word(node);
        state[(self.end, self.word)] ^= u64::from(first ^ node) << 32;
        state[(first, self.word)] ^= u64::from(self.end ^ node);
    }

    pub(crate) fn leave(self, state: &mut Words<'_>, node: u32) {
        let Link { before, after } = Link::of(node, state[(node, self.word)]);
        state[(before, self.word)] ^= u64::from(node ^ after) << 32;
        state[(after, self.word)] ^= u64::from(node ^ before);
        state[(node, self.word)] = 0;
    }

    /// Moves to the front.
    pub(crate) fn renew(self, state: &mut Words<'_>, node: u32) {
        if self.first(state) != node {
            self.leave(state, node);
            self.join(state, node);
        }
    }

    /// The node at the front; the end if there is none.
    pub(crate) fn first(self, state: &Words<'_>) -> u32 {
        Link::of(self.end, state[(self.end, self.word)]).after
    }

    /// The node at the back; the end if there is none.
    pub(crate) fn last(self, state: &Words<'_>) -> u32 {
        self.before(state, self.end)
    }

    /// The node at the back, of all but that one; the end if there is none.
    pub(crate) fn last_but(self, state: &Words<'_>, but: Option<u32>) -> u32 {
        match self.last(state) {
            last if Some(last) == but => self.before(state, last),
            last => last,
        }
    }

    /// The node before that one, which is nearer to the front.
    pub(crate) fn before(self, state: &Words<'_>, node: u32) -> u32 {
        Link::of(node, state[(node, self.word)]).before
    }

    /// Goes to the front, and is weighed with all in this row.
    pub(crate) fn enter(self, state: &mut Words<'_>, node: u32) {
        let mut sum = state.weight(self.end);
        sum += state.weight(node);
        state.set_weight(self.end, sum);
        self.join(state, node);
    }

    /// Leaves, and is weighed with them no more.
    pub(crate) fn exit(self, state: &mut Words<'_>, node: u32) {
        let mut sum = state.weight(self.end);
        sum -= state.weight(node);
        state.set_weight(self.end, sum);
        self.leave(state, node);
    }

    /// Calls `visit` for each node in the row, of which there are `most` at most, none of the first
    /// `heads`; says how many.
    ///
    /// # Errors
    /// What is wrong first, or `visit` says so.
    pub(crate) fn check(
        self,
        state: &State<&[u64]>,
        heads: u32,
        most: u32,
        mut visit: impl FnMut(u32) -> Result<(), Corrupt>,
    ) -> Result<u32, Corrupt> {
        // Whoever is known by the one before him is not met twice, so the row ends.
        let mut node = self.next(state, self.end)?;
        let mut count = 0;
        while node != self.end {
            if count == most {
                return Err(Corrupt::new("in the row after all entries", node.into()));
            }
            if node < heads {
                return Err(Corrupt::new("no entry, but in the row", node.into()));
            }
            visit(node)?;
            count += 1;
            node = self.next(state, node)?;
        }
        Ok(count)
    }

    /// The same of a row whose entries are weighed.
    ///
    /// # Errors
    /// What is wrong first, or `visit` says so.
    pub(crate) fn check_weighed(
        self,
        state: &State<&[u64]>,
        heads: u32,
        most: u32,
        mut visit: impl FnMut(u32) -> Result<(), Corrupt>,
    ) -> Result<u32, Corrupt> {
        let (mut bytes, mut descriptors) = (0_u128, 0_u128);
        let count = self.check(state, heads, most, |node| {
            let weight = state.weight(node);
            bytes += u128::from(weight.bytes);
            descriptors += u128::from(weight.descriptors);
            visit(node)
        })?;
        let sum = state.weight(self.end);
        if (bytes, descriptors) == (sum.bytes.into(), sum.descriptors.into()) {
            Ok(count)
        } else {
            Err(Corrupt::new("not the weight of the row", self.end.into()))
        }
    }

    /// The node after that one, if each of them knows the other.
    fn next(self, state: &State<&[u64]>, node: u32) -> Result<u32, Corrupt> {
        let link = |node| state.get(node, self.word).map(|word| Link::of(node, word));
        let after = link(node).map(|link| link.after);
        let known = after.filter(|after| link(*after).is_some_and(|link| link.before == node));
        known.ok_or(Corrupt::new("unknown to the next in the row", node.into()))
    }
}

/// The neighbours of a node.
struct Link {
    before: u32,
    after: u32,
}

impl Link {
    const fn of(node: u32, word: u64) -> Self {
        Self { before: node ^ word as u32, after: node ^ (word >> 32) as u32 }
    }

    const fn word(self, node: u32) -> u64 {
        (node ^ self.before) as u64 | ((node ^ self.after) as u64) << 32
    }
}

/// Whether rows that were counted hold all entries.
///
/// # Errors
/// They do not.
pub(crate) fn all(counted: u32, count: u32) -> Result<(), Corrupt> {
    if counted == count {
        Ok(())
    } else {
        Err(Corrupt::new("more entries than in the row", count.into()))
    }
}
