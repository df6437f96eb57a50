//! The cache while nobody else has it.

use std::sync::Arc;

use cache::{Arrival, Weight};
use h1::{Answer, Block, Chunk, Codings, Now, Representation, Shared, Words, compose};
use os::File;
use os::sharing::{Blocks, Descriptor, UNIT};

use super::index::Index;
use super::row::{Content, Row};
use crate::entries::Key;

/// See the head of this file.
pub(super) struct Held<'l> {
    pub(super) index: Index<'l>,
    pub(super) blocks: Blocks<'l>,
    /// To be closed when the lock is let go: that takes a while, and nobody shall wait for it.
    pub(super) gone: &'l mut Vec<Descriptor>,
}

/// Places that are looked at for an answer that comes, at most: nobody is to wait longer for the
/// lock, and who asks again and again for one that finds none is not to empty the cache.
const PLACES_MAX: u32 = 8;
/// Above such a part of the memory nobody goes for an answer that comes, and it is not kept.
const LIMBO_OF: u64 = 4;
/// The most blocks that one sweep checks.
const SWEPT_MAX: u32 = 64;
/// A process that sees an older second was held up by so much at most; or the clock was set back.
const BEHIND_MAX_S: u64 = 10;

impl Held<'_> {
    /// The answer that is meant, and what is known of it.
    pub(super) fn find<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>) -> Option<(u32, Row)> {
        let Self { index, blocks, .. } = self;
        index.find(key.hash, |row| {
            let (at, end) = (row.path.0 as usize, row.path.1 as usize);
            row.root == key.root
                && bytes_of(blocks, row.block)[at..end] == *key.path
                && row.codings.is_none_or(|codings| codings == (key.codings)())
        })
    }

    /// Answers with what is known there, and is asked for.
    pub(super) fn answer(&mut self, at: u32, row: Row, now: &Now) -> Answer<File> {
        self.index.touch(at);
        self.reply(at, row, now)
    }

    fn reply(&mut self, at: u32, mut row: Row, now: &Now) -> Answer<File> {
        let end = self.redated(at, &mut row, now);
        let (representation, block) = self.represent(&row);
        let prebuilt = end.map(|end| Chunk { of: block, at: 0, end });
        Answer { representation, prebuilt }
    }

    /// What a row stands for, pinned, and its block.
    pub(super) fn represent(&mut self, row: &Row) -> (Shared<Representation<File>>, Block) {
        let lent = self.blocks.lend(row.block).expect(WHOLE).expect("a row's block is live");
        let lent = Arc::new(lent);
        let block = Block::Lent(Arc::clone(&lent) as _);
        let content = match row.content {
            Content::Bytes { at, end } => {
                let (at, end) = (at as usize, end as usize);
                h1::Content::Bytes(Chunk { of: block.clone(), at, end })
            }
            Content::File { length } => {
                let file = File::lent(&lent).expect("published with its file");
                h1::Content::File { file: Shared::new(file), length }
            }
        };
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

    /// Takes an answer in, answers with it, and lets go who has to for it; that may be itself.
    ///
    /// # Errors
    /// There is no room, or its file is not its own: that file, if it has one.
    pub(super) fn insert(
        &mut self,
        row: Row,
        class: u32,
        bytes: &[u8],
        file: Option<File>,
        now: &Now,
    ) -> Result<Answer<File>, Option<File>> {
        let descriptors = u64::from(file.is_some());
        let weight = Weight { bytes: bytes.len().next_multiple_of(UNIT) as u64, descriptors };
        let arrival = Arrival { hash: row.hash, weight, class };
        if !self.index.admits(&arrival) {
            return Err(file);
        }
        // What is lent was kept before, and was evicted since.
        let mut descriptor = file.map(File::into_descriptor).transpose().map_err(Some)?;
        let mut block = self.publish(bytes, &mut descriptor);
        if block.is_none() && self.make_room(bytes.len()) {
            block = self.publish(bytes, &mut descriptor);
        }
        let Some(block) = block else { return Err(descriptor.map(File::from)) };
        let row = Row { block, ..row };
        let at = self.index.insert(row, &arrival).expect("a row for each block");
        self.blocks.name(block, at).expect(WHOLE);
        let answer = self.reply(at, row, now);
        while let Some(evicted) = self.index.evict() {
            self.retire(evicted.block);
        }
        Ok(answer)
    }

    /// Who has to go next goes, and with it all who lie where so many bytes would in its place, or
    /// in one near it where nobody is read: one after the other would leave room for none that is
    /// larger than they are. `false`: there is none.
    fn make_room(&mut self, length: usize) -> bool {
        if self.is_in_limbo() {
            return false;
        }
        let Some(next) = self.index.evict_one() else { return false };
        let mut places =
            (0..PLACES_MAX).map(|nth| self.blocks.around(next.block, length, nth).expect(WHOLE));
        let around = places.find_map(|around| around);
        let is_found = around.is_some();
        let mut is_gone = false;
        for (block, at) in around.into_iter().flatten() {
            if block == next.block {
                is_gone = true;
            } else {
                self.index.remove(at);
            }
            self.gone.extend(self.blocks.free(block).expect(WHOLE));
        }
        if !is_gone {
            self.retire(next.block);
        }
        is_found
    }

    /// Whether much of the memory is sent to those who read slowly, and found by nobody any more:
    /// what others evict for would soon be in limbo, too.
    fn is_in_limbo(&mut self) -> bool {
        let units = self.index.bounds().bytes / UNIT as u64;
        let live = self.index.used().bytes / UNIT as u64;
        let limbo = units.saturating_sub(live + u64::from(self.blocks.free_units()));
        limbo > units / LIMBO_OF
    }

    /// Takes out whatever would be found under this name. More than one answer can be, when what
    /// had siblings has none any more.
    pub(super) fn forget<C: Fn() -> Codings>(&mut self, key: &Key<'_, C>) {
        while let Some((at, row)) = self.find(key) {
            self.index.remove(at);
            self.retire(row.block);
        }
        self.sweep();
    }

    /// Where the reply that stands there ends, with the date of this second: that is set where
    /// nobody sends it. Nothing: it is to be composed. To copy it would leave one more for each
    /// second in which somebody who reads slowly is sent it.
    fn redated(&mut self, at: u32, row: &mut Row, now: &Now) -> Option<usize> {
        let head = row.head.as_mut()?;
        let head_end = head.bytes as usize;
        let end = match row.content {
            Content::Bytes { end, .. } => end as usize,
            Content::File { .. } => head_end,
        };
        let (second, this) = (head.second, now.date.seconds);
        if second == this {
            return Some(end);
        }
        // Who was held up would set it back, and others forth again.
        let is_behind = second > this && second - this <= BEHIND_MAX_S;
        // A file of the future was last modified now: its head is to be made anew each second.
        if is_behind || row.modified.is_some_and(|modified| modified > second) {
            return None;
        }
        let bytes = self.blocks.bytes_mut(row.block).expect(WHOLE)?;
        compose::redate(&mut bytes[..head_end], row.status, &now.date);
        head.second = this;
        self.index.set_row(at, row);
        Some(end)
    }

    /// Makes a block, where there is room; what is not sent any more makes some first.
    fn publish(&mut self, bytes: &[u8], file: &mut Option<Descriptor>) -> Option<u32> {
        self.sweep();
        self.blocks.publish(&[bytes], file).expect(WHOLE)
    }

    fn retire(&mut self, block: u32) {
        self.blocks.retire(block).expect(WHOLE);
    }

    /// Frees replaced and evicted blocks that no reply uses any more.
    pub(super) fn sweep(&mut self) {
        self.gone.extend(self.blocks.sweep(SWEPT_MAX).expect(WHOLE));
    }
}

/// What a row names is there.
fn bytes_of<'b>(blocks: &'b mut Blocks<'_>, number: u32) -> &'b [u8] {
    blocks.bytes(number).expect(WHOLE).expect("a row's block is live")
}

/// Whoever meets something else ends with the lock in hand, and the keeper sees to it.
const WHOLE: &str = "what processes share is whole";
