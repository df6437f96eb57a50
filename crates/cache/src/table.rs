use crate::{Corrupt, Memory};

/// Indices by the hash of what its user keeps under them, in memory for so many as there can be.
///
/// The user hashes and compares. Of a hash the low half counts: its last bits choose a bucket, and
/// all of it stands with the index, so that few have to be compared. Those of one bucket are a
/// chain. Within sound words a chain is no longer than there are entries; no walk goes further, so
/// that it ends in others too.
#[derive(Debug)]
pub struct Table<M> {
    memory: M,
    entries: u32,
}

/// Indices that are in.
const COUNT: usize = 0;
const HEAD: usize = 1;

// Then come the buckets, a power of two: the first index of each chain. Then a link for each index:
// from the top the low half of its hash, `IN`, and the next one of its chain.

/// Set in the link of an index that is in; all of the others' is zero.
const IN: u64 = 1 << 31;
/// An index + 1; 0 is the end of the chain.
const NEXT: u64 = IN - 1;
const ENTRIES_MAX: u32 = NEXT as u32;

impl<M: Memory> Table<M> {
    /// The indices that these words hold, none if they are zero, all below `entries`.
    ///
    /// # Panics
    /// With 2³¹ entries and more; if the memory is too small for them and cannot grow.
    #[must_use]
    pub fn new(mut memory: M, entries: u32) -> Self {
        assert!(entries <= ENTRIES_MAX, "fewer than 2^31 entries");
        assert!(memory.make_room(Self::words_for(entries)), "words for a table");
        Self { memory, entries }
    }

    /// The words that so many entries need.
    #[must_use]
    pub const fn words_for(entries: u32) -> usize {
        HEAD + buckets(entries) + entries as usize
    }

    /// The index under this hash that is meant.
    pub fn find(&self, hash: u64, mut is_meant: impl FnMut(u32) -> bool) -> Option<u32> {
        let words = self.memory.words();
        let mut link = words[self.bucket(hash)];
        for _ in 0..self.entries {
            let index = next_of(link)?;
            link = words[self.link(index)];
            if hash_of(link) == hash as u32 && is_meant(index) {
                return Some(index);
            }
        }
        None
    }

    /// Takes an index in.
    ///
    /// # Panics
    /// If it is in already, or there can be none as large.
    pub fn insert(&mut self, hash: u64, index: u32) {
        let (bucket, link) = (self.bucket(hash), self.link(index));
        let words = self.memory.words_mut();
        assert!(words[link] == 0, "{index} is in already");
        words[link] = hash << 32 | IN | words[bucket] & NEXT;
        words[bucket] = u64::from(index) + 1;
        words[COUNT] += 1;
    }

    /// Takes an index out.
    ///
    /// # Panics
    /// If it is not in under this hash.
    pub fn remove(&mut self, hash: u64, index: u32) {
        // Where the next one is told.
        let mut told = self.bucket(hash);
        for _ in 0..self.entries {
            let words = self.memory.words();
            let Some(next) = next_of(words[told]) else { break };
            let link = self.link(next);
            if next == index {
                let words = self.memory.words_mut();
                words[told] = words[told] & !NEXT | words[link] & NEXT;
                words[link] = 0;
                words[COUNT] -= 1;
                return;
            }
            told = link;
        }
        panic!("{index} is not in under this hash");
    }

    /// Whether the words are what operations leave behind, when `hash` says the hash of what is
    /// kept under an index. Does not panic, whatever they are.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self, hash: impl Fn(u32) -> u64) -> Result<(), Corrupt> {
        let words = self.memory.words();
        let (firsts, links) = words[HEAD..].split_at(buckets(self.entries));
        let links = &links[..self.entries as usize];
        let mut count = 0_u32;
        for (bucket, first) in (HEAD..).zip(firsts) {
            let mut told = *first;
            while let Some(index) = next_of(told) {
                let wrong = |what| Err(Corrupt::new(what, index.into()));
                let Some(link) = links.get(index as usize) else {
                    return wrong("an index too large");
                };
                if link & IN == 0 {
                    return wrong("not in, but in a chain");
                }
                let hash = hash(index);
                if hash_of(*link) != hash as u32 || self.bucket(hash) != bucket {
                    return wrong("under another hash than its own");
                }
                if count == self.entries {
                    return wrong("in a chain that does not end");
                }
                count += 1;
                told = *link;
            }
        }
        let marked = links.iter().filter(|link| **link != 0).count();
        if words[COUNT] != u64::from(count) || marked != count as usize {
            return Err(Corrupt::new("not the count of the indices", words[COUNT]));
        }
        Ok(())
    }

    /// Where the bucket is.
    const fn bucket(&self, hash: u64) -> usize {
        HEAD + (hash as u32 as usize & (buckets(self.entries) - 1))
    }

    /// Where the link is.
    fn link(&self, index: u32) -> usize {
        assert!(index < self.entries, "no index is as large as {index}");
        HEAD + buckets(self.entries) + index as usize
    }
}

/// One for each entry or more, so that a chain has one or two as a rule.
const fn buckets(entries: u32) -> usize {
    (entries as usize).next_power_of_two()
}

/// What is told in a bucket or link.
fn next_of(word: u64) -> Option<u32> {
    ((word & NEXT) as u32).checked_sub(1)
}

const fn hash_of(link: u64) -> u32 {
    (link >> 32) as u32
}
