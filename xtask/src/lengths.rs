//! How long files, functions and lines may be.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    finding::Finding,
    tree::{RATCHET, Tree},
};

/// One sitting's reading.
const FILE_LINES_MAX: usize = 500;

/// What fits on a screen, as in TigerBeetle's style.
const FUNCTION_LINES_MAX: usize = 70;

/// Two files side by side.
const COLUMNS_MAX: usize = 100;

/// What a newcomer reads of it; the rest is in docs/.
const README: &str = "README.md";
const README_LINES_MAX: usize = 130;

/// Of a file, or of a function named `path::function`.
struct Length {
    name: String,
    line: usize,
    lines: usize,
    lines_max: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = wide_lines(tree);
    findings.extend(long_readme(tree));
    let listed = listed(&tree.ratchet);
    let lengths = lengths(tree);
    for length in &lengths {
        let Length { name, line, lines, lines_max } = length;
        let path = name.split("::").next().unwrap_or_default();
        let what = match listed.get(name.as_str()) {
            None if lines > lines_max => format!("`{name}` has {lines} lines, over {lines_max}"),
            Some(before) if lines > before => {
                format!("`{name}` grew from {before} to {lines} lines")
            }
            Some(before) if lines < before => {
                format!("`{name}` shrank to {lines} lines: `cargo xtask generate` notes it")
            }
            _ => continue,
        };
        findings.push(Finding::new(path, *line, what));
    }
    for name in listed.keys().filter(|name| !lengths.iter().any(|length| length.name == **name)) {
        findings.push(Finding::new(
            RATCHET,
            1,
            format!("`{name}` is gone: `cargo xtask generate`"),
        ));
    }
    findings
}

/// The ratchet's text with every entry at its present length, and without those that are short
/// enough now. An entry that grew stays as it is.
pub(crate) fn lowered(tree: &Tree) -> String {
    let mut text = String::new();
    for comment in tree.ratchet.lines().filter(|line| line.starts_with('#')) {
        text.push_str(comment);
        text.push('\n');
    }
    let lengths = lengths(tree);
    for (name, before) in listed(&tree.ratchet) {
        let Some(length) = lengths.iter().find(|length| length.name == name) else { continue };
        if length.lines > length.lines_max {
            let _ = writeln!(text, "{} {name}", length.lines.min(before));
        }
    }
    text
}

/// Entries by name. A line that is no entry counts as one that is gone.
fn listed(ratchet: &str) -> BTreeMap<&str, usize> {
    let entries = ratchet.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    entries
        .map(|line| match line.split_once(' ') {
            Some((lines, name)) => (name, lines.parse().unwrap_or(0)),
            None => (line, 0),
        })
        .collect()
}

fn lengths(tree: &Tree) -> Vec<Length> {
    let mut lengths: Vec<Length> = Vec::new();
    for (file, source) in tree.sources() {
        let (path, lines) = (&file.path, file.text.lines().count());
        lengths.push(Length { name: path.clone(), line: 1, lines, lines_max: FILE_LINES_MAX });
        for function in source.functions() {
            let name = format!("{path}::{}", function.name);
            let (line, lines) = (function.line, function.lines);
            match lengths.iter_mut().find(|length| length.name == name) {
                // Of several with one name the longest counts.
                Some(twin) if twin.lines < lines => (twin.line, twin.lines) = (line, lines),
                Some(_) => {}
                None => {
                    lengths.push(Length { name, line, lines, lines_max: FUNCTION_LINES_MAX });
                }
            }
        }
    }
    lengths
}

fn long_readme(tree: &Tree) -> Option<Finding> {
    let readme = tree.files.iter().find(|file| file.path == README)?;
    let lines = readme.text.lines().count();
    let is_long = lines > README_LINES_MAX;
    is_long.then(|| Finding::new(README, 1, format!("{lines} lines, over {README_LINES_MAX}")))
}

fn wide_lines(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The lab writes its pages with commands in one line each, to be copied.
    let is_page = |path: &str| path.starts_with("docs/results/") && path.ends_with("/index.md");
    let is_free = |path: &str| path.ends_with(".toml") || is_page(path);
    for file in tree.files.iter().filter(|file| !is_free(&file.path)) {
        let is_document = file.source.is_none();
        for (line, text) in (1..).zip(file.text.lines()) {
            let columns = text.chars().count();
            if columns > COLUMNS_MAX && !(is_document && cannot_break(text)) {
                findings.push(Finding::new(&file.path, line, format!("{columns} columns")));
            }
        }
    }
    findings
}

/// In a document: a table's row, or a line with an address in it.
fn cannot_break(line: &str) -> bool {
    line.starts_with('|') || line.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn a() {{{}}}\n", "\n".repeat(lines - 1))
    }

    #[test]
    fn only_what_cannot_be_broken_is_wide() {
        let wide = "a ".repeat(COLUMNS_MAX);
        let rows = [
            ("docs/lab.md", wide.clone(), 1),
            ("docs/lab.md", format!("| {wide} |"), 0),
            ("docs/lab.md", format!("http://a/ {wide}"), 0),
            ("docs/results/best/index.md", wide.clone(), 0),
            ("docs/results/README.md", wide.clone(), 1),
            ("Cargo.toml", wide, 0),
        ];
        for (path, text, count) in rows {
            assert_eq!(wide_lines(&Tree::of(path, &text)).len(), count, "{path}: {text}");
        }
    }

    #[test]
    fn the_first_page_stays_short() {
        for (path, lines, count) in
            [("README.md", 130, 0), ("README.md", 131, 1), ("docs/README.md", 131, 0)]
        {
            let tree = Tree::of(path, &"a\n".repeat(lines));
            assert_eq!(check(&tree).len(), count, "{path}, {lines} lines");
        }
    }

    #[test]
    fn long_ones_may_shrink_and_never_grow() {
        let rows = [
            (function(70), "", 0),
            (function(71), "", 1),
            (function(80), "80 a.rs::a\n", 0),
            (function(81), "80 a.rs::a\n", 1),
            (function(79), "80 a.rs::a\n", 1),
            (String::new(), "80 a.rs::a\n", 1),
            ("\n".repeat(500), "", 0),
            ("\n".repeat(501), "# why\n", 1),
            ("\n".repeat(501), "501 a.rs\n", 0),
            ("x".repeat(100), "", 0),
            ("x".repeat(101), "", 1),
            ("ä".repeat(100), "", 0),
        ];
        for (text, ratchet, expected) in rows {
            let mut tree = Tree::of("a.rs", &text);
            tree.ratchet = ratchet.into();
            let findings = check(&tree);
            assert_eq!(findings.len(), expected, "{} lines, {ratchet}: {findings:?}", text.len());
        }
    }

    #[test]
    fn the_ratchet_is_lowered() {
        let rows = [
            (80, "# why\n90 a.rs::a\n", "# why\n80 a.rs::a\n"),
            (70, "# why\n90 a.rs::a\n", "# why\n"),
            (95, "90 a.rs::a\n", "90 a.rs::a\n"),
            (80, "90 a.rs::gone\n", ""),
        ];
        for (lines, before, after) in rows {
            let mut tree = Tree::of("a.rs", &function(lines));
            tree.ratchet = before.into();
            assert_eq!(lowered(&tree), after);
        }
    }
}
