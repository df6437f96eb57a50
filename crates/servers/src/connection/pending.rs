//! One load for a name: whoever asks for what is being loaded already waits with the first.

use std::collections::HashMap;

use h1::{Lookup, Tag};

/// The names that are being loaded for the connections of one loop, and who waits for each.
pub(crate) struct Pending {
    loads: HashMap<Lookup, Vec<(u64, Tag)>>,
    /// Of all names.
    waiting: usize,
    waiting_max: usize,
}

/// What becomes of who asks for a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Nobody loads it: it is this one's to load.
    First,
    /// It will hear what the first one hears.
    Waits,
    /// Too many wait already.
    Full,
}

impl Pending {
    /// Nothing is being loaded; `waiting_max` may wait beside those who load.
    pub(crate) fn new(waiting_max: usize) -> Self {
        Self { loads: HashMap::new(), waiting: 0, waiting_max }
    }

    pub(crate) fn join(&mut self, lookup: &Lookup, token: u64, tag: Tag) -> Joined {
        let Some(waiting) = self.loads.get_mut(lookup) else {
            self.loads.insert(lookup.clone(), Vec::new());
            return Joined::First;
        };
        if self.waiting >= self.waiting_max {
            return Joined::Full;
        }
        waiting.push((token, tag));
        self.waiting += 1;
        Joined::Waits
    }

    /// It is loaded, or will not be; who waits for it beside the first.
    pub(crate) fn ended(&mut self, lookup: &Lookup) -> Vec<(u64, Tag)> {
        let waiting = self.loads.remove(lookup).unwrap_or_default();
        self.waiting -= waiting.len();
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use h1::Codings;

    fn lookup(path: &str) -> Lookup {
        let path = path.as_bytes().into();
        Lookup { root: 0, path, codings: Codings::default(), credentials: None }
    }

    #[test]
    fn one_loads_and_the_others_wait() {
        let mut pending = Pending::new(2);
        let mut join = |path, token| pending.join(&lookup(path), token, Tag(0));
        assert_eq!([join("/a", 1), join("/a", 2), join("/b", 3)], {
            [Joined::First, Joined::Waits, Joined::First]
        });
        assert_eq!([join("/b", 4), join("/a", 5)], [Joined::Waits, Joined::Full]);
        assert_eq!(pending.ended(&lookup("/a")), [(2, Tag(0))]);
        assert_eq!(pending.join(&lookup("/a"), 6, Tag(0)), Joined::First, "it is over");
        assert_eq!(pending.join(&lookup("/b"), 7, Tag(1)), Joined::Waits, "there is room again");
        assert_eq!(pending.ended(&lookup("/b")), [(4, Tag(0)), (7, Tag(1))]);
    }
}
