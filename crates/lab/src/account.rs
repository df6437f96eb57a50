//! Results as a page, and in short as lines of JSON.

mod repeated;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use load::collector::times::Times;
use serde::Serialize;

use crate::curves::{capital, counted, lasting};
use crate::experiment::experiment;
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{Page, Section, Table};
use crate::results::Results;
use crate::setup::Setup;
use crate::spec::Spec;
use crate::subject::Kind;

/// Results, and the directory that they are in.
pub type Source<'r> = (&'r Path, &'r Results);

/// The page of the results of one directory, or of several. Where two of them are of the same
/// experiment with the same choices, it is also told whether they agree.
#[must_use]
pub fn page(sources: &[Source<'_>]) -> Page {
    let all: Vec<&Results> = sources.iter().map(|(_, results)| *results).collect();
    let mut sections: Vec<Section> = Vec::new();
    for results in &all {
        for (setup, name) in asked(results) {
            let Some(experiment) = experiment(name) else { continue };
            let known = Known::of(&results.points);
            let mut its = (experiment.sections)(setup, &known);
            let began = results.runs.first().map_or("", |run| run.began.as_str());
            for section in &mut its {
                if sections.iter().any(|other| other.title == section.title) {
                    section.title = format!("{} (from {began} on)", section.title);
                }
            }
            sections.extend(its);
        }
    }
    sections.extend(repeated::sections(&all));
    sections.iter_mut().for_each(without_what_is_empty);
    let title = match sections.as_slice() {
        [only] => {
            experiment(&only.name).map_or_else(|| only.title.clone(), |of| capital(of.question))
        }
        _ => String::from("What was measured"),
    };
    // A page of one question says first what came out.
    let first = match sections.as_mut_slice() {
        [only] => std::mem::take(&mut only.answer),
        _ => Vec::new(),
    };
    let summary = first.into_iter().chain(sources.iter().flat_map(summary)).collect();
    let facts = all.last().map_or_else(Vec::new, |results| facts(results));
    Page { title, summary, sections, facts }
}

/// What the runs of a directory were to answer: its experiments, which are the same in all of them.
fn asked(results: &Results) -> Vec<(&Setup, &str)> {
    let Some(run) = results.runs.first() else { return Vec::new() };
    run.experiments.iter().map(|name| (&run.setup, name.as_str())).collect()
}

/// Of a run that was stopped, or of a metric that a subject does not tell, there is nothing to see.
fn without_what_is_empty(section: &mut Section) {
    section.figures.retain(|figure| figure.series.iter().any(|of| !of.points.is_empty()));
    section.tables.retain(|table| !table.rows.is_empty());
    section.tables.iter_mut().for_each(Table::drop_empty_columns);
}

/// When, how long, how much of it counts, and what is missing.
fn summary(source: &Source<'_>) -> Vec<String> {
    let (_, results) = source;
    let (good, failed, invalid) =
        results.points.iter().fold((0, 0, 0), |(good, failed, invalid), of| match of.verdict {
            crate::point::Verdict::Good => (good + 1, failed, invalid),
            crate::point::Verdict::Failed(_) => (good, failed + 1, invalid),
            crate::point::Verdict::Invalid(_) => (good, failed, invalid + 1),
        });
    let took_s: f64 = results.points.iter().map(|point| point.cost.whole_s).sum();
    let began = results.runs.first().map_or("", |run| run.began.as_str());
    let mut lines = vec![format!(
        "Measured from {began} on, in {}: {} that {}, {failed} at which a server failed \
         verification, {invalid} that {} not count.",
        lasting(took_s),
        counted(good, "point"),
        if good == 1 { "counts" } else { "count" },
        if invalid == 1 { "does" } else { "do" }
    )];
    lines.extend(whole::missing(source));
    // A run that went on says it again.
    let missing: BTreeSet<&String> = results.runs.iter().flat_map(|run| &run.missing).collect();
    lines.extend(missing.into_iter().map(|what| format!("Not measured: {what}.")));
    lines
}

fn facts(results: &Results) -> Vec<(String, BTreeMap<String, String>)> {
    let Some(run) = results.runs.last() else { return Vec::new() };
    let mut facts = vec![
        (String::from("The machine"), run.machine.clone()),
        (String::from("Versions"), run.versions.clone()),
    ];
    if let Some(point) = results.points.last() {
        facts.push((String::from("Server's and client's hosts"), point.testbed.clone()));
    }
    let command = BTreeMap::from([(String::from("command"), run.command.clone())]);
    facts.push((String::from("How to do it again"), command));
    let mut peers: Vec<&str> = Vec::new();
    for point in &results.points {
        let subject = &point.spec.subject;
        let Ok(Kind::Peer(peer)) = subject.kind() else { continue };
        if !peers.contains(&peer.name) {
            peers.push(peer.name);
            let tuning =
                peer.tuning.iter().map(|(key, why)| (String::from(*key), String::from(*why)));
            facts.push((format!("How {} is set, and why", peer.name), tuning.collect()));
        }
    }
    facts
}

/// One line for each measurement, with all of its repeats together: what a page is drawn of, in
/// little room.
///
/// # Panics
/// Never: all of it can be written.
#[must_use]
pub fn cells(all: &[Results]) -> String {
    #[derive(Serialize)]
    struct Line<'l> {
        spec: &'l Spec,
        repeats: usize,
        invalid: usize,
        is_failed: bool,
        /// Median, and the quartiles.
        metrics: BTreeMap<String, (f64, f64, f64)>,
        /// Of good replies of all repeats.
        response_times: Option<Times>,
    }
    let mut text = String::new();
    let known: Vec<Known<'_>> = all.iter().map(|results| Known::of(&results.points)).collect();
    for cell in known.iter().flat_map(Known::all) {
        let line = Line {
            spec: cell.spec,
            repeats: cell.points().count(),
            invalid: cell.invalid.len(),
            is_failed: cell.is_failed(),
            metrics: metrics(cell),
            response_times: together(cell),
        };
        text.push_str(&serde_json::to_string(&line).expect("text for keys, and values"));
        text.push('\n');
    }
    text
}

fn metrics(cell: &Cell<'_>) -> BTreeMap<String, (f64, f64, f64)> {
    let told = metric::ALL.iter().filter_map(|metric| {
        let Spread { median, quartiles: (low, high), .. } = cell.spread(metric)?;
        Some((metric.heading(), (median, low, high)))
    });
    told.collect()
}

fn together(cell: &Cell<'_>) -> Option<Times> {
    let mut all = cell.points().filter_map(|point| Some(&point.load.as_ref()?.requests.whole));
    let mut sum = all.next()?.clone();
    all.for_each(|times| sum.add(times));
    Some(sum)
}
