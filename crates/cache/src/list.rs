/// The end of every list: no entry has this index.
pub(crate) const NONE: u32 = u32::MAX;

/// The neighbours of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    before: u32,
    after: u32,
}

/// A doubly linked list through a slice of [`Link`]s: every operation takes constant time.
#[derive(Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) fn push_first(&mut self, links: &mut [Link], index: u32) {
        links[index as usize] = Link { before: NONE, after: self.first };
        match self.first {
            NONE => self.last = index,
            first => links[first as usize].before = index,
        }
        self.first = index;
    }

    pub(crate) fn unlink(&mut self, links: &mut [Link], index: u32) {
        let Link { before, after } = links[index as usize];
        match before {
            NONE => self.first = after,
            before => links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => links[after as usize].before = before,
        }
    }

    pub(crate) const fn first(&self) -> Option<u32> {
        if self.first == NONE { None } else { Some(self.first) }
    }

    pub(crate) const fn last(&self) -> Option<u32> {
        if self.last == NONE { None } else { Some(self.last) }
    }
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Default for Link {
    fn default() -> Self {
        Self { before: NONE, after: NONE }
    }
}
