//! A directory as a page, for people or for programs.

mod html;
mod json;
mod order;
mod text;

use std::borrow::Cow;

use h1::Head;
use h1::negotiation::prefers;
use os::{Directory, Kind, Stat};

use self::order::{Key, Order};

/// More entries are neither read nor shown. To read ten thousand takes some 15 ms of a processor,
/// and a page of them up to 10 ms; twice as much where names have 240 letters
/// (examples/listing_cost.rs). A client can have that once for each format and age of an answer.
const ENTRIES_MAX: usize = 10_000;
/// Bytes of entries that are shown. Names may be so long that the page of ten thousand takes tens
/// of MB; what does not fit into a part of the cache would be made anew for each request.
const ENTRIES_BYTES_MAX: usize = 2 << 20;

/// Header lines of the page. Its names are other people's: should one of them ever be taken for
/// markup, it does nothing.
const FIELDS: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
                      img-src 'self'; base-uri 'none'; form-action 'self'\r\n";

/// How a directory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Html(Order),
    Json,
}

pub(super) struct Entry {
    /// Not always UTF-8.
    name: Vec<u8>,
    stat: Stat,
}

impl Format {
    /// Of a reply that shows no directory.
    pub(crate) const USUAL: Self = Self::Html(Order::USUAL);

    /// All that there are; each has a ruling of its own, and so an answer that is kept.
    pub(crate) const ALL: [Self; 7] = [
        Self::USUAL,
        Self::Html(Order { key: Key::Name, descends: true }),
        Self::Html(Order { key: Key::Size, descends: false }),
        Self::Html(Order { key: Key::Size, descends: true }),
        Self::Html(Order { key: Key::Date, descends: false }),
        Self::Html(Order { key: Key::Date, descends: true }),
        Self::Json,
    ];

    /// What the client would rather have: HTML unless it says otherwise.
    pub(crate) fn preferred(head: &Head<'_>) -> Self {
        if prefers(head, "application/json", "text/html") {
            Self::Json
        } else {
            Self::Html(Order::asked(head.query()))
        }
    }

    /// Its place among [`Self::ALL`].
    pub(crate) fn place(self) -> usize {
        Self::ALL.iter().position(|format| *format == self).unwrap_or_default()
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Html(_) => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }

    /// Header lines of its replies.
    pub(crate) const fn fields(self) -> &'static str {
        match self {
            Self::Html(_) => FIELDS,
            Self::Json => "",
        }
    }
}

/// Shows what is in `name` beneath `root`, sorted, under the path `shown`. Names that begin with a
/// dot are hidden. What cannot be served is left out: what is neither file nor directory, links
/// that lead nowhere or out of the root, and what cannot be read.
///
/// # Errors
/// As [`Directory::entries_beneath`].
pub(crate) fn page(
    root: &Directory,
    name: &[u8],
    shown: &[u8],
    format: Format,
) -> std::io::Result<Vec<u8>> {
    let (entries, is_all) = root.entries_beneath(name, ENTRIES_MAX)?;
    let read = entries.into_iter().filter(|entry| !entry.name.starts_with(b"."));
    let (mut entries, mut left_out) = (Vec::new(), 0);
    for entry in read {
        match entry.stat {
            Ok(stat) if stat.kind != Kind::Other => entries.push(Entry { name: entry.name, stat }),
            _ => left_out += 1,
        }
    }
    let shown = String::from_utf8_lossy(shown);
    let page = match format {
        Format::Html(order) => {
            order.sort(&mut entries);
            html::page(&entries, &shown, order, (is_all, left_out))
        }
        Format::Json => {
            entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
            json::page(&entries, &shown, is_all && left_out == 0)
        }
    };
    Ok(page.into_bytes())
}

/// Adds the entries as far as there is room for them, and says whether those are all.
fn add_rows(
    page: &mut String,
    entries: &[Entry],
    between: &str,
    add_row: impl Fn(&mut String, &Entry),
) -> bool {
    let begin = page.len();
    for entry in entries {
        let end = page.len();
        if end > begin {
            *page += between;
        }
        add_row(page, entry);
        if page.len() - begin > ENTRIES_BYTES_MAX {
            page.truncate(end);
            return false;
        }
    }
    true
}

impl Entry {
    /// For readers: U+FFFD stands for what is not UTF-8.
    fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    fn is_directory(&self) -> bool {
        self.stat.kind == Kind::Directory
    }

    /// Seconds since 1970; 0 for what is older.
    fn modified(&self) -> u64 {
        u64::try_from(self.stat.mtime_ns / 1_000_000_000).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_place() {
        let places = Format::ALL.map(Format::place);
        assert!(places.into_iter().eq(0..Format::ALL.len()));
    }
}
