//! Bytes in memory with several users, each of whom has a handle.

use std::fmt;
use std::ops::Deref;

/// A counted handle: what an answer is made of stays until its last user is done with it, also
/// when the cache has long evicted it.
pub type Shared<T> = std::sync::Arc<T>;

/// A counted handle on bytes that do not change: they stay until its last user is done with them.
#[derive(Clone)]
pub enum Block {
    /// On the heap.
    Own(Shared<[u8]>),
    /// Somebody else's, who keeps them as they are for as long as this handle is there: memory that
    /// processes share, with a pin in it.
    Lent(Shared<dyn AsRef<[u8]> + Send + Sync>),
}

impl Block {
    /// The bytes on the heap: copied if they are lent.
    #[must_use]
    pub fn owned(&self) -> Shared<[u8]> {
        match self {
            Self::Own(bytes) => Shared::clone(bytes),
            Self::Lent(lent) => Shared::from((**lent).as_ref()),
        }
    }

    /// To change them: in place where nobody else has them, and in a copy where somebody has, or
    /// where they are lent.
    pub fn make_mut(&mut self) -> &mut [u8] {
        if let Self::Lent(_) = self {
            *self = Self::Own(self.owned());
        }
        match self {
            Self::Own(bytes) => Shared::make_mut(bytes),
            Self::Lent(_) => unreachable!("has just become our own"),
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => (**lent).as_ref(),
        }
    }
}

impl From<Shared<[u8]>> for Block {
    fn from(bytes: Shared<[u8]>) -> Self {
        Self::Own(bytes)
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes.into())
    }
}

impl From<&[u8]> for Block {
    fn from(bytes: &[u8]) -> Self {
        Self::Own(bytes.into())
    }
}

/// No bytes.
impl Default for Block {
    fn default() -> Self {
        Self::Own(Shared::default())
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.len();
        match self {
            Self::Own(_) => write!(f, "{bytes} bytes"),
            Self::Lent(_) => write!(f, "{bytes} bytes, lent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_is_nobody_elses() {
        let shared: Shared<[u8]> = Shared::from(&b"abc"[..]);
        let rows = [
            ("alone", Block::from(b"abc".to_vec())),
            ("of two", Block::Own(Shared::clone(&shared))),
            ("lent", Block::Lent(Shared::new(Shared::clone(&shared)))),
        ];
        for (whose, mut block) in rows {
            assert_eq!(*block, *b"abc", "{whose}");
            assert_eq!(*block.owned(), *b"abc", "{whose}");
            let other = block.clone();
            block.make_mut()[0] = b'x';
            assert_eq!((&*block, &*other), (&b"xbc"[..], &b"abc"[..]), "{whose}");
        }
        assert_eq!(*shared, *b"abc");
        assert!(Block::default().is_empty());
    }

    #[test]
    fn what_nobody_else_has_is_changed_in_place() {
        let mut block = Block::from(b"abc".to_vec());
        let before = block.as_ptr();
        block.make_mut()[0] = b'x';
        assert_eq!((block.as_ptr(), &*block), (before, &b"xbc"[..]));
    }
}
