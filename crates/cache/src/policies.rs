//! The policies by name. To add one: a file that has its [`Policy`], and a row here.

use crate::hinted::Hinted;
use crate::lfu::Lfu;
use crate::lru::Lru;
use crate::none::NoCache;
use crate::s3_fifo::S3Fifo;
use crate::sieve::Sieve;
use crate::structured::Structured;
use crate::w_tinylfu::WTinyLfu;
use crate::{Arrival, Corrupt, Policy, State};

/// Makes the enum of the policies, what is known of each, and the way from one to the other.
macro_rules! policies {
    ($(
        $(#[$doc:meta])*
        $kind:ident: $policy:ident, $name:literal, $class:expr, $local:literal;
    )*) => {
        /// A policy that is chosen when the program runs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum PolicyKind {
            $($(#[$doc])* $kind,)*
        }

        impl PolicyKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// What it is called.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// What classes of entries it wants to be told.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$kind => $class,)* }
            }

            /// Whether a hit changes nothing but its entry, so that others need not wait for it.
            #[must_use]
            pub const fn hits_are_local(self) -> bool {
                match self { $(Self::$kind => $local,)* }
            }
        }

        impl Policy for PolicyKind {
            fn heads(&self) -> u32 {
                match self { $(Self::$kind => $policy.heads(),)* }
            }

            fn words(&self) -> usize {
                match self { $(Self::$kind => $policy.words(),)* }
            }

            fn admits(&self, arrival: &Arrival) -> bool {
                match self { $(Self::$kind => $policy.admits(arrival),)* }
            }

            fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival) {
                match self { $(Self::$kind => $policy.insert(state, index, arrival),)* }
            }

            fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
                match self { $(Self::$kind => $policy.touch(state, index),)* }
            }

            fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
                match self { $(Self::$kind => $policy.remove(state, index),)* }
            }

            fn evict(&self, state: &mut State<&mut [u64]>, index: u32) {
                match self { $(Self::$kind => $policy.evict(state, index),)* }
            }

            fn choose(
                &self,
                state: &mut State<&mut [u64]>,
                hear: &mut impl FnMut(u32) -> u32,
            ) -> Option<u32> {
                match self { $(Self::$kind => $policy.choose(state, hear),)* }
            }

            fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
                match self { $(Self::$kind => $policy.check(state, count),)* }
            }
        }
    };
}

policies! {
    /// See [`Lru`].
    Lru: Lru, "lru", Class::One, false;
    /// See [`Lfu`].
    Lfu: Lfu, "lfu", Class::One, false;
    /// See [`Hinted`].
    Hinted: Hinted, "hinted", Class::Hint, false;
    /// See [`Structured`].
    Structured: Structured, "structured", Class::Directory, false;
    /// See [`WTinyLfu`].
    WTinyLfu: WTinyLfu, "w-tinylfu", Class::One, false;
    /// See [`S3Fifo`].
    S3Fifo: S3Fifo, "s3-fifo", Class::One, true;
    /// See [`Sieve`].
    Sieve: Sieve, "sieve", Class::One, true;
    /// See [`NoCache`].
    None: NoCache, "none", Class::One, true;
}

/// What the class of an entry says to a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nothing: all are one.
    One,
    /// In which directory it lies, by a number for each.
    Directory,
    /// Whether it was announced: 0 if not.
    Hint,
}
