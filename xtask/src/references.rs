//! A document that names a test links to its file: [`name`](../crates/weir/tests/it/a.rs). Such a
//! link has to lead to a file that holds a function of that very name.

use std::path::{Component, Path};

use crate::{
    finding::Finding,
    tree::{File, Tree},
};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.documents().flat_map(|document| stale(tree, document)).collect()
}

fn stale<'t>(tree: &'t Tree, document: &'t File) -> impl Iterator<Item = Finding> + 't {
    (1..).zip(document.text.lines()).flat_map(move |(line, text)| {
        references(text).filter_map(move |(name, target)| {
            let path = resolved(&document.path, target);
            let file = tree.files.iter().find(|file| file.path == path);
            let what = match file {
                None => format!("{path} is not there"),
                Some(file) if holds(file, name) => return None,
                Some(_) => format!("{path} holds no function `{name}`"),
            };
            Some(Finding::new(&document.path, line, what))
        })
    })
}

/// Each name in backquotes that is a link to a Rust source, and where that leads.
fn references(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split("[`").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once("`](")?;
        let (target, _) = rest.split_once(')')?;
        target.ends_with(".rs").then_some((name, target))
    })
}

fn holds(file: &File, name: &str) -> bool {
    let begins = format!("fn {name}(");
    let is_its = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("pub(crate) ").unwrap_or(line).starts_with(&begins)
    };
    file.text.lines().any(is_its)
}

/// Where a link in a document leads, from the root of the tree.
fn resolved(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.extend(part.to_str()),
            _ => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_is_there() {
        let rows = [
            ("see [`it_holds`](../crates/a/tests/b.rs)", 0),
            ("see [`it_holds`](../crates/a/tests/c.rs)", 1),
            ("[`it_holds`](../crates/a/tests/b.rs), [`it_does_not`](../crates/a/tests/b.rs)", 1),
            ("[`it_does_not`](../README.md), [it_does_not](../crates/a/tests/b.rs)", 0),
            ("[`it`](../crates/a/tests/b.rs), [`holds`](../crates/a/tests/b.rs)", 2),
            ("[`it_held`](../crates/a/tests/b.rs)", 1),
        ];
        let source = "mod m {\n    // As fn it_held() did.\n    fn it_holds() {}\n}\n";
        for (text, expected) in rows {
            let files = [("docs/d.md", text), ("crates/a/tests/b.rs", source)];
            assert_eq!(check(&Tree::of_files(&files)).len(), expected, "{text}");
        }
    }
}
