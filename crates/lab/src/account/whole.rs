//! What a run was to measure and did not, why, and what to do about it.

use std::collections::BTreeMap;

use super::{Source, again_of, asked};
use crate::again;
use crate::curves::{counted, lasting};
use crate::design::PROBE;
use crate::experiments::experiment;
use crate::known::Known;
use crate::point::{Point, Verdict};
use crate::results::Results;
use crate::schedule;
use crate::setup::Setup;
use crate::subject::quoted;
use crate::vitals::{FOREIGN, STEAL};

/// In paragraphs; none if it is whole. `first`: whose questions it asks again.
pub(super) fn missing(source: &Source<'_>, first: Option<&Results>) -> Vec<String> {
    let mut lines = to_come(source, first);
    lines.extend(given_up(source));
    lines.extend(unseen(source.1));
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
        let later = if later_s > 0.0 { ", and others that depend on what comes out" } else { "" };
        let are = if specs.len() == 1 { "is" } else { "are" };
        lines.push(format!(
            "Not finished: {} of {name} {are} missing{later}. That takes about {}.",
            counted(specs.len(), "point"),
            lasting(schedule::costs(&specs) + later_s)
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
    if given_up == 0 {
        return None;
    }
    let points = counted(given_up, "point");
    let mut line = format!("{points} could not be measured: {why}.");
    for (reason, _) in reasons(&results.points) {
        let advice = REASONS.iter().find(|of| of.found == reason).map(|of| (of.advice)(setup));
        // Several have the same advice.
        if let Some(advice) = advice.filter(|advice| !line.contains(advice)) {
            line += &format!(" {advice}");
        }
    }
    Some(line)
}

/// Into which servers nobody could look, by why not.
fn unseen(results: &Results) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for why in results.points.iter().filter_map(Point::why_unseen) {
        *counts.entry(why).or_default() += 1;
    }
    let line = |(why, count): (&str, usize)| {
        format!("{} could not be looked into: {why}.", counted(count, "point"))
    };
    counts.into_iter().map(line).collect()
}

/// Why points did not count, in parentheses; empty: all did.
pub(super) fn why_not(points: &[Point]) -> String {
    let times = |(why, count): (&str, usize)| match count {
        1 => format!("once {why}"),
        2 => format!("twice {why}"),
        _ => format!("{count} times {why}"),
    };
    let all: Vec<String> = reasons(points).into_iter().map(times).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// Why points did not count, and how many of them; the most frequent first.
fn reasons(points: &[Point]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for point in points {
        let Verdict::Invalid(why) = &point.verdict else { continue };
        // The first words say which limit it was.
        let why = why.first().map_or("", String::as_str);
        let begin = why.split([':', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).next();
        let begin = begin.unwrap_or_default().trim();
        let known = REASONS.iter().find(|of| of.begins == begin);
        *counts.entry(known.map_or(begin, |of| of.found)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// What may be wrong with a machine or a client.
struct Reason {
    /// How a verdict begins that says so.
    begins: &'static str,
    found: &'static str,
    /// What the operator can do, but for what this setup has already.
    advice: fn(&Setup) -> String,
}

const REASONS: &[Reason] = &[
    Reason { begins: FOREIGN, found: FOREIGN, advice: end_others },
    Reason { begins: STEAL, found: STEAL, advice: wait_for_others },
    Reason { begins: "client-cpu", found: "the client was too busy", advice: help_client },
    Reason { begins: "schedule-lag", found: "the client was late", advice: help_client },
    Reason { begins: "late-starts", found: "the client was late", advice: help_client },
    Reason {
        begins: "descriptors",
        found: "the client had no descriptors or ports left",
        advice: |_| String::from("Raise the limit of open files (ulimit -n 65536)."),
    },
];

fn end_others(setup: &Setup) -> String {
    let more = or_more_attempts(setup);
    format!(
        "Other programs disturb this machine (top shows which): end them and run it again in \
         another --dir{more}."
    )
}

fn wait_for_others(setup: &Setup) -> String {
    let more = or_more_attempts(setup);
    format!("Other guests of this machine's host disturb it: run it at another time{more}.")
}

fn or_more_attempts(setup: &Setup) -> &'static str {
    let has_many = setup.attempts.is_some_and(|attempts| attempts >= 10);
    if has_many { "" } else { ", or try more often (--attempts 10)" }
}

/// The loopback has no quota, and needs no root.
fn help_client(setup: &Setup) -> String {
    let is_slow = setup.quota_percent.is_some_and(|percent| percent <= 10);
    let way = match (setup.is_loopback, is_slow) {
        (true, _) => "start it as root without --loopback, or ",
        (false, false) => "give the server less of a processor (--quota 10), or ",
        (false, true) => "",
    };
    format!(
        "The client was at its limit before the server: {way}take a machine with more processors."
    )
}
