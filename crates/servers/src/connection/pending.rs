//! One load for a name: whoever asks for what is being loaded already waits with the first.

use std::collections::HashMap;

use h1::Lookup;

/// The names that are being loaded, and who waits for each.
pub(crate) struct Pending<W> {
    loads: HashMap<Lookup, Vec<W>>,
    /// Of all names.
    waiting: usize,
    waiting_max: usize,
}

/// What becomes of who asks for a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined<W> {
    /// Nobody loads it: it is this one's to load.
    First(W),
    /// It will hear what the first one hears.
    Waits,
    /// Too many wait already.
    Full(W),
}

impl<W> Pending<W> {
    /// Nothing is being loaded; `waiting_max` may wait beside those who load.
    pub(crate) fn new(waiting_max: usize) -> Self {
        Self { loads: HashMap::new(), waiting: 0, waiting_max }
    }

    /// Whether that name is being loaded.
    pub(crate) fn has(&self, lookup: &Lookup) -> bool {
        self.loads.contains_key(lookup)
    }

    pub(crate) fn join(&mut self, lookup: &Lookup, who: W) -> Joined<W> {
        let Some(waiting) = self.loads.get_mut(lookup) else {
            self.loads.insert(lookup.clone(), Vec::new());
            return Joined::First(who);
        };
        if self.waiting >= self.waiting_max {
            return Joined::Full(who);
        }
        waiting.push(who);
        self.waiting += 1;
        Joined::Waits
    }

    /// Takes out the one that has waited longest for a name.
    pub(crate) fn next(&mut self, lookup: &Lookup) -> Option<W> {
        let waiting = self.loads.get_mut(lookup).filter(|waiting| !waiting.is_empty())?;
        self.waiting -= 1;
        Some(waiting.remove(0))
    }

    /// It is loaded, or will not be; who waits for it beside the first.
    pub(crate) fn ended(&mut self, lookup: &Lookup) -> Vec<W> {
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
        let mut join = |path, who| pending.join(&lookup(path), who);
        assert_eq!([join("/a", 1), join("/a", 2), join("/b", 3)], {
            [Joined::First(1), Joined::Waits, Joined::First(3)]
        });
        assert_eq!([join("/b", 4), join("/a", 5)], [Joined::Waits, Joined::Full(5)]);
        assert_eq!(pending.ended(&lookup("/a")), [2]);
        assert_eq!(pending.join(&lookup("/a"), 6), Joined::First(6), "it is over");
        assert_eq!(pending.join(&lookup("/b"), 7), Joined::Waits, "there is room again");
        assert_eq!(pending.next(&lookup("/b")), Some(4), "in the order in which they came");
        assert_eq!(pending.ended(&lookup("/b")), [7]);
        assert_eq!(pending.join(&lookup("/c"), 8), Joined::First(8));
        assert_eq!(pending.next(&lookup("/c")), None, "none waits beside the first");
        assert_eq!(pending.join(&lookup("/c"), 9), Joined::Waits, "it is still being loaded");
    }
}
