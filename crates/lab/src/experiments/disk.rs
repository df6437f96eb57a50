//! What the experiments with files on the disk have in common (Pariag07 3 to 8).
//!
//! The paper's set of 3.2 GB meets a machine of 2 GB. Here the server's memory is limited, its
//! share of the page cache included, to the same part of the set; each read of the disk takes so
//! long that a single loop waits for it as long as the paper's did.

mod search;

use super::frame::{self, Rival};
use super::targets::{Bound, Target};
use crate::claim::{self, Says};
use crate::curves::{self, counted, number};
use crate::design::{Design, Plan};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Comparison, Figure, Section};
use crate::point::InMemory;
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::testbed::{Disk, Layout};
use search::Found;
pub(super) use search::said;

/// Of the paper's 680 directories and 3.2 GB (3.2), without `--paper`: a twentieth of it, so that
/// memory fills in the seconds of a warm-up.
pub(super) const DIRS: u32 = 34;
const DIRS_OF_PAPER: u32 = 680;
/// Of one directory's files together.
const DIR_BYTES: u64 = 5_119_484;

/// Their memory as a share of their set (3.2).
const MEMORY_SHARE: f64 = 2.0 / 3.2;

/// The same here.
fn memory_share(setup: &Setup) -> f64 {
    setup.memory_percent.map_or(MEMORY_SHARE, |percent| f64::from(percent) / 100.0)
}

/// About as slow as disks of the paper's time, of 10,000 turns in a minute: half a turn, and a
/// short way of the arm. For questions that need some disk to wait for.
pub(super) const PAPERS: Disk = Disk { delay_us: 6_000, arm: None };

/// Of one processor, what the server's processes have: replies of 15 KB cost the client as much as
/// the server. With a half of it, copies of a loop had all that the client could ask for.
const QUOTA_PERCENT: u32 = 25;

/// A tenth of the paper's (3.2). With one second and the send buffers that Linux begins with, no
/// loop of 1,500 connections passed verification at twice its capacity.
const PATIENCE_S: f64 = 1.5;

/// Of the paper's thoughts: as many sessions at a time in a run of seconds as theirs had in
/// minutes.
const THINK_SCALE: f64 = 0.03;

/// What 1,000 of the paper's connections are here: as users think for a thirtieth of the time or
/// so, so many of them are open at a time. With `--paper` it is a half, because 30,000 are more
/// descriptors than a process may have on many machines.
const THOUSAND: u32 = 33;
const THOUSAND_OF_PAPER: u32 = 500;

pub(super) fn thousand(setup: &Setup) -> u32 {
    if setup.is_paper { THOUSAND_OF_PAPER } else { THOUSAND }
}

/// Of the capacity: nearly idle, half of it, around the peak, and beyond.
const MULTIPLES: &[f64] = &[0.1, 0.5, 0.9, 1.0, 2.0];

/// Of all subjects that take them. Files are sent from the page cache, as all of the paper's
/// servers but one send them (7): what a server keeps in memory of its own is no part of the
/// question. Send buffers are as large as Linux lets a server ask for: with those that it begins
/// with, a file of half a megabyte takes several turns among all clients, and timed out for 10 to
/// 15 % at rates at which all together did for 2 to 5 %, which mostly fails verification.
/// Loops ask by poll, in one pass over what is ready, as the paper's do (7).
pub(super) const KNOBS: [(&str, &str); 4] =
    [("small-file-kb", "0"), ("send-buffer-kb", "208"), ("poller", "poll"), ("passes", "1")];

/// So many thousands of the paper's connections over so many copies of a loop.
pub(super) fn symped(setup: &Setup, (thousands, processes): (u32, u32)) -> Subject {
    let own = [
        ("connections-max", (thousands * thousand(setup)).to_string()),
        ("processes", processes.to_string()),
    ];
    let all = KNOBS.map(|(knob, value)| (knob, String::from(value)));
    let knobs = own.into_iter().chain(all).map(|(knob, value)| (knob.into(), value)).collect();
    Subject { name: "symped".into(), knobs }
}

/// What is to be measured next: the delay of the disk's reads, then all else.
pub(super) fn plan(
    setup: &Setup,
    known: &Known<'_>,
    design: impl Fn(Option<Disk>) -> Design,
) -> Plan {
    let search = search::search(setup, known);
    let specs = Plan { specs: search.specs, later_s: 0.0 };
    match search.found {
        Found::Disk(disk) => design(disk).plan(known).after(specs),
        Found::Nothing | Found::InVain => specs,
        Found::NotYet => {
            let rest = design(None).plan(&Known::default());
            let costs_s: f64 = rest.specs.iter().map(|spec| spec.load.costs_s()).sum();
            Plan { later_s: rest.later_s + costs_s, ..specs }
        }
    }
}

/// The disk as far as it is known.
pub(super) fn found(setup: &Setup, known: &Known<'_>) -> Option<Disk> {
    match search::search(setup, known).found {
        Found::Disk(disk) => disk,
        Found::Nothing | Found::InVain | Found::NotYet => None,
    }
}

pub(super) fn design(
    experiment: &'static str,
    setup: &Setup,
    subjects: Vec<Subject>,
    disk: Option<Disk>,
) -> Design {
    let dirs = if setup.is_paper { DIRS_OF_PAPER } else { DIRS };
    let load = Load {
        workload: String::from("specweb99"),
        seconds: setup.seconds(3.0),
        // For the queues of an overload: twice the patience. Memory is full before.
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 30.0 } else { 3.0 })),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    let load = load.with("dirs", dirs).with("patience", setup.patience_s(PATIENCE_S));
    // The contents of some replies: a client that looks at all of them would be the limit.
    let load = load.with("verified", 0.05);
    let load = if setup.is_paper { load } else { load.with("think-scale", THINK_SCALE) };
    Design {
        multiples: MULTIPLES,
        ..Design::of(
            experiment,
            setup,
            subjects,
            (load, limited(setup, frame::layout(setup, QUOTA_PERCENT), dirs, disk)),
        )
    }
}

/// Of all files together.
pub(super) fn set_bytes(setup: &Setup) -> u64 {
    u64::from(if setup.is_paper { DIRS_OF_PAPER } else { DIRS }) * DIR_BYTES
}

/// Machines of which the server has less memory than so many directories need, and a slow disk;
/// not on the loopback, where nothing is limited.
pub(super) fn limited(setup: &Setup, layout: Layout, dirs: u32, disk: Option<Disk>) -> Layout {
    let memory = f64::from(dirs) * DIR_BYTES as f64 * memory_share(setup);
    limited_to(layout, memory as u64, disk)
}

/// The same with so many bytes.
pub(super) fn limited_to(layout: Layout, memory_bytes: u64, disk: Option<Disk>) -> Layout {
    let is_limited = !layout.is_loopback;
    Layout {
        memory_bytes: is_limited.then_some(memory_bytes),
        disk: disk.filter(|_| is_limited),
        ..layout
    }
}

/// Something that a figure shows of subjects, by their short names.
pub(super) struct Claim {
    pub(super) figure: &'static str,
    pub(super) paper: &'static str,
    pub(super) of: &'static str,
    pub(super) to: Rival,
    pub(super) says: Says,
    pub(super) what: What,
}

/// What of them.
pub(super) enum What {
    /// Good replies where each is asked for its own capacity.
    Capacity,
    /// A metric, at a multiple of each one's own capacity.
    At(&'static Metric, f64),
}

/// How many good replies one has where each is asked for its own capacity, beside another one.
pub(super) fn target<'s>(
    (design, known): (&Design, &'s Known<'_>),
    bound: Bound,
    (one, other): (&(Subject, String), &(Subject, String)),
) -> Target<'s> {
    let side = |(of, name): &(Subject, String)| {
        (name.clone(), curves::at_multiple(design, known, of, 1.0))
    };
    Target {
        load: String::from("each one's capacity"),
        metric: &metric::GOODPUT,
        bound,
        one: side(one),
        other: side(other),
    }
}

/// Of these, the one that has most good replies there.
pub(super) fn best<'n>(
    design: &Design,
    known: &Known<'_>,
    names: impl Iterator<Item = &'n (Subject, String)>,
) -> Option<&'n (Subject, String)> {
    let good = |of: &(Subject, String)| {
        let cell = curves::at_multiple(design, known, &of.0, 1.0)?;
        Some(cell.judged(&metric::GOODPUT)?.median)
    };
    let known = names.filter_map(|of| Some((good(of)?, of)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, of)| of)
}

/// What became of claims whose subjects were asked for.
pub(super) fn comparisons(
    design: &Design,
    known: &Known<'_>,
    names: &[(Subject, String)],
    claims: &[Claim],
) -> Vec<Comparison> {
    let compared = |claim: &Claim| {
        let (metric, at) = match claim.what {
            What::Capacity => (&metric::GOODPUT, String::from(" at the capacity")),
            What::At(metric, at) => (metric, format!(" at {at} of the capacity")),
        };
        let side = |text: &str| {
            let (of, name) = names.iter().find(|(_, name)| name == text)?;
            let cell = match claim.what {
                What::Capacity => curves::at_multiple(design, known, of, 1.0),
                What::At(_, at) => curves::at_multiple(design, known, of, at),
            };
            Some((name.clone(), cell))
        };
        let (name, cell) = side(claim.of)?;
        let others: Vec<_> = claim.to.names().iter().filter_map(|text| side(text)).collect();
        (!others.is_empty()).then(|| claim::Claim {
            figure: claim.figure,
            paper: claim.paper,
            says: claim.says,
            metric,
            at,
            one: (name, cell),
            beside: claim.to.beside(),
            others,
        })
    };
    claim::judged(&claims.iter().filter_map(compared).collect::<Vec<_>>())
}

/// All that is told.
pub(super) fn section(
    (of, title): (&Experiment, &str),
    setup: &Setup,
    (design, names): (&Design, &[(Subject, String)]),
    known: &Known<'_>,
    claims: &[Claim],
) -> Section {
    let metrics: [&Metric; 14] = [
        &metric::REPLIES,
        &metric::SERVER_MBIT,
        &metric::RESPONSE,
        &metric::IO_WAIT,
        &metric::BLOCKED,
        &metric::IO_PRESSURE,
        &metric::GROUP_IO_PRESSURE,
        &metric::GROUP_CACHE,
        &metric::SITE_BEFORE,
        &metric::SITE_AFTER,
        &metric::OPEN,
        &metric::GETEVENTS,
        &metric::INTEREST,
        &metric::RETURNED,
    ];
    Section {
        question: question(setup, design, known),
        answer: answer(design, known, names),
        comparisons: comparisons(design, known, names, claims),
        tables: vec![curves::table(design, known, &metrics)],
        ..frame::section(of, format!("{title} (Pariag07)"), known, &design.subjects)
    }
}

fn question(setup: &Setup, design: &Design, known: &Known<'_>) -> Vec<String> {
    let dirs = design.load.flags.get("dirs").and_then(|dirs| dirs.parse::<u64>().ok());
    let bytes = dirs.unwrap_or_default() * DIR_BYTES;
    let limits = match design.layout.memory_bytes {
        Some(memory) => format!(
            "The server has {} MB of memory, its share of the page cache included. Most of that \
             fills early in the warm-up, at half of the capacity and more.",
            memory / 1_000_000,
        ),
        None => String::from("Without limits, as they need root: the files are in memory."),
    };
    let think = design.load.flags.get("think-scale").map_or_else(String::new, |scale| {
        format!(" Users think {scale} times as long as the paper's.")
    });
    let loops = loops(design);
    let mut lines = vec![
        format!(
            "Sessions of SPECweb99's files: {} MB in all, of which the server's memory holds {}. \
             {limits}{think} {loops}",
            bytes / 1_000_000,
            match setup.memory_percent {
                None => String::from("five eighths, as in the paper (3.2 GB and 2 GB)"),
                Some(percent) => format!("{percent} %, where the paper's held five eighths"),
            }
        ),
        String::from(
            "The table shows what the disk did: for how much of the time the server's processors \
             only waited for it (with the time that its quota leaves idle while one of its \
             processes waits), how long all threads of a server together waited for the disk \
             (more than 100 % where several do), and how much of the files was in the server's \
             share of the page cache. Behind that it shows how many connections were open: a \
             limit above that changes nothing; and how often loops asked for events, about how \
             many connections, and how many events a call returned.",
        ),
        format!(
            "Each rate is measured {}.",
            if design.repeats == 1 {
                String::from("once")
            } else {
                counted(design.repeats as usize, "time")
            }
        ),
    ];
    lines.splice(1..1, search::told(setup, known));
    lines.extend(in_memory(design, known));
    lines
}

/// How they ask for events.
fn loops(design: &Design) -> String {
    let asks = |poller| {
        let says = |of: &Subject| of.knobs.get("poller").is_some_and(|said| said == poller);
        design.subjects.iter().any(says)
    };
    let mut told = Vec::new();
    if asks("poll") {
        told.push("Loops ask by poll, in one pass over what is ready, as the paper's do (7).");
    }
    if asks("select") {
        told.push("WatPipe asks by select, as the paper's does (6).");
    }
    if told.is_empty() {
        told.push("All ask for events as they do where nothing is said, not as the paper's do.");
    }
    told.join(" ")
}

/// Whether the files were on the disk before, and no more of them in memory than the limit lets in.
fn in_memory(design: &Design, known: &Known<'_>) -> Option<String> {
    let of = |cell: &&Cell<'_>| cell.spec.experiment == design.experiment;
    let cells = known.all().iter().filter(of);
    let sites: Vec<InMemory> =
        cells.flat_map(Cell::points).filter_map(|point| point.site).collect();
    let bytes = sites.first()?.bytes.max(1);
    let percent = |bytes_here: u64| number(100.0 * bytes_here as f64 / bytes as f64);
    let before = sites.iter().map(|site| site.before_bytes).max()?;
    let after = || sites.iter().map(|site| site.after_bytes);
    let limit = design.layout.memory_bytes?;
    Some(format!(
        "Of the files at most {} % was in memory before a server was started (cachestat), and {} \
         to {} % when it had ended; its limit has room for {} %. A point with more than 1 % \
         before, or more than the limit at the end, does not count.",
        percent(before),
        percent(after().min()?),
        percent(after().max()?),
        percent(limit),
    ))
}

/// The capacities, the greatest first. Last, and without a figure: who failed verification.
fn answer(design: &Design, known: &Known<'_>, names: &[(Subject, String)]) -> Vec<String> {
    let judged = names.iter().map(|of| (of, frame::failed(design, known, &of.0)));
    let (failed, passed): (Vec<_>, Vec<_>) = judged.partition(|(_, failed)| failed.is_some());
    let told = passed.into_iter().filter_map(|((of, name), _)| {
        let capacity = design.capacity(known, of)?;
        let at = design.multiples.last().copied()?;
        let most = curves::at_multiple(design, known, of, at);
        let waits = most.and_then(|cell| cell.judged(&metric::IO_WAIT));
        let when = if at > 1.0 { "in overload" } else { "then" };
        let waits = waits.map_or_else(String::new, |waits| {
            let percent = number(waits.median);
            format!(", and {when} waits for the disk {percent} % of the time")
        });
        let at_capacity = curves::at_multiple(design, known, of, 1.0);
        Some((capacity.replies_per_s, at_capacity, name, waits))
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by(|a, b| b.0.total_cmp(&a.0));
    let cells: Vec<_> = told.iter().map(|(_, cell, ..)| *cell).collect();
    let near = frame::nearly_first(&metric::GOODPUT, &cells);
    let line = |((replies, _, name, waits), is_near): (&(f64, _, &String, String), bool)| {
        let near = if is_near { ", too close to the first to rank" } else { "" };
        format!("{name}: {} replies/s at its capacity{near}{waits}.", number(*replies))
    };
    let failed = failed.into_iter().filter_map(|((_, name), failed)| {
        Some(format!("{name} failed verification {}: its figures do not count.", failed?))
    });
    told.iter().zip(near).map(line).chain(failed).collect()
}

/// A metric over the rates, with the paper's names.
pub(super) fn figure(
    design: &Design,
    known: &Known<'_>,
    names: &[(Subject, String)],
    (name, title): (&str, &str),
    metric: &Metric,
) -> Figure {
    let figure = curves::over_rates(design, known, name, metric);
    let figure = frame::named(figure, &design.subjects, |of| {
        names.iter().find(|(subject, _)| subject == of).map(|(_, name)| name.clone())
    });
    Figure { title: title.into(), ..figure }
}
