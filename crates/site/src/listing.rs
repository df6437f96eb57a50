//! A directory as a page, for people or for programs.

use h1::negotiation::weight_of;
use h1::{Date, Head};
use os::{Directory, Kind, Stat};

use crate::path;

/// More entries are neither read nor shown: some 50 ms of a disk's time.
const ENTRIES_MAX: usize = 10_000;
/// Bytes of entries that are shown. Names may be so long that the page of ten thousand takes tens
/// of MB; what does not fit into a part of the cache would be made anew for each request.
const ENTRIES_BYTES_MAX: usize = 2 << 20;

/// How a directory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Html,
    Json,
}

struct Entry {
    name: String,
    stat: Stat,
}

impl Format {
    /// What the client would rather have (RFC 9110 section 12.5.1): JSON where that is named, and
    /// HTML is not or counts less.
    pub(crate) fn preferred(head: &Head<'_>) -> Self {
        let weight = |media_type| weight_of(head.values("accept"), media_type);
        let (json, html) = (weight("application/json"), weight("text/html"));
        if json > html { Self::Json } else { Self::Html }
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

/// Shows what is in `name` beneath `root`, sorted, under the path `shown`. Names are left out that
/// begin with a dot, that nobody can ask for, or that lead out of the root.
///
/// # Errors
/// As [`Directory::names_beneath`].
pub(crate) fn page(
    root: &Directory,
    name: &[u8],
    shown: &[u8],
    format: Format,
) -> std::io::Result<Vec<u8>> {
    let (names, is_all) = root.names_beneath(name, ENTRIES_MAX)?;
    let published = |name: Vec<u8>| {
        let name = String::from_utf8(name).ok()?;
        let odd = name.starts_with('.') || name.contains(|c: char| c.is_control() || c == '\\');
        (!odd).then_some(name)
    };
    let mut entries: Vec<_> = names
        .into_iter()
        .filter_map(published)
        .filter_map(|entry| {
            let stat = root.stat_beneath(&[name, entry.as_bytes()].concat()).ok()?;
            (stat.kind != Kind::Other).then_some(Entry { name: entry, stat })
        })
        .collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let shown = String::from_utf8_lossy(shown);
    let text = match format {
        Format::Html => html(&entries, &shown, is_all),
        Format::Json => json(&entries, &shown, is_all),
    };
    Ok(text.into_bytes())
}

fn html(entries: &[Entry], shown: &str, is_all: bool) -> String {
    let shown_text = for_html(shown);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{shown_text}</title></head>\n<body>\n<h1>{shown_text}</h1>\n<table>\n\
         <tr><th>Name</th><th>Bytes</th><th>Changed</th></tr>\n"
    );
    if shown != "/" {
        page += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
    }
    let (rows, is_whole) = rows(entries, "", |entry| {
        let slash = if entry.is_directory() { "/" } else { "" };
        // The dot keeps a colon in the name from making it a URI of its own.
        let link = String::from_utf8_lossy(&path::escape(entry.name.as_bytes())).into_owned();
        let (link, name) = (for_html(&link), for_html(&entry.name));
        let size = if entry.is_directory() { String::new() } else { entry.stat.size.to_string() };
        let changed = Date::new(entry.modified());
        let changed = String::from_utf8_lossy(changed.text());
        format!(
            "<tr><td><a href=\"./{link}{slash}\">{name}{slash}</a></td><td>{size}</td>\
             <td>{changed}</td></tr>\n"
        )
    });
    page += &rows;
    page += "</table>\n";
    if !(is_all && is_whole) {
        page += "<p>There is more; the rest is not shown.</p>\n";
    }
    page + "</body>\n</html>\n"
}

fn json(entries: &[Entry], shown: &str, is_all: bool) -> String {
    let (rows, is_whole) = rows(entries, ",", |entry| {
        let (name, modified) = (for_json(&entry.name), entry.modified());
        let rest = if entry.is_directory() {
            String::from("\"kind\":\"directory\"")
        } else {
            format!("\"kind\":\"file\",\"size\":{}", entry.stat.size)
        };
        format!("\n{{\"name\":{name},{rest},\"modified\":{modified}}}")
    });
    let (path, complete) = (for_json(shown), is_all && is_whole);
    format!("{{\"path\":{path},\"complete\":{complete},\"entries\":[{rows}\n]}}\n")
}

/// The entries as far as there is room for them, and whether those are all.
fn rows(entries: &[Entry], between: &str, row: impl Fn(&Entry) -> String) -> (String, bool) {
    let mut rows = String::new();
    for entry in entries {
        let row = row(entry);
        if rows.len() + between.len() + row.len() > ENTRIES_BYTES_MAX {
            return (rows, false);
        }
        if !rows.is_empty() {
            rows += between;
        }
        rows += &row;
    }
    (rows, true)
}

impl Entry {
    fn is_directory(&self) -> bool {
        self.stat.kind == Kind::Directory
    }

    /// Seconds since 1970; 0 for what is older.
    fn modified(&self) -> u64 {
        u64::try_from(self.stat.mtime_ns / 1_000_000_000).unwrap_or_default()
    }
}

fn for_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// Control characters do not occur: no name that has one is shown.
fn for_json(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
