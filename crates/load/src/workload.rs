//! Workloads: who asks for what. Each is a file of this folder that says where its numbers are
//! from.

pub mod browser;
pub mod model;
pub mod one_packet;
pub mod one_url;
pub mod pages;
pub mod settings;
pub mod specweb99;
pub mod surge;
pub mod urls;
pub mod webstone;

use std::fmt::Write as _;

use measure::draw::Stream;

use crate::Purpose;
use crate::arrivals::Gaps;
use crate::files::Files;
use crate::session::Session;

use self::model::Model;
use self::settings::{Knob, Settings};

/// A source of sessions.
pub trait Workload {
    /// All that may be asked for.
    fn files(&self) -> &Files;

    /// A client's session, by its number in the run: 0 is the first one. `sessions` draws what is
    /// asked, `thinking` the pauses; see [`draws`].
    fn session(&mut self, number: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session;

    /// When its sessions began, where it is a record of such; by default nobody knows.
    fn times(&self) -> Option<Gaps> {
        None
    }

    /// What its distributions come to, for comparison with what is drawn; by default nothing is
    /// known.
    fn model(&self) -> Model {
        Model::default()
    }
}

/// What a session is drawn with: what it asks, and how its client thinks. A session is the same
/// whichever process performs it and whatever came before it.
#[must_use]
pub fn draws(seed: u64, number: u64) -> (Stream, Stream) {
    let stream = |purpose: Purpose| Stream::of(seed, purpose as u64, number);
    (stream(Purpose::Sessions), stream(Purpose::Thinking))
}

/// A workload that has a name.
pub struct Named {
    /// As in `--workload NAME`, or `NAME:FILE` where it takes a file.
    pub name: &'static str,
    /// Whether it is read from a file.
    pub takes_file: bool,
    /// Where it is from.
    pub paper: &'static str,
    /// What it is, in a sentence.
    pub is: &'static str,
    /// What can be chosen of it: names in the table of knobs.
    pub knobs: &'static [&'static str],
    /// Makes it, or says in one line what is wrong.
    pub make: fn(&Settings) -> Result<Box<dyn Workload + Send>, String>,
}

/// The table.
pub const WORKLOADS: &[Named] = &[
    Named {
        name: "one-packet",
        takes_file: false,
        paper: "Brecht04 6.2",
        is: "one small file, one request on each connection: a flood of new clients",
        knobs: &["bytes"],
        make: one_packet::make,
    },
    Named {
        name: "specweb99",
        takes_file: false,
        paper: "Pariag07 3.2, Brecht04 6.1",
        is: "four classes of sizes, popular directories, keep-alive sessions with thinking users",
        knobs: &["dirs", "think", "think-scale"],
        make: specweb99::make,
    },
    Named {
        name: "webstone",
        takes_file: false,
        paper: "JAWS97 2.2.2, table 1",
        is: "four files of 500 bytes to 5 megabytes, one request on each connection",
        knobs: &[],
        make: webstone::make,
    },
    Named {
        name: "surge",
        takes_file: false,
        paper: "Barford and Crovella, SIGMETRICS 1998",
        is: "heavy-tailed sizes, Zipf popularity, pages with embedded files, thinking users",
        knobs: &["files", "pages", "think", "think-scale"],
        make: surge::make,
    },
    Named {
        name: "browser",
        takes_file: false,
        paper: "Brecht04 7",
        is: "tiny replies, conditional requests, few requests on each of parallel connections",
        knobs: &["files"],
        make: browser::make,
    },
    Named {
        name: "urls",
        takes_file: true,
        paper: "a list of your own",
        is: "the URLs of a list, one a line, each as likely as the others",
        knobs: &[],
        make: urls::make,
    },
];

/// The workload that `--workload` asks for: a name, or a name, a colon and a file.
///
/// # Errors
/// There is none of that name, it takes a file or none, or it cannot be made: one line.
pub fn make(asked: &str, settings: &Settings) -> Result<Box<dyn Workload + Send>, String> {
    let (name, file) = match asked.split_once(':') {
        Some((name, file)) => (name, Some(file)),
        None => (asked, None),
    };
    let Some(row) = named(name) else {
        return Err(format!("there is no workload {name}; there are: {}", spellings().join(", ")));
    };
    let file = match (row.takes_file, file) {
        (true, Some(file)) if !file.is_empty() => Some(file.into()),
        (true, _) => return Err(format!("{name} is read from a file: {name}:FILE")),
        (false, Some(_)) => return Err(format!("{name} is built in and takes no file")),
        (false, None) => None,
    };
    (row.make)(&Settings { file, ..settings.clone() })
}

/// The row of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Named> {
    WORKLOADS.iter().find(|row| row.name == name)
}

impl Named {
    /// As it is written in a command.
    #[must_use]
    pub fn spelling(&self) -> String {
        let file = if self.takes_file { ":FILE" } else { "" };
        format!("{}{file}", self.name)
    }

    /// Its knobs.
    pub fn knobs(&self) -> impl Iterator<Item = &'static Knob> {
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
    let mut text = String::from("| knob | default | what it does, and why |\n|---|---|---|\n");
    let defaults = Settings::default();
    for Knob { name, value, reason, show, .. } in settings::KNOBS {
        let _ = writeln!(text, "| `--{name} {value}` | {} | {reason} |", show(&defaults));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_wrongly_is_told_in_one_line() {
        let rows = [
            ("specweb98", "there is no workload specweb98; there are: one-packet, specweb99"),
            ("", "there is no workload ; there are: "),
            ("urls", "urls is read from a file: urls:FILE"),
            ("urls:", "urls is read from a file: urls:FILE"),
            ("urls:/does/not/exist", "/does/not/exist: "),
            ("surge:a", "surge is built in and takes no file"),
        ];
        for (asked, expected) in rows {
            let told = make(asked, &Settings::default()).err().expect("it is refused");
            assert!(told.starts_with(expected) && !told.contains('\n'), "{asked}: {told}");
        }
    }

    #[test]
    fn every_row_is_whole() {
        for row in WORKLOADS {
            let unknown = row.knobs.len() - row.knobs().count();
            assert_eq!(unknown, 0, "{} names a knob that is not in the table", row.name);
            if row.takes_file {
                continue;
            }
            let mut workload = make(row.name, &Settings::default()).expect("it can be made");
            let streams = || (Stream::new(1, 2), Stream::new(1, 3));
            let (mut sessions, mut thinking) = streams();
            let first = workload.session(0, &mut sessions, &mut thinking);
            assert!(first.requests() > 0, "{}", row.name);
            let (mut sessions, mut thinking) = streams();
            let again = workload.session(0, &mut sessions, &mut thinking);
            assert_eq!(first, again, "{}: the same draws, another session", row.name);
            let shares = workload.model().shares;
            assert_eq!(shares.len(), workload.files().count(), "{}", row.name);
            let sum: f64 = shares.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", row.name);
            assert!(workload.files().is_made, "{}", row.name);
        }
    }

    #[test]
    fn what_is_asked_does_not_depend_on_thinking() {
        for name in ["specweb99", "surge"] {
            let asked = ["constant", "drawn", "none"].map(|think| {
                let mut settings = Settings::default();
                settings.set("think", think).expect("a way to think");
                let mut workload = make(name, &settings).expect("it can be made");
                let (mut sessions, mut thinking) = (Stream::new(5, 2), Stream::new(5, 3));
                let drawn = (0..100).map(|_| workload.session(0, &mut sessions, &mut thinking));
                let bursts = drawn.flat_map(|session| session.bursts);
                let requests = bursts.flat_map(|burst| burst.requests);
                requests.map(|request| request.file).collect::<Vec<_>>()
            });
            assert!(asked.windows(2).all(|two| two[0] == two[1]), "{name}");
        }
    }
}
