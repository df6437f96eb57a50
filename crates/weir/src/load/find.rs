//! `--find`: the highest rate at which something holds, found by runs at one rate after the other.

use std::collections::BTreeMap;

use load::bracket::{self, Bracket, Lost, Next, Tries, rounded, rung};
use load::choices::{Choices, Pace};
use load::engine::Failure;
use load::expectation::{Expectation, Met};
use load::task::Task;

use super::{Asked, Asking, Ran};

/// Where nothing is said: sessions begun in a second.
const BEGIN: f64 = 100.0;

/// The search of [`bracket`] looks so many rungs away from where it begins; then from there.
const FAR: i32 = 31;

/// What a search has come to.
pub(super) struct Found {
    /// The last run at the highest rate at which all held; if there is none, at the lowest rate.
    pub(super) ran: Ran,
    /// Whether it lies between two rates that are near each other, or nothing held at all.
    pub(super) is_known: bool,
}

/// The rate at which a search begins; `None`: none was asked for.
pub(super) fn begin(choices: &Choices) -> Result<Option<f64>, Failure> {
    let Some(sought) = choices.sought.first().map(Expectation::text) else { return Ok(None) };
    match choices.pace {
        None => Ok(Some(BEGIN)),
        Some(Pace::Rate(rate)) => Ok(Some(rate)),
        Some(_) => Err(Failure::Operator(format!(
            "--find {sought}: it looks for a rate, so that the run has no --clients, --steps or \
             --ramp; --rate is where it begins"
        ))),
    }
}

/// Looks for the highest rate, and tells of each run on the way. The first run asks what was read
/// already, and each other one what is read again.
pub(super) fn highest(
    asked: &Asked<'_>,
    task: &Task,
    begin: f64,
    workload: Box<Asking>,
) -> Result<Found, Failure> {
    let mut workload = Some(workload);
    let (mut start, mut tries) = (rung(begin), Tries::new());
    let mut runs: BTreeMap<i32, Ran> = BTreeMap::new();
    loop {
        let end = match bracket::next(start, &tries) {
            Next::Try(rung) => {
                let rate = rate_of(rung);
                let known = workload.take();
                let workload = known.map_or_else(|| asked.workload(task), Ok)?;
                let ran = asked.run(&at(task, rate), workload)?;
                let is_stopped = ran.done.results.measured < ran.done.results.planned;
                let holds = holds(&ran.expected) && !is_stopped;
                let words = words(&ran.expected);
                // Of a rate at which it held a run in which it did is shown.
                if holds || !runs.contains_key(&rung) {
                    runs.insert(rung, ran);
                }
                if !is_stopped {
                    crate::complain(&format!("{rate}/s: {words}"));
                    tries.entry(rung).or_default().push(holds);
                    continue;
                }
                End::Stopped
            }
            Next::Lost(Lost::Above) => {
                start += FAR;
                continue;
            }
            // Below one in a second there is no rate to look for.
            Next::Lost(Lost::Below) if start > FAR => {
                start -= FAR;
                continue;
            }
            Next::Found(bracket) => End::Found(bracket),
            Next::Lost(Lost::Below) => End::Nowhere,
            Next::Lost(Lost::Uneven) => End::Uneven,
        };
        return Ok(found(&end, &tries, runs));
    }
}

enum End {
    Found(Bracket),
    Nowhere,
    Uneven,
    Stopped,
}

fn found(end: &End, tries: &Tries, mut runs: BTreeMap<i32, Ran>) -> Found {
    let held = tries.iter().filter(|(_, of)| of.last() == Some(&true));
    let highest = held.map(|(rung, _)| *rung).next_back();
    let is_proven = |rung: &i32| runs[rung].expected.iter().all(|met| met.is_proven);
    let told = match (end, highest) {
        (End::Found(of), _) => format!(
            "the highest rate at which it holds: {}/s; at {}/s {}",
            rate_of(of.low),
            rate_of(of.high),
            if is_proven(&of.high) { "it does not" } else { "the generator was at its limit" }
        ),
        (End::Nowhere, _) => String::from("it holds at no rate that was tried"),
        (End::Uneven, Some(rung)) if tries.values().flatten().all(|held| *held) => {
            format!("it holds at {}/s, too, the highest rate that was tried", rate_of(rung))
        }
        (End::Uneven, _) => String::from(
            "no rate was found: runs at the same rate do not agree; longer ones may (--duration)",
        ),
        (End::Stopped, Some(rung)) => {
            format!("stopped; the highest rate at which it held so far: {}/s", rate_of(rung))
        }
        (End::Stopped, None) => String::from("stopped; it held at no rate so far"),
    };
    crate::complain(&told);
    let shown = match end {
        End::Found(bracket) => Some(bracket.low),
        _ => highest,
    };
    let ran = shown.and_then(|rung| runs.remove(&rung));
    let ran = ran.or_else(|| runs.pop_first().map(|(_, ran)| ran));
    Found {
        ran: ran.expect("a search has made a run"),
        is_known: matches!(end, End::Found(_) | End::Nowhere),
    }
}

fn rate_of(rung: i32) -> f64 {
    rounded(bracket::rate(rung))
}

/// The same load at another rate.
fn at(task: &Task, rate: f64) -> Task {
    let mut task = task.clone();
    task.choices.retain(|(name, _)| name != "rate");
    task.choices.push((String::from("rate"), rate.to_string()));
    task
}

/// Whether all was seen to hold: a run that proves nothing was too much for the generator.
fn holds(expected: &[Met]) -> bool {
    expected.iter().all(|met| met.holds && met.is_proven)
}

fn words(expected: &[Met]) -> String {
    let word = |met: &Met| {
        let verdict = match (met.holds, met.is_proven) {
            (true, true) => "holds",
            (false, true) => "does not hold",
            (_, false) => "is not proven, because the generator was at its limit",
        };
        format!("{} {verdict} ({})", met.expected, met.seen)
    };
    expected.iter().map(word).collect::<Vec<_>>().join(", ")
}
