//! Which answers there are, in words that processes share.

use std::num::NonZeroU16;

use cache::{Arrival, Corrupt, PolicyKind, Slab, Table, Weight};

use super::row::{Row, WORDS};

/// See the head of this file; made anew for each time that the words are lent. An answer has one
/// number in all three: its name's place, its weight and turn to go, what is known of it.
pub(super) struct Index<'m> {
    names: Table<&'m mut [u64]>,
    weights: Slab<&'m mut [u64], PolicyKind>,
    rows: &'m mut [u64],
    bounds: Weight,
}

/// Of the memory so much is left for what does not fit together, so that it is mostly the policy
/// that says who goes, and when: once somebody has come.
const LEFT_OF: u64 = 16;

impl<'m> Index<'m> {
    /// Words for so many answers.
    pub(super) fn words_for(policy: PolicyKind, entries: u32) -> usize {
        let (names, weights) = parts(policy, entries);
        names + weights + entries as usize * WORDS
    }

    /// The answers that these words hold, none if they are zero.
    pub(super) fn new(
        words: &'m mut [u64],
        entries: u32,
        bounds: Weight,
        policy: PolicyKind,
    ) -> Self {
        let (names, weights) = parts(policy, entries);
        let (names, rest) = words.split_at_mut(names);
        let (weights, rows) = rest.split_at_mut(weights);
        let kept = Weight { bytes: bounds.bytes - bounds.bytes / LEFT_OF, ..bounds };
        Self {
            names: Table::new(names, entries),
            weights: Slab::new(weights, kept, policy),
            rows,
            bounds,
        }
    }

    /// What there is room for.
    pub(super) const fn bounds(&self) -> Weight {
        self.bounds
    }

    /// The answer that is meant, of those under that hash, and what is known of it.
    pub(super) fn find(
        &self,
        hash: u64,
        mut is_meant: impl FnMut(&Row) -> bool,
    ) -> Option<(u32, Row)> {
        let mut known = None;
        let at = self.names.find(hash, |at| {
            let row = self.row(at);
            known = is_meant(&row).then_some(row);
            known.is_some()
        })?;
        Some((at, known?))
    }

    /// What is known of an answer.
    ///
    /// # Panics
    /// There can be no such row: somebody has written astray.
    fn row(&self, at: u32) -> Row {
        Row::of(self.words_of(at)).expect("a row that was written as one")
    }

    /// It is known otherwise, under the same name.
    pub(super) fn set_row(&mut self, at: u32, row: &Row) {
        let words = &mut self.rows[at as usize * WORDS..][..WORDS];
        words.copy_from_slice(&row.to_words());
    }

    /// The answer was asked for.
    pub(super) fn touch(&mut self, at: u32) {
        self.weights.touch(at);
    }

    /// Whether the policy lets one come, and it fits at all, were it alone.
    pub(super) fn admits(&self, arrival: &Arrival) -> bool {
        self.weights.admits(arrival)
    }

    /// Takes an answer in; nothing: there are as many as there can be.
    pub(super) fn insert(&mut self, row: Row, arrival: &Arrival) -> Option<u32> {
        let at = self.weights.insert(arrival)?;
        self.set_row(at, &row);
        self.names.insert(row.hash, at);
        Some(at)
    }

    /// Takes an answer out.
    pub(super) fn remove(&mut self, at: u32) {
        self.weights.remove(at);
        self.unname(at);
    }

    /// Takes out who has to go next, while they weigh more than the bounds.
    pub(super) fn evict(&mut self) -> Option<Row> {
        let at = self.weights.evict()?;
        Some(self.unname(at))
    }

    /// Takes out who has to go next.
    pub(super) fn evict_one(&mut self) -> Option<Row> {
        let at = self.weights.evict_one()?;
        Some(self.unname(at))
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn used(&self) -> Weight {
        self.weights.used()
    }

    /// Whether it is what answers that came and went leave behind; `of_block` tells the bytes of a
    /// block that is there.
    ///
    /// # Errors
    /// What is wrong first.
    pub(super) fn check(
        &self,
        mut of_block: impl FnMut(u32) -> Option<usize>,
    ) -> Result<(), Corrupt> {
        self.weights.check()?;
        for at in self.weights.indices() {
            let wrong = |what| Err(Corrupt::new(what, at.into()));
            let Some(row) = Row::of(self.words_of(at)) else { return wrong("no row") };
            match of_block(row.block) {
                None => return wrong("an answer without a block"),
                Some(bytes) if !row.is_within(bytes) => return wrong("beyond its block"),
                Some(_) => {}
            }
        }
        let hash = |at: u32| self.rows.get(at as usize * WORDS).copied().unwrap_or_default();
        self.names.check(hash)
    }

    /// These look for nothing any more.
    pub(super) fn give_up(&mut self, lookers: &[NonZeroU16]) {
        let all: Vec<u32> =
            if lookers.is_empty() { vec![] } else { self.weights.indices().collect() };
        for at in all {
            let row = self.row(at);
            if row.looker.is_some_and(|looker| lookers.contains(&looker)) {
                self.set_row(at, &Row { looker: None, ..row });
            }
        }
    }

    fn unname(&mut self, at: u32) -> Row {
        let row = self.row(at);
        self.names.remove(row.hash, at);
        row
    }

    fn words_of(&self, at: u32) -> &[u64] {
        &self.rows[at as usize * WORDS..][..WORDS]
    }
}

fn parts(policy: PolicyKind, entries: u32) -> (usize, usize) {
    let names = Table::<&mut [u64]>::words_for(entries);
    (names, Slab::<&mut [u64], _>::words_for(&policy, entries))
}
