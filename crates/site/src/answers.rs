use std::hash::{BuildHasher, Hasher};
use std::io;
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use cache::Weight;
use foldhash::fast::RandomState;
use h1::{
    Answer, Block, Chunk, Codings, Content, Date, Found, Loaded, Lookup, Now, Representation,
    Shared, Status, compose,
};
use os::File;
use os::sharing::Dead;

use crate::commons::{Commons, Known};
use crate::disk::{Loading, Source};
use crate::entries::{Entries, Entry, Key};
use crate::settings::Settings;
use crate::statistics::Statistics;

/// The part of the bytes that refusals may take: names that do not exist are for clients to
/// invent, and must not push files out.
const REFUSALS_SHARE: u64 = 16;

/// Bytes that a head takes, guessed: with the longest fields that files get.
const HEAD_BYTES: usize = 350;

/// The answer cache: what was found of late, in shards with a lock of their own each.
pub(crate) struct Answers {
    hasher: RandomState,
    /// There where processes have one: in place of what the shards keep.
    commons: OnceLock<Commons>,
    bounds: Weight,
    /// A power of two.
    shards: Box<[Mutex<Shard>]>,
    /// Whether answers are kept with their heads.
    head_cache: bool,
    /// See [`Settings::answer_age`].
    age: Duration,
}

struct Shard {
    kept: Entries<Kept>,
    refused: Entries<Status>,
    hits: u64,
    misses: u64,
}

/// An answer that was found.
struct Kept {
    loading: Loading,
    /// Whether an unchanged source proves unchanged content; see [`crate::disk::Source`].
    settled: bool,
    /// Nothing where heads are not kept.
    head: Option<Head>,
}

/// The head of a prebuilt reply; see [`compose::prebuilt`].
struct Head {
    /// That of content in a file. One of content in memory stands before it, in its block.
    of_file: Block,
    /// The second that it names in `Date`.
    second: u64,
}

impl Answers {
    pub(crate) fn new(settings: &Settings) -> Self {
        let bounds =
            Weight { bytes: settings.cache_bytes, descriptors: settings.cache_files as u64 };
        let count = settings.shards.max(1).next_power_of_two();
        let each = |total: u64| total / count as u64;
        let refused = each(bounds.bytes / REFUSALS_SHARE);
        let kept =
            Weight { bytes: each(bounds.bytes) - refused, descriptors: each(bounds.descriptors) };
        let shard = || Shard {
            kept: Entries::new(kept),
            refused: Entries::new(Weight { bytes: refused, descriptors: 0 }),
            hits: 0,
            misses: 0,
        };
        let shards = (0..count).map(|_| Mutex::new(shard())).collect();
        Self {
            hasher: RandomState::default(),
            commons: OnceLock::new(),
            bounds,
            shards,
            head_cache: settings.head_cache,
            age: settings.answer_age,
        }
    }

    /// What is known of a path beneath a root; reads memory only. A miss of what is known and old
    /// makes the asker the one who looks: for others it is no miss as long as he does.
    pub(crate) fn find(
        &self,
        root: u32,
        path: &[u8],
        codings: impl Fn() -> Codings,
        now: &Now,
    ) -> Found<File> {
        let key = self.key(root, path, codings);
        let in_common = self.commons.get().map(|commons| commons.find(&key, now));
        if let Some(Known::Answer(answer)) = in_common {
            return Found::Answer(answer);
        }
        let mut shard = self.shard(key.hash);
        let path = match in_common.unwrap_or_else(|| shard.find(&key, self.age, now)) {
            Known::Answer(answer) => return Found::Answer(answer),
            Known::Old(path) => path,
            Known::Nothing => {
                if let Some(status) = shard.refusal(&key, self.age, now) {
                    return Found::Status(status);
                }
                Shared::from(path)
            }
        };
        shard.misses += 1;
        drop(shard);
        let codings = (key.codings)();
        Found::Miss(Lookup { root: key.root, path, codings, credentials: None })
    }

    /// Whether there is anything to compare with the disk.
    pub(crate) fn can_hold(&self, lookup: &Lookup) -> bool {
        let key = self.key_of(lookup);
        if let Some(settled) = self.commons.get().and_then(|commons| commons.can_hold(&key)) {
            return settled;
        }
        let mut shard = self.shard(key.hash);
        match shard.kept.find(&key) {
            Some(index) => shard.kept.entry(index).value.settled,
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
        let kept = &shard.kept.entry(index).value;
        kept.settled.then(|| kept.loading.clone())
    }

    /// Keeps what was loaded and answers with it.
    pub(crate) fn keep(&self, lookup: &Lookup, loading: Loading, now: &Now) -> Loaded<File> {
        let key = self.key_of(lookup);
        if let Some(commons) = self.commons.get() {
            self.shard(key.hash).forget(&key);
            return Loaded::Answer(commons.keep(&key, lookup.codings, loading, now));
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
        let gone = shard.kept.insert(entry, weight);
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
                let entry = shard.refused.entry(index);
                if entry.value != status {
                    return None;
                }
                entry.hold(now.at);
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
            shard.refused.insert(entry, Weight::default());
        }
        drop(shard);
        drop(old);
    }

    /// What was to be looked up is not.
    pub(crate) fn give_up(&self, lookup: &Lookup) {
        let key = self.key_of(lookup);
        if let Some(commons) = self.commons.get() {
            commons.give_up(&key);
        }
        let mut shard = self.shard(key.hash);
        if let Some(index) = shard.kept.find(&key) {
            shard.kept.entry(index).give_up();
        } else if let Some(index) = shard.refused.find(&key) {
            shard.refused.entry(index).give_up();
        }
    }

    /// See [`crate::Site::share`].
    pub(crate) fn share(&self, members: u16) -> io::Result<()> {
        let commons = Commons::new(self.bounds, self.head_cache, self.age, members)?;
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
            let shard = lock(shard);
            sum.hits += shard.hits;
            sum.misses += shard.misses;
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
        let mut hasher = self.hasher.build_hasher();
        hasher.write(path);
        hasher.write_u32(root);
        Key { hash: hasher.finish(), root, path, codings }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // The table takes the lowest and the highest bits.
        lock(&self.shards[(hash >> 32) as usize & (self.shards.len() - 1)])
    }
}

impl Shard {
    /// What is known under this name.
    fn find<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>, age: Duration, now: &Now) -> Known {
        let Some(index) = self.kept.find(key) else { return Known::Nothing };
        let entry = self.kept.entry(index);
        if !entry.answers(age, now.at) {
            return Known::Old(Shared::clone(&entry.path));
        }
        let answer = entry.value.answer(now);
        self.kept.touch(index);
        self.hits += 1;
        Known::Answer(answer)
    }

    /// That there is nothing to be served under this name, as far as that is known and not old.
    fn refusal<C: Fn() -> Codings>(
        &mut self,
        key: &Key<'_, C>,
        age: Duration,
        now: &Now,
    ) -> Option<Status> {
        let index = self.refused.find(key)?;
        let entry = self.refused.entry(index);
        let status = entry.answers(age, now.at).then_some(entry.value)?;
        self.refused.touch(index);
        self.hits += 1;
        Some(status)
    }

    /// What is kept under this name, if it holds as long as it is made of that.
    fn made_of<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>, source: Source) -> Option<u32> {
        let index = self.kept.find(key)?;
        let kept = &self.kept.entry(index).value;
        (kept.settled && kept.loading.source == source).then_some(index)
    }

    /// It was compared with the disk, and still holds.
    fn hold(&mut self, index: u32, now: &Now) -> Answer<File> {
        self.kept.touch(index);
        let entry = self.kept.entry(index);
        entry.hold(now.at);
        entry.value.answer(now)
    }

    /// Takes out whatever would be found under this name. More than one entry can be, when what
    /// had siblings has none any more.
    fn forget<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>) -> Vec<Entry<Kept>> {
        if let Some(index) = self.refused.find(key) {
            self.refused.remove(index);
        }
        let mut old = Vec::new();
        while let Some(index) = self.kept.find(key) {
            old.push(self.kept.remove(index));
        }
        old
    }
}

impl Kept {
    fn new(mut loading: Loading, head_cache: bool, now: &Now) -> Self {
        let settled = loading.source.is_settled(now.date.seconds);
        let head = head_cache.then(|| Head::new(&mut loading.representation, &now.date));
        Self { loading, settled, head }
    }

    fn answer(&mut self, now: &Now) -> Answer<File> {
        let representation = &mut self.loading.representation;
        let prebuilt = self.head.as_mut().map(|head| head.reply(representation, &now.date));
        Answer { representation: Shared::clone(representation), prebuilt }
    }

    fn weight(&self) -> Weight {
        let representation = &*self.loading.representation;
        let (content, descriptors) = match &representation.content {
            Content::Bytes(chunk) => (chunk.bytes().len(), 0),
            Content::File { .. } => (size_of::<File>(), 1),
        };
        let bytes = size_of::<Representation<File>>()
            + representation.words.wording().len()
            + representation.words.fields().len()
            + HEAD_BYTES
            + content;
        Weight { bytes: bytes as u64, descriptors }
    }
}

impl Head {
    /// Content in memory moves behind its head, so that it is there once.
    fn new(of: &mut Shared<Representation<File>>, date: &Date) -> Self {
        let (reply, second) = (Block::from(compose::prebuilt(of, date)), date.seconds);
        if matches!(of.content, Content::File { .. }) {
            return Self { of_file: reply, second };
        }
        let end = reply.len();
        let at = end - of.content.length() as usize;
        Shared::make_mut(of).content = Content::Bytes(Chunk { of: reply, at, end });
        Self { of_file: Block::default(), second }
    }

    /// The whole reply.
    fn reply(&mut self, of: &mut Shared<Representation<File>>, date: &Date) -> Chunk {
        if self.second != date.seconds {
            self.renew(of, date);
        }
        match &of.content {
            Content::Bytes(chunk) => Chunk::whole(chunk.of.clone()),
            Content::File { .. } => Chunk::whole(self.of_file.clone()),
        }
    }

    /// The head names the date, so it changes with the first answer of each second: in place where
    /// nobody else has it, and in a copy where it is still being sent.
    fn renew(&mut self, of: &mut Shared<Representation<File>>, date: &Date) {
        if of.modified.is_some_and(|modified| modified > self.second) {
            *self = Self::new(of, date);
            return;
        }
        let of = Shared::make_mut(of);
        let block = match &mut of.content {
            Content::Bytes(chunk) => &mut chunk.of,
            Content::File { .. } => &mut self.of_file,
        };
        compose::redate(block.make_mut(), of.status, date);
        self.second = date.seconds;
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().expect("nobody panics while holding it")
}
