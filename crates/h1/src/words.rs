//! What the head of a representation says in words of its own, in one block of memory.

use crate::Block;

/// The words, each where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wording<'w> {
    /// `Content-Type` without the name, e.g. `text/html; charset=utf-8`. Empty: none is sent; see
    /// [`crate::Representation::is_bare`] for errors.
    pub media_type: &'w [u8],
    /// With its quotes; always strong. Empty: there is none.
    pub etag: &'w [u8],
    /// For `Location`: a path or a URI in visible ASCII. The query of the request goes with it,
    /// behind the one that it has and before its fragment. Empty: there is none.
    pub location: &'w [u8],
    /// Further header lines, each ended by CRLF. Those of a 200 are also on the 206, 304, 412 or
    /// 416 that it turns into.
    pub fields: &'w [u8],
}

/// The same, one behind the other.
#[derive(Debug, Clone, Default)]
pub struct Words {
    of: Block,
    bounds: Bounds,
}

/// Where in a block the media type begins, and where each of the four ends.
pub type Bounds = [u32; 5];

impl Words {
    /// A copy of them, in a block of its own.
    ///
    /// # Panics
    /// They are 4 GiB long.
    #[must_use]
    pub fn of(wording: Wording<'_>) -> Self {
        let all = wording.all();
        Self { of: all.concat().into(), bounds: bounds(all.map(<[u8]>::len), 0) }
    }

    /// Those that lie in that block, which may hold more.
    ///
    /// # Panics
    /// They do not: a bound is behind the next, or behind the end.
    #[must_use]
    pub fn within(of: Block, bounds: Bounds) -> Self {
        let is_in = bounds.is_sorted() && bounds[4] as usize <= of.len();
        assert!(is_in, "{bounds:?} of {} bytes", of.len());
        Self { of, bounds }
    }

    /// `Content-Type`; see [`Wording`] for this and the others.
    #[must_use]
    pub fn media_type(&self) -> &[u8] {
        self.word(0)
    }

    /// The entity tag.
    #[must_use]
    pub fn etag(&self) -> Option<&[u8]> {
        Some(self.word(1)).filter(|etag| !etag.is_empty())
    }

    /// Where it leads.
    #[must_use]
    pub fn location(&self) -> Option<&[u8]> {
        Some(self.word(2)).filter(|location| !location.is_empty())
    }

    /// Further header lines.
    #[must_use]
    pub fn fields(&self) -> &[u8] {
        self.word(3)
    }

    /// All of them.
    #[must_use]
    pub fn wording(&self) -> Wording<'_> {
        let [media_type, etag, location, fields] = [0, 1, 2, 3].map(|at| self.word(at));
        Wording { media_type, etag, location, fields }
    }

    fn word(&self, at: usize) -> &[u8] {
        &self.of[self.bounds[at] as usize..self.bounds[at + 1] as usize]
    }
}

impl<'w> Wording<'w> {
    /// Bytes of all of them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all().map(<[u8]>::len).iter().sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In the order in which they lie in a block.
    #[must_use]
    pub const fn all(&self) -> [&'w [u8]; 4] {
        [self.media_type, self.etag, self.location, self.fields]
    }
}

/// Of words so long, one behind the other from `at` on.
fn bounds(lengths: [usize; 4], at: usize) -> Bounds {
    let mut bounds = [u32::try_from(at).expect("of 4 GiB"); 5];
    let mut end = at;
    for (bound, length) in bounds[1..].iter_mut().zip(lengths) {
        end += length;
        *bound = u32::try_from(end).expect("words of less than 4 GiB");
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_were_put() {
        let full = Wording {
            media_type: b"text/html",
            etag: b"\"1-2\"",
            location: b"/there",
            fields: b"X-A: 1\r\n",
        };
        let without = Wording { etag: b"", location: b"", ..full };
        for wording in [full, without, Wording::default()] {
            let words = Words::of(wording);
            assert_eq!(words.wording(), wording);
            assert_eq!(words.media_type(), wording.media_type);
            assert_eq!(words.etag().unwrap_or_default(), wording.etag);
            assert_eq!(words.location().unwrap_or_default(), wording.location);
            assert_eq!(words.fields(), wording.fields);
            assert_eq!(words.etag().is_some(), !wording.etag.is_empty());
        }
    }

    #[test]
    fn words_may_lie_among_others() {
        let words = Words::within(
            Block::from(&b"head text/plain\"1\"/aA: 1\r\ncontent"[..]),
            [5, 15, 18, 20, 26],
        );
        let expected = Wording {
            media_type: b"text/plain",
            etag: b"\"1\"",
            location: b"/a",
            fields: b"A: 1\r\n",
        };
        assert_eq!(words.wording(), expected);
    }

    #[test]
    #[should_panic(expected = "[0, 4, 3, 4, 4] of 4 bytes")]
    fn bounds_are_in_order() {
        let _ = Words::within(Block::from(&b"text"[..]), [0, 4, 3, 4, 4]);
    }

    #[test]
    #[should_panic(expected = "[0, 1, 2, 3, 5] of 4 bytes")]
    fn bounds_are_within_their_block() {
        let _ = Words::within(Block::from(&b"text"[..]), [0, 1, 2, 3, 5]);
    }
}
