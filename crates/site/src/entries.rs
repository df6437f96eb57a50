use std::mem::{self, size_of};
use std::time::Duration;

use cache::{Arrival, PolicyKind, Slab, Weight};
use h1::{Codings, Shared};
use hashbrown::HashTable;
use measure::Instant;

use super::sync::Mutex;

/// While somebody looks whether an entry still holds, the others get it until it is so many times
/// as old as entries usually become. A disk that takes longer is out of order; who asks then waits
/// for it, and hears so.
const AGES_MAX: u32 = 10;

/// Answers of one kind under their names, bounded by weight; a policy says who goes.
///
/// Whoever has all of them changes them as he likes. Where hits change nothing but their entry
/// ([`PolicyKind::hits_are_local`]) several can find entries beside each other (JAWS97 3.2.4; see
/// [`Hits`]): the policy hears of them when it looks for who is to go.
pub(crate) struct Entries<T> {
    /// Indices into the slab, by hash.
    table: HashTable<u32>,
    slab: Slab<Vec<u64>, PolicyKind>,
    /// Whether the policy hears of hits when it looks for who is to go. So a hit that changes
    /// nothing but its entry does not touch the slab.
    hears_late: bool,
    /// What the slab has under each index.
    entries: Vec<Option<Entry<T>>>,
}

/// What an entry is found by, and what it is, with a lock of its own.
pub(crate) struct Entry<T> {
    hash: u64,
    root: u32,
    pub(crate) path: Shared<[u8]>,
    /// The client's codings that it answers; nothing: it answers whatever they are.
    pub(crate) codings: Option<Codings>,
    held: Mutex<Held<T>>,
}

/// What is known under a name, while nobody else has it.
pub(crate) struct Held<T> {
    /// When the disk was last asked.
    checked: Instant,
    /// Whether somebody is asking it now.
    is_looked_for: bool,
    /// How often it was asked for that the policy has not heard of.
    unheard: u32,
    pub(crate) value: T,
}

/// Entries as they may be had: alone, or beside others who find some.
pub(crate) trait Hits<T> {
    fn entries(&self) -> &Entries<T>;

    /// What is made of an entry that [answers](Held::answers): then it was asked for.
    fn hit<R>(
        &mut self,
        index: u32,
        age: Duration,
        now: Instant,
        make: impl FnOnce(&mut T) -> R,
    ) -> Option<R>;
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
    pub(crate) fn new(bounds: Weight, policy: PolicyKind) -> Self {
        let slab = Slab::new(Vec::new(), bounds, policy);
        let hears_late = policy.hits_are_local();
        Self { table: HashTable::new(), slab, hears_late, entries: Vec::new() }
    }

    pub(crate) fn find<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<u32> {
        let is_meant = |index: &u32| {
            let entry = self.entry(*index);
            entry.path[..] == *key.path
                && entry.root == key.root
                && entry.codings.is_none_or(|codings| codings == (key.codings)())
        };
        self.table.find(key.hash, is_meant).copied()
    }

    pub(crate) fn entry(&self, index: u32) -> &Entry<T> {
        at(&self.entries, index)
    }

    /// What an entry holds.
    pub(crate) fn held(&mut self, index: u32) -> &mut Held<T> {
        self.entries[index as usize].as_mut().expect(HELD).own()
    }

    /// The entry was asked for.
    pub(crate) fn touch(&mut self, index: u32) {
        if self.hears_late {
            self.held(index).touched();
        } else {
            self.slab.touch(index);
        }
    }

    /// Takes an entry in, if it fits at all and the policy lets it come, and lets go who must go
    /// for it. What has gone is returned, so that the caller can drop it where no lock is held.
    pub(crate) fn insert(&mut self, entry: Entry<T>, weight: Weight, class: u32) -> Vec<Entry<T>> {
        let weight = Weight { bytes: weight.bytes + entry.bytes(), ..weight };
        let arrival = Arrival { hash: entry.hash, weight, class };
        if !self.slab.admits(&arrival) {
            return vec![entry];
        }
        let index = self.slab.insert(&arrival).expect("memory that grows has room");
        match self.entries.get_mut(index as usize) {
            Some(vacant) => *vacant = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.table.insert_unique(arrival.hash, index, |index| at(&self.entries, *index).hash);
        let mut gone = Vec::new();
        while let Some(index) = self.evict() {
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

    /// Who has to go, if somebody has.
    fn evict(&mut self) -> Option<u32> {
        let Self { slab, entries, .. } = self;
        slab.evict_hearing(|index| {
            let entry = entries[index as usize].as_mut().expect(HELD);
            mem::take(&mut entry.own().unheard)
        })
    }

    /// Takes out what the slab has let go.
    fn take(&mut self, index: u32) -> Entry<T> {
        let entry = self.entries[index as usize].take().expect(HELD);
        let named = self.table.find_entry(entry.hash, |other| *other == index);
        named.expect("what the slab holds has a name").remove();
        entry
    }
}

impl<T> Hits<T> for &mut Entries<T> {
    fn entries(&self) -> &Entries<T> {
        self
    }

    fn hit<R>(
        &mut self,
        index: u32,
        age: Duration,
        now: Instant,
        make: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let hears_late = self.hears_late;
        let held = self.held(index);
        let made = held.answers(age, now).then(|| make(&mut held.value))?;
        if hears_late {
            held.touched();
        } else {
            self.slab.touch(index);
        }
        Some(made)
    }
}

impl<T> Hits<T> for &Entries<T> {
    fn entries(&self) -> &Entries<T> {
        self
    }

    fn hit<R>(
        &mut self,
        index: u32,
        age: Duration,
        now: Instant,
        make: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let mut held = self.entry(index).held.lock().expect(UNHARMED);
        let made = held.answers(age, now).then(|| make(&mut held.value))?;
        held.touched();
        Some(made)
    }
}

const HELD: &str = "what the slab holds is here";
const UNHARMED: &str = "nobody panics while holding it";

fn at<T>(entries: &[Option<Entry<T>>], index: u32) -> &Entry<T> {
    entries[index as usize].as_ref().expect(HELD)
}

/// See [`Held::answers`], of one that was checked then.
pub(crate) fn answers(
    checked: Instant,
    is_looked_for: &mut bool,
    age: Duration,
    now: Instant,
) -> bool {
    if now.since(checked) < age {
        return true;
    }
    let somebody_looks = mem::replace(is_looked_for, true);
    somebody_looks && is_recent(checked, age, now)
}

/// Whether an answer that was checked then may be sent while it is not compared with the disk.
pub(crate) fn is_recent(checked: Instant, age: Duration, now: Instant) -> bool {
    now.since(checked) < age.saturating_mul(AGES_MAX)
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
        let held = Mutex::new(Held { checked, is_looked_for: false, unheard: 0, value });
        Self { hash, root, path, codings, held }
    }

    fn own(&mut self) -> &mut Held<T> {
        self.held.get_mut().expect(UNHARMED)
    }

    /// Memory that its name takes.
    fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.path.len()) as u64
    }
}

impl<T> Held<T> {
    /// Whether it answers whoever asks now. Of those who come when it is of that age, the first is
    /// to look.
    fn answers(&mut self, age: Duration, now: Instant) -> bool {
        answers(self.checked, &mut self.is_looked_for, age, now)
    }

    /// It was asked for, which the policy is to hear.
    const fn touched(&mut self) {
        self.unheard = self.unheard.saturating_add(1);
    }

    /// The disk still says the same.
    pub(crate) const fn hold(&mut self, now: Instant) {
        self.checked = now;
        self.is_looked_for = false;
    }

    /// Leaves the look at the disk to the next request.
    pub(crate) const fn give_up(&mut self) {
        self.is_looked_for = false;
    }

    /// Whether it may be sent while it is not compared with the disk.
    pub(crate) fn is_recent(&self, age: Duration, now: Instant) -> bool {
        is_recent(self.checked, age, now)
    }
}
