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

mod index;
mod row;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::{io, mem};

use cache::Weight;
use h1::{Answer, Block, Chunk, Codings, Now, Representation, Shared, Words, compose};
use os::File;
use os::sharing::{Blocks, Dead, Descriptor, Shape, Store, UNIT};

use self::index::Index;
use self::row::{Content, Head, Made, Row};
use crate::disk::{Loading, Source};
use crate::entries::{self, Key};
use crate::statistics::Statistics;

/// See the head of this file.
pub(crate) struct Commons {
    store: Store,
    /// Answers there can be, and what they may weigh.
    entries: u32,
    bounds: Weight,
    head_cache: bool,
    age: Duration,
    /// Of this process.
    hits: AtomicU64,
}

/// What is known under a name.
pub(crate) enum Known {
    Answer(Answer<File>),
    /// It is old: who asks is to look.
    Old,
    Nothing,
}

/// Bytes of the cache for which there is a row: with its path, its words and its head few answers
/// take less than half of that.
const BYTES_OF_ROW: u64 = 2 << 10;
/// More than anybody has files, in memory that nobody touches.
const ROWS_MAX: u32 = 1 << 24;
/// 128 GiB.
const UNITS_MAX: u32 = 1 << 31;
/// Answers that are evicted for one that comes, at most: nobody is to wait longer for the lock.
const EVICTED_MAX: usize = 64;
/// Blocks that are looked at for one that comes, whether nobody sends them any more.
const SWEPT_MAX: u32 = 64;

impl Commons {
    /// Takes memory for a cache that so many processes share.
    ///
    /// # Errors
    /// There is not so much.
    pub(crate) fn new(
        bounds: Weight,
        head_cache: bool,
        age: Duration,
        members: u16,
    ) -> io::Result<Self> {
        let bytes = bounds.bytes;
        let entries = u32::try_from(bytes / BYTES_OF_ROW).unwrap_or(u32::MAX).clamp(1, ROWS_MAX);
        let units = u32::try_from(bytes / UNIT as u64).unwrap_or(u32::MAX).clamp(1, UNITS_MAX);
        let shape = Shape { members, words: Index::words_for(entries), blocks: entries, units };
        Ok(Self {
            store: Store::new(&shape)?,
            entries,
            bounds,
            head_cache,
            age,
            hits: AtomicU64::new(0),
        })
    }

    /// What is known of a path beneath a root.
    pub(crate) fn find<C: Fn() -> Codings>(&self, key: &Key<'_, C>, now: &Now) -> Known {
        self.locked(|index, blocks| {
            let Some(at) = find(index, blocks, key) else { return Known::Nothing };
            let mut row = index.row(at);
            let was_looked_for = row.is_looked_for;
            if entries::answers(row.checked, &mut row.is_looked_for, self.age, now.at) {
                index.touch(at);
                if row.is_looked_for != was_looked_for {
                    index.set_row(at, row);
                }
                self.hits.fetch_add(1, Relaxed);
                return Known::Answer(answer((index, blocks), at, now));
            }
            index.set_row(at, row);
            Known::Old
        })
    }

    /// Whether what is kept under a name can be compared with the disk; nothing: nothing is kept.
    pub(crate) fn can_hold<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<bool> {
        self.locked(|index, blocks| Some(index.row(find(index, blocks, key)?).settled))
    }

    /// What is to be compared with the disk before anything is read again.
    pub(crate) fn known<C: Fn() -> Codings>(&self, key: &Key<'_, C>) -> Option<Loading> {
        self.locked(|index, blocks| {
            let row = index.row(find(index, blocks, key)?);
            match row.source {
                Made::Of(source) if row.settled => {
                    Some(Loading { representation: represent(&row, blocks).0, source })
                }
                _ => None,
            }
        })
    }

    /// Answers with what is kept, if it is made of that; the disk has said so.
    pub(crate) fn hold<C: Fn() -> Codings>(
        &self,
        key: &Key<'_, C>,
        source: Source,
        now: &Now,
    ) -> Option<Answer<File>> {
        self.locked(|index, blocks| {
            let at = find(index, blocks, key)?;
            let mut row = index.row(at);
            if !row.settled || row.source != Made::Of(source) {
                return None;
            }
            row.checked = now.at;
            row.is_looked_for = false;
            index.touch(at);
            index.set_row(at, row);
            Some(answer((index, blocks), at, now))
        })
    }

    /// What was to be looked up is not.
    pub(crate) fn give_up<C: Fn() -> Codings>(&self, key: &Key<'_, C>) {
        self.locked(|index, blocks| {
            if let Some(at) = find(index, blocks, key) {
                let row = Row { is_looked_for: false, ..index.row(at) };
                index.set_row(at, row);
            }
        });
    }

    /// What is kept under that name is not any more. More than one answer can be, when what had
    /// siblings has none.
    pub(crate) fn forget<C: Fn() -> Codings>(&self, key: &Key<'_, C>) {
        self.locked(|index, blocks| forget(index, blocks, key));
        self.sweep();
    }

    /// Keeps what was loaded and answers with it; what does not fit is answered with as it is.
    pub(crate) fn keep<C: Fn() -> Codings>(
        &self,
        key: &Key<'_, C>,
        codings: Codings,
        loading: Loading,
        now: &Now,
    ) -> Answer<File> {
        if let Some(answer) = self.hold(key, loading.source, now) {
            return answer;
        }
        let (bytes, row) = written(key, codings, &loading, self.head_cache, now);
        let mut representation = loading.representation;
        let Some(file) = take_file(&mut representation) else {
            return Answer { representation, prebuilt: None };
        };
        let mut gone = Vec::new();
        let kept = self.locked(|index, blocks| {
            forget(index, blocks, key);
            let at = insert((index, blocks), (row, &bytes), file, &mut gone)?;
            Ok(answer((index, blocks), at, now))
        });
        drop(gone);
        kept.unwrap_or_else(|file| {
            put_back(&mut representation, file, row.content);
            Answer { representation, prebuilt: None }
        })
    }

    /// What it holds, and how often this process has found something in it.
    pub(crate) fn statistics(&self) -> Statistics {
        let (entries, used) = self.locked(|index, _| (index.len() as u64, index.used()));
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
        Ok(emptied.is_some())
    }

    /// Looks whether all of it fits together; `false`: somebody is at work on it just now.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check(&self) -> Result<bool, String> {
        let Some(mut locked) = self.store.try_lock() else { return Ok(false) };
        let (words, mut blocks) = locked.split();
        blocks.check().map_err(|e| e.to_string())?;
        let index = Index::new(words, self.entries, self.bounds);
        let of_block = |block| Some(blocks.bytes(block).ok()??.len());
        index.check(of_block).map_err(|e| format!("the index: {e}"))?;
        Ok(true)
    }

    /// With the lock.
    fn locked<R>(&self, work: impl FnOnce(&mut Index<'_>, &mut Blocks<'_>) -> R) -> R {
        let mut locked = self.store.lock();
        let (words, mut blocks) = locked.split();
        work(&mut Index::new(words, self.entries, self.bounds), &mut blocks)
    }

    /// Closes the files of what was evicted and is not sent any more: that takes a while, and
    /// nobody shall wait for it.
    fn sweep(&self) {
        let swept = self.store.lock().split().1.sweep(SWEPT_MAX);
        drop(swept);
    }
}

/// The answer that is meant.
fn find<C: Fn() -> Codings>(
    index: &Index<'_>,
    blocks: &mut Blocks<'_>,
    key: &Key<'_, C>,
) -> Option<u32> {
    index.find(key.hash, |row| {
        let (at, end) = (row.path.0 as usize, row.path.1 as usize);
        row.root == key.root
            && bytes_of(blocks, row.block)[at..end] == *key.path
            && row.codings.is_none_or(|codings| codings == (key.codings)())
    })
}

/// Answers with what stands there.
fn answer((index, blocks): (&mut Index<'_>, &mut Blocks<'_>), at: u32, now: &Now) -> Answer<File> {
    let reply = prebuilt((index, blocks), at, now);
    let (representation, block) = represent(&index.row(at), blocks);
    let prebuilt = match reply {
        Reply::None => None,
        Reply::Block { end } => Some(Chunk { of: block, at: 0, end }),
        Reply::Copy(head) => Some(Chunk::whole(head)),
    };
    Answer { representation, prebuilt }
}

/// A reply that was built before.
enum Reply {
    None,
    /// The beginning of the answer's block.
    Block {
        end: usize,
    },
    /// A head, for content that is in a file.
    Copy(Vec<u8>),
}

/// The reply that stands there, with the date of this second: that is changed in place where nobody
/// sends it, and in a copy where somebody does.
fn prebuilt((index, blocks): (&mut Index<'_>, &mut Blocks<'_>), at: u32, now: &Now) -> Reply {
    let mut row = index.row(at);
    let Some(head) = &mut row.head else { return Reply::None };
    let head_end = head.bytes as usize;
    let end = match row.content {
        Content::Bytes { end, .. } => end as usize,
        Content::File { .. } => head_end,
    };
    let second = mem::replace(&mut head.second, now.date.seconds);
    if second == now.date.seconds {
        return Reply::Block { end };
    }
    // A file of the future was last modified now: its head is to be made anew each second.
    if row.modified.is_some_and(|modified| modified > second) {
        return Reply::None;
    }
    if let Some(bytes) = blocks.bytes_mut(row.block).expect(WHOLE) {
        compose::redate(&mut bytes[..head_end], row.status, &now.date);
        index.set_row(at, row);
        return Reply::Block { end };
    }
    let redated = |bytes: &[u8]| {
        let mut copy = bytes.to_vec();
        compose::redate(&mut copy, row.status, &now.date);
        copy
    };
    let bytes = bytes_of(blocks, row.block);
    if let Content::File { .. } = row.content {
        return Reply::Copy(redated(&bytes[..head_end]));
    }
    let copy = redated(bytes);
    let Some(block) = blocks.publish(&[&copy], &mut None).expect(WHOLE) else { return Reply::None };
    blocks.retire(row.block).expect(WHOLE);
    row.block = block;
    index.set_row(at, row);
    Reply::Block { end }
}

/// What a row stands for, pinned, and its block.
fn represent(row: &Row, blocks: &mut Blocks<'_>) -> (Shared<Representation<File>>, Block) {
    let lent = blocks.lend(row.block).expect(WHOLE).expect("a row's block is live");
    let lent = Arc::new(lent);
    let content = match row.content {
        Content::Bytes { at, end } => {
            let of = Block::Lent(Arc::clone(&lent) as _);
            h1::Content::Bytes(Chunk { of, at: at as usize, end: end as usize })
        }
        Content::File { length } => {
            let file = File::lent(&lent).expect("published with its file");
            h1::Content::File { file: Shared::new(file), length }
        }
    };
    let block = Block::Lent(lent);
    let representation = Shared::new(Representation {
        status: row.status,
        coding: row.coding,
        modified: row.modified,
        varies: row.varies,
        words: Words::within(block.clone(), row.words),
        content,
    });
    (representation, block)
}

/// Takes an answer in, and lets go who has to for it. What is `gone` is to be closed without the
/// lock: that takes a while, and nobody shall wait for it.
///
/// # Errors
/// There is no room, or its file is not its own: that file, if it has one.
fn insert(
    (index, blocks): (&mut Index<'_>, &mut Blocks<'_>),
    (row, bytes): (Row, &[u8]),
    file: Option<File>,
    gone: &mut Vec<Descriptor>,
) -> Result<u32, Option<File>> {
    let descriptors = u64::from(file.is_some());
    let weight = Weight { bytes: bytes.len().next_multiple_of(UNIT) as u64, descriptors };
    if !index.admits(weight) {
        return Err(file);
    }
    // What is lent was kept before, and was evicted since.
    let mut descriptor = file.map(File::into_descriptor).transpose().map_err(Some)?;
    for _ in 0..EVICTED_MAX {
        gone.extend(blocks.sweep(SWEPT_MAX).expect(WHOLE));
        if let Some(block) = blocks.publish(&[bytes], &mut descriptor).expect(WHOLE) {
            let at = index.insert(Row { block, ..row }, weight).expect("a row for each block");
            while let Some(evicted) = index.evict() {
                blocks.retire(evicted.block).expect(WHOLE);
            }
            return Ok(at);
        }
        let Some(evicted) = index.evict_one() else { break };
        blocks.retire(evicted.block).expect(WHOLE);
    }
    Err(descriptor.map(File::from))
}

/// Takes out whatever would be found under this name.
fn forget<C: Fn() -> Codings>(index: &mut Index<'_>, blocks: &mut Blocks<'_>, key: &Key<'_, C>) {
    while let Some(at) = find(index, blocks, key) {
        let row = index.remove(at);
        blocks.retire(row.block).expect(WHOLE);
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
        is_looked_for: false,
        settled: source.is_settled(now.date.seconds),
        head: head_cache.then_some(head),
        status: representation.status,
        coding: representation.coding,
        varies: representation.varies,
        modified: representation.modified,
        words,
        content,
        path,
        source: match source {
            Source::Listing(_) => Made::Anew,
            source => Made::Of(*source),
        },
    };
    (bytes, row)
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

/// With the lock: what a row names is there.
fn bytes_of<'b>(blocks: &'b mut Blocks<'_>, number: u32) -> &'b [u8] {
    blocks.bytes(number).expect(WHOLE).expect("a row's block is live")
}

/// Whoever meets something else ends with the lock in hand, and the keeper sees to it.
const WHOLE: &str = "what processes share is whole";
