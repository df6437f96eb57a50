//! docs/papers.md: what each paper has, what became of it here, and what was measured, by the pages
//! that are kept.

use std::fmt::Write as _;

use lab::experiments::{EXPERIMENTS, Said, said};
use lab::papers::{Here, PAPERS, Paper, is_built, places};

use crate::laboratory::row;
use crate::tree::Tree;

/// A table for each part of each paper.
pub(crate) fn markdown(tree: &Tree) -> String {
    let mut text = String::new();
    for paper in PAPERS {
        let _ = writeln!(text, "## {}\n\n{}.\n", paper.short, wrapped(paper.source));
        for (title, rows) in paper.parts().into_iter().filter(|(_, rows)| !rows.is_empty()) {
            let _ = writeln!(text, "### {title}\n\n| where | what | here |\n|---|---|---|");
            for (place, what, here) in rows {
                row(&mut text, &[place, what, &became(tree, (paper, place), *here)]);
            }
            text.push('\n');
        }
        claims(&mut text, tree, paper);
    }
    text
}

/// What experiments judge, and what came out.
fn claims(text: &mut String, tree: &Tree, paper: &Paper) {
    let mut all = said();
    all.retain(|said| said.place.split(' ').next() == Some(paper.short));
    all.sort_by_key(|said| number(&said.place));
    if all.is_empty() {
        return;
    }
    text.push_str("### What it says, and what came out\n\n");
    text.push_str("| where | what it says | judged by | as it says? |\n|---|---|---|---|\n");
    for said in &all {
        let place = said.place.trim_start_matches(paper.short).trim();
        let (name, verdict) = match verdict(tree, said) {
            _ if !said.is_built => (said.experiment, NOT_BUILT),
            Some(judged) => judged,
            None => (said.experiment, NOT_MEASURED),
        };
        row(text, &[place, said.words, &linked(tree, name), verdict]);
    }
    text.push('\n');
}

/// Of the figure; last, what stands in the text.
fn number(place: &str) -> u32 {
    let word = place.split(' ').nth(2);
    // Figure 5a is of 5.
    let word = word.map(|word| word.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    word.and_then(|word| word.parse().ok()).unwrap_or(u32::MAX)
}

const NOT_BUILT: &str = "not built yet";
const NOT_MEASURED: &str = "not measured yet";

fn became(tree: &Tree, (paper, place): (&Paper, &str), here: Here) -> String {
    let asks = |of: &str| places(of).iter().any(|(short, at)| *short == paper.short && at == place);
    let asked = EXPERIMENTS.iter().filter(|experiment| asks(experiment.paper));
    let asked = asked.map(|of| match (verdicts(tree, of.name, &asks), page(tree, of.name)) {
        (Some((name, told)), _) => format!("{}: {told}", linked(tree, name)),
        (None, Some(_)) => linked(tree, of.name),
        (None, None) => format!("{}, {NOT_MEASURED}", linked(tree, of.name)),
    });
    let asked: Vec<String> = asked.collect();
    match here {
        Here::Of(name) if !is_built(name) => format!("{NOT_BUILT}: `{name}`"),
        Here::Of(name) if asked.is_empty() => format!("`{name}`"),
        Here::Of(_) | Here::Asked => asked.join(", "),
        Here::Is(words) => words.into(),
        Here::Part(words) => format!("in part: {words}"),
        Here::NotYet => NOT_BUILT.into(),
        Here::Out(why) => format!("left out, because {why}"),
    }
}

/// How many of an experiment's are what, of those at a place, `1 yes, 2 open`, and the page where
/// the first of them stands.
fn verdicts<'t>(
    tree: &'t Tree,
    experiment: &str,
    is_there: &dyn Fn(&str) -> bool,
) -> Option<(&'t str, String)> {
    let all = said();
    let there = all.iter().filter(|said| said.experiment == experiment && is_there(&said.place));
    let told: Vec<(&str, &str)> = there.filter_map(|said| verdict(tree, said)).collect();
    let count = |of: &&str| told.iter().filter(|(_, other)| other == of).count();
    let counts = ["yes", "no", "open"].iter().filter(|of| count(of) > 0);
    let counts: Vec<String> = counts.map(|of| format!("{} {of}", count(of))).collect();
    told.first().map(|(name, _)| (*name, counts.join(", ")))
}

/// An experiment by its name, with its page where one is kept.
fn linked(tree: &Tree, name: &str) -> String {
    match page(tree, name) {
        Some(_) => format!("[`{name}`](results/{name}/index.md)"),
        None => format!("`{name}`"),
    }
}

fn page<'t>(tree: &'t Tree, name: &str) -> Option<&'t str> {
    let path = format!("docs/results/{name}/index.md");
    tree.documents().find(|file| file.path == path).map(|file| &*file.text)
}

/// The last cell of the line that has these words, and the page where it stands: the experiment's
/// own, or one of some of its subjects, whose name begins with that.
fn verdict<'t>(tree: &'t Tree, said: &Said) -> Option<(&'t str, &'t str)> {
    let begins = format!("| {} | {} |", said.place, said.words);
    let named = |path: &'t str| {
        let name = path.strip_prefix("docs/results/")?.strip_suffix("/index.md")?;
        let rest = name.strip_prefix(said.experiment)?;
        (rest.is_empty() || rest.starts_with('-')).then_some(name)
    };
    let pages = tree.documents().filter_map(|file| Some((named(&file.path)?, &*file.text)));
    let judged = pages.filter_map(|(name, text)| {
        let line = text.lines().find(|line| line.starts_with(&begins))?;
        Some((name, line.trim_end().strip_suffix('|')?.rsplit('|').next()?.trim()))
    });
    judged.min_by_key(|(name, _)| name.len())
}

/// Lines of a document have an end.
fn wrapped(words: &str) -> String {
    const COLUMNS: usize = 100;
    let mut text = String::new();
    for word in words.split_ascii_whitespace() {
        let line = text.lines().last().map_or(0, |line| line.chars().count());
        let is_full = line + 1 + word.chars().count() >= COLUMNS;
        text.push_str(if text.is_empty() {
            ""
        } else if is_full {
            "\n"
        } else {
            " "
        });
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_that_of_the_page() {
        let said = Said {
            experiment: "e",
            place: "A figure 1".into(),
            words: "x is more than y",
            is_built: true,
        };
        let rows = [
            ("| A figure 1 | x is more than y | 2 of x, 1 of y | yes |", Some("yes")),
            ("| A figure 1 | x is more than y | 1 of x, 1 of y | open |  ", Some("open")),
            ("| A figure 1 | x is more than z | 1 of x, 1 of y | yes |", None),
            ("| A figure 2 | x is more than y | 1 of x, 1 of y | yes |", None),
        ];
        for (line, expected) in rows {
            let text = format!("# E\n\n{line}\n");
            let tree = Tree::of("docs/results/e/index.md", &text);
            assert_eq!(verdict(&tree, &said), expected.map(|told| ("e", told)), "{line}");
            let part = Tree::of("docs/results/e-part/index.md", &text);
            assert_eq!(verdict(&part, &said), expected.map(|told| ("e-part", told)), "{line}");
            let other = Tree::of("docs/results/else/index.md", &text);
            assert_eq!(verdict(&other, &said), None, "{line}");
            assert_eq!(linked(&tree, "e"), "[`e`](results/e/index.md)");
            assert_eq!(linked(&tree, "f"), "`f`");
        }
    }

    #[test]
    fn every_experiment_that_follows_a_paper_stands_there() {
        let tree = Tree::read(&crate::root()).expect("the tree can be read");
        let text = markdown(&tree);
        for experiment in EXPERIMENTS.iter().filter(|experiment| !experiment.paper.is_empty()) {
            assert!(text.contains(&format!("`{}`", experiment.name)), "{}", experiment.name);
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let path = format!("docs/{}", link.0);
            assert!(tree.documents().any(|file| file.path == path), "{path}");
        }
    }
}
