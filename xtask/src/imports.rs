//! What the files of a crate use of each other.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    source::{Source, line_at, word_positions},
    tree::{File, Tree},
};

/// The files of one crate.
pub(crate) struct Imports<'t> {
    pub(crate) modules: Vec<Module<'t>>,
    /// Names that are imported and so can be used as if they were at home there, and what is behind
    /// them. All are paths from the root.
    names: BTreeMap<Vec<String>, Vec<String>>,
}

/// A file with its place in the crate.
pub(crate) struct Module<'t> {
    /// Names from the root, which itself has none.
    pub(crate) path: Vec<String>,
    pub(crate) file: &'t File,
    pub(crate) uses: Vec<Use>,
}

/// A path of the crate that stands in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// From 1.
    pub(crate) line: usize,
    /// Names from the crate's root, as written.
    pub(crate) path: Vec<String>,
    /// The path that it can be used by from here on, if it is imported.
    name: Option<Vec<String>>,
}

/// Imports of what is imported itself that are followed. Names of other crates, which are not told
/// from modules here, can go round in a circle.
const IMPORTS_MAX: usize = 8;

impl<'t> Imports<'t> {
    /// Of the crate whose sources lie in `src`, such as `crates/h1/src`.
    pub(crate) fn of(tree: &'t Tree, src: &str) -> Self {
        let mut modules = Vec::new();
        let mut names = BTreeMap::new();
        for (file, source) in tree.sources() {
            let below = file.path.strip_prefix(src).and_then(|path| path.strip_prefix('/'));
            let Some(path) = below.map(module_path) else { continue };
            let uses = uses(source, &path);
            names.extend(uses.iter().filter_map(|of| Some((of.name.clone()?, of.path.clone()))));
            // A macro that is exported has its name from the root, wherever it stands.
            for name in exported_macros(&source.code) {
                names.insert(vec![name.into()], within(&path, name));
            }
            modules.push(Module { path, file, uses });
        }
        Self { modules, names }
    }

    /// The path to where the thing at `path` is at home.
    pub(crate) fn followed(&self, path: &[String]) -> Vec<String> {
        let mut path = path.to_vec();
        for _ in 0..IMPORTS_MAX {
            let short = (1..=path.len()).find_map(|length| {
                let (name, rest) = path.split_at(length);
                let is_module = self.modules.iter().any(|module| module.path.starts_with(name));
                let behind = self.names.get(name).filter(|_| !is_module)?;
                Some([behind, rest].concat())
            });
            let Some(behind) = short else { break };
            path = behind;
        }
        path
    }

    /// The file that has what is at `path`; nothing for what the root itself holds.
    pub(crate) fn home(&self, path: &[String]) -> Option<usize> {
        let path = self.followed(path);
        (1..=path.len())
            .rev()
            .find_map(|length| self.modules.iter().position(|m| m.path == path[..length]))
    }
}

fn within(place: &[String], name: &str) -> Vec<String> {
    place.iter().cloned().chain([name.into()]).collect()
}

fn exported_macros(code: &str) -> impl Iterator<Item = &str> {
    word_positions(code, "macro_export").filter_map(|at| {
        let (_, after) = code[at..].split_once("macro_rules!")?;
        after.trim_start().split(|c| !is_of_path(c)).next()
    })
}

fn module_path(below: &str) -> Vec<String> {
    let name = below.trim_end_matches(".rs");
    let name = name.strip_suffix("/mod").unwrap_or(name);
    let root = ["lib", "main"].contains(&name);
    name.split('/').filter(|_| !root).map(String::from).collect()
}

/// All paths that `use` names, and those in the code that begin at the root or above the module.
fn uses(source: &Source, module: &[String]) -> Vec<Use> {
    let code = &source.code;
    let inner = source.inline_modules();
    let statements: Vec<Range<usize>> = word_positions(code, "use")
        // `use<'t>` says what a type captures.
        .filter(|at| !code[at + 3..].trim_start().starts_with('<'))
        .map(|at| at + 3..code[at..].find(';').map_or(code.len(), |length| at + length))
        .collect();
    let mut found = Vec::new();
    for statement in &statements {
        branches(&code[statement.clone()], statement.start, &[], &mut found);
    }
    for word in ["crate", "self", "super"] {
        let outside = |at: &usize| !statements.iter().any(|statement| statement.contains(at));
        let begins = |at: &usize| !code[..*at].ends_with("::");
        for at in word_positions(code, word).filter(outside).filter(begins) {
            let rest = code[at..].find(|c| !is_of_path(c)).unwrap_or(code.len() - at);
            let path = &code[at..at + rest];
            if path.contains("::") {
                found.push((at, names(path), None));
            }
        }
    }
    let place = |at: usize| {
        let around = inner.iter().filter(move |(_, body)| body.contains(&at));
        [module, &around.map(|(name, _)| name.clone()).collect::<Vec<_>>()].concat()
    };
    found
        .into_iter()
        .map(|(at, names, name)| {
            let place = place(at);
            let name = name.map(|name| within(&place, &name));
            Use { line: line_at(code, at), path: from_root(&names, place), name }
        })
        .collect()
}

fn is_of_path(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == ':'
}

/// Where a path begins, its names as written, and the name that it is imported by.
type Written = (usize, Vec<String>, Option<String>);

/// The paths of a tree such as `a::{b, c::{self, d}}`, which begins at `at` and goes on from
/// `before`.
fn branches(tree: &str, at: usize, before: &[String], found: &mut Vec<Written>) {
    if tree.trim().is_empty() {
        return; // after a last comma
    }
    let Some(opens) = tree.find('{') else { return branch(tree, at, before, found) };
    let before = [before, &names(&tree[..opens])].concat();
    let closes = tree.rfind('}').unwrap_or(tree.len());
    let (mut begins, mut depth) = (opens + 1, 0_usize);
    for (here, byte) in tree.bytes().enumerate().take(closes + 1).skip(opens + 1) {
        match byte {
            b'{' => depth += 1,
            b'}' if here != closes => depth = depth.saturating_sub(1),
            b',' | b'}' if depth == 0 => {
                branches(&tree[begins..here], at + begins, &before, found);
                begins = here + 1;
            }
            _ => {}
        }
    }
}

fn branch(path: &str, at: usize, before: &[String], found: &mut Vec<Written>) {
    let begins = at + path.len() - path.trim_start().len();
    let (path, new) = path.split_once(" as ").unwrap_or((path, ""));
    let mut names = [before, &names(path)].concat();
    // `a::{self}` and `a::*` both are about `a`.
    if names.len() > 1 && ["self", "*"].contains(&names[names.len() - 1].as_str()) {
        names.pop();
    }
    let Some(last) = names.last() else { return };
    let name = if new.is_empty() { last.clone() } else { new.trim().into() };
    found.push((begins, names, Some(name)));
}

fn names(path: &str) -> Vec<String> {
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    names.map(String::from).collect()
}

/// `names` as written within `place`. One that begins neither at the root nor above counts as of
/// the place itself; so does a name of another crate, which is of no interest here.
fn from_root(names: &[String], mut place: Vec<String>) -> Vec<String> {
    let mut rest = names;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            _ => break,
        }
        rest = after;
    }
    place.extend_from_slice(rest);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_root() {
        let rows = [
            ("use crate::a::B;", "1 a::B"),
            ("use crate::{\n    a::{self, B as C},\n    d,\n};", "2 a, 2 a::B, 3 d"),
            ("use crate::a::*;", "1 a"),
            ("use {crate::a, super::b};", "1 a, 1 h::b"),
            ("pub use self::i::J;", "1 h::m::i::J"),
            ("use std::fmt::Write as _;", "1 h::m::std::fmt::Write"),
            ("fn f() { super::super::a::g() }", "1 a::g"),
            ("fn f(a: crate::a::A) -> Vec<crate::b::B> {}", "1 a::A, 1 b::B"),
            ("mod tests {\n    use super::*;\n    use super::super::i;\n}", "2 h::m, 3 h::i"),
            ("// use crate::a;\nconst A: &str = \"crate::b\";", ""),
            ("pub(crate) mod c;\npub(super) fn f(&self) -> impl I + use<'_> {}", ""),
        ];
        for (text, expected) in rows {
            let module = ["h".into(), "m".into()];
            let uses = uses(&Source::split(text), &module);
            let got: Vec<_> =
                uses.iter().map(|of| format!("{} {}", of.line, of.path.join("::"))).collect();
            assert_eq!(got.join(", "), expected, "{text}");
        }
    }

    #[test]
    fn names_are_followed_home() {
        let root = "pub use shared::Server;\nuse loops::{Loop, inner::Phase as Step};";
        let loops = "pub use self::inner::Pass;\nuse crate::Server;\nfn f() { inner::g() }";
        let shared = "#[macro_export]\nmacro_rules! each { () => {}; }\nmacro_rules! own {}";
        let files = [("src/lib.rs", root), ("src/shared.rs", shared), ("src/loops.rs", loops)];
        let files = [&files[..], &[("src/loops/inner.rs", ""), ("src/b.rs", "use d::e;")]].concat();
        let tree = Tree::of_files(&files);
        let imports = Imports::of(&tree, "src");
        let rows = [
            ("Server", "shared::Server", Some("src/shared.rs")),
            ("Server::new", "shared::Server::new", Some("src/shared.rs")),
            ("Step", "loops::inner::Phase", Some("src/loops/inner.rs")),
            ("Loop", "loops::Loop", Some("src/loops.rs")),
            ("loops::Pass", "loops::inner::Pass", Some("src/loops/inner.rs")),
            ("loops::Server", "shared::Server", Some("src/shared.rs")),
            ("loops::g", "loops::g", Some("src/loops.rs")),
            ("b::e", "b::d::e", Some("src/b.rs")),
            ("shared", "shared", Some("src/shared.rs")),
            ("each", "shared::each", Some("src/shared.rs")),
            ("own", "own", None),
        ];
        for (path, followed, home) in rows {
            let path = names(path);
            assert_eq!(imports.followed(&path).join("::"), followed);
            let at = imports.home(&path).map(|at| imports.modules[at].file.path.as_str());
            assert_eq!(at, home, "{path:?}");
        }
    }
}
