//! The caches, each behind the same few verbs.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, Hasher};
use std::mem;
use std::num::NonZeroUsize;
use std::rc::Rc;

use cache::{Arrival, Class, Policy, PolicyKind, Slab, Weight};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use quick_cache::UnitWeighter;
use quick_cache::unsync::DefaultLifecycle;

use crate::trace::{Key, Value};

/// What a server does with a cache. A miss hashes the path twice, of all alike: no crate takes a
/// hash that its user has.
pub(crate) trait Cache {
    /// The value under that path, if it is in; it was asked for.
    fn get(&mut self, path: &[u8]) -> Option<Value>;

    /// Keeps what was not in, if it may come, and lets go whoever must go for it.
    fn insert(&mut self, key: Key, value: Value);

    /// Entries in.
    fn len(&self) -> usize;
}

/// Weir's, put together as `crates/site/src/entries.rs` does.
pub(crate) struct Weir<P> {
    hasher: RandomState,
    /// Indices into the slab, by hash.
    table: HashTable<u32>,
    slab: Slab<Vec<u64>, P>,
    /// What the slab has under each index.
    entries: Vec<Option<Entry>>,
    class: Class,
    /// Whether the policy hears of hits when it looks for who is to go.
    hears_late: bool,
}

struct Entry {
    hash: u64,
    /// How often it was asked for that the policy has not heard of.
    unheard: u32,
    key: Key,
    value: Value,
}

/// Each entry is as heavy as any other.
const ONE: Weight = Weight { bytes: 1, descriptors: 0 };

impl<P: Policy> Weir<P> {
    pub(crate) fn new(policy: P, kind: PolicyKind, capacity: usize) -> Self {
        let bounds = Weight { bytes: capacity as u64, descriptors: 0 };
        let slab = Slab::new(Vec::new(), bounds, policy);
        let (hasher, table, entries) = (RandomState::default(), HashTable::new(), Vec::new());
        let (class, hears_late) = (kind.class(), kind.hits_are_local());
        Self { hasher, table, slab, entries, class, hears_late }
    }

    /// Nobody is hinted, so that [`Class::Hint`] makes one class, too.
    fn class(&self, key: &Key) -> u32 {
        match self.class {
            Class::One | Class::Hint => 0,
            Class::Directory => {
                let end = key.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                self.hasher.hash_one(&key[..end]) as u32
            }
        }
    }

    fn evict(&mut self) -> Option<u32> {
        let Self { slab, entries, .. } = self;
        slab.evict_hearing(|index| {
            mem::take(&mut entries[index as usize].as_mut().expect(HELD).unheard)
        })
    }

    /// Takes out what the slab has let go.
    fn take(&mut self, index: u32) -> Entry {
        let entry = self.entries[index as usize].take().expect(HELD);
        let named = self.table.find_entry(entry.hash, |other| *other == index);
        named.expect("what the slab holds has a name").remove();
        entry
    }
}

const HELD: &str = "what the slab holds is here";

fn at(entries: &[Option<Entry>], index: u32) -> &Entry {
    entries[index as usize].as_ref().expect(HELD)
}

impl<P: Policy> Cache for Weir<P> {
    fn get(&mut self, path: &[u8]) -> Option<Value> {
        let hash = self.hasher.hash_one(path);
        let is_meant = |index: &u32| *at(&self.entries, *index).key == *path;
        let index = *self.table.find(hash, is_meant)?;
        let entry = self.entries[index as usize].as_mut().expect(HELD);
        let value = entry.value.clone();
        if self.hears_late {
            entry.unheard = entry.unheard.saturating_add(1);
        } else {
            self.slab.touch(index);
        }
        Some(value)
    }

    fn insert(&mut self, key: Key, value: Value) {
        let hash = self.hasher.hash_one(&key[..]);
        let arrival = Arrival { hash, weight: ONE, class: self.class(&key) };
        if !self.slab.admits(&arrival) {
            return;
        }
        let index = self.slab.insert(&arrival).expect("memory that grows has room");
        let entry = Entry { hash, unheard: 0, key, value };
        match self.entries.get_mut(index as usize) {
            Some(vacant) => *vacant = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.table.insert_unique(hash, index, |index| at(&self.entries, *index).hash);
        while let Some(index) = self.evict() {
            drop(self.take(index));
        }
    }

    fn len(&self) -> usize {
        self.slab.len()
    }
}

pub(crate) type QuickCache = quick_cache::unsync::Cache<Key, Value, UnitWeighter, RandomState>;

pub(crate) fn quick_cache(capacity: usize) -> QuickCache {
    let (hasher, lifecycle) = (RandomState::default(), DefaultLifecycle::default());
    QuickCache::with(capacity, capacity as u64, UnitWeighter, hasher, lifecycle)
}

impl Cache for QuickCache {
    fn get(&mut self, path: &[u8]) -> Option<Value> {
        Self::get(self, path).cloned()
    }

    fn insert(&mut self, key: Key, value: Value) {
        Self::insert(self, key, value);
    }

    fn len(&self) -> usize {
        Self::len(self)
    }
}

pub(crate) type LruCrate = lru::LruCache<Key, Value, RandomState>;

pub(crate) fn lru_crate(capacity: usize) -> LruCrate {
    let capacity = NonZeroUsize::new(capacity).expect("room for one");
    LruCrate::with_hasher(capacity, RandomState::default())
}

impl Cache for LruCrate {
    fn get(&mut self, path: &[u8]) -> Option<Value> {
        Self::get(self, path).cloned()
    }

    fn insert(&mut self, key: Key, value: Value) {
        self.put(key, value);
    }

    fn len(&self) -> usize {
        Self::len(self)
    }
}

pub(crate) type MiniMoka = mini_moka::unsync::Cache<Key, Value, RandomState>;

pub(crate) fn mini_moka(capacity: usize) -> MiniMoka {
    let builder = mini_moka::unsync::Cache::builder().max_capacity(capacity as u64);
    builder.initial_capacity(capacity).build_with_hasher(RandomState::default())
}

impl Cache for MiniMoka {
    fn get(&mut self, path: &[u8]) -> Option<Value> {
        Self::get(self, &path as &dyn Path).cloned()
    }

    fn insert(&mut self, key: Key, value: Value) {
        Self::insert(self, key, value);
    }

    fn len(&self) -> usize {
        self.entry_count() as usize
    }
}

/// What [`MiniMoka`] can be asked for: it wants what an `Rc` of its key can lend, which bytes are
/// not.
trait Path {
    fn bytes(&self) -> &[u8];
}

impl Path for &[u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Path for Rc<Key> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl<'k> Borrow<dyn Path + 'k> for Rc<Key> {
    fn borrow(&self) -> &(dyn Path + 'k) {
        self
    }
}

impl Hash for dyn Path + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl PartialEq for dyn Path + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for dyn Path + '_ {}
