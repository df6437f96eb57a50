//! The answer cache of processes that share one: names, heads, small contents and open files in
//! memory that all of them have, under one lock (Pariag07 5.2).
//!
//! An answer is a block of bytes, which does not change while somebody sends it, and a row of words
//! ([`row`]) that names what lies where in it. Who answers with it has a pin in the block, so that
//! it stays until its last user is done, also when the cache has long evicted it. A process that
//! dies while it has the lock leaves words that nobody can trust: the cache then begins anew,
//! empty. That is what a reload does, too, and the disk's pages are still in memory.
//!
//! What is known of names that do not exist each process keeps for itself: it is for clients to
//! invent.

mod held;
mod index;
mod row;

use std::num::NonZeroU16;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, mem};

use cache::{Arrival, Policy, PolicyKind, Weight};
use h1::{Answer, Block, Chunk, Codings, Now, Representation, Shared, compose};
use os::File;
use os::sharing::{Dead, Shape, Store, UNIT};

use self::held::Held;
use self::index::Index;
use self::row::{Content, Head, Row};
use crate::disk::{Loading, Source};
use crate::entries::{self, Key};
use crate::statistics::Statistics;

/// See the head of this file.
pub(crate) struct Commons {
    store: Store,
    /// Answers there can be, and what they may weigh.
    entries: u32,
    bounds: Weight,
    policy: PolicyKind,
    head_cache: bool,
    age: Duration,
    /// Of this process.
    pub(crate) hits: AtomicU64,
    /// Who has died and may have been about to ask the disk: of the keeper.
    dead: Mutex<Vec<NonZeroU16>>,
}

/// What is known under a name.
pub(crate) enum Known {
    Answer(Answer<File>),
    /// It is old, under that name: who asks is to look.
    Old(Shared<[u8]>),
    Nothing,
}

/// Bytes of the cache for which there is a row: with its path, its words and its head few answers
/// take less than half of that.
const BYTES_OF_ROW: u64 = 2 << 10;
/// More than anybody has files, in memory that nobody touches.
const ROWS_MAX: u32 = 1 << 24;
/// 128 GiB.
const UNITS_MAX: u32 = 1 << 31;

impl Commons {
    /// Takes memory for a cache that so many processes share.
    ///
    /// # Errors
    /// There is not so much.
    pub(crate) fn new(
        bounds: Weight,
        policy: PolicyKind,
        head_cache: bool,
        age: Duration,
        members: u16,
    ) -> io::Result<Self> {
        let bytes = bounds.bytes;
        let entries = u32::try_from(bytes / BYTES_OF_ROW).unwrap_or(u32::MAX).clamp(1, ROWS_MAX);
        let units = u32::try_from(bytes / UNIT as u64).unwrap_or(u32::MAX).clamp(1, UNITS_MAX);
        let words = Index::words_for(policy, entries);
        let shape = Shape { members, words, blocks: entries, units };
        Ok(Self {
            store: Store::new(&shape)?,
            entries,
            bounds,
            policy,
            head_cache,
            age,
            hits: AtomicU64::new(0),
            dead: Mutex::default(),
        })
    }

    /// What is known of a path beneath a root.
    pub(crate) fn find<C: Fn() -> Codings>(&self, key: &Key<'_, C>, now: &Now) -> Known {
        self.locked(|held| {
            let Some((at, mut row)) = held.find(key) else { return Known::Nothing };
            let mut is_looked_for = row.looker.is_some();
            let answers = entries::answers(row.checked, &mut is_looked_for, self.age, now.at);
            if is_looked_for && row.looker.is_none() {
                row.looker = Some(os::sharing::me());
                held.index.set_row(at, &row);
            }
            if !answers {
                return Known::Old(Shared::from(key.path));
            }
            self.hits.fetch_add(1, Relaxed);
            Known::Answer(held.answer(at, row, now))
        })
    }

    /// Whether what is kept under a name can be compared with the disk; nothing: nothing is kept.
    pub(crate) fn can_hold<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<bool> {
        self.locked(|held| held.find(key).map(|(_, row)| row.settled))
    }

    /// What is to be compared with the disk before anything is read again.
    pub(crate) fn known<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<Loading> {
        self.locked(|held| {
            let (_, row) = held.find(key)?;
            let source = row.source.filter(|_| row.settled)?;
            Some(Loading { representation: held.represent(&row).0, source })
        })
    }

    /// Answers with what is kept, if it is made of that; the disk has said so, and `gives` up what
    /// was compared.
    pub(crate) fn hold<C: Fn() -> Codings>(
        &self,
        key: &Key<'_, C>,
        source: Source,
        now: &Now,
        gives: impl FnOnce(),
    ) -> Option<Answer<File>> {
        self.locked(|held| {
            let (at, row) = held.find(key)?;
            if !row.settled || row.source != Some(source) {
                return None;
            }
            // A replaced file is closed also on a site where nothing new is loaded for long.
            held.sweep();
            // Its date is set where nobody sends it, and nobody does for being compared.
            gives();
            let row = Row { checked: now.at, looker: None, ..row };
            held.index.set_row(at, &row);
            Some(held.answer(at, row, now))
        })
    }

    /// Leaves the look at the disk to the next request.
    pub(crate) fn give_up<C: Fn() -> Codings>(&self, key: &Key<'_, C>) {
        self.locked(|held| {
            if let Some((at, row)) = held.find(key) {
                held.index.set_row(at, &Row { looker: None, ..row });
            }
        });
    }

    /// What is kept under that name, if it may be sent while it is not compared with the disk.
    pub(crate) fn old<C: Fn() -> Codings>(
        &self,
        key: &Key<'_, C>,
        now: &Now,
    ) -> Option<Answer<File>> {
        self.locked(|held| {
            let (at, row) = held.find(key)?;
            let is_sent = row.settled && entries::is_recent(row.checked, self.age, now.at);
            is_sent.then(|| held.answer(at, row, now))
        })
    }

    /// What is kept under that name is not any more.
    pub(crate) fn forget<C: Fn() -> Codings>(&self, key: &Key<'_, C>) {
        self.locked(|held| held.forget(key));
    }

    /// Keeps what was loaded, of that class, and answers with it; what does not fit, or is not let
    /// in, is answered with as it is.
    pub(crate) fn keep<C: Fn() -> Codings>(
        &self,
        key: &Key<'_, C>,
        class: u32,
        codings: Codings,
        loading: Loading,
        now: &Now,
    ) -> Answer<File> {
        let (source, mut compared) = (loading.source, Some(loading));
        let gives = || {
            // One that was opened for it is closed without the lock.
            drop(compared.take_if(|loading| !has_opened(loading)));
        };
        if let Some(answer) = self.hold(key, source, now, gives) {
            return answer;
        }
        let loading = compared.expect("given up where something is held");
        if !self.policy.admits(&Arrival::default()) {
            return Answer { representation: loading.representation, prebuilt: None };
        }
        let (bytes, row) = written(key, codings, &loading, self.head_cache, now);
        let mut representation = loading.representation;
        let Some(file) = take_file(&mut representation) else {
            return Answer { representation, prebuilt: None };
        };
        let kept = self.locked(|held| {
            held.forget(key);
            held.insert(row, class, &bytes, file, now)
        });
        kept.unwrap_or_else(|file| {
            put_back(&mut representation, file, row.content);
            Answer { representation, prebuilt: None }
        })
    }

    /// What it holds, and how often this process has found something in it.
    pub(crate) fn statistics(&self) -> Statistics {
        let (entries, used) = self.locked(|held| (held.index.len() as u64, held.index.used()));
        Statistics {
            hits: self.hits.load(Relaxed),
            misses: 0,
            entries,
            bytes: used.bytes,
            descriptors: used.descriptors,
        }
    }

    /// One of the processes has died: what it was sending is not sent any more. Where it had the
    /// lock the cache begins anew, which is told.
    ///
    /// # Errors
    /// What others read makes no sense: all of them have to end.
    pub(crate) fn bury(&self, dead: &Dead<'_>) -> Result<bool, String> {
        let emptied = self.store.bury(dead).map_err(|e| e.to_string())?;
        self.dead().push(dead.who());
        Ok(emptied.is_some())
    }

    /// Looks whether all of it fits together, and has others ask the disk for what the dead were to
    /// ask for; `false`: somebody is at work on it just now.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check(&self) -> Result<bool, String> {
        let Some(mut locked) = self.store.try_lock() else { return Ok(false) };
        let (words, mut blocks) = locked.split();
        blocks.check().map_err(|e| e.to_string())?;
        let mut index = Index::new(words, self.entries, self.bounds, self.policy);
        let of_block = |block| Some(blocks.bytes(block).ok()??.len());
        index.check(of_block).map_err(|e| format!("the index: {e}"))?;
        index.give_up(&mem::take(&mut *self.dead()));
        Ok(true)
    }

    fn dead(&self) -> MutexGuard<'_, Vec<NonZeroU16>> {
        // Whoever panicked has not left it half changed.
        self.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the lock.
    fn locked<R>(&self, work: impl FnOnce(&mut Held<'_>) -> R) -> R {
        let mut gone = Vec::new();
        let mut locked = self.store.lock();
        let (words, blocks) = locked.split();
        let index = Index::new(words, self.entries, self.bounds, self.policy);
        let result = work(&mut Held { index, blocks, gone: &mut gone });
        drop(locked);
        drop(gone);
        result
    }
}

/// The bytes of a block for an answer, and what its row says of them.
fn written<C: Fn() -> Codings>(
    key: &Key<'_, C>,
    codings: Codings,
    loading: &Loading,
    head_cache: bool,
    now: &Now,
) -> (Vec<u8>, Row) {
    let Loading { representation, source } = loading;
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let mut bytes = match &representation.content {
        _ if head_cache => compose::prebuilt(representation, &now.date),
        h1::Content::Bytes(chunk) => chunk.bytes().to_vec(),
        h1::Content::File { .. } => Vec::new(),
    };
    let end = bytes.len();
    let (content, head_end) = match &representation.content {
        h1::Content::Bytes(chunk) => {
            let at = end - chunk.bytes().len();
            (Content::Bytes { at: place(at), end: place(end) }, at)
        }
        h1::Content::File { length, .. } => (Content::File { length: *length }, end),
    };
    let mut words = [place(end); 5];
    for (end, word) in words[1..].iter_mut().zip(representation.words.wording().all()) {
        bytes.extend_from_slice(word);
        *end = place(bytes.len());
    }
    let path = (place(bytes.len()), place(bytes.len() + key.path.len()));
    bytes.extend_from_slice(key.path);
    let head = Head { bytes: place(head_end), second: now.date.seconds };
    let row = Row {
        hash: key.hash,
        root: key.root,
        block: 0,
        codings: representation.varies.then_some(codings),
        checked: now.at,
        looker: None,
        settled: source.is_settled(now.date.seconds),
        head: head_cache.then_some(head),
        status: representation.status,
        coding: representation.coding,
        varies: representation.varies,
        modified: representation.modified,
        words,
        content,
        path,
        source: Some(*source).filter(|source| !matches!(source, Source::Listing(_))),
    };
    (bytes, row)
}

/// Whether its file is its own.
fn has_opened(loading: &Loading) -> bool {
    match &loading.representation.content {
        h1::Content::Bytes(_) => false,
        h1::Content::File { file, .. } => !file.is_lent(),
    }
}

/// Takes the file out of what was loaded, if it is in one; nothing: somebody else has it, too.
fn take_file(of: &mut Shared<Representation<File>>) -> Option<Option<File>> {
    if let h1::Content::Bytes(_) = of.content {
        return Some(None);
    }
    let content = &mut Shared::get_mut(of)?.content;
    let nothing = h1::Content::Bytes(Chunk::whole(Block::default()));
    let h1::Content::File { file, length } = mem::replace(content, nothing) else {
        unreachable!("it is in a file")
    };
    match Shared::try_unwrap(file) {
        Ok(file) => Some(Some(file)),
        Err(file) => {
            *content = h1::Content::File { file, length };
            None
        }
    }
}

/// It stays in that file.
fn put_back(of: &mut Shared<Representation<File>>, file: Option<File>, content: Content) {
    if let (Some(file), Content::File { length }, Some(of)) = (file, content, Shared::get_mut(of)) {
        of.content = h1::Content::File { file: Shared::new(file), length };
    }
}
