//! Blocks of the documents that are made from the code's own tables, so that they cannot drift
//! apart.

use crate::{laboratory, papers, tree::Tree};

/// What makes a block.
type Make = fn(&Tree) -> String;

/// By the block's name.
const BLOCKS: [(&str, Make); 16] = [
    ("architectures", |_| servers::architectures::markdown()),
    ("configuration-keys", |_| config::keys::markdown()),
    ("configuration-knobs", |_| config::keys::knobs_markdown()),
    ("knobs", |_| servers::knobs::markdown()),
    ("lab-experiments", |_| laboratory::experiments()),
    ("lab-knobs", |_| lab::knobs::markdown()),
    ("lab-metrics", |_| laboratory::metrics()),
    ("lab-peers", |_| laboratory::peers()),
    ("lab-subjects", |_| laboratory::subjects()),
    ("load-knobs", |_| load::knobs::markdown()),
    ("papers", papers::markdown),
    ("presets", |_| load::trace::presets::markdown()),
    ("state-diagram", |_| h1::state::diagram()),
    ("statistics", |_| servers::counters::markdown()),
    ("workload-knobs", |_| load::workload::knobs_markdown()),
    ("workloads", |_| load::workload::markdown()),
];

const BEGINS: &str = "<!-- generated: ";
const BEGINS_ENDS: &str = " -->";
const ENDS: &str = "<!-- end -->";

/// `document` with the lines between `<!-- generated: NAME -->` and `<!-- end -->` made anew. A
/// name that is not known is said in the block's place, which no reader can miss.
pub(crate) fn rewritten(document: &str, tree: &Tree) -> String {
    rewritten_by(document, &|name| {
        let block = BLOCKS.iter().find(|(of, _)| *of == name);
        block.map_or_else(
            || format!("xtask/src/blocks.rs knows no `{name}`"),
            |(_, make)| make(tree),
        )
    })
}

fn rewritten_by(document: &str, make: &dyn Fn(&str) -> String) -> String {
    let mut fresh = String::with_capacity(document.len());
    let mut lines = document.split_inclusive('\n');
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        let Some(name) = block_name(line) else { continue };
        fresh.push_str(make(name).trim_end());
        fresh.push('\n');
        if let Some(end) = lines.find(|line| line.trim_end() == ENDS) {
            fresh.push_str(end);
        }
    }
    fresh
}

fn block_name(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix(BEGINS)?.strip_suffix(BEGINS_ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_made_anew() {
        let rows = [
            ("no block\n", "no block\n"),
            (
                "<!-- generated: a -->\nold\n<!-- end -->\nmore",
                "<!-- generated: a -->\n[a]\n<!-- end -->\nmore",
            ),
            (
                "<!-- generated: a -->\n<!-- end -->\n<!-- generated: b -->\n<!-- end -->\n",
                "<!-- generated: a -->\n[a]\n<!-- end -->\n\
                 <!-- generated: b -->\n[b]\n<!-- end -->\n",
            ),
        ];
        for (document, expected) in rows {
            assert_eq!(rewritten_by(document, &|name| format!("[{name}]\n\n")), expected);
        }
    }
}
