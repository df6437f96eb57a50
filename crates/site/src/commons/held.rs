//! The cache while nobody else has it.

use std::mem;
use std::sync::Arc;

use cache::Weight;
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

/// Answers that are evicted for one that comes, at most: nobody is to wait longer for the lock.
const EVICTED_MAX: usize = 64;
/// Blocks that are looked at for one that comes, whether nobody sends them any more.
const SWEPT_MAX: u32 = 64;

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
    pub(super) fn answer(&mut self, at: u32, mut row: Row, now: &Now) -> Answer<File> {
        self.index.touch(at);
        let reply = self.reply(at, &mut row, now);
        let (representation, block) = self.represent(&row);
        let prebuilt = match reply {
            Reply::None => None,
            Reply::Block { end } => Some(Chunk { of: block, at: 0, end }),
            Reply::Copy(head) => Some(Chunk::whole(head)),
        };
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

    /// Takes an answer in, and lets go who has to for it. Returns where.
    ///
    /// # Errors
    /// There is no room, or its file is not its own: that file, if it has one.
    pub(super) fn insert(
        &mut self,
        row: Row,
        bytes: &[u8],
        file: Option<File>,
    ) -> Result<(u32, Row), Option<File>> {
        let descriptors = u64::from(file.is_some());
        let weight = Weight { bytes: bytes.len().next_multiple_of(UNIT) as u64, descriptors };
        if !self.index.admits(weight) {
            return Err(file);
        }
        // What is lent was kept before, and was evicted since.
        let mut descriptor = file.map(File::into_descriptor).transpose().map_err(Some)?;
        for _ in 0..EVICTED_MAX {
            if let Some(block) = self.publish(bytes, &mut descriptor) {
                let row = Row { block, ..row };
                let at = self.index.insert(row, weight).expect("a row for each block");
                while let Some(evicted) = self.index.evict() {
                    self.retire(evicted.block);
                }
                return Ok((at, row));
            }
            let Some(evicted) = self.index.evict_one() else { break };
            self.retire(evicted.block);
        }
        Err(descriptor.map(File::from))
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

    /// The reply that stands there, with the date of this second: that is changed in place where
    /// nobody sends it, and in a copy where somebody does.
    fn reply(&mut self, at: u32, row: &mut Row, now: &Now) -> Reply {
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
        if let Some(bytes) = self.blocks.bytes_mut(row.block).expect(WHOLE) {
            compose::redate(&mut bytes[..head_end], row.status, &now.date);
            self.index.set_row(at, row);
            return Reply::Block { end };
        }
        let redated = |bytes: &[u8]| {
            let mut copy = bytes.to_vec();
            compose::redate(&mut copy, row.status, &now.date);
            copy
        };
        let bytes = bytes_of(&mut self.blocks, row.block);
        if let Content::File { .. } = row.content {
            return Reply::Copy(redated(&bytes[..head_end]));
        }
        let copy = redated(bytes);
        let Some(block) = self.publish(&copy, &mut None) else { return Reply::None };
        self.retire(row.block);
        row.block = block;
        self.index.set_row(at, row);
        Reply::Block { end }
    }

    /// Makes a block, where there is room; what is not sent any more makes some first.
    fn publish(&mut self, bytes: &[u8], file: &mut Option<Descriptor>) -> Option<u32> {
        self.sweep();
        self.blocks.publish(&[bytes], file).expect(WHOLE)
    }

    fn retire(&mut self, block: u32) {
        self.blocks.retire(block).expect(WHOLE);
    }

    fn sweep(&mut self) {
        self.gone.extend(self.blocks.sweep(SWEPT_MAX).expect(WHOLE));
    }
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

/// What a row names is there.
fn bytes_of<'b>(blocks: &'b mut Blocks<'_>, number: u32) -> &'b [u8] {
    blocks.bytes(number).expect(WHOLE).expect("a row's block is live")
}

/// Whoever meets something else ends with the lock in hand, and the keeper sees to it.
const WHOLE: &str = "what processes share is whole";
