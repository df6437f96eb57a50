//! Tables of the lab's documents: what can be asked, of whom, and how other servers are set.

use std::fmt::Write as _;

use lab::experiments::EXPERIMENTS;
use lab::floors::FLOORS;
use lab::subject::COMMAND;
use lab::subject::peers::PEERS;
use servers::architectures::ARCHITECTURES;

/// The questions.
pub(crate) fn experiments() -> String {
    let mut text = String::from("| name | what is asked | whose figures ask the same |\n");
    text.push_str("|---|---|---|\n");
    for experiment in EXPERIMENTS {
        let (name, question) = (experiment.name, experiment.question);
        let of = if experiment.paper.is_empty() { "-" } else { experiment.paper };
        row(&mut text, &[&format!("`{name}`"), question, of]);
    }
    text
}

/// Who can be measured.
pub(crate) fn subjects() -> String {
    let mut text = String::from("| name | what it is | Debian package |\n|---|---|---|\n");
    for row_of in ARCHITECTURES {
        let is = format!("Weir: {}", row_of.is);
        row(&mut text, &[&format!("`{}`", row_of.name), &is, "-"]);
    }
    for peer in PEERS {
        let package = format!("`{}`", peer.package);
        row(&mut text, &[&format!("`{}`", peer.name), peer.is, &package]);
    }
    for floor in FLOORS {
        row(&mut text, &[&format!("`{}`", floor.name), floor.is, "-"]);
    }
    row(&mut text, &[&format!("`{COMMAND}:LINE`"), "whatever a shell can start", "-"]);
    text
}

/// What can be chosen of each peer, and what is set for all runs.
pub(crate) fn peers() -> String {
    let mut text = String::new();
    for peer in PEERS {
        let _ = writeln!(text, "### `{}`\n", peer.name);
        text.push_str("| knob | values | default | what it does, and why |\n|---|---|---|---|\n");
        for knob in peer.knobs {
            let (name, values) = (format!("`{}`", knob.name), knob.takes.in_words());
            row(&mut text, &[&name, &values, knob.default, knob.reason]);
        }
        text.push_str("\n| set | why |\n|---|---|\n");
        for (setting, why) in peer.settings {
            row(&mut text, &[setting, why]);
        }
        text.push('\n');
    }
    text
}

/// What is told of a measurement, as keys of `cells.jsonl` and heads of columns.
pub(crate) fn metrics() -> String {
    let names = lab::metric::ALL.iter().map(|metric| format!("- `{}`\n", metric.heading()));
    names.collect()
}

pub(crate) fn row(text: &mut String, cells: &[&str]) {
    // A bar would end the cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
