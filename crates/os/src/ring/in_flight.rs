//! What is in flight: a slab that owns everything the kernel may still read, write or look at.

use std::mem::{self, MaybeUninit};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::peer::Peer;

/// All operations between their submission and their last completion.
///
/// The kernel carries the index of an entry as its `user_data`. An index is used again only after
/// the last completion that can name it, so it needs no generation.
#[derive(Default)]
pub(super) struct InFlight {
    /// Apart from the entries, so that looking for a token reads eight bytes of each.
    tokens: Vec<u64>,
    entries: Vec<Entry>,
    free: Option<u32>,
    live: u32,
}

/// One operation.
pub(super) struct Entry {
    pub(super) what: What,
    pub(super) holds: Holds,
}

/// Which completion an entry gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Nothing { next_free: Option<u32> },
    Accept,
    Recv,
    Send,
    Read,
    Ready,
    Writable,
    Shut,
    Install,
}

/// What must outlive the operation.
#[expect(dead_code, reason = "held for the kernel, not to be looked at")]
pub(super) enum Holds {
    Nothing,
    Descriptor(Arc<dyn AsFd>),
    Bytes(Arc<[u8]>),
    Read(Arc<dyn AsFd>, Arc<[MaybeUninit<u8>]>),
    Peer(Arc<dyn AsFd>, Arc<Peer>),
}

impl Holds {
    /// Who was accepted, where that was asked for.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Peer(_, peer) => peer.ip(),
            _ => None,
        }
    }
}

impl InFlight {
    /// Takes an entry; returns its index, and what it holds in its lasting place.
    pub(super) fn begin(&mut self, token: u64, entry: Entry) -> (u32, &mut Holds) {
        self.live += 1;
        let index = self.free.unwrap_or(self.entries.len() as u32);
        let at = index as usize;
        if at == self.entries.len() {
            assert!(index < u32::MAX, "fewer than 2^32 in flight");
            self.tokens.push(token);
            self.entries.push(entry);
        } else {
            self.tokens[at] = token;
            let old = mem::replace(&mut self.entries[at], entry);
            let What::Nothing { next_free } = old.what else {
                unreachable!("the free list holds free entries only")
            };
            self.free = next_free;
        }
        (index, &mut self.entries[at].holds)
    }

    pub(super) fn what(&self, index: u32) -> (u64, What) {
        (self.tokens[index as usize], self.entries[index as usize].what)
    }

    /// Frees an entry; returns what it held.
    pub(super) fn end(&mut self, index: u32) -> Holds {
        self.live -= 1;
        let what = What::Nothing { next_free: self.free };
        self.free = Some(index);
        let free = Entry { what, holds: Holds::Nothing };
        mem::replace(&mut self.entries[index as usize], free).holds
    }

    /// The first entry from `start` on that carries `token`.
    pub(super) fn find(&self, token: u64, start: u32) -> Option<u32> {
        let tokens = self.tokens.iter().zip(&self.entries).enumerate().skip(start as usize);
        let is_free = |entry: &Entry| matches!(entry.what, What::Nothing { .. });
        let mut found = tokens.filter(|(_, (t, entry))| **t == token && !is_free(entry));
        found.next().map(|(index, _)| index as u32)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }
}
