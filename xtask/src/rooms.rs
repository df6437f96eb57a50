//! The order within a crate: which of its rooms may use which, and that no files use each other in
//! a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    finding::Finding,
    imports::{Imports, Module},
    tree::Tree,
};

/// The rooms of a crate, which are the modules of its root, by where its sources lie. A room uses
/// only rooms that stand before it; the root may use all.
type Rooms<'r> = (&'r str, &'r [&'r str]);

const ROOMS: &[Rooms<'static>] = &[(
    "crates/servers/src",
    &[
        "session",
        "shared",
        "connection",
        "loops",
        "rings",
        "threads",
        "architectures",
        "operator",
        "supervisor",
    ],
)];

/// What a reader can hold in view: the rooms, and the root itself.
const ENTRIES_MAX: usize = 10;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rooms = ROOMS.iter().flat_map(|rooms| check_rooms(tree, *rooms));
    rooms.chain(check_circles(tree)).collect()
}

fn check_rooms(tree: &Tree, (src, rooms): Rooms<'_>) -> Vec<Finding> {
    let imports = Imports::of(tree, src);
    let mut findings = check_entries(&imports, (src, rooms));
    for module in &imports.modules {
        let name = module.path.first().map_or("", String::as_str);
        let Some(place) = rooms.iter().position(|room| *room == name) else { continue };
        for of in &module.uses {
            // A room that passes on what another holds is used too; the root is no room.
            let named = of.path.first().filter(|name| rooms.contains(&name.as_str()));
            let path = imports.followed(&of.path);
            let used = named.or(path.first()).map_or("*", String::as_str);
            let what = match rooms.iter().position(|room| *room == used) {
                Some(before) if before <= place => continue,
                Some(_) => format!("room `{name}` may not use `{used}`, a later room"),
                None => format!("`crate::{used}` does not say of which room it is"),
            };
            findings.push(Finding::new(&module.file.path, of.line, what));
        }
    }
    findings
}

/// What lies in `src` and what the table says.
fn check_entries(imports: &Imports<'_>, (src, rooms): Rooms<'_>) -> Vec<Finding> {
    // A room's file and its folder are one entry to a reader.
    let entries: BTreeSet<&str> = imports
        .modules
        .iter()
        .map(|module| module.path.first().map_or("lib", String::as_str))
        .collect();
    let new = entries.iter().filter(|entry| **entry != "lib" && !rooms.contains(entry));
    let new = new.map(|entry| format!("`{entry}` is no room in xtask/src/rooms.rs"));
    let gone = rooms.iter().filter(|room| !entries.contains(*room));
    let gone = gone.map(|room| format!("room `{room}` of xtask/src/rooms.rs is gone"));
    let many = (entries.len() > ENTRIES_MAX)
        .then(|| format!("{} entries, over {ENTRIES_MAX}", entries.len()));
    new.chain(gone).chain(many).map(|what| Finding::new(src, 1, what)).collect()
}

fn check_circles(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources().filter_map(|(file, _)| {
        let (home, _) = file.path.split_once("/src/")?;
        Some(format!("{home}/src"))
    });
    let sources: BTreeSet<String> = sources.collect();
    sources.iter().flat_map(|src| circles(&Imports::of(tree, src))).collect()
}

/// The shortest circle through each file, told at the first of its files.
fn circles(imports: &Imports<'_>) -> Vec<Finding> {
    let uses: Vec<_> = imports.modules.iter().map(|module| used(imports, module)).collect();
    let mut findings = Vec::new();
    for first in 0..uses.len() {
        let Some(circle) = circle(&uses, first) else { continue };
        if circle.iter().any(|&at| at < first) {
            continue;
        }
        let names = circle.iter().chain([&first]);
        let names: Vec<_> = names.map(|&at| imports.modules[at].path.join("::")).collect();
        let what = format!("a circle of imports: {}", names.join(", "));
        let next = circle.get(1).unwrap_or(&first);
        let file = imports.modules[first].file;
        findings.push(Finding::new(&file.path, uses[first][next], what));
    }
    findings
}

/// The files that a file uses, each with the line where it does so first. A module and those within
/// it are one thing that was too long for one file: they share private parts, and so may use each
/// other both ways.
fn used(imports: &Imports<'_>, module: &Module<'_>) -> BTreeMap<usize, usize> {
    let mut used = BTreeMap::new();
    for of in &module.uses {
        let Some(at) = imports.home(&of.path) else { continue };
        let path = &imports.modules[at].path;
        if !path.starts_with(&module.path) && !module.path.starts_with(path) {
            used.entry(at).or_insert(of.line);
        }
    }
    used
}

/// The way from `first` back to itself through the fewest files.
fn circle(uses: &[BTreeMap<usize, usize>], first: usize) -> Option<Vec<usize>> {
    let mut before = BTreeMap::new();
    let mut next = VecDeque::from([first]);
    while let Some(at) = next.pop_front() {
        for &used in uses[at].keys() {
            if used == first {
                let back = |at: &usize| before.get(at).copied();
                let mut way: Vec<_> = std::iter::successors(Some(at), back).collect();
                way.reverse();
                return Some(way);
            }
            before.entry(used).or_insert_with(|| {
                next.push_back(used);
                at
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_use_those_before_them() {
        let rows = [
            ("loops.rs", "use crate::shared::Server;", ""),
            ("loops.rs", "use crate::threads::Pool;", "1 `loops` `threads`"),
            ("loops/gate.rs", "\nuse crate::{shared::A, threads};", "2 `loops` `threads`"),
            ("loops/gate.rs", "use super::super::threads::Pool;", "1 `loops` `threads`"),
            ("loops/gate.rs", "use super::phases::Phase;\nuse std::fmt;", ""),
            ("shared/house.rs", "fn f() {\n    crate::loops::g();\n}", "2 `shared` `loops`"),
            ("shared.rs", "mod tests {\n use crate::loops::G; }", "2 `shared` `loops`"),
            ("shared.rs", "// crate::loops::g()", ""),
            ("threads.rs", "use crate::Server;\nuse crate::loops::g;", ""),
            ("session.rs", "use crate::Server;", "1 `session` `shared`"),
            ("session.rs", "use crate::{Server as S, session::T};", "1 `session` `shared`"),
            ("shared.rs", "use crate::loops::Server;", "1 `shared` `loops`"),
            ("session.rs", "crate::unknown!()", "1 `crate::unknown`"),
            ("session.rs", "use crate::*;", "1 `crate::*`"),
            ("lib.rs", "use threads::Pool;", ""),
        ];
        for (file, text, expected) in rows {
            let rooms = ["session", "shared", "loops", "threads"];
            let src = "crates/a/src";
            let path = format!("{src}/{file}");
            let there = rooms.map(|room| format!("{src}/{room}.rs"));
            let mut files: Vec<_> = there.iter().map(|path| (path.as_str(), "")).collect();
            let (root, loops) = (format!("{src}/lib.rs"), format!("{src}/loops.rs"));
            files.extend([(&*root, "pub use shared::Server;"), (&*loops, "use crate::Server;")]);
            files.push((&path, text));
            let tree = Tree::of_files(&files);
            let findings = check_rooms(&tree, (src, &rooms));
            let told = findings.iter().map(|finding| {
                let names = finding.what.split(' ').map(|word| word.trim_end_matches(','));
                let names: Vec<_> = names.filter(|word| word.starts_with('`')).collect();
                format!("{} {}", finding.line, names.join(" "))
            });
            assert_eq!(told.collect::<Vec<_>>().join("; "), expected, "{file}: {text}");
        }
    }

    #[test]
    fn entries_are_rooms_and_few() {
        let digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let rows: [(&[&str], &[&str], &[&str]); 6] = [
            (&["a", "a/b"], &["a"], &[]),
            (&["a", "b"], &["a"], &["`b` is no room in xtask/src/rooms.rs"]),
            (&["a", "b/c"], &["a"], &["`b` is no room in xtask/src/rooms.rs"]),
            (&["a"], &["a", "b"], &["room `b` of xtask/src/rooms.rs is gone"]),
            (&digits[..9], &digits[..9], &[]),
            (&digits, &digits, &["11 entries, over 10"]),
        ];
        for (modules, rooms, expected) in rows {
            let files = modules.iter().chain([&"lib"]).map(|module| format!("src/{module}.rs"));
            let files: Vec<_> = files.collect();
            let files: Vec<_> = files.iter().map(|path| (path.as_str(), "")).collect();
            let findings = check_rooms(&Tree::of_files(&files), ("src", rooms));
            let told: Vec<_> = findings.iter().map(|finding| finding.what.as_str()).collect();
            assert_eq!(told, expected, "{modules:?}");
        }
    }

    #[test]
    fn files_use_each_other_in_no_circle() {
        let rows = [
            ("use crate::b::B;", "use crate::c::C;", "", ""),
            ("use crate::b::B;", "use crate::a::A;", "", "a, b, a"),
            ("use crate::b::B;", "use crate::c::C;", "use crate::a::A;", "a, b, c, a"),
            ("", "fn f() { crate::c::g() }", "use super::b;", "b, c, b"),
            ("use crate::B;", "use crate::a::A;", "", "a, b, a"),
            ("use crate::a::A;", "use self::d::D;\nmod d;", "use crate::a;", ""),
        ];
        for (a, b, c, expected) in rows {
            let tree = Tree::of_files(&[
                ("crates/x/src/a.rs", a),
                ("crates/x/src/b.rs", b),
                ("crates/x/src/b/d.rs", "use super::B;"),
                ("crates/x/src/c.rs", c),
                ("crates/x/src/lib.rs", "pub use b::B;"),
            ]);
            let findings = check(&tree);
            let told: Vec<_> = findings
                .iter()
                .filter_map(|finding| finding.what.strip_prefix("a circle of imports: "))
                .collect();
            assert_eq!(told.join("; "), expected, "{a} {b} {c}");
        }
    }
}
