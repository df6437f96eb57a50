//! Which system calls does a server make for a request, and how long do they take? (JAWS97 figures
//! 6 to 10, 16 and 17.)
//!
//! Seen from the kernel, so that it is the same for every server: calls by the tasks of JAWS97
//! table 2. No event may be lost; a profile that lost one is left out.

use super::frame::{self, Rival::One};
use super::jaws97::{self, At, BASELINE, Claim, OPTIMISED};
use super::whitebox::{how_often, seen, share_figure, stacked};
use crate::claim::Says::{Less, More};
use crate::closed::Closed;
use crate::curves::{self, number};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric::Metric;
use crate::page::{Agreement, Comparison, NONE, Section, Series, Table};
use crate::point::Point;
use crate::profile::{Calls, Kind, Seen, Task};
use crate::setup::Setup;
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-whitebox",
    paper: "JAWS97 figures 6 to 10, 16 and 17",
    is_as_in_papers: true,
    question: "which system calls does a server make for a request, and how long do they take?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| closed(setup).plan(),
    sections,
};

/// JAWS' baseline (3.2.1) and its optimised form, and who is compared with it.
const SUBJECTS: [&str; 12] = [
    BASELINE,
    OPTIMISED,
    "mt",
    "sped",
    "amped",
    "proactor",
    "apache-prefork",
    "apache-event",
    "nginx",
    "lighttpd",
    "h2o",
    "caddy",
];

const NAMES: [(&str, &str); 2] =
    [(BASELINE, "mt as JAWS' baseline"), (OPTIMISED, "mt optimised, of as many threads")];

/// At a time (JAWS97 2.4).
const CLIENTS: u32 = 15;

fn closed(setup: &Setup) -> Closed {
    let subjects = setup.subjects(&SUBJECTS);
    Closed {
        clients: vec![CLIENTS],
        // Calls come in numbers, but how long each takes is no chance that can be counted.
        repeats: setup.repeats(3),
        profile: Some(Kind::Calls),
        ..jaws97::closed(EXPERIMENT.name, setup, subjects)
    }
}

/// A subject's calls.
struct Looked<'k> {
    name: String,
    calls: &'k Calls,
    /// How many it had.
    requests: u64,
    /// For how long these came, in seconds: what is looked at is all of a load, its start and its
    /// end included, when nobody comes. None: the load told nothing.
    measured_s: Option<f64>,
    is_failed: bool,
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let closed = closed(setup);
    let (seen, excluded) = seen(EXPERIMENT.name, known);
    let calls: Vec<Looked<'_>> = seen
        .into_iter()
        .filter_map(|looked| match looked.seen {
            Seen::Calls(calls) => Some(Looked {
                name: name(looked.of),
                calls,
                requests: requests(looked.point),
                measured_s: looked.point.figures().map(|of| of.measured_s).filter(|s| *s > 0.0),
                is_failed: looked.is_failed,
            }),
            Seen::Shares(_) | Seen::Costs(_) => None,
        })
        .collect();
    let names = calls.iter().map(|of| of.name.clone()).collect();
    let of_all = |title: &str, value: &dyn Fn(&Calls) -> f64| {
        stacked(title, calls.iter().map(|of| (value(of.calls), of.is_failed)))
    };
    let mut series: Vec<Series> =
        Task::ALL.iter().map(|task| of_all(task.title(), &|of| share(of, &[*task]))).collect();
    series.push(of_all("HTTP processing", &own_share));
    let title =
        "Time in system calls and in the server's own code (JAWS97 figures 6 to 10, 16, 17)";
    let mut question = jaws97::question(&closed);
    question.push(String::from(
        "Every system call of the server's processes is counted and timed in the kernel, by the \
         tasks of table 2. Asking for events, which the paper counts with reading requests, is a \
         task of its own. The time in which a call waits is not in the figure. What the paper \
         calls HTTP processing is the time between calls. A ring's calls submit reading, writing \
         and file operations together, and count as event notification here.",
    ));
    question.push(String::from(
        "The paper's 15 connections have 1,000 requests each (2.4); those here have one, as in its \
         black box.",
    ));
    question.push(how_often(closed.repeats));
    vec![Section {
        question,
        answer: answer(&calls),
        comparisons: comparisons(&closed, known),
        figures: vec![share_figure("time", title, names, series)],
        tables: vec![table(&calls), accepts(&calls)],
        excluded,
        ..frame::section(
            &EXPERIMENT,
            "System calls by what they are for (JAWS97)",
            known,
            &closed.subjects,
        )
    }]
}

fn name(of: &Subject) -> String {
    let text = of.to_string();
    let name = NAMES.iter().find(|(named, _)| *named == text);
    name.map_or_else(|| of.label(), |(_, name)| (*name).into())
}

fn requests(point: &Point) -> u64 {
    point.load.as_ref().map_or(0, |load| load.requests.counts.total())
}

/// Processor time in all calls and between them.
fn busy_us(calls: &Calls) -> f64 {
    let in_calls: u64 = calls.by_task.values().map(|call| call.busy_us).sum();
    (in_calls + calls.user_us) as f64
}

/// Of tasks, in percent of the processor time.
fn share(calls: &Calls, tasks: &[Task]) -> f64 {
    let busy = |task: &Task| calls.by_task.get(task).map_or(0.0, |call| call.busy_us as f64);
    let all = busy_us(calls);
    if all > 0.0 { 100.0 * tasks.iter().map(busy).sum::<f64>() / all } else { 0.0 }
}

fn own_share(calls: &Calls) -> f64 {
    let all = busy_us(calls);
    if all > 0.0 { 100.0 * calls.user_us as f64 / all } else { 0.0 }
}

/// The same of a point, if its profile counts.
fn of_point(point: &Point, tasks: &[Task]) -> Option<f64> {
    let profile = point.profile.as_ref()?.as_ref().ok()?;
    match &profile.seen {
        Seen::Calls(calls) if profile.is_valid() => Some(share(calls, tasks)),
        _ => None,
    }
}

const fn metric(label: &'static str, of: fn(&Point) -> Option<f64>) -> Metric {
    Metric { label, unit: "% of the time", is_logarithmic: false, of }
}

/// Reading requests and writing files: what an ideal server spends its time on (2.4).
const NETWORK: Metric =
    metric("reading and writing", |point| of_point(point, &[Task::Reading, Task::Writing]));
const FILES: Metric = metric("file operations", |point| of_point(point, &[Task::Files]));
const SYNCHRONIZATION: Metric =
    metric("synchronization", |point| of_point(point, &[Task::Synchronization]));

/// The text has no numbers of figures 6 to 10; what it says of them in 2.4 and at the begin of 2.
pub(super) const CLAIMS: [Claim; 6] = [
    Claim {
        figure: "JAWS97 figure 6",
        paper: "Apache, which keeps no files in memory, spends much time on file operations",
        of: ("apache-prefork", At::Most),
        to: (One("mt"), At::Most),
        says: More,
        metric: &FILES,
    },
    Claim {
        figure: "JAWS97 figure 8",
        paper: "servers are shown from slow to fast; the fast ones read and write for most of \
                the time: threads (PHTTPD) more than processes (Apache)",
        of: ("mt", At::Most),
        to: (One("apache-prefork"), At::Most),
        says: More,
        metric: &NETWORK,
    },
    Claim {
        figure: "JAWS97 figure 9",
        paper: "Zeus reads and writes for more of its time than Apache",
        of: ("nginx", At::Most),
        to: (One("apache-prefork"), At::Most),
        says: More,
        metric: &NETWORK,
    },
    Claim {
        figure: "JAWS97 figure 10",
        paper: "Enterprise, which keeps files in memory, spends less on file operations",
        of: ("mt", At::Most),
        to: (One("apache-event"), At::Most),
        says: Less,
        metric: &FILES,
    },
    Claim {
        figure: "JAWS97 figures 16 and 17",
        paper: "optimised JAWS spends 7 % less of its time on synchronization than the baseline",
        of: (OPTIMISED, At::Most),
        to: (One(BASELINE), At::Most),
        says: Less,
        metric: &SYNCHRONIZATION,
    },
    Claim {
        figure: "JAWS97 figures 16 and 17",
        paper: "optimised JAWS spends 5 % more of its time on network transfer",
        of: (OPTIMISED, At::Most),
        to: (One(BASELINE), At::Most),
        says: More,
        metric: &NETWORK,
    },
];

fn comparisons(closed: &Closed, known: &Known<'_>) -> Vec<Comparison> {
    let mut rows = jaws97::comparisons(closed, known, &NAMES, &CLAIMS);
    let java = Comparison {
        of: String::from("JAWS97 figure 7"),
        paper: String::from("the Java Server is slower than all but Apache"),
        here: String::from("nothing here is like it: not measured"),
        agrees: Agreement::Open,
    };
    rows.insert(rows.len().min(1), java);
    rows
}

/// What each spends most of its time on.
fn answer(calls: &[Looked<'_>]) -> Vec<String> {
    let told = calls.iter().map(|Looked { name: of, calls, requests, is_failed, .. }| {
        if *is_failed {
            return format!("{of} failed verification: its figures do not count.");
        }
        let network = share(calls, &[Task::Reading, Task::Writing]);
        let us = busy_us(calls) / (*requests).max(1) as f64;
        format!(
            "{of}: {} µs for each request, of which reading and writing are {} %, file operations \
             {} %, synchronization {} %, and its own code {} %.",
            number(us),
            number(network),
            number(share(calls, &[Task::Files])),
            number(share(calls, &[Task::Synchronization])),
            number(own_share(calls))
        )
    });
    told.collect()
}

fn table(calls: &[Looked<'_>]) -> Table {
    let mut head = vec![String::from("for each request")];
    head.extend(calls.iter().map(|of| curves::marked(of.name.clone(), of.is_failed)));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for task in Task::ALL {
        let of = |Looked { calls, requests, .. }: &Looked<'_>| {
            let call = calls.by_task.get(&task).copied().unwrap_or_default();
            let requests = (*requests).max(1) as f64;
            let (count, us) = (call.count as f64 / requests, call.busy_us as f64 / requests);
            format!("{} ({})", number(count), number(us))
        };
        rows.push([task.title().into()].into_iter().chain(calls.iter().map(of)).collect());
    }
    let user = |Looked { calls, requests, .. }: &Looked<'_>| {
        format!("({})", number(calls.user_us as f64 / (*requests).max(1) as f64))
    };
    rows.push(["its own code".into()].into_iter().chain(calls.iter().map(user)).collect());
    Table {
        title: String::from("Calls for each request, and their time in µs"),
        head,
        rows,
        notes: vec![String::from("Tracing each call makes all of them slower than they are.")],
    }
}

/// Brecht04's accept statistics, of servers that do not count them as well.
fn accepts(calls: &[Looked<'_>]) -> Table {
    // A connection for each request; the first of a ring's may be taken by a call.
    let is_seen = |of: &&Looked<'_>| 2 * of.calls.accepts.connections > of.requests;
    let row = |of: &Looked<'_>| {
        let (connections, phases) =
            (of.calls.accepts.connections as f64, of.calls.accepts.phases as f64);
        let in_a_second = |count: f64| of.measured_s.map(|measured_s| count / measured_s);
        let of_all = [in_a_second(connections), in_a_second(phases), Some(connections / phases)];
        let of_all = of_all.map(|value| value.map_or_else(|| String::from(NONE), number));
        let name = curves::marked(of.name.clone(), of.is_failed);
        [name].into_iter().chain(of_all).collect()
    };
    let head =
        ["server", "connections accepted/s", "accept phases/s", "connections for each phase"];
    Table {
        title: String::from("How connections are accepted (Brecht04 equation 1)"),
        head: head.map(String::from).into(),
        rows: calls.iter().filter(is_seen).map(row).collect(),
        notes: vec![String::from(
            "As the kernel sees it: a phase is what a thread accepts between two calls that ask \
             for events, or after it has waited for a connection. Servers that accept by a ring \
             make no such calls, and are not here.",
        )],
    }
}
