//! Words that may not be used, and where.

use crate::{
    finding::Finding,
    source::{Source, line_at, word_positions},
    tree::{File, Tree},
};

/// Work that was put off has no place in the tree; the tracker has.
const PUT_OFF: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Macros that end up in a commit only by mistake.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

/// The system is behind one door, in tests too.
const SYSTEM: [&str; 2] = ["unsafe", "libc"];

/// Safe, so a test may signal a process by it; the product goes through the door.
const SYSTEM_SAFELY: [&str; 1] = ["rustix"];

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "manager", "helper", "misc"];

/// The one file of the load generator that names a protocol, so that another one is a second such
/// file and no search through the engine.
const TALK: &str = "crates/load/src/engine/talk.rs";

/// HTTP is the business of `h1` and `site`. The list need not be whole: who starts to handle fields
/// in `servers` soon needs one of these.
const FIELDS: [&str; 14] = [
    "content-length",
    "content-type",
    "content-range",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
    "accept-ranges",
    "if-modified-since",
    "if-unmodified-since",
    "if-none-match",
    "if-match",
    "if-range",
    "last-modified",
    "user-agent",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let mut find = |view: &str, words: &[&str], reason: &str| {
            findings.extend(uses(&file.path, view, words, reason));
        };
        find(&source.comments, &PUT_OFF, "finish it or file an issue");
        find(&source.code, &UNFINISHED, "not for a commit");
        if !file.path.starts_with("crates/os/") {
            find(&source.code, &SYSTEM, "only crate os may call the system");
            if !file.path.contains("/tests/") {
                find(&source.code, &SYSTEM_SAFELY, "only crate os may call the system");
            }
        }
        if file.path.starts_with("crates/servers/src/") && !file.path.ends_with("tests.rs") {
            let ours = product(source).to_ascii_lowercase();
            find(&ours, &FIELDS, "servers know nothing of header fields");
        }
        if file.path.starts_with("crates/load/src/") && file.path != TALK {
            find(&source.code, &["h1"], "only engine/talk.rs knows which protocol it is");
        }
        findings.extend(empty_names(file, source));
        findings.extend(unforbidden(file, source));
    }
    findings
}

fn uses(path: &str, view: &str, words: &[&str], reason: &str) -> Vec<Finding> {
    let found = words.iter().flat_map(|word| word_positions(view, word).map(move |at| (word, at)));
    found
        .map(|(word, at)| Finding::new(path, line_at(view, at), format!("`{word}`: {reason}")))
        .collect()
}

/// The literals before the unit tests, which may well speak HTTP.
fn product(source: &Source) -> &str {
    let end = source.code.find("#[cfg(test)]").map_or(usize::MAX, |at| line_at(&source.code, at));
    let literals = source.literals.split_inclusive('\n').take(end.saturating_sub(1));
    &source.literals[..literals.map(str::len).sum()]
}

fn empty_names(file: &File, source: &Source) -> Vec<Finding> {
    let mut parts = file.path.trim_end_matches(".rs").split('/');
    let mut findings = Vec::new();
    if let Some(name) = parts.find(|part| EMPTY_NAMES.contains(part)) {
        findings.push(Finding::new(
            &file.path,
            1,
            format!("`{name}` says nothing; name the thing"),
        ));
    }
    for name in EMPTY_NAMES {
        for at in word_positions(&source.code, name) {
            if source.code[..at].ends_with("mod ") {
                let what = format!("`mod {name}` says nothing; name the thing");
                findings.push(Finding::new(&file.path, line_at(&source.code, at), what));
            }
        }
    }
    findings
}

fn unforbidden(file: &File, source: &Source) -> Option<Finding> {
    let root = ["/src/lib.rs", "/src/main.rs"].iter().any(|end| file.path.ends_with(end))
        || file.path.contains("/src/bin/");
    let needed = root && !file.path.starts_with("crates/os/");
    let forbids = source.code.contains("#![forbid(unsafe_code)]");
    (needed && !forbids)
        .then(|| Finding::new(&file.path, 1, "a crate's root says `#![forbid(unsafe_code)]`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_are_used() {
        let rows = [
            ("crates/h1/src/a.rs", "// TODO: later", 1),
            ("crates/h1/src/a.rs", "let x = \"TODO\";", 0),
            ("crates/h1/src/a.rs", "todo!()", 1),
            ("crates/h1/src/a.rs", "unsafe { f() }", 1),
            ("crates/h1/src/a.rs", "// unsafe\nlet unsafe_code = \"unsafe\";", 0),
            ("crates/os/src/a.rs", "unsafe { libc::f() }", 0),
            ("crates/site/src/a.rs", "use libc::c_int;", 1),
            ("crates/site/src/a.rs", "use rustix::fs;", 1),
            ("crates/site/tests/a.rs", "use rustix::fs;", 0),
            ("crates/servers/src/a.rs", "f(\"Content-Length: 1\");", 1),
            ("crates/servers/src/a.rs", "#[cfg(test)]\nmod tests { f(\"content-length\"); }", 0),
            ("crates/servers/src/a.rs", "// content-length", 0),
            ("crates/h1/src/a.rs", "f(\"content-length\");", 0),
            ("crates/load/src/url.rs", "h1::client::is_target(a)", 1),
            ("crates/load/src/url.rs", "use h1 as other;", 1),
            ("crates/load/src/url.rs", "// h1::\nf(\"h1::\")", 0),
            ("crates/load/src/engine/talk.rs", "use h1::client;", 0),
            ("crates/weir/src/a.rs", "h1::f()", 0),
            ("crates/h1/src/util.rs", "", 1),
            ("crates/h1/src/common/a.rs", "", 1),
            ("crates/h1/src/helpers.rs", "mod helpers;", 0),
            ("crates/h1/src/a.rs", "mod manager;", 1),
            ("crates/h1/src/lib.rs", "", 1),
            ("crates/h1/src/lib.rs", "#![forbid(unsafe_code)]", 0),
            ("crates/os/src/lib.rs", "", 0),
        ];
        for (path, text, expected) in rows {
            let findings = check(&Tree::of(path, text));
            assert_eq!(findings.len(), expected, "{path}: {text}: {findings:?}");
        }
    }
}
