use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use cache::{PolicyKind, Weight};
use h1::{
    Answer, Block, Chunk, Codings, Content, Date, Now, Representation, Shared, Status, compose,
};
use os::File;

use crate::commons::Known;
use crate::disk::{Loading, Source};
use crate::entries::{Entries, Entry, Hits, Key};

/// The part of the bytes that refusals may take: names that do not exist are for clients to
/// invent, and must not push files out.
pub(crate) const REFUSALS_SHARE: u64 = 16;

/// Bytes that a head takes, guessed: with the longest fields that files get.
const HEAD_BYTES: usize = 350;

/// A part of the answer cache, under one lock.
pub(crate) struct Shard {
    pub(crate) kept: Entries<Kept>,
    pub(crate) refused: Entries<Status>,
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

/// What is known of a name.
pub(crate) enum Said {
    Answer(Answer<File>),
    /// There is nothing to be served under it.
    Status(Status),
    /// Nothing, or it is old: who asked is to look.
    Missing(Shared<[u8]>),
}

/// An answer that was found.
pub(crate) struct Kept {
    pub(crate) loading: Loading,
    /// Whether an unchanged source proves unchanged content; see [`crate::disk::Source`].
    pub(crate) settled: bool,
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

impl Shard {
    /// One that may weigh so much.
    pub(crate) fn new(bounds: Weight, policy: PolicyKind) -> Self {
        let refused = Weight { bytes: bounds.bytes / REFUSALS_SHARE, descriptors: 0 };
        let kept = Weight { bytes: bounds.bytes - refused.bytes, ..bounds };
        Self {
            kept: Entries::new(kept, policy),
            refused: Entries::new(refused, policy),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// What is known of a name, `in_common` as far as processes share it.
    pub(crate) fn ask<C: Fn() -> Codings>(
        &mut self,
        in_common: Option<Known>,
        key: &Key<'_, C>,
        age: Duration,
        now: &Now,
    ) -> Said {
        let said = said(in_common, &mut self.kept, &mut self.refused, key, age, now);
        *said.counted(&mut self.hits, &mut self.misses).get_mut() += 1;
        said
    }

    /// The same beside others who ask.
    pub(crate) fn ask_beside<C: Fn() -> Codings>(
        &self,
        in_common: Option<Known>,
        key: &Key<'_, C>,
        age: Duration,
        now: &Now,
    ) -> Said {
        let said = said(in_common, &self.kept, &self.refused, key, age, now);
        said.counted(&self.hits, &self.misses).fetch_add(1, Relaxed);
        said
    }

    /// What is kept under this name, if it holds as long as it is made of that.
    pub(crate) fn made_of<C: Fn() -> Codings>(
        &mut self,
        key: &Key<'_, C>,
        source: Source,
    ) -> Option<u32> {
        let index = self.kept.find(key)?;
        let kept = &self.kept.held(index).value;
        (kept.settled && kept.loading.source == source).then_some(index)
    }

    /// It was compared with the disk, and still holds.
    pub(crate) fn hold(&mut self, index: u32, now: &Now) -> Answer<File> {
        self.kept.touch(index);
        let held = self.kept.held(index);
        held.hold(now.at);
        held.value.answer(now)
    }

    /// Takes out whatever would be found under this name. More than one entry can be, when what
    /// had siblings has none any more.
    pub(crate) fn forget<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>) -> Vec<Entry<Kept>> {
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

impl Said {
    /// Where it counts: as a hit, or as a miss.
    fn counted<T>(&self, hits: T, misses: T) -> T {
        if matches!(self, Self::Missing(_)) { misses } else { hits }
    }
}

fn said<C: Fn() -> Codings>(
    in_common: Option<Known>,
    kept: impl Hits<Kept>,
    mut refused: impl Hits<Status>,
    key: &Key<'_, C>,
    age: Duration,
    now: &Now,
) -> Said {
    match in_common.unwrap_or_else(|| known(kept, key, age, now)) {
        Known::Answer(answer) => Said::Answer(answer),
        Known::Old(path) => Said::Missing(path),
        Known::Nothing => {
            let index = refused.entries().find(key);
            let status = index.and_then(|index| refused.hit(index, age, now.at, |status| *status));
            status.map_or_else(|| Said::Missing(Shared::from(key.path)), Said::Status)
        }
    }
}

fn known<C: Fn() -> Codings>(
    mut kept: impl Hits<Kept>,
    key: &Key<'_, C>,
    age: Duration,
    now: &Now,
) -> Known {
    let Some(index) = kept.entries().find(key) else { return Known::Nothing };
    let answer = kept.hit(index, age, now.at, |kept| kept.answer(now));
    answer
        .map_or_else(|| Known::Old(Shared::clone(&kept.entries().entry(index).path)), Known::Answer)
}

impl Kept {
    pub(crate) fn new(mut loading: Loading, head_cache: bool, now: &Now) -> Self {
        let settled = loading.source.is_settled(now.date.seconds);
        let head = head_cache.then(|| Head::new(&mut loading.representation, &now.date));
        Self { loading, settled, head }
    }

    pub(crate) fn answer(&mut self, now: &Now) -> Answer<File> {
        let representation = &mut self.loading.representation;
        let prebuilt = self.head.as_mut().map(|head| head.reply(representation, &now.date));
        Answer { representation: Shared::clone(representation), prebuilt }
    }

    pub(crate) fn weight(&self) -> Weight {
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
