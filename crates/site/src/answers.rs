use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use cache::{Class, PolicyKind, Weight};
use foldhash::fast::RandomState;
use h1::{Answer, Codings, Found, Loaded, Lookup, Now, Shared, Status};
use os::File;
use os::sharing::Dead;

use crate::commons::{Commons, Known};
use crate::disk::{Loading, Source};
use crate::entries::{Entry, Key};
use crate::hints::Hints;
use crate::settings::Settings;
use crate::shard::{Kept, Said, Shard};
use crate::statistics::Statistics;
use crate::validators::is_current;

/// The answer cache: what was found of late, in shards with a lock of their own each.
pub(crate) struct Answers {
    hasher: RandomState,
    /// There where processes have one: in place of what the shards keep.
    commons: OnceLock<Commons>,
    bounds: Weight,
    /// A power of two.
    shards: Box<[RwLock<Shard>]>,
    /// Whether several may find answers in a shard at the same time.
    entry_locks: bool,
    policy: PolicyKind,
    hints: Hints,
    /// Whether answers are kept with their heads.
    head_cache: bool,
    /// See [`Settings::answer_age`].
    age: Duration,
}

impl Answers {
    pub(crate) fn new(settings: &Settings) -> Self {
        let bounds =
            Weight { bytes: settings.cache_bytes, descriptors: settings.cache_files as u64 };
        let count = settings.shards.max(1).next_power_of_two();
        let each = |total: u64| total / count as u64;
        let of_shard = Weight { bytes: each(bounds.bytes), descriptors: each(bounds.descriptors) };
        let shard = || RwLock::new(Shard::new(of_shard, settings.policy));
        let shards = (0..count).map(|_| shard()).collect();
        Self {
            hasher: RandomState::default(),
            commons: OnceLock::new(),
            bounds,
            shards,
            entry_locks: settings.entry_locks && settings.policy.hits_are_local(),
            policy: settings.policy,
            hints: settings.hints.clone(),
            head_cache: settings.head_cache,
            age: settings.answer_age,
        }
    }

    /// What is known of a path beneath a root; reads memory only, and asks the kernel whether a
    /// file that is sent from its descriptor has changed. A miss of what is known and old makes the
    /// asker the one who looks: for others it is no miss as long as he does.
    pub(crate) fn find(
        &self,
        root: u32,
        path: &[u8],
        codings: impl Fn() -> Codings,
        now: &Now,
    ) -> Found<File> {
        let key = self.key(root, path, codings);
        let path = match self.ask(&key, now) {
            Said::Answer(answer) if is_current(&answer.representation) => {
                return Found::Answer(answer);
            }
            Said::Answer(_) => {
                self.take_hit_back(key.hash);
                Shared::from(path)
            }
            Said::Status(status) => return Found::Status(status),
            Said::Missing(path) => path,
        };
        let codings = (key.codings)();
        Found::Miss(Lookup { root: key.root, path, codings, credentials: None })
    }

    /// Counts a hit as a miss, because its file has changed.
    fn take_hit_back(&self, hash: u64) {
        let shard = beside(&self.shards[self.number(hash)]);
        shard.misses.fetch_add(1, Relaxed);
        let hits = self.commons.get().map_or(&shard.hits, |commons| &commons.hits);
        hits.fetch_sub(1, Relaxed);
    }

    fn ask<C: Fn() -> Codings>(&self, key: &Key<'_, C>, now: &Now) -> Said {
        let in_common = self.commons.get().map(|commons| commons.find(key, now));
        if let Some(Known::Answer(answer)) = in_common {
            return Said::Answer(answer);
        }
        let shard = &self.shards[self.number(key.hash)];
        if self.entry_locks {
            beside(shard).ask_beside(in_common, key, self.age, now)
        } else {
            alone(shard).ask(in_common, key, self.age, now)
        }
    }

    /// Whether there is anything to compare with the disk.
    pub(crate) fn can_hold(&self, lookup: &Lookup) -> bool {
        let key = self.key_of(lookup);
        if let Some(settled) = self.commons.get().and_then(|commons| commons.can_hold(&key)) {
            return settled;
        }
        let mut shard = self.shard(key.hash);
        match shard.kept.find(&key) {
            Some(index) => shard.kept.held(index).value.settled,
            None => shard.refused.find(&key).is_some(),
        }
    }

    /// What is to be compared with the disk before anything is read again.
    pub(crate) fn known(&self, lookup: &Lookup) -> Option<Loading> {
        let key = self.key_of(lookup);
        if let Some(commons) = self.commons.get() {
            return commons.known(&key);
        }
        let mut shard = self.shard(key.hash);
        let index = shard.kept.find(&key)?;
        let kept = &shard.kept.held(index).value;
        kept.settled.then(|| kept.loading.clone())
    }

    /// Keeps what was loaded and answers with it; `at` stands before the path in requests.
    pub(crate) fn keep(
        &self,
        at: &[u8],
        lookup: &Lookup,
        loading: Loading,
        now: &Now,
    ) -> Loaded<File> {
        let key = self.key_of(lookup);
        let class = self.class(at, lookup);
        if let Some(commons) = self.commons.get() {
            self.shard(key.hash).forget(&key);
            return Loaded::Answer(commons.keep(&key, class, lookup.codings, loading, now));
        }
        let mut shard = self.shard(key.hash);
        if let Some(index) = shard.made_of(&key, loading.source) {
            // It may hold what the answer is made of, which then could not change in place.
            drop(loading);
            return Loaded::Answer(shard.hold(index, now));
        }
        let mut kept = Kept::new(loading, self.head_cache, now);
        let answer = kept.answer(now);
        let weight = kept.weight();
        let codings = kept.loading.representation.varies.then_some(lookup.codings);
        let entry = Entry::new(&key, Shared::clone(&lookup.path), codings, now.at, kept);
        let old = shard.forget(&key);
        let gone = shard.kept.insert(entry, weight, class);
        // Closing files takes a while: nobody shall wait for it.
        drop(shard);
        drop((old, gone));
        Loaded::Answer(answer)
    }

    /// Answers with what is kept, if it is what the disk has `told`.
    pub(crate) fn hold(
        &self,
        lookup: &Lookup,
        told: Result<Source, Status>,
        now: &Now,
    ) -> Option<Loaded<File>> {
        let key = self.key_of(lookup);
        let mut shard = self.shard(key.hash);
        match told {
            Ok(source) => {
                if let Some(commons) = self.commons.get() {
                    drop(shard);
                    return commons.hold(&key, source, now, || ()).map(Loaded::Answer);
                }
                let index = shard.made_of(&key, source)?;
                Some(Loaded::Answer(shard.hold(index, now)))
            }
            Err(status) => {
                let index = shard.refused.find(&key)?;
                let held = shard.refused.held(index);
                if held.value != status {
                    return None;
                }
                held.hold(now.at);
                shard.refused.touch(index);
                Some(Loaded::Status(status))
            }
        }
    }

    /// Remembers that there is nothing to be served, where asking again would say the same; a
    /// fault of the machine may pass.
    pub(crate) fn keep_refusal(&self, lookup: &Lookup, status: Status, now: &Now) {
        let key = self.key_of(lookup);
        if let Some(commons) = self.commons.get() {
            commons.forget(&key);
        }
        let mut shard = self.shard(key.hash);
        let old = shard.forget(&key);
        if matches!(status, Status::NOT_FOUND | Status::FORBIDDEN) {
            let path = Shared::clone(&lookup.path);
            let entry = Entry::new(&key, path, None, now.at, status);
            shard.refused.insert(entry, Weight::default(), 0);
        }
        drop(shard);
        drop(old);
    }

    /// See [`crate::Site::old`].
    pub(crate) fn old(&self, lookup: &Lookup, now: &Now) -> Option<Answer<File>> {
        let key = self.key_of(lookup);
        let in_common = self.commons.get().and_then(|commons| commons.old(&key, now));
        let old = in_common.or_else(|| {
            let mut shard = self.shard(key.hash);
            let index = shard.kept.find(&key)?;
            let held = shard.kept.held(index);
            let is_sent = held.is_recent(self.age, now.at) && held.value.settled;
            is_sent.then(|| held.value.answer(now))
        });
        old.filter(|answer| is_current(&answer.representation))
    }

    /// Leaves the look at the disk to the next request.
    pub(crate) fn give_up(&self, lookup: &Lookup) {
        let key = self.key_of(lookup);
        if let Some(commons) = self.commons.get() {
            commons.give_up(&key);
        }
        let mut shard = self.shard(key.hash);
        if let Some(index) = shard.refused.find(&key) {
            shard.refused.held(index).give_up();
        }
        if let Some(index) = shard.kept.find(&key) {
            shard.kept.held(index).give_up();
        }
    }

    /// See [`crate::Site::share`].
    pub(crate) fn share(&self, members: u16) -> io::Result<()> {
        let commons = Commons::new(self.bounds, self.policy, self.head_cache, self.age, members)?;
        assert!(self.commons.set(commons).is_ok(), "it is shared once");
        Ok(())
    }

    /// See [`Commons::check`].
    pub(crate) fn check(&self) -> Result<bool, String> {
        self.commons.get().map_or(Ok(true), Commons::check)
    }

    /// See [`Commons::bury`].
    pub(crate) fn bury(&self, dead: &Dead<'_>) -> Result<bool, String> {
        self.commons.get().map_or(Ok(false), |commons| commons.bury(dead))
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let commons = self.commons.get().map(Commons::statistics);
        let mut sum = commons.unwrap_or_default();
        for shard in &self.shards {
            let shard = beside(shard);
            sum.hits += shard.hits.load(Relaxed);
            sum.misses += shard.misses.load(Relaxed);
            sum.entries += (shard.kept.len() + shard.refused.len()) as u64;
            let mut used = shard.kept.used();
            used += shard.refused.used();
            sum.bytes += used.bytes;
            sum.descriptors += used.descriptors;
        }
        sum
    }

    fn key_of<'k>(&self, lookup: &'k Lookup) -> Key<'k, impl Fn() -> Codings + use<>> {
        let codings = lookup.codings;
        self.key(lookup.root, &lookup.path, move || codings)
    }

    /// The codings are no part of the hash: most answers are good for all of them.
    fn key<'k, C: Fn() -> Codings>(&self, root: u32, path: &'k [u8], codings: C) -> Key<'k, C> {
        Key { hash: self.hash(root, path), root, path, codings }
    }

    /// What an answer is to the policy.
    fn class(&self, at: &[u8], lookup: &Lookup) -> u32 {
        match self.policy.class() {
            Class::One => 0,
            Class::Hint => self.hints.has(at, &lookup.path).into(),
            Class::Directory => {
                let end = lookup.path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
                self.hash(lookup.root, &lookup.path[..end]) as u32
            }
        }
    }

    fn hash(&self, root: u32, path: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(path);
        hasher.write_u32(root);
        hasher.finish()
    }

    fn number(&self, hash: u64) -> usize {
        // The table takes the lowest and the highest bits.
        (hash >> 32) as usize & (self.shards.len() - 1)
    }

    fn shard(&self, hash: u64) -> RwLockWriteGuard<'_, Shard> {
        alone(&self.shards[self.number(hash)])
    }
}

fn alone(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().expect(UNHARMED)
}

fn beside(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().expect(UNHARMED)
}

const UNHARMED: &str = "nobody panics while holding it";
