//! What does a server do with its time? (JAWS97 figures 6 to 10, 16 and 17; Pariag07 table 1.)
//!
//! Two looks from within, by the kernel's own tools, so that they are the same for every server:
//! system calls by what they are for, and the processor's time by what it was spent on. Both at a
//! rate that each of them can bear, of which no event is lost; a profile that lost one is left out.

use std::collections::BTreeMap;

use crate::curves::{self, number};
use crate::design::{Design, Plan, is_over};
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::page::{Axis, Dot, Figure, Mark, Section, Series, Shape, Table};
use crate::profile::{Calls, Kind, Part, Seen, Shares, Task};
use crate::setup::{Setup, WarmUp};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

pub(super) const CALLS: Experiment = Experiment {
    name: "jaws97-whitebox",
    paper: "JAWS97 figures 6 to 10, 16 and 17",
    question: "which system calls does a server make for a request, and how long do they take?",
    plan: |setup, known| plan(&calls_design(setup), Kind::Calls, known),
    sections: calls_sections,
};

pub(super) const SHARES: Experiment = Experiment {
    name: "pariag07-profile",
    paper: "Pariag07 table 1",
    question: "on what does the processor spend a server's time?",
    plan: |setup, known| plan(&shares_design(setup), Kind::Shares, known),
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

const STAGE: &str = "profile";

/// Of the capacity: the paper's 12,000 requests/s are its peak with its profiler's overhead.
const SHARES_AT: f64 = 0.8;
/// Counting calls costs more than the calls of some.
const CALLS_AT: f64 = 0.25;

fn design(
    of: &Experiment,
    setup: &Setup,
    own: &[&str],
    (workload, at): (&str, &'static [f64]),
) -> Design {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| workload.into()),
        seconds: setup.seconds(3.0),
        warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
        flags: Default::default(),
        idle_connections: 0,
    };
    Design {
        experiment: of.name,
        subjects: setup.subjects(own),
        load: load.with("patience", 1),
        layout: super::flood::layout(setup),
        sweep_s: setup.seconds(1.0),
        sweep: &[0.8, 1.0, 1.2],
        multiples: at,
        sweep_repeats: setup.repeats(1),
        repeats: setup.repeats(1),
        basis: Clone::clone,
    }
}

fn calls_design(setup: &Setup) -> Design {
    design(&CALLS, setup, &CALLS_SUBJECTS, ("webstone", &[CALLS_AT]))
}

fn shares_design(setup: &Setup) -> Design {
    design(&SHARES, setup, &SHARES_SUBJECTS, ("one-packet", &[SHARES_AT]))
}

/// The capacities, then one profile of each.
fn plan(design: &Design, kind: Kind, known: &Known<'_>) -> Plan {
    let sweep = Design { multiples: &[], ..design.clone() };
    let mut plan = sweep.plan(known);
    if !plan.specs.iter().all(|spec| is_over(known, spec)) {
        plan.later_s += design.of_points(design.load.seconds, design.subjects.len());
        return plan;
    }
    plan.specs.extend(specs(design, kind, known));
    plan
}

fn specs(design: &Design, kind: Kind, known: &Known<'_>) -> Vec<Spec> {
    let at = design.multiples.first().copied().unwrap_or(1.0);
    let of = |of: &Subject| {
        let rate = (design.capacity(known, of)?.rate * at).round();
        Some(Spec {
            experiment: design.experiment.into(),
            stage: STAGE.into(),
            subject: of.clone(),
            load: design.load.with("rate", rate),
            layout: design.layout.clone(),
            factors: BTreeMap::from([(crate::design::RATE.into(), rate)]),
            repeat: 0,
            profile: Some(kind),
        })
    };
    design.subjects.iter().filter_map(of).collect()
}

/// The profiles that count, by subject, and why others do not.
fn seen<'k>(
    design: &Design,
    known: &Known<'k>,
) -> (Vec<(&'k Subject, &'k Seen, u64)>, Vec<String>) {
    let (mut seen, mut excluded) = (Vec::new(), curves::excluded(known, design.experiment));
    let cells: Vec<&Cell<'k>> = known.cells(design.experiment, STAGE).collect();
    for point in cells.into_iter().flat_map(Cell::points) {
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
    let design = calls_design(setup);
    let (seen, excluded) = seen(&design, known);
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
            "Each server at {CALLS_AT} of its capacity; every system call of its processes is \
             counted and timed in the kernel, by the categories of JAWS97 table 2 and one of its \
             own for asking for events. Time that a call waits is not in the figure."
        )],
        answer: Vec::new(),
        comparisons: Vec::new(),
        figures: vec![share_figure("time", "Time in system calls and between them", names, series)],
        tables: vec![calls_table(&calls)],
        excluded,
        commands: curves::commands(known, CALLS.name, &design.subjects),
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
    let design = shares_design(setup);
    let (seen, excluded) = seen(&design, known);
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
            "Each server at {SHARES_AT} of its capacity; the function that runs on its processors \
             is looked at a thousand times a second."
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
