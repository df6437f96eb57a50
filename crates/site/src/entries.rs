use std::mem::{self, size_of};
use std::time::Duration;

use cache::{Slab, Weight};
use h1::{Codings, Shared};
use hashbrown::HashTable;
use measure::Instant;

/// While somebody looks whether an entry still holds, the others get it until it is so many times
/// as old as entries usually become. A disk that takes longer is out of order; who asks then waits
/// for it, and hears so.
const AGES_MAX: u32 = 10;

/// Answers of one kind under their names, bounded by weight; the least recently used goes.
pub(crate) struct Entries<T> {
    /// Indices into the slab, by hash.
    table: HashTable<u32>,
    slab: Slab<Vec<u64>>,
    /// What the slab has under each index.
    entries: Vec<Option<Entry<T>>>,
}

pub(crate) struct Entry<T> {
    hash: u64,
    root: u32,
    pub(crate) path: Shared<[u8]>,
    /// The client's codings that it answers; nothing: it answers whatever they are.
    pub(crate) codings: Option<Codings>,
    /// When the disk was last asked.
    checked: Instant,
    /// Whether somebody is asking it now.
    is_looked_for: bool,
    pub(crate) value: T,
}

/// What an entry is looked up by.
pub(crate) struct Key<'k, C: Fn() -> Codings> {
    pub(crate) hash: u64,
    pub(crate) root: u32,
    pub(crate) path: &'k [u8],
    /// Asked only where an answer depends on it: most do not, and reading them costs time.
    pub(crate) codings: C,
}

impl<T> Entries<T> {
    pub(crate) fn new(bounds: Weight) -> Self {
        let slab = Slab::new(Vec::new(), bounds);
        Self { table: HashTable::new(), slab, entries: Vec::new() }
    }

    pub(crate) fn find<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<u32> {
        let is_meant = |index: &u32| {
            let entry = at(&self.entries, *index);
            entry.path[..] == *key.path
                && entry.root == key.root
                && entry.codings.is_none_or(|codings| codings == (key.codings)())
        };
        self.table.find(key.hash, is_meant).copied()
    }

    pub(crate) fn entry(&mut self, index: u32) -> &mut Entry<T> {
        self.entries[index as usize].as_mut().expect(HELD)
    }

    /// The entry was asked for.
    pub(crate) fn touch(&mut self, index: u32) {
        self.slab.touch(index);
    }

    /// Takes an entry in, if it fits at all, and lets go who must go for it. What has gone is
    /// returned, so that the caller can drop it where no lock is held.
    pub(crate) fn insert(&mut self, entry: Entry<T>, weight: Weight) -> Vec<Entry<T>> {
        let weight = Weight { bytes: weight.bytes + entry.bytes(), ..weight };
        if !self.slab.admits(weight) {
            return vec![entry];
        }
        let hash = entry.hash;
        let index = self.slab.insert(weight).expect("memory that grows has room");
        match self.entries.get_mut(index as usize) {
            Some(vacant) => *vacant = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.table.insert_unique(hash, index, |index| at(&self.entries, *index).hash);
        let mut gone = Vec::new();
        while let Some(index) = self.slab.evict() {
            gone.push(self.take(index));
        }
        gone
    }

    pub(crate) fn remove(&mut self, index: u32) -> Entry<T> {
        self.slab.remove(index);
        self.take(index)
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn used(&self) -> Weight {
        self.slab.used()
    }

    /// Takes out what the slab has let go.
    fn take(&mut self, index: u32) -> Entry<T> {
        let entry = self.entries[index as usize].take().expect(HELD);
        let named = self.table.find_entry(entry.hash, |other| *other == index);
        named.expect("what the slab holds has a name").remove();
        entry
    }
}

const HELD: &str = "what the slab holds is here";

fn at<T>(entries: &[Option<Entry<T>>], index: u32) -> &Entry<T> {
    entries[index as usize].as_ref().expect(HELD)
}

/// See [`Entry::answers`], of one that was checked then.
pub(crate) fn answers(
    checked: Instant,
    is_looked_for: &mut bool,
    age: Duration,
    now: Instant,
) -> bool {
    let since = now.since(checked);
    if since < age {
        return true;
    }
    let somebody_looks = mem::replace(is_looked_for, true);
    somebody_looks && since < age.saturating_mul(AGES_MAX)
}

impl<T> Entry<T> {
    pub(crate) fn new<C: Fn() -> Codings>(
        key: &Key<'_, C>,
        path: Shared<[u8]>,
        codings: Option<Codings>,
        checked: Instant,
        value: T,
    ) -> Self {
        let (hash, root) = (key.hash, key.root);
        Self { hash, root, path, codings, checked, is_looked_for: false, value }
    }

    /// Whether it answers whoever asks now. Of those who come when it is of that age, the first is
    /// to look.
    pub(crate) fn answers(&mut self, age: Duration, now: Instant) -> bool {
        answers(self.checked, &mut self.is_looked_for, age, now)
    }

    /// The disk still says the same.
    pub(crate) fn hold(&mut self, now: Instant) {
        self.checked = now;
        self.is_looked_for = false;
    }

    /// Who was to look does not come back; the next one is to.
    pub(crate) fn give_up(&mut self) {
        self.is_looked_for = false;
    }

    /// Memory that its name takes.
    fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.path.len()) as u64
    }
}
