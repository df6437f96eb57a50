use crate::{Corrupt, Nodes, Policy};

/// Least recently used: who was asked for last stays longest.
///
/// Idea: entries stand in a row; whoever is asked for goes to the front, whoever stands last goes.
/// Source: Pai99 (Flash) section 5.4, which keeps mapped files that nobody uses in such a row; the
/// first of the caching strategies that JAWS97 names. What it is bad at: one pass over many files
/// pushes everything else out.
///
/// The row is closed to a ring by a node that is no entry's: the first one stands after it, the
/// last one before it, so that nobody is without neighbours. A node holds how the numbers of its
/// neighbours differ from its own (by exclusive or). So one that is alone is zero: the ring of an
/// empty row, and an entry that is not in.
#[derive(Debug)]
pub enum Lru {}

/// The node that closes the ring.
const ENDS: u32 = 0;

impl Policy for Lru {
    const HEAD: u32 = 1;

    fn insert(nodes: &mut Nodes<&mut [u64]>, index: u32) {
        join(nodes, Self::HEAD + index);
    }

    fn touch(nodes: &mut Nodes<&mut [u64]>, index: u32) {
        let node = Self::HEAD + index;
        if Link::of(ENDS, nodes[ENDS]).after != node {
            leave(nodes, node);
            join(nodes, node);
        }
    }

    fn remove(nodes: &mut Nodes<&mut [u64]>, index: u32) {
        leave(nodes, Self::HEAD + index);
    }

    fn choose(nodes: &mut Nodes<&mut [u64]>) -> Option<u32> {
        Link::of(ENDS, nodes[ENDS]).before.checked_sub(Self::HEAD)
    }

    fn check(nodes: &Nodes<&[u64]>, count: u32) -> Result<(), Corrupt> {
        // Whoever is known by the one before him is not met twice, so this many are all.
        let mut node = ENDS;
        for _ in 0..count {
            node = next(nodes, node)?;
            if node == ENDS {
                return Err(Corrupt::new("more entries than in the row", count.into()));
            }
        }
        match next(nodes, node)? {
            ENDS => Ok(()),
            node => Err(Corrupt::new("in the row after all entries", node.into())),
        }
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

/// Goes to the front.
fn join(nodes: &mut Nodes<&mut [u64]>, node: u32) {
    let first = Link::of(ENDS, nodes[ENDS]).after;
    nodes[node] = Link { before: ENDS, after: first }.word(node);
    replace_after(nodes, ENDS, first, node);
    replace_before(nodes, first, ENDS, node);
}

fn leave(nodes: &mut Nodes<&mut [u64]>, node: u32) {
    let Link { before, after } = Link::of(node, nodes[node]);
    replace_after(nodes, before, node, after);
    replace_before(nodes, after, node, before);
    nodes[node] = 0;
}

/// A node has another one before it now.
fn replace_before(nodes: &mut Nodes<&mut [u64]>, node: u32, old: u32, new: u32) {
    nodes[node] ^= u64::from(old ^ new);
}

fn replace_after(nodes: &mut Nodes<&mut [u64]>, node: u32, old: u32, new: u32) {
    nodes[node] ^= u64::from(old ^ new) << 32;
}

/// The node after that one, if each of them knows the other.
fn next(nodes: &Nodes<&[u64]>, node: u32) -> Result<u32, Corrupt> {
    let link = |node| nodes.get(node).map(|word| Link::of(node, word));
    let after = link(node).map(|link| link.after);
    let known = after.filter(|after| link(*after).is_some_and(|link| link.before == node));
    known.ok_or(Corrupt::new("unknown to the next in the row", node.into()))
}
