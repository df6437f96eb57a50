//! What a run was to measure and did not.

use super::{Source, again_of, asked};
use crate::again;
use crate::curves::{counted, lasting};
use crate::design::PROBE;
use crate::experiments::experiment;
use crate::known::Known;
use crate::point::Point;
use crate::results::Results;
use crate::schedule;
use crate::subject::quoted;

/// In paragraphs; none if it is whole. `first`: whose questions it asks again.
pub(super) fn missing(source: &Source<'_>, first: Option<&Results>) -> Vec<String> {
    let mut lines = to_come(source, first);
    lines.extend(given_up(source));
    lines
}

/// What the same command would measure, if it were called again.
fn to_come((dir, results): &Source<'_>, first: Option<&Results>) -> Vec<String> {
    let mut lines = Vec::new();
    for (setup, name) in asked(results) {
        let Some(experiment) = experiment(name) else { continue };
        if setup.repeats(1) > REPEATS_MAX {
            continue;
        }
        let (specs, later_s) = match first {
            Some(first) => {
                let mut specs = again::specs(first);
                specs.retain(|spec| spec.experiment == name);
                let known = Known::of(&results.points).tried(setup.attempts);
                (schedule::left(&specs, &known), 0.0)
            }
            // What it was to ask is not among what is told.
            None if again_of(results).is_some() => continue,
            None => schedule::missing(experiment, setup, &results.points),
        };
        if specs.is_empty() {
            continue;
        }
        let left_s = specs.iter().map(|spec| spec.load.costs_s()).sum::<f64>() + later_s;
        let later = if later_s > 0.0 { ", and others that depend on what comes out" } else { "" };
        let are = if specs.len() == 1 { "is" } else { "are" };
        lines.push(format!(
            "This is not whole: {} of {name} {are} missing{later}. That takes about {}.",
            counted(specs.len(), "point"),
            lasting(left_s)
        ));
    }
    let Some(run) = results.runs.last().filter(|_| !lines.is_empty()) else { return lines };
    let mut words = run.command.split_whitespace();
    let has_dir = words.any(|word| word == "--dir" || word.starts_with("--dir="));
    let dir = match has_dir {
        true => String::new(),
        false => format!(" --dir {}", quoted(&dir.display().to_string())),
    };
    lines.push(format!("To go on: {}{dir}", run.command));
    lines
}

/// More of them nobody can choose (see [`crate::knobs`]): a file that has them was made by hand,
/// and all of their points together might be more than there is memory.
const REPEATS_MAX: u32 = 1000;

/// What was tried as often as it may be, and never counted.
fn given_up((_, results): &Source<'_>) -> Option<String> {
    let setup = results.runs.first().map(|run| &run.setup)?;
    let known = Known::of(&results.points).tried(setup.attempts);
    let mut given_up = 0;
    for cell in known.all().iter().filter(|cell| cell.spec.stage != PROBE) {
        let is_given_up = |point: &&&Point| {
            let tries = cell.in_vain_of(point.spec.repeat).count();
            tries as u32 >= known.attempts_max()
        };
        given_up += cell.in_vain().iter().filter(is_given_up).count();
    }
    let why = match known.attempts_max() {
        1 => String::from("the one attempt does not count"),
        more => format!("none of {more} attempts counts"),
    };
    let points = counted(given_up, "point");
    (given_up > 0).then(|| format!("{points} could not be measured: {why}."))
}
