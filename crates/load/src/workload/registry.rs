//! All that `--workload` can name, as a table: the command and the documents read it.

use std::fmt::Write as _;
use std::io::BufRead;

use super::settings::{self, Settings};
use super::{browser, one_packet, specweb99, surge, urls, webstone};
use crate::knob::{self, Knob};
use crate::source::Made;
use crate::trace::presets::PRESETS;
use crate::trace::synthesis::{self, Impossible, Synthesis};
use crate::trace::wsesslog::Wsesslog;
use crate::trace::{self, Format};

/// A workload that has a name.
pub struct Named {
    /// As in `--workload NAME`, or `NAME:FILE` where it is read from a file.
    pub name: &'static str,
    /// Where it is from.
    pub paper: &'static str,
    /// What it is, in a sentence.
    pub is: &'static str,
    /// What can be chosen of it: names in the table of knobs.
    pub knobs: &'static [&'static str],
    /// How it is made.
    pub origin: Origin,
}

/// How a workload is made; what is wrong is said in one line, without the name of a file.
#[derive(Debug, Clone, Copy)]
pub enum Origin {
    /// By what is known of it.
    BuiltIn(fn(&Settings) -> Made),
    /// From a file.
    File(fn(&mut dyn BufRead, &Settings) -> Made),
    /// So that it looks like a trace.
    Synthesised(fn(&Settings) -> Result<Synthesis, Impossible>),
}

/// The table.
pub const WORKLOADS: &[Named] = &[
    Named {
        name: "one-packet",
        paper: "Brecht04 6.2",
        is: "one small file, one request on each connection: a flood of new clients",
        knobs: &["bytes", "copies"],
        origin: Origin::BuiltIn(one_packet::make),
    },
    Named {
        name: "specweb99",
        paper: "Pariag07 3.2, Brecht04 6.1",
        is: "four classes of sizes, popular directories, keep-alive sessions with thinking users",
        knobs: &["dirs", "think", "think-scale"],
        origin: Origin::BuiltIn(specweb99::make),
    },
    Named {
        name: "webstone",
        paper: "JAWS97 2.2.2, table 1",
        is: "four files of 500 bytes to 5 megabytes, one request on each connection",
        knobs: &["largest-percent"],
        origin: Origin::BuiltIn(webstone::make),
    },
    Named {
        name: "surge",
        paper: "Barford and Crovella, SIGMETRICS 1998",
        is: "heavy-tailed sizes, Zipf popularity, pages with embedded files, thinking users",
        knobs: &["files", "pages", "think", "think-scale"],
        origin: Origin::BuiltIn(surge::make),
    },
    Named {
        name: "browser",
        paper: "Brecht04 7",
        is: "tiny replies, conditional requests, few requests on each of parallel connections",
        knobs: &["files"],
        origin: Origin::BuiltIn(browser::make),
    },
    Named {
        name: "synthetic",
        paper: "figures of your own",
        is: "a trace that never was, as hard for a cache of some size as you say",
        knobs: &[
            "files",
            "mean-bytes",
            "requests",
            "cache-mb",
            "hits",
            "recency",
            "session-requests",
        ],
        origin: Origin::Synthesised(|of| Synthesis::new(of.synthetic(), synthesis::SEED)),
    },
    preset::<0>(),
    preset::<1>(),
    preset::<2>(),
    preset::<3>(),
    preset::<4>(),
    preset::<5>(),
    Named {
        name: "urls",
        paper: "a list of your own",
        is: "the URLs of a list, one a line, each as likely as the others",
        knobs: &[],
        origin: Origin::File(urls::make),
    },
    Named {
        name: "wsesslog",
        paper: "httperf's `--wsesslog`",
        is: "the sessions of a file, in its order and over again",
        knobs: &["default-think", "think-scale"],
        origin: Origin::File(sessions),
    },
    Named {
        name: "clf",
        paper: "a log of your own",
        is: "the sessions of a common or combined log, or of JSON as Weir and Caddy write it",
        knobs: LOG_KNOBS,
        origin: Origin::File(|from, settings| log(Format::Clf, from, settings)),
    },
    Named {
        name: "wc98",
        paper: "the Internet Traffic Archive",
        is: "the sessions of a log of the World Cup of 1998",
        knobs: LOG_KNOBS,
        origin: Origin::File(|from, settings| log(Format::Wc98, from, settings)),
    },
    Named {
        name: "ucb",
        paper: "the Internet Traffic Archive",
        is: "the sessions of UC Berkeley's log of its home IP service, 1996",
        knobs: LOG_KNOBS,
        origin: Origin::File(|from, settings| log(Format::Ucb, from, settings)),
    },
];

const LOG_KNOBS: &[&str] = &["session-gap", "speed", "pauses", "site"];

/// By its place in [`PRESETS`].
const fn preset<const AT: usize>() -> Named {
    Named {
        name: PRESETS[AT].name,
        paper: "Choi05 5.2, tables 4 and 5",
        is: PRESETS[AT].title,
        knobs: &["trace-scale"],
        origin: Origin::Synthesised(|settings| PRESETS[AT].make(settings.trace_scale)),
    }
}

fn log(format: Format, from: &mut dyn BufRead, settings: &Settings) -> Made {
    let log = trace::read(format, from, &settings.log).map_err(|fault| fault.to_string())?;
    Ok(Box::new(log))
}

fn sessions(from: &mut dyn BufRead, settings: &Settings) -> Made {
    let log = Wsesslog::read(from, settings.default_think).map_err(|fault| fault.to_string())?;
    Ok(Box::new(log.with_pauses(settings.think_scale)))
}

/// The row of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Named> {
    WORKLOADS.iter().find(|row| row.name == name)
}

impl Named {
    /// Whether it is read from a file.
    #[must_use]
    pub const fn takes_file(&self) -> bool {
        matches!(self.origin, Origin::File(_))
    }

    /// As it is written in a command.
    #[must_use]
    pub fn spelling(&self) -> String {
        let file = if self.takes_file() { ":FILE" } else { "" };
        format!("{}{file}", self.name)
    }

    /// Its knobs.
    pub fn knobs(&self) -> impl Iterator<Item = &'static Knob<Settings>> {
        settings::KNOBS.iter().filter(|knob| self.knobs.contains(&knob.name))
    }
}

/// All names, as they are written in a command.
#[must_use]
pub fn spellings() -> Vec<String> {
    WORKLOADS.iter().map(Named::spelling).collect()
}

/// The table for the documents.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| name | is | from | knobs |\n|---|---|---|---|\n");
    for row in WORKLOADS {
        let Named { is, paper, .. } = row;
        let knobs: Vec<String> = row.knobs().map(|knob| format!("`--{}`", knob.name)).collect();
        let _ = writeln!(text, "| `{}` | {is} | {paper} | {} |", row.spelling(), knobs.join(", "));
    }
    text
}

/// The table of their knobs for the documents.
#[must_use]
pub fn knobs_markdown() -> String {
    knob::markdown(settings::KNOBS, &Settings::default())
}
