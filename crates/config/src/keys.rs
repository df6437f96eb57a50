//! The table of keys that are no knobs: what the reader knows and the documentation shows.

use servers::knobs;
use servers::settings::Settings;

/// One key.
pub struct Key {
    /// The table that it stands in; empty at the top.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What a value looks like.
    pub value: &'static str,
    /// What it is where it is not written; empty: nothing.
    pub default: &'static str,
    /// What it does.
    pub reason: &'static str,
}

const fn key(
    table: &'static str,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    reason: &'static str,
) -> Key {
    Key { table, name, value, default, reason }
}

/// The table.
pub const KEYS: &[Key] = &[
    key(
        "",
        "include",
        "[FILE, ...]",
        "",
        "files that are read first, as if they stood at the top of this one; each may be included \
         once, and of a knob that several files write the last counts",
    ),
    key(
        "",
        "root",
        "DIR",
        ".",
        "what is served; where there are hosts, what is served for all names that none of them has",
    ),
    key(
        "",
        "host",
        "[[host]]",
        "",
        "a virtual host; a request is for the first whose name it asks",
    ),
    key(
        "host",
        "names",
        "[NAME, ...]",
        "needed",
        "`example.org`, `*.example.org` for all names below it, or `*` for every name; no port",
    ),
    key("host", "root", "DIR", "", "short for a last rule at `/` with this root"),
    key(
        "host",
        "rule",
        "[[host.rule]]",
        "",
        "what holds for one part of the host. Rules are looked at in written order: what sets \
         something applies, and the first that answers ends it. One rule may set several things; \
         what answers stands in a rule of its own",
    ),
    key(
        "host.rule",
        "at",
        "PATH or [PATH, ...]",
        "needed",
        "the prefix that a path must have, in whole segments: `/docs` has `/docs/a`, not `/docsa`. \
         With a star and an ending, `/docs/*.css`, also how its last name must end; `*.css` is \
         short for `/*.css`. A list has a rule for each",
    ),
    key("host.rule", "root", "DIR", "", "answers with what the rest of the path names in there"),
    key(
        "host.rule",
        "user-directories",
        "DIR",
        "",
        "answers `~name` with what is in this directory of that user's home (JAWS97 3.1)",
    ),
    key(
        "host.rule",
        "redirect",
        "PATH or URI",
        "",
        "answers: the same is elsewhere; the rest of the path and the query go with it. `$host`, \
         `$path` and, at the end, `?$query` are those of the request",
    ),
    key(
        "host.rule",
        "status",
        "301, 302, 303, 307 or 308",
        "302",
        "of the redirect. Browsers keep a 301 or 308 for good, and a mistake with it",
    ),
    key(
        "host.rule",
        "answer",
        "200..299 or 400..599",
        "",
        "answers with this status and nothing else, 403 or 410 for instance",
    ),
    key(
        "host.rule",
        "listing",
        "true or false",
        "false",
        "whether directories without an index file are listed: to each his own, so it is off",
    ),
    key(
        "host.rule",
        "follow-links",
        "[DIR, ...]",
        "",
        "where symbolic links may lead that lead out of the root: to what lies beneath these \
         directories. The last such rule holds, and `[]` follows none; links of users are never \
         followed out",
    ),
    key(
        "host.rule",
        "clean-urls",
        "true or false",
        "false",
        "whether `/about` shows about.html where there is no file `about`",
    ),
    key(
        "host.rule",
        "fallback",
        "PATH",
        "",
        "what is served where there is no file, for applications that are one page",
    ),
    key(
        "host.rule",
        "error-page",
        "{ status, file }",
        "",
        "what replies with a status contain; read at the start",
    ),
    key(
        "host.rule",
        "field",
        "{ name, value }",
        "",
        "a header field added to replies; a later one of that name is added, too",
    ),
    key("host.rule", "fields", "{ NAME = VALUE, ... }", "", "the same for several"),
    key(
        "host.rule",
        "types",
        "{ ENDING = TYPE, ... }",
        "",
        "the media type of files by the ending of their names, `{ m4s = \"video/iso.segment\" }`; \
         `\"*\"` stands for every name. A longer ending wins; of several rules the last that fits",
    ),
    key(
        "host.rule",
        "cors",
        "[ORIGIN, ...]",
        "",
        "whose pages may read replies: `https://example.org`, or `*` for all",
    ),
    key("host.rule", "auth", "{ realm, users }", "", "asks for a name and a password (RFC 7617)"),
    key(
        "host.rule",
        "allow",
        "[NETWORK, ...]",
        "",
        "lets in only clients of these networks, `10.0.0.0/8` or `2001:db8::1`; others get 403. \
         Where several rules allow, all must let a client in",
    ),
    key("host.rule", "deny", "[NETWORK, ...]", "", "answers clients of these networks with 403"),
    key("host.rule.error-page", "status", "400..599", "needed", "of which replies"),
    key("host.rule.error-page", "file", "PATH", "needed", "their content, a path of this host"),
    key("host.rule.field", "name", "NAME", "needed", "of the field"),
    key("host.rule.field", "value", "TEXT", "needed", "of the field"),
    key("host.rule.auth", "realm", "TEXT", "needed", "what a browser shows its user"),
    key(
        "host.rule.auth",
        "users",
        "{ NAME = HASH, ... }",
        "",
        "who may: hashes of passwords by argon2 or bcrypt, as `htpasswd -B` makes them",
    ),
    key(
        "host.rule.auth",
        "users-file",
        "FILE",
        "",
        "the same in lines `name:hash`, as `htpasswd` writes them",
    ),
];

/// What to say of a key that is not known in a table; nothing if it is.
pub(crate) fn unknown(table: &str, name: &str) -> Option<String> {
    let known = names(table);
    if known.contains(&name) {
        return None;
    }
    let elsewhere = KEYS.iter().find(|key| key.name == name).map(|key| key.table);
    let elsewhere = elsewhere.or(servers::knobs::knob(name).map(|_| ""));
    let mend = match (nearest(name, &known), elsewhere) {
        // A slip of one character is likelier than the wrong table.
        (Some((near, 0..=1)), _) | (Some((near, _)), None) => format!("did you mean `{near}`?"),
        (_, Some("")) => "it belongs at the top of the file, before all tables".into(),
        (_, Some(table)) => format!("it belongs in `{table}`"),
        (None, None) if table.is_empty() => {
            "`man weir` and docs/configuration.md have all that there are".into()
        }
        (None, None) => format!("there are {}", known.join(", ")),
    };
    Some(format!("no such key; {mend}"))
}

fn names(table: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
    let knobs = knobs::all().map(|knob| knob.name).filter(|_| table.is_empty());
    keys.chain(knobs).collect()
}

/// The word that was probably meant, if it is one of these, and so many letters or fewer differ.
#[must_use]
pub fn meant<'k>(written: &str, known: &[&'k str], differ_max: usize) -> Option<&'k str> {
    nearest(written, known).filter(|(_, differ)| *differ <= differ_max).map(|(near, _)| near)
}

/// The name that was probably meant, and how far it is from what was written.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<(&'k str, usize)> {
    // Longer than any key; bounds the work.
    const MEANT_MAX: usize = 40;
    let meant = name.replace('_', "-").to_lowercase();
    if meant.len() > MEANT_MAX {
        return None;
    }
    let distances = known.iter().map(|known| (distance(&meant, known), *known));
    let (distance, near) = distances.min()?;
    (distance <= (near.len() / 3).max(1)).then_some((near, distance))
}

/// Characters to insert, remove, replace or swap with their neighbour until one is the other.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.chars().collect::<Vec<_>>());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The knobs as a table in Markdown.
#[must_use]
pub fn knobs_markdown() -> String {
    let defaults = Settings::default();
    let mut text = String::from("| key | range and unit | default | taken by | what and why |\n");
    text.push_str("|---|---|---|---|---|\n");
    for knob in knobs::all() {
        let takers = knob.taken_by();
        let (value, default) = (knob.value.replace('|', " or "), (knob.show)(&defaults));
        let (name, reason) = (knob.name, knob.reason);
        text.push_str(&format!("| `{name}` | {value} | `{default}` | {takers} | {reason} |\n"));
    }
    text
}

/// The other keys as tables in Markdown, one for each table of the file.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::new();
    let mut table = None;
    for key in KEYS {
        if table != Some(key.table) {
            table = Some(key.table);
            let title = match key.table {
                "" => "At the top of the file".into(),
                "host" | "host.rule" => format!("In `[[{}]]`", key.table),
                _ => format!("In `{}`", key.table),
            };
            text.push_str(&format!("\n{title}:\n\n| key | value | default | what and why |\n"));
            text.push_str("|---|---|---|---|\n");
        }
        let Key { name, value, default, reason, .. } = key;
        text.push_str(&format!("| `{name}` | `{value}` | {default} | {reason} |\n"));
    }
    text.trim_start().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_was_meant_is_named() {
        let rows = [
            ("", "acept-limit", "did you mean `accept-limit`?"),
            ("", "ACCEPT_LIMIT", "did you mean `accept-limit`?"),
            ("", "lsiten", "did you mean `listen`?"),
            ("", "hosts", "did you mean `host`?"),
            ("", "listing", "it belongs in `host.rule`"),
            ("host", "backlog", "it belongs at the top of the file, before all tables"),
            ("host", "listen", "it belongs at the top of the file, before all tables"),
            ("", "frobnicate", "`man weir` and docs/configuration.md have all that there are"),
            ("host.rule.field", "x", "there are name, value"),
        ];
        for (table, name, mend) in rows {
            assert_eq!(unknown(table, name), Some(format!("no such key; {mend}")), "{name}");
        }
        assert_eq!(unknown("host", "names"), None);
    }

    #[test]
    fn distances() {
        let rows =
            [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("abc", "axc", 1), ("ab", "abcd", 2)];
        for (a, b, expected) in rows {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }
}
