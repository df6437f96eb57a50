//! Results as a page, and in short as lines of JSON.

mod facts;
mod json;
mod repeated;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use load::collector::times::Times;
use serde::Serialize;
use sim::run::FIGURES;

use crate::capacity::TRIES;
use crate::curves::{capital, counted, lasting, number};
use crate::design::PROBE;
use crate::experiments::{self, experiment, machine};
use crate::known::{Cell, Known, Spread};
use crate::metric;
use crate::page::{Agreement, Comparison, Page, Section, Table};
use crate::point::Point;
use crate::results::{Results, Run};
use crate::setup::Setup;
use crate::spec::Spec;
use crate::tuning;

/// Results, and the directory that they are in.
pub type Source<'r> = (&'r Path, &'r Results);

pub use json::json;

/// The page of the results of one directory, or of several. Where two of them are of the same
/// experiment with the same choices, it is also told whether they agree.
#[must_use]
pub fn page(sources: &[Source<'_>]) -> Page {
    page_beside(sources, &[])
}

/// The same with what other points say of what is simulated: see [`experiments::beside`].
#[must_use]
pub fn page_beside(sources: &[Source<'_>], beside: &[Point]) -> Page {
    let mut sections = all_sections(sources, &Known::of(beside));
    sections.extend(repeated::sections(sources));
    sections.iter_mut().for_each(without_what_is_empty);
    sections.iter_mut().for_each(|section| section.answer.extend(claims(&section.comparisons)));
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
    let summary =
        first.into_iter().chain(sources.iter().flat_map(|of| summary(of, sources))).collect();
    Page { title, summary, sections, facts: facts::facts(sources) }
}

/// Those of all experiments; where several have the same title, with their directories.
fn all_sections(sources: &[Source<'_>], beside: &Known<'_>) -> Vec<Section> {
    let mut told: Vec<(&Path, Section)> = Vec::new();
    // What is done again is told beside what was done first.
    let own = sources.iter().filter(|(_, results)| first_of(results, sources).is_none());
    for (dir, results) in own {
        for (setup, name) in asked(results) {
            let known = Known::of(&results.points).tried(setup.attempts);
            let Some(experiment) = experiment(name) else { continue };
            let mut sections = (experiment.sections)(setup, &known);
            let table = experiments::beside(name, setup, &known, beside);
            if let (Some(first), Some(table)) = (sections.first_mut(), table) {
                first.tables.insert(0, table);
            }
            if again_of(results).is_some() {
                // Without its hints it does not know who was to be told of.
                sections.iter_mut().for_each(|section| section.answer.clear());
            }
            if let Some(run) = results.runs.first() {
                let files = sections.iter_mut().flat_map(|section| &mut section.files);
                files.for_each(|(name, text)| text.insert_str(0, &machine(name, &run.machine)));
            }
            told.extend(sections.into_iter().map(|of| (*dir, of)));
        }
    }
    let titles: Vec<String> = told.iter().map(|(_, section)| section.title.clone()).collect();
    let named = |(dir, section): (&Path, Section)| {
        let is_one = titles.iter().filter(|title| **title == section.title).count() == 1;
        let title = format!("{} ({})", section.title, dir.display());
        if is_one { section } else { Section { title, ..section } }
    };
    told.into_iter().map(named).collect()
}

/// The run whose questions a directory's runs ask again.
fn again_of(results: &Results) -> Option<&String> {
    results.runs.first()?.again_of.as_ref()
}

/// Of which one of these a run was to ask the same again; `None`: it asked for itself, or of one
/// that is not here.
fn first_of<'s, 'r>(results: &Results, sources: &'s [Source<'r>]) -> Option<&'s Source<'r>> {
    let first = again_of(results)?;
    sources.iter().find(|(_, of)| of.runs.first().is_some_and(|run| run.run == *first))
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

/// How many claims of papers are so here.
fn claims(comparisons: &[Comparison]) -> Option<String> {
    let count = |agrees| comparisons.iter().filter(|of| of.agrees == agrees).count();
    let [yes, no, open] = [Agreement::Yes, Agreement::No, Agreement::Open].map(count);
    let claims = counted(comparisons.len(), "claim");
    let line = || format!("Of {claims} of the paper: {yes} yes, {no} no, {open} open.");
    (!comparisons.is_empty()).then(line)
}

/// What the page of a run with `--anyway` says first.
const ANYWAY: &str = "Not to be quoted: this was measured although other programs ran (--anyway).";

/// When, how long, how much of it counts, and what is missing.
fn summary(source: &Source<'_>, sources: &[Source<'_>]) -> Vec<String> {
    let (dir, results) = source;
    let (good, failed, invalid) =
        results.points.iter().fold((0, 0, 0), |(good, failed, invalid), of| match of.verdict {
            crate::point::Verdict::Good => (good + 1, failed, invalid),
            crate::point::Verdict::Failed(_) => (good, failed + 1, invalid),
            crate::point::Verdict::Invalid(_) => (good, failed, invalid + 1),
        });
    let took_s: f64 = results.points.iter().map(|point| point.cost.whole_s).sum();
    let began = results.runs.first().map_or("", |run| run.began.as_str());
    let began = match sources.len() > 1 {
        true => format!("{began} on ({})", dir.display()),
        false => format!("{began} on"),
    };
    let is_measured = |point: &Point| !point.spec.is_simulated();
    let is_simulated = !results.points.is_empty() && !results.points.iter().any(is_measured);
    let done = if is_simulated { "Simulated" } else { "Measured" };
    let mut lines = vec![format!(
        "{done} from {began}, in {}: {} that {}, {failed} at which a server failed \
         verification, {invalid} that {} not count{}.{}{}",
        lasting(took_s),
        counted(good, "point"),
        if good == 1 { "counts" } else { "count" },
        if invalid == 1 { "does" } else { "do" },
        whole::why_not(&results.points),
        beside(&results.points),
        of_client(&results.points)
    )];
    if results.runs.iter().any(|run| run.setup.is_anyway) {
        lines.insert(0, String::from(ANYWAY));
    }
    let first = first_of(results, sources);
    if let Some(run) = again_of(results).filter(|_| first.is_none()) {
        lines.push(format!("It repeats the run {run}, which is not here."));
    }
    lines.extend(whole::missing(source, first.map(|(_, of)| *of)));
    // A run that went on says it again.
    let missing: BTreeSet<&String> = results.runs.iter().flat_map(|run| &run.missing).collect();
    lines.extend(missing.into_iter().map(|what| format!("Not measured: {what}.")));
    let builds: BTreeSet<_> = results.runs.iter().map(Run::executable).collect();
    if builds.len() > 1 {
        let count = builds.len();
        lines.push(format!("Measured by {count} builds of Weir, which may differ."));
    }
    lines
}

/// What points cost that measured nothing, behind another sentence.
fn beside(points: &[Point]) -> String {
    let costs: Vec<f64> = points.iter().filter_map(metric::BESIDE.of).collect();
    let most = costs.iter().copied().fold(0.0, f64::max);
    let told = |all: Spread| {
        let (median, most) = (number(all.median), number(most));
        format!(
            " Besides warm-up and measuring a point took {median} s (median; {most} s at most)."
        )
    };
    Spread::of(costs).map_or_else(String::new, told)
}

/// How busy the client's machine was: near 100 % it may have been the limit.
fn of_client(points: &[Point]) -> String {
    let busy: Vec<f64> = points.iter().filter_map(metric::CLIENT_BUSY.of).collect();
    let told = |all: Spread| {
        let (median, most) = (number(all.median), number(all.range.1));
        format!(
            " The client's processors were at work for {median} % of the time (the median; {most} \
             % at most), the network's work included."
        )
    };
    Spread::of(busy).map_or_else(String::new, told)
}

/// One line for each measurement, with all of its repeats together: what a page is drawn of, in
/// little room.
///
/// # Panics
/// Never: all of it can be written.
#[must_use]
pub fn cells(sources: &[Source<'_>]) -> String {
    #[derive(Serialize)]
    struct Line<'l> {
        run: &'l str,
        is_simulated: bool,
        spec: &'l Spec,
        repeats: usize,
        invalid: usize,
        is_failed: bool,
        /// The lowest, the quartiles with the median between them, and the highest.
        metrics: BTreeMap<String, [f64; 5]>,
        /// Of good replies of all repeats; of what only led to other measurements none.
        response_times: Option<Times>,
    }
    let mut text = String::new();
    let mut known: Vec<(&str, Known<'_>)> = Vec::new();
    for (_, of) in sources {
        let run = of.runs.first().map_or("", |run| run.run.as_str());
        known.push((run, Known::of(&of.points)));
    }
    let cells = known.iter().flat_map(|(run, known)| known.all().iter().map(|cell| (*run, cell)));
    for (run, cell) in cells {
        let line = Line {
            run,
            is_simulated: cell.spec.is_simulated(),
            spec: cell.spec,
            repeats: cell.points().count(),
            invalid: cell.invalid.len(),
            is_failed: cell.is_failed(),
            metrics: metrics(cell),
            response_times: together(cell).filter(|_| !is_on_the_way(&cell.spec.stage)),
        };
        text.push_str(&serde_json::to_string(&line).expect("text for keys, and values"));
        text.push('\n');
    }
    text
}

fn metrics(cell: &Cell<'_>) -> BTreeMap<String, [f64; 5]> {
    let values = |spread: Spread| {
        let Spread { median, quartiles, range, .. } = spread;
        [range.0, quartiles.0, median, quartiles.1, range.1].map(short)
    };
    let told = metric::ALL
        .iter()
        .filter_map(|metric| Some((metric.heading(), values(cell.spread(metric)?))));
    // What a simulation counts has no metric that servers have too.
    let of_simulation = FIGURES.iter().filter(|_| cell.spec.is_simulated()).filter_map(|figure| {
        let all = cell.points().filter_map(|point| point.counters.get(figure.name).copied());
        Some((figure.heading(), values(Spread::of(all.collect())?)))
    });
    told.chain(of_simulation).collect()
}

/// To six digits, which no two repeats have in common.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Whether a stage is there to find what is to be measured.
fn is_on_the_way(stage: &str) -> bool {
    stage == PROBE || stage == TRIES || tuning::is_round(stage)
}

fn together(cell: &Cell<'_>) -> Option<Times> {
    let mut all = cell.points().filter_map(|point| Some(&point.load.as_ref()?.requests.whole));
    let mut sum = all.next()?.clone();
    all.for_each(|times| sum.add(times));
    Some(sum)
}
