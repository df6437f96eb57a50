//! Which architecture is best when the files are on the disk? (Pariag07 figures 7 and 8.)
//!
//! The paper's seven servers and its baseline, as far as they are here, each with as many workers
//! as the paper found best; and those that it did not have. The paper's once more, with what each
//! asks for events by today.

use super::disk::{self, Claim, What};
use super::frame::Rival::{Every, One};
use super::targets::{self, Bound, Target};
use super::{pariag07_knot, pariag07_watpipe};
use crate::claim::Says::{Alike, Less, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;
use crate::subject::{Kind, PROGRAM, Subject};
use crate::testbed::Disk;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pariag07-architectures",
    paper: "Pariag07 figures 7 and 8",
    is_as_in_papers: true,
    question: "which architecture is best when the files are on the disk?",
    ignores: &["workload"],
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, Loops::AsInPaper, disk)),
    sections: |setup, known| sections(setup, Loops::AsInPaper, known),
};

pub(super) const TODAY: Experiment = Experiment {
    name: "pariag07-architectures-today",
    question: "the same of the paper's servers, where each asks for events as it does today?",
    plan: |setup, known| disk::plan(setup, known, |disk| design(setup, Loops::AsToday, disk)),
    sections: |setup, known| sections(setup, Loops::AsToday, known),
    ..EXPERIMENT
};

/// How they ask for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loops {
    /// By poll, in one pass, and WatPipe by select.
    AsInPaper,
    /// By what each has where nothing is said.
    AsToday,
}

const SPED: &str = "userver-nb (SPED)";

/// What the paper calls it, and what it is here; those that are missing join where they are there.
pub(super) const SERVERS: [(&str, &str); 14] = [
    (SPED, "sped"),
    ("userver-nb", "symped:processes=4"),
    // Figure 5's best, 100 processes, as many as `pariag07_blocking` has in their place.
    ("userver-b", "symped:processes=45,sendfile=blocking"),
    // Not in the paper: as many loops, with one cache and one process.
    ("userver-nb (4 loops of sped)", "sped:threads=4"),
    ("userver-shared-nb", "shared-symped:processes=10"),
    // As figures 1 to 3 found them best, by `pariag07_knot::best`.
    ("knot-b", "knot:sendfile=blocking"),
    ("knot-nb", "knot:sendfile=nonblocking"),
    ("knot-c", "knot:sendfile=off"),
    ("WatPipe", "watpipe:threads=25"),
    ("amped, 16 helpers", "amped:helpers=16"),
    // Both: of itself it has no more connections than half of its memory has room for.
    ("mt, 1,024 threads", "mt:connections-max=1024,threads=1024"),
    ("proactor", "proactor"),
    ("tux (ring, user mode)", "tux"),
    // As many processes as SYMPED has, and helpers beside them as AMPED has: its own remedy for a
    // loop that waits for the disk.
    ("nginx, 4 workers, aio threads", "nginx:aio=threads,workers=4"),
];

fn names(setup: &Setup, loops: Loops) -> Vec<(Subject, String)> {
    let of = |of: Subject| {
        // Whichever version of a peer it is.
        let mut plain = of.clone();
        plain.knobs.remove(PROGRAM);
        let text = plain.to_string();
        let name = SERVERS.iter().find(|(_, subject)| *subject == text);
        let name = name.map_or_else(|| of.label(), |(name, _)| (*name).into());
        (of, name)
    };
    let is_of_paper = |name: &str| name == SPED || OF_PAPER.contains(&name);
    let are_all = loops == Loops::AsInPaper && setup.memory_percent.is_none();
    let is_asked = |name: &str| are_all || is_of_paper(name);
    let asked = SERVERS.iter().filter(|(name, _)| is_asked(name));
    let asked: Vec<&str> = asked.map(|(_, subject)| *subject).collect();
    let subjects = setup.subjects(&asked).into_iter();
    let knobs = knobs(setup);
    let as_there = |(subject, name): (Subject, String)| {
        let is_ours = setup.subjects.is_empty();
        let best = match name.as_str() {
            // As figure 6 found it best.
            "WatPipe" => Some(pariag07_watpipe::subject(setup, (20, 25))),
            name => pariag07_knot::best(setup, name),
        };
        let subject = best.filter(|_| is_ours).unwrap_or(subject);
        let own = knobs.iter().map(|(knob, value)| (*knob, value.as_str())).filter(|_| is_ours);
        let mut with = own.fold(subject, |subject, (knob, value)| {
            let with = subject.with(knob, value).filter(|_| !subject.says(knob));
            with.unwrap_or(subject)
        });
        if is_ours && loops == Loops::AsToday {
            OF_LOOPS.iter().for_each(|knob| drop(with.knobs.remove(*knob)));
        }
        (with, name)
    };
    subjects.map(of).map(as_there).collect()
}

/// What says how a loop asks for events.
const OF_LOOPS: [&str; 2] = ["poller", "passes"];

/// Of all that take them: beside those of the disk as many connections as the paper's best µserver
/// has (5.3), unless the table says how many.
fn knobs(setup: &Setup) -> Vec<(&'static str, String)> {
    let most = ("connections-max", (30 * disk::thousand(setup)).to_string());
    disk::KNOBS.map(|(knob, value)| (knob, value.into())).into_iter().chain([most]).collect()
}

/// Who cannot be told what, of these.
fn lacking(setup: &Setup, loops: Loops) -> Vec<String> {
    let of = |(of, name): (Subject, String)| {
        let knobs = knobs(setup);
        let is_meant = |knob: &&str| loops == Loops::AsInPaper || !OF_LOOPS.contains(knob);
        let lacking = knobs.iter().map(|(knob, _)| *knob).filter(is_meant);
        let lacking: Vec<&str> = lacking.filter(|knob| !of.says(knob)).collect();
        (!lacking.is_empty()).then(|| format!("{name} has no knob for {}.", lacking.join(", ")))
    };
    names(setup, loops).into_iter().filter(|_| setup.subjects.is_empty()).filter_map(of).collect()
}

fn design(setup: &Setup, loops: Loops, disk: Option<Disk>) -> Design {
    let subjects = names(setup, loops).into_iter().map(|(of, _)| of).collect();
    let name = if loops == Loops::AsToday { TODAY.name } else { EXPERIMENT.name };
    let design = disk::design(name, setup, subjects, disk);
    // Another memory than the paper's shifts the peak: what that is then is the question.
    let multiples = if setup.memory_percent.is_some() { &[1.0] } else { design.multiples };
    Design { multiples, ..design }
}

fn sections(setup: &Setup, loops: Loops, known: &Known<'_>) -> Vec<Section> {
    let of = if loops == Loops::AsToday { &TODAY } else { &EXPERIMENT };
    let design = design(setup, loops, disk::found(setup, known));
    let names = names(setup, loops);
    let title = "Architectures beside a disk";
    let mut section = disk::section((of, title), setup, (&design, &names), known, &CLAIMS);
    let is_here = |name: &str| servers::architectures::architecture(name).is_some();
    let rows = [("shared-symped", "shared-SYMPED"), ("knot", "Knot"), ("watpipe", "WatPipe")];
    let absent = rows.iter().filter(|(name, _)| !is_here(name)).map(|(_, paper)| *paper);
    let absent: Vec<&str> = absent.collect();
    if !absent.is_empty() {
        section.question.push(format!(
            "Of the paper's servers {} are not here: this build has no such architecture.",
            absent.join(", ")
        ));
    }
    if setup.subjects.is_empty() {
        section.question.push(String::from(
            "knot-b, knot-nb and knot-c have the threads and workers that Pariag07 figures 1 to 3 \
             found best, scaled; knot-c, as there, sends contents from memory of its own and not \
             by sendfile.",
        ));
    }
    let lacking = lacking(setup, loops);
    if !lacking.is_empty() {
        section.question.push(lacking.join(" "));
    }
    let promised = promised(&design, known, &names);
    section.answer.extend(targets::answer(&promised));
    section.tables.splice(..0, targets::table("Promised, peak against peak", &promised));
    let figure = |of: (&str, &str), metric| disk::figure(&design, known, &names, of, metric);
    section.figures = vec![
        figure(
            ("throughput", "Throughput of different architectures (Pariag07 figure 7)"),
            &metric::SERVER_MBIT,
        ),
        figure(
            ("response", "Response times of different architectures (Pariag07 figure 8)"),
            &metric::RESPONSE,
        ),
    ];
    vec![section]
}

/// Beside the best of SYMPED: helpers and WatPipe are to come close, and no other server is to have
/// more. The best of fibers is to have of the best loops what the paper's had.
fn promised<'s>(
    design: &Design,
    known: &'s Known<'_>,
    names: &[(Subject, String)],
) -> Vec<Target<'s>> {
    let copies = names.iter().filter(|(of, _)| of.name == "symped");
    let Some(best) = disk::best(design, known, copies) else { return Vec::new() };
    let bound = |of: &Subject| match of.kind() {
        Ok(Kind::Peer(_)) => Some(Bound::AtMost(1.0)),
        Ok(Kind::Weir(_)) if ["amped", "watpipe"].contains(&&*of.name) => {
            Some(Bound::AtLeast(0.95))
        }
        _ => None,
    };
    let target =
        |one: &(Subject, String)| Some(disk::target((design, known), bound(&one.0)?, (one, best)));
    names.iter().filter_map(target).chain(of_fibers(design, known, names)).collect()
}

/// The paper's loops have 18 % more: 1 / 1.18.
const SHARE_OF_LOOPS: f64 = 0.85;

fn of_fibers<'s>(
    design: &Design,
    known: &'s Known<'_>,
    names: &[(Subject, String)],
) -> Option<Target<'s>> {
    let best = |of: &[&str]| {
        let these = names.iter().filter(|(subject, _)| of.contains(&&*subject.name));
        disk::best(design, known, these)
    };
    let (fibers, loops) = (best(&["knot"])?, best(&["sped", "symped", "shared-symped"])?);
    Some(disk::target((design, known), Bound::AtLeast(SHARE_OF_LOOPS), (fibers, loops)))
}

/// Beside SPED, what figures 7 and 8 have.
const OF_PAPER: [&str; 7] =
    ["userver-nb", "userver-shared-nb", "userver-b", "knot-b", "knot-nb", "knot-c", "WatPipe"];

pub(super) const CLAIMS: [Claim; 14] = [
    Claim {
        figure: "Pariag07 figure 7",
        paper: "SPED, the baseline, is 37 % below SYMPED's peak, as it waits for the disk",
        of: SPED,
        to: One("userver-nb"),
        says: Less,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "SPED, the baseline, is the worst of all that the paper has",
        of: SPED,
        to: Every(&OF_PAPER),
        says: Less,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "SPED waits for the disk for 33 % of the time, other processes run meanwhile",
        of: SPED,
        to: One("userver-nb"),
        says: More,
        what: What::At(&metric::IO_WAIT, 1.0),
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "the best three, shared-SYMPED, SYMPED and WatPipe, are equal",
        of: "userver-shared-nb",
        to: One("WatPipe"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "the best three are equal: SYMPED and WatPipe, too",
        of: "userver-nb",
        to: One("WatPipe"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "shared-SYMPED has 18 % more throughput than the best Knot",
        of: "userver-shared-nb",
        to: Every(&["knot-b", "knot-nb", "knot-c"]),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "knot-b has 7 % more throughput than knot-nb",
        of: "knot-b",
        to: One("knot-nb"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "knot-b has 13 % more throughput than knot-c",
        of: "knot-b",
        to: One("knot-c"),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "Knot has more throughput than SPED",
        of: "knot-b",
        to: One(SPED),
        says: More,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 8",
        paper: "SYMPED's response times are higher than SPED's, as it has more connections",
        of: SPED,
        to: One("userver-nb"),
        says: Less,
        what: What::At(&metric::RESPONSE, 2.0),
    },
    Claim {
        figure: "Pariag07 figure 8",
        paper: "in overload SPED's response times are slightly lower than all others', as it \
                takes fewer clients",
        of: SPED,
        to: Every(&OF_PAPER),
        says: Less,
        what: What::At(&metric::RESPONSE, 2.0),
    },
    Claim {
        figure: "Pariag07 figure 8",
        paper: "servers with more connections at a time (shared-SYMPED) have higher response times",
        of: "userver-shared-nb",
        to: One("WatPipe"),
        says: More,
        what: What::At(&metric::RESPONSE, 2.0),
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "userver-b has the same peak as the best three",
        of: "userver-b",
        to: One("userver-shared-nb"),
        says: Alike,
        what: What::Capacity,
    },
    Claim {
        figure: "Pariag07 figure 7",
        paper: "beyond it userver-b has 12 % less than userver-shared-nb",
        of: "userver-b",
        to: One("userver-shared-nb"),
        says: Less,
        what: What::At(&metric::GOODPUT, 2.0),
    },
];
