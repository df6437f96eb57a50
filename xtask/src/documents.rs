//! What holds for every Markdown file.

use crate::{
    blocks,
    finding::Finding,
    tree::{File, Tree},
};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.documents();
    documents.flat_map(|file| titles(file).into_iter().chain(stale_blocks(file, tree))).collect()
}

fn titles(file: &File) -> Option<Finding> {
    let mut fenced = false;
    let mut count = 0;
    for line in file.text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        count += usize::from(!fenced && line.starts_with("# "));
    }
    (count != 1).then(|| Finding::new(&file.path, 1, format!("{count} top titles in place of one")))
}

fn stale_blocks(file: &File, tree: &Tree) -> Option<Finding> {
    let fresh = blocks::rewritten(&file.text, tree);
    let mut lines = (1..).zip(file.text.lines().zip(fresh.lines()));
    let line = lines.find(|(_, (old, new))| old != new).map_or(1, |(line, _)| line);
    let what = "not what the code says: `cargo xtask generate` rewrites it";
    (fresh != file.text).then(|| Finding::new(&file.path, line, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_one_title() {
        let rows = [
            ("# A\n\n## B\n", 0),
            ("## B\n", 1),
            ("# A\n# B\n", 1),
            ("# A\n```\n# comment\n```\n", 0),
        ];
        for (text, expected) in rows {
            assert_eq!(check(&Tree::of("a.md", text)).len(), expected, "{text}");
        }
    }
}
