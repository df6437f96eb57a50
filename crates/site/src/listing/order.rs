//! In which order a directory is shown.

use std::cmp::{Ordering, Reverse};

use super::Entry;

/// What entries are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Name,
    Size,
    Date,
}

/// Directories come first in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) key: Key,
    pub(crate) descends: bool,
}

impl Key {
    pub(crate) const ALL: [Self; 3] = [Self::Name, Self::Size, Self::Date];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Size => "size",
            Self::Date => "date",
        }
    }

    /// Names from the beginning of the alphabet; else the largest or newest first, which is what
    /// one looks for.
    const fn usual(self) -> Order {
        Order { key: self, descends: !matches!(self, Self::Name) }
    }
}

impl Order {
    pub(crate) const USUAL: Self = Key::Name.usual();

    /// What a query asks for: `sort=size&order=desc`. What it does not say is as usual.
    pub(super) fn asked(query: &[u8]) -> Self {
        let pairs = || query.split(|&byte| byte == b'&');
        let last = |name: &[u8]| pairs().filter_map(|pair| pair.strip_prefix(name)).next_back();
        let sort = last(b"sort=").unwrap_or_default();
        let key = Key::ALL.into_iter().find(|key| key.name().as_bytes() == sort);
        let usual = key.unwrap_or(Key::Name).usual();
        match last(b"order=") {
            Some(b"asc") => Self { descends: false, ..usual },
            Some(b"desc") => Self { descends: true, ..usual },
            _ => usual,
        }
    }

    /// That of a click on a column's head.
    pub(super) fn after_click(self, key: Key) -> Self {
        if self.key == key { Self { key, descends: !self.descends } } else { key.usual() }
    }

    pub(super) fn sort(self, entries: &mut [Entry]) {
        // Who is equal stands by name, also backwards.
        entries.sort_by_cached_key(|entry| {
            let (size, date) = match self.key {
                Key::Name => (0, 0),
                Key::Size if entry.is_directory() => (0, 0),
                Key::Size => (entry.stat.size, 0),
                Key::Date => (0, entry.stat.mtime_ns),
            };
            let rank = Directed { descends: self.descends, of: (size, date) };
            let by_name = self.key == Key::Name && self.descends;
            let name = Directed { descends: by_name, of: natural(&entry.text(), &entry.name) };
            (Reverse(entry.is_directory()), rank, name)
        });
    }
}

/// Something in one or the other direction.
#[derive(PartialEq, Eq)]
struct Directed<T> {
    descends: bool,
    of: T,
}

impl<T: Ord> Ord for Directed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.descends { other.of.cmp(&self.of) } else { self.of.cmp(&other.of) }
    }
}

impl<T: Ord> PartialOrd for Directed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What a name is sorted by as people count, byte by byte: `file-2` before `file-10`, and `A`
/// beside `a`; then by the name itself, so that no two are alike. A number is how many digits it
/// has without the zeros before it, and these. No name has the byte 0.
pub(super) fn natural(text: &str, name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 * name.len() + 8);
    let lower = text.to_lowercase();
    for part in lower.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        if part[0].is_ascii_digit() {
            let zeros = part.iter().take_while(|digit| **digit == b'0').count();
            let number = &part[zeros..];
            key.push(1);
            key.extend((number.len() as u16).to_be_bytes());
            key.extend(number);
        } else {
            key.extend(part);
        }
    }
    key.push(0);
    key.extend(name);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_people_count() {
        let sorted = [
            "",
            "0",
            "00",
            "01",
            "1",
            "2",
            "10",
            "10a",
            "99999999999999999999999",
            "-",
            "a",
            "a1",
            "a2b",
            "a10",
            "A10b",
            "B",
            "b",
            "b c",
            "file-2.txt",
            "file-10.txt",
            "File-11.txt",
            "ä",
            "中1",
            "中2",
            "中10",
        ];
        let mut names = sorted.to_vec();
        names.reverse();
        names.sort_by_cached_key(|name| natural(name, name.as_bytes()));
        assert_eq!(names, sorted);
    }

    #[test]
    fn a_query_says_which() {
        let rows = [
            ("", "name", false),
            ("sort=name", "name", false),
            ("sort=size", "size", true),
            ("sort=date", "date", true),
            ("sort=size&order=asc", "size", false),
            ("order=desc", "name", true),
            ("order=desc&sort=name", "name", true),
            ("sort=colour&order=up", "name", false),
            ("sort=size&sort=date&x", "date", true),
            ("sort=SIZE", "name", false),
            ("resort=size&sort", "name", false),
        ];
        for (query, key, descends) in rows {
            let order = Order::asked(query.as_bytes());
            assert_eq!((order.key.name(), order.descends), (key, descends), "{query}");
        }
    }
}
