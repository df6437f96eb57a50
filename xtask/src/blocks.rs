//! Blocks of the documents that are made from the code's own tables, so that they cannot drift
//! apart.

use crate::laboratory;

/// What makes a block.
type Make = fn() -> String;

/// By the block's name.
const BLOCKS: [(&str, Make); 15] = [
    ("architectures", servers::architectures::markdown),
    ("configuration-keys", config::keys::markdown),
    ("configuration-knobs", config::keys::knobs_markdown),
    ("knobs", servers::knobs::markdown),
    ("lab-experiments", laboratory::experiments),
    ("lab-knobs", lab::knobs::markdown),
    ("lab-metrics", laboratory::metrics),
    ("lab-peers", laboratory::peers),
    ("lab-subjects", laboratory::subjects),
    ("load-knobs", load::knobs::markdown),
    ("presets", load::trace::presets::markdown),
    ("state-diagram", h1::state::diagram),
    ("statistics", servers::counters::markdown),
    ("workload-knobs", load::workload::knobs_markdown),
    ("workloads", load::workload::markdown),
];

const BEGINS: &str = "<!-- generated: ";
const BEGINS_ENDS: &str = " -->";
const ENDS: &str = "<!-- end -->";

/// `document` with the lines between `<!-- generated: NAME -->` and `<!-- end -->` made anew. A
/// name that is not known is said in the block's place, which no reader can miss.
pub(crate) fn rewritten(document: &str) -> String {
    rewritten_by(document, &|name| {
        let block = BLOCKS.iter().find(|(of, _)| *of == name);
        block.map_or_else(|| format!("xtask/src/blocks.rs knows no `{name}`"), |(_, make)| make())
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
