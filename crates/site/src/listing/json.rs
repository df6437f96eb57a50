//! A directory as programs read it.

use super::text::add_json;
use super::{Entry, add_rows};
use crate::path;

pub(super) fn page(entries: &[Entry], shown: &str, is_all: bool) -> String {
    let mut rows = String::new();
    let complete = add_rows(&mut rows, entries, ",", add_row) && is_all;
    let mut path = String::new();
    add_json(&mut path, shown);
    format!("{{\"path\":{path},\"complete\":{complete},\"entries\":[{rows}\n]}}\n")
}

fn add_row(page: &mut String, entry: &Entry) {
    *page += "\n{\"name\":";
    add_json(page, &entry.text());
    // A colon would make it a URI of its own.
    let href = String::from_utf8_lossy(&path::escape(&entry.name)).replace(':', "%3A");
    let slash = if entry.is_directory() { "/" } else { "" };
    *page += &format!(",\"href\":\"{href}{slash}\"");
    let modified = entry.modified();
    *page += &if entry.is_directory() {
        format!(",\"kind\":\"directory\",\"modified\":{modified}}}")
    } else {
        let size = entry.stat.size;
        format!(",\"kind\":\"file\",\"size\":{size},\"modified\":{modified}}}")
    };
}
