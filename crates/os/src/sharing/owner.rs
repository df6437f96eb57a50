//! Who of the processes that share has a lock, a pin or a descriptor.

use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

/// The number of the process that makes what is shared, starts the others and buries them. Those
/// count from 1.
pub(super) const KEEPER: u16 = 0;

/// Processes there can be beside the keeper: their numbers take 16 bits in words that say who has
/// something, and two more stand for nobody and for the cache.
pub(super) const MEMBERS_MAX: u16 = u16::MAX - 2;

/// Of the calling process. It lies in memory of its own.
static NUMBER: AtomicU16 = AtomicU16::new(KEEPER);

/// The number of the calling process.
pub(super) fn number() -> u16 {
    NUMBER.load(Relaxed)
}

/// The calling process is new, and has this number for good.
pub(super) fn become_member(number: u16) {
    NUMBER.store(number, Relaxed);
}

/// Who the calling process is, for words of the user's own; it differs among those that live.
///
/// # Panics
/// Never: there are fewer than there are numbers for.
#[must_use]
pub fn me() -> NonZeroU16 {
    who(number())
}

fn who(number: u16) -> NonZeroU16 {
    NonZeroU16::new(Owner::of(number).bits()).expect("fewer than there are numbers for")
}

/// Who has something, as a word says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(u16);

impl Owner {
    pub(super) const NOBODY: Self = Self(0);
    /// All together: what is in the store.
    pub(super) const CACHE: Self = Self(u16::MAX);

    pub(super) const fn of(number: u16) -> Self {
        Self(number + 1)
    }

    /// The calling process.
    pub(super) fn me() -> Self {
        Self::of(number())
    }

    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u16 {
        self.0
    }
}

/// A process that has died, and whose number no other has got since: nothing that was its own is in
/// use. Until it is dropped no other gets the number.
#[derive(Debug)]
pub struct Dead<'m> {
    number: u16,
    members: PhantomData<&'m mut ()>,
}

impl Dead<'_> {
    /// The caller has seen the end of the process of this number, and starts no other meanwhile.
    pub(super) const fn seen(number: u16) -> Self {
        Self { number, members: PhantomData }
    }

    /// Who it was, as it has said by [`me`].
    #[must_use]
    pub fn who(&self) -> NonZeroU16 {
        who(self.number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }
}
