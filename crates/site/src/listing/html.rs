//! A directory as people read it.

use h1::Date;

use super::order::{Key, Order};
use super::text::add_html;
use super::{Entry, add_rows};
use crate::path;

/// How the page looks, in the page itself: another request might be answered by a rule.
const STYLE: &str = include_str!("style.css");

pub(super) fn page(
    entries: &[Entry],
    shown: &str,
    order: Order,
    (is_all, left_out): (bool, usize),
) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
    );
    add_html(&mut page, shown);
    page.extend(["</title>\n<style>\n", STYLE, "</style>\n<h1>"]);
    add_way(&mut page, shown);
    page += "</h1>\n<table>\n<thead><tr>";
    page.extend(Key::ALL.map(|key| column(key, order)));
    page += "</thead>\n<tbody>\n";
    if shown != "/" {
        page += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
    }
    let is_whole = add_rows(&mut page, entries, "", add_row);
    page += "</tbody>\n</table>\n";
    page += &match left_out {
        _ if !is_all || !is_whole => String::from("<p>There is more; the rest is not shown.</p>\n"),
        0 => format!("<p>{}</p>\n", sum(entries)),
        _ => format!("<p>{}; {left_out} not shown</p>\n", sum(entries)),
    };
    page
}

/// The path, each directory on it a link.
fn add_way(page: &mut String, shown: &str) {
    let names: Vec<_> = shown.split_inclusive('/').collect();
    for (at, name) in names.iter().enumerate() {
        let up = "../".repeat(names.len() - 1 - at);
        if up.is_empty() {
            add_html(page, name);
        } else {
            page.extend(["<a href=\"", &up, "\">"]);
            add_html(page, name);
            *page += "</a>";
        }
    }
}

/// The head of a column: a button that sorts by it, or the other way. Not a link: what mirrors a
/// site would follow it, and fetch each directory once for each order.
fn column(key: Key, order: Order) -> String {
    let (title, next) = match key {
        Key::Name => ("Name", order.after_click(key)),
        Key::Size => ("Size", order.after_click(key)),
        Key::Date => ("Changed (UTC)", order.after_click(key)),
    };
    let is = match order.descends {
        _ if order.key != key => "",
        true => " aria-sort=\"descending\"",
        false => " aria-sort=\"ascending\"",
    };
    let (name, way) = (key.name(), if next.descends { "desc" } else { "asc" });
    format!(
        "<th{is}><form rel=\"nofollow\"><input type=\"hidden\" name=\"order\" value=\"{way}\">\
         <button name=\"sort\" value=\"{name}\">{title}</button></form></th>"
    )
}

fn add_row(page: &mut String, entry: &Entry) {
    let slash = if entry.is_directory() { "/" } else { "" };
    // The dot keeps a colon in the name from making it a URI of its own.
    *page += "<tr><td><a href=\"./";
    add_html(page, &String::from_utf8_lossy(&path::escape(&entry.name)));
    page.extend([slash, "\">"]);
    add_html(page, &entry.text());
    page.extend([slash, "</a></td>"]);
    if entry.is_directory() {
        *page += "<td></td>";
    } else {
        let bytes = counted(entry.stat.size, "byte", "bytes");
        page.extend(["<td title=\"", &bytes, "\">", &readable(entry.stat.size), "</td>"]);
    }
    let changed = Date::new(entry.modified()).rfc3339();
    // To the minute, in UTC as the head of the column says.
    page.extend(["<td>", &changed[..10], " ", &changed[11..16], "</td></tr>\n"]);
}

/// `3 directories, 1 file, 1.2 MB`
fn sum(entries: &[Entry]) -> String {
    let directories = entries.iter().filter(|entry| entry.is_directory()).count();
    let files = entries.iter().filter(|entry| !entry.is_directory());
    let bytes = files.map(|entry| entry.stat.size).fold(0, u64::saturating_add);
    format!(
        "{}, {}, {}",
        counted(directories as u64, "directory", "directories"),
        counted((entries.len() - directories) as u64, "file", "files"),
        readable(bytes)
    )
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// As disks are sold: thousands of bytes, with a digit behind the point where there is one before
/// it.
fn readable(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut unit = 1000;
    for name in UNITS {
        let tenths = (u128::from(bytes) * 10 + unit / 2) / unit;
        if tenths < 100 {
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
        let whole = (u128::from(bytes) + unit / 2) / unit;
        if whole < 1000 {
            return format!("{whole} {name}");
        }
        unit *= 1000;
    }
    unreachable!("no number of bytes has more than 18 EB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_can_be_read() {
        let rows = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1049, "1.0 kB"),
            (1050, "1.1 kB"),
            (9949, "9.9 kB"),
            (9950, "10 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (1_234_567, "1.2 MB"),
            (30_000_000, "30 MB"),
            (u64::MAX, "18 EB"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(readable(bytes), expected, "{bytes}");
        }
    }
}
