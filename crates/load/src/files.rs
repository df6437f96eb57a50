//! What a workload's server has: targets, their sizes and their content.

use measure::draw::Stream;

/// A file of a [`Files`], by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The origin form that asks for it: a path, mostly, that begins with a slash.
    pub target: Box<str>,
    /// Of its content, in bytes; `None`: nobody knows.
    pub bytes: Option<u64>,
    /// The class that its results are told by: of SPECweb99, 0 to 3; else a power of two of its
    /// size.
    pub class: u16,
}

impl File {
    /// One whose class is told by its size.
    #[must_use]
    pub fn sized(target: impl Into<Box<str>>, bytes: u64) -> Self {
        Self { target: target.into(), bytes: Some(bytes), class: size_class(bytes) }
    }

    /// One whose size nobody knows.
    #[must_use]
    pub fn unknown(target: impl Into<Box<str>>) -> Self {
        Self { target: target.into(), bytes: None, class: UNKNOWN_SIZE }
    }
}

/// The class of files whose size nobody knows: sizes have 64 bits, so no size has it.
const UNKNOWN_SIZE: u16 = 65;

/// The class of a size: 0 of nothing, else one more than the power of two that it reaches.
#[must_use]
pub fn size_class(bytes: u64) -> u16 {
    bytes.checked_ilog2().map_or(0, |power| power as u16 + 1)
}

/// The sizes of such a class, in words.
#[must_use]
pub fn size_class_name(class: u16) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if class == UNKNOWN_SIZE {
        return String::from("unknown size");
    }
    let Some(power) = class.checked_sub(1) else { return String::from("empty") };
    let (least, unit) = (1 << (power % 10), UNITS[usize::from(power / 10).min(6)]);
    format!("{least} to {} {unit}", least * 2)
}

/// All files of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    all: Vec<File>,
    /// Whether they were made by [`content`], so that what comes can be compared.
    pub is_made: bool,
}

impl Files {
    /// These files.
    #[must_use]
    pub const fn new(all: Vec<File>, is_made: bool) -> Self {
        Self { all, is_made }
    }

    /// One of them.
    ///
    /// # Panics
    /// It is of others.
    #[must_use]
    pub fn file(&self, id: FileId) -> &File {
        &self.all[id.0 as usize]
    }

    /// The size that one of them has if nothing is wrong; `None`: they were not made, so that a log
    /// may tell what it was once, but nobody what it is.
    #[must_use]
    pub fn made_bytes(&self, id: FileId) -> Option<u64> {
        self.file(id).bytes.filter(|_| self.is_made)
    }

    /// All, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (FileId, &File)> {
        self.all.iter().enumerate().map(|(at, file)| (FileId(at as u32), file))
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// A part of a target with its escapes undone (RFC 3986 section 2.1); `None`: one is broken.
pub(crate) fn unescaped(part: &str) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            plain.push((digit()? << 4 | digit()?) as u8);
        } else {
            plain.push(byte);
        }
    }
    Some(plain)
}

/// The content of a made file: bytes that nobody else's content equals, and that compress badly.
/// `write` gets them piece by piece.
pub fn content(target: &str, bytes: u64, mut write: impl FnMut(&[u8])) {
    let mut stream = stream(target);
    let mut left = bytes;
    let mut piece = [0; 4096];
    while left > 0 {
        for eight in piece.as_chunks_mut::<8>().0 {
            *eight = stream.bits().to_le_bytes();
        }
        let count = left.min(piece.len() as u64);
        write(&piece[..count as usize]);
        left -= count;
    }
}

/// What a made file's content is drawn from.
fn stream(target: &str) -> Stream {
    // FNV-1a: a seed from a name, on every machine the same.
    let seed = target.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Stream::new(seed, 0)
}

/// Compares what comes with what [`content`] makes, piece by piece and without keeping either.
#[derive(Debug)]
pub struct Comparison {
    stream: Stream,
    /// The last eight bytes that were made, and how many of them have been compared.
    made: [u8; 8],
    used: usize,
    /// Bytes that are still to come.
    left: u64,
    is_same: bool,
}

impl Comparison {
    /// With the content of a made file of this size.
    #[must_use]
    pub fn new(target: &str, bytes: u64) -> Self {
        Self { stream: stream(target), made: [0; 8], used: 8, left: bytes, is_same: true }
    }

    /// Takes the next bytes that came.
    pub fn take(&mut self, mut piece: &[u8]) {
        let left = self.left.checked_sub(piece.len() as u64);
        self.is_same &= left.is_some();
        self.left = left.unwrap_or_default();
        while self.is_same && !piece.is_empty() {
            if self.used == self.made.len() {
                self.made = self.stream.bits().to_le_bytes();
                self.used = 0;
            }
            let made = &self.made[self.used..];
            let count = made.len().min(piece.len());
            self.is_same = made[..count] == piece[..count];
            self.used += count;
            piece = &piece[count..];
        }
    }

    /// Whether all that came is what was made, and nothing is missing.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        self.is_same && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(target: &str, bytes: u64) -> Vec<u8> {
        let mut all = Vec::new();
        content(target, bytes, |piece| all.extend_from_slice(piece));
        all
    }

    #[test]
    fn classes_are_powers_of_two() {
        let rows = [
            (0, 0, "empty"),
            (1, 1, "1 to 2 B"),
            (511, 9, "256 to 512 B"),
            (512, 10, "512 to 1024 B"),
            (1024, 11, "1 to 2 KiB"),
            (5 << 20, 23, "4 to 8 MiB"),
            (u64::MAX, 64, "8 to 16 EiB"),
        ];
        for (bytes, class, name) in rows {
            assert_eq!(File::sized("/a", bytes).class, class, "{bytes}");
            assert_eq!(size_class_name(class), name, "{bytes}");
        }
    }

    #[test]
    fn an_unknown_size_is_not_none() {
        let file = File::unknown("/a");
        assert_eq!((file.bytes, &*size_class_name(file.class)), (None, "unknown size"));
        assert_ne!(file.class, size_class(u64::MAX));
    }

    #[test]
    fn content_depends_on_the_name_alone() {
        assert_eq!(made("/a", 10_000).len(), 10_000);
        assert_eq!(made("/a", 100), made("/a", 10_000)[..100]);
        assert_ne!(made("/a", 100), made("/b", 100));
    }
    #[test]
    fn content_is_compared_however_it_comes() {
        let check = |came: &[u8], piece: usize, expected: bool| {
            let mut comparison = Comparison::new("/a", 10_001);
            came.chunks(piece).for_each(|piece| comparison.take(piece));
            assert_eq!(comparison.is_same(), expected, "{} bytes by {piece}", came.len());
        };
        let good = made("/a", 10_001);
        let mut bad = good.clone();
        bad[5_000] ^= 1;
        for piece in [1, 3, 8, 4_097, 10_001] {
            check(&good, piece, true);
            check(&bad, piece, false);
            check(&good[..10_000], piece, false);
            check(&made("/a", 10_002), piece, false);
            check(&made("/b", 10_001), piece, false);
        }
    }
}
