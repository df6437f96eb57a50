use crate::Policy;
use crate::list::{Link, List};

/// Least recently used: who was asked for last stays longest.
///
/// Idea: entries stand in a row; whoever is asked for goes to the front, whoever stands last goes.
/// Source: Pai99 (Flash) section 5.4, which keeps mapped files that nobody uses in such a row; the
/// first of the caching strategies that JAWS97 names. What it is bad at: one pass over many files
/// pushes everything else out.
#[derive(Debug, Default)]
pub struct Lru {
    /// The most recently used first.
    row: List,
}

impl Policy for Lru {
    type Node = Link;

    fn insert(&mut self, nodes: &mut [Link], index: u32) {
        self.row.push_first(nodes, index);
    }

    fn touch(&mut self, nodes: &mut [Link], index: u32) {
        if self.row.first() != Some(index) {
            self.row.unlink(nodes, index);
            self.row.push_first(nodes, index);
        }
    }

    fn remove(&mut self, nodes: &mut [Link], index: u32) {
        self.row.unlink(nodes, index);
    }

    fn evict(&mut self, nodes: &mut [Link]) -> Option<u32> {
        let last = self.row.last()?;
        self.row.unlink(nodes, last);
        Some(last)
    }
}
