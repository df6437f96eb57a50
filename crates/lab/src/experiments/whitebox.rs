//! What does a server do with its time? (JAWS97 figures 6 to 10, 16 and 17; Pariag07 table 1.)
//!
//! Two looks from within, by the kernel's own tools, so that they are the same for every server:
//! system calls by what they are for, and the processor's time by what it was spent on. Both at a
//! rate that each of them can bear, of which no event is lost; a profile that lost one is left out.

use super::jaws97;
use crate::closed::Closed;
use crate::curves::{self, number};
use crate::design::{Design, Plan, RATES};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Shape, Table};
use crate::profile::{Calls, Kind, Part, Seen, Shares, Task};
use crate::setup::Setup;
use crate::subject::Subject;

pub(super) const CALLS: Experiment = Experiment {
    name: "jaws97-whitebox",
    paper: "JAWS97 figures 6 to 10, 16 and 17",
    question: "which system calls does a server make for a request, and how long do they take?",
    plan: |setup, _| calls(setup).plan(),
    sections: calls_sections,
};

pub(super) const SHARES: Experiment = Experiment {
    name: "pariag07-profile",
    paper: "Pariag07 table 1",
    question: "on what does the processor spend a server's time?",
    plan: shares_plan,
    sections: shares_sections,
};

/// JAWS' baseline and its optimised form, and who is compared with it.
const CALLS_SUBJECTS: [&str; 9] = [
    "mt:cache-mb=0,date-cache=off,gather=off,head-cache=off",
    "mt",
    "sped",
    "amped",
    "proactor",
    "apache-prefork",
    "apache-event",
    "nginx",
    "lighttpd",
];

const SHARES_SUBJECTS: [&str; 9] = [
    "sped",
    "amped",
    "mt",
    "proactor",
    "nginx",
    "lighttpd",
    "h2o",
    "apache-event",
    "apache-prefork",
];

/// Of the capacity: the paper's 12,000 requests/s are its peak with its profiler's overhead.
const SHARES_AT: &[f64] = &[0.8];

/// At a time (JAWS97 2.4).
const CALLS_CLIENTS: u32 = 15;

fn calls(setup: &Setup) -> Closed {
    let subjects = setup.subjects(&CALLS_SUBJECTS);
    Closed {
        clients: vec![CALLS_CLIENTS],
        repeats: setup.repeats(1),
        profile: Some(Kind::Calls),
        ..jaws97::closed(CALLS.name, setup, subjects)
    }
}

fn shares(setup: &Setup) -> Design {
    let load = super::flood::load(setup, 3.0);
    Design {
        experiment: SHARES.name,
        subjects: setup.subjects(&SHARES_SUBJECTS),
        load,
        layout: super::flood::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0, 1.2],
        multiples: SHARES_AT,
        sweep_repeats: setup.repeats(1),
        repeats: setup.repeats(1),
        basis: Clone::clone,
    }
}

/// The capacities, then one profile of each.
fn shares_plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let mut plan = shares(setup).plan(known);
    for spec in plan.specs.iter_mut().filter(|spec| spec.stage == RATES) {
        spec.profile = Some(Kind::Shares);
    }
    plan
}

/// A subject, what was seen of it, and how many requests it had.
type Looked<'k> = (&'k Subject, &'k Seen, u64);

/// The profiles that count, by subject, and why others do not.
fn seen<'k>(experiment: &str, known: &Known<'k>) -> (Vec<Looked<'k>>, Vec<String>) {
    let (mut seen, mut excluded) = (Vec::new(), curves::excluded(known, experiment));
    let is_of =
        |cell: &&Cell<'_>| cell.spec.experiment == experiment && cell.spec.profile.is_some();
    for point in known.all().iter().filter(is_of).flat_map(Cell::points) {
        let of = &point.spec.subject;
        let requests = point.load.as_ref().map_or(0, |load| load.requests.counts.total());
        match &point.profile {
            Some(Ok(profile)) if profile.is_valid() => seen.push((of, &profile.seen, requests)),
            Some(Ok(profile)) => excluded.push(format!("{of}: {}", profile.faults.join("; "))),
            Some(Err(why)) => excluded.push(format!("{of}: {why}")),
            None => excluded.push(format!("{of}: it was not looked at")),
        }
    }
    (seen, excluded)
}

fn calls_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let closed = calls(setup);
    let (seen, excluded) = seen(CALLS.name, known);
    let calls: Vec<(&Subject, &Calls, u64)> = seen
        .into_iter()
        .filter_map(|(of, seen, requests)| match seen {
            Seen::Calls(calls) => Some((of, calls, requests)),
            Seen::Shares(_) => None,
        })
        .collect();
    let names = calls.iter().map(|(of, _, _)| of.label()).collect();
    let busy = |calls: &Calls| {
        let in_calls: u64 = calls.by_task.values().map(|call| call.busy_us).sum();
        (in_calls + calls.user_us) as f64
    };
    let mut series: Vec<Series> = Task::ALL
        .iter()
        .map(|task| {
            let share = |calls: &Calls| {
                calls.by_task.get(task).map_or(0.0, |call| call.busy_us as f64) / busy(calls)
            };
            stacked(task.title(), calls.iter().map(|(_, calls, _)| 100.0 * share(calls)))
        })
        .collect();
    let user = calls.iter().map(|(_, calls, _)| 100.0 * calls.user_us as f64 / busy(calls));
    series.push(stacked("the server's own code", user));
    vec![Section {
        name: CALLS.name.into(),
        title: String::from("System calls by what they are for (JAWS97)"),
        question: vec![format!(
            "{CALLS_CLIENTS} clients at a time, as in JAWS97 2.4; every system call of its \
             processes is counted and timed in the kernel, by the categories of JAWS97 table 2 and \
             one of its own for asking for events. Time that a call waits is not in the figure."
        )],
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![share_figure("time", "Time in system calls and between them", names, series)],
        tables: vec![calls_table(&calls)],
        excluded,
        commands: curves::commands(known, CALLS.name, &closed.subjects),
    }]
}

fn calls_table(calls: &[(&Subject, &Calls, u64)]) -> Table {
    let mut head = vec![String::from("for each request")];
    head.extend(calls.iter().map(|(of, _, _)| of.to_string()));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for task in Task::ALL {
        let of = |(_, calls, requests): &(&Subject, &Calls, u64)| {
            let call = calls.by_task.get(&task).copied().unwrap_or_default();
            let requests = (*requests).max(1) as f64;
            let (count, us) = (call.count as f64 / requests, call.busy_us as f64 / requests);
            format!("{} ({})", number(count), number(us))
        };
        rows.push([task.title().into()].into_iter().chain(calls.iter().map(of)).collect());
    }
    let user = |(_, calls, requests): &(&Subject, &Calls, u64)| {
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

fn shares_sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = shares(setup);
    let (seen, excluded) = seen(SHARES.name, known);
    let shares: Vec<(&Subject, &Shares)> = seen
        .into_iter()
        .filter_map(|(of, seen, _)| match seen {
            Seen::Shares(shares) => Some((of, shares)),
            Seen::Calls(_) => None,
        })
        .collect();
    let names = shares.iter().map(|(of, _)| of.label()).collect();
    let percent = |part: &Part, shares: &Shares| shares.percent.get(part).copied().unwrap_or(0.0);
    let series = Part::ALL
        .iter()
        .map(|part| stacked(part.title(), shares.iter().map(|(_, shares)| percent(part, shares))));
    let series = series.collect();
    let mut head = vec![String::from("% of the time in which something ran")];
    head.extend(shares.iter().map(|(of, _)| of.to_string()));
    let row = |title: &str, value: &dyn Fn(&Shares) -> f64| -> Vec<String> {
        let values = shares.iter().map(|(_, shares)| number(value(shares)));
        [String::from(title)].into_iter().chain(values).collect()
    };
    let mut rows: Vec<Vec<String>> =
        Part::ALL.iter().map(|part| row(part.title(), &|shares| percent(part, shares))).collect();
    rows.push(row("file system cache, MB", &|shares| shares.page_cache_bytes as f64 / 1e6));
    rows.push(row("context switches/s", &|shares| shares.context_switches_per_s));
    rows.push(row("user-level switches/s", &|shares| shares.user_switches_per_s));
    vec![Section {
        name: SHARES.name.into(),
        title: String::from("Where the processor's time goes (Pariag07 table 1)"),
        question: vec![format!(
            "Each server at {} of its capacity; the function that runs on its processors \
             is looked at a thousand times a second.",
            SHARES_AT[0]
        )],
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![share_figure("shares", "The processor's time", names, series)],
        tables: vec![Table {
            title: String::from("Shares of the processor's time"),
            head,
            rows,
            notes: Vec::new(),
        }],
        excluded,
        commands: curves::commands(known, SHARES.name, &design.subjects),
    }]
}

fn stacked(label: &str, values: impl Iterator<Item = f64>) -> Series {
    let dot = |(at, y): (usize, f64)| Dot { x: at as f64, y, spread: (y, y), mark: Mark::Plain };
    Series {
        label: label.into(),
        points: values.enumerate().map(dot).collect(),
        is_reference: false,
    }
}

fn share_figure(name: &str, title: &str, names: Vec<String>, series: Vec<Series>) -> Figure {
    Figure {
        name: name.into(),
        title: title.into(),
        x: Axis { label: String::from("servers"), names, ..Axis::default() },
        y: Axis { label: String::from("of the time"), unit: String::from("%"), ..Axis::default() },
        series,
        shape: Shape::Stack,
    }
}
