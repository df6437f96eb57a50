//! `--find`: the highest rate at which something holds, found by runs at one rate after the other.

use std::collections::BTreeMap;
use std::process::ExitCode;

use load::bracket::{self, Bracket, FAR, Lost, Next, Tries, rounded, rung};
use load::choices::{Choices, Pace};
use load::engine::Failure;
use load::expectation::{Expectation, Met};
use load::gates::{Finding, Verdict};
use load::knob::RATE_MAX;
use load::task::Task;

use super::{Asked, Ran, Work};
use crate::UNPROVEN;

/// Where nothing is said: sessions begun in a second.
const BEGIN: f64 = 100.0;

/// What a search has come to.
pub(super) struct Found {
    /// A run at the highest rate at which all held; if there is none, at a rate at which they did
    /// not.
    pub(super) ran: Ran,
    /// The exit status, if it is not that of the run.
    pub(super) status: Option<ExitCode>,
}

/// The rate at which a search begins; `None`: none was asked for.
pub(super) fn begin(choices: &Choices) -> Result<Option<f64>, Failure> {
    let Some(sought) = choices.sought.first().map(Expectation::text) else { return Ok(None) };
    let refused = |why: &str| Err(Failure::Operator(format!("--find {sought}: {why}")));
    if choices.records.is_some() || choices.begins.is_some() {
        return refused("there are many runs, so that --records and --begins are of none of them");
    }
    match choices.pace {
        None => Ok(Some(BEGIN)),
        Some(Pace::Rate(rate)) if rate < 1.0 => {
            refused("it begins at a --rate of 1 in a second at least")
        }
        Some(Pace::Rate(rate)) => Ok(Some(rate)),
        Some(_) => refused(
            "it looks for a rate, so that the run has no --clients, --steps or --ramp; --rate is \
             where it begins",
        ),
    }
}

/// Looks for the highest rate, and tells of each run on the way. The first run asks what was read
/// already, and each other one what is read again.
pub(super) fn highest(
    asked: &Asked<'_>,
    task: &Task,
    begin: f64,
    workload: Box<Work>,
) -> Result<Found, Failure> {
    let mut workload = Some(workload);
    let mut search = Search::default();
    let end = loop {
        match bracket::next_of(FAR, rung(begin), &search.tries) {
            Next::Try(rung) if rung < 0 => break End::Nowhere,
            Next::Try(rung) if rate_of(rung) > RATE_MAX => break End::Everywhere,
            Next::Try(rung) => {
                let known = workload.take();
                let workload = known.map_or_else(|| asked.workload(task), Ok)?;
                let ran = asked.run(&at(task, rate_of(rung)), workload)?;
                if ran.done.is_stopped {
                    search.runs.entry(rung).or_insert(ran);
                    break End::Stopped;
                }
                search.take(rung, ran);
            }
            Next::Found(bracket) => break End::Found(bracket),
            Next::Lost(Lost::Above) => break End::Everywhere,
            Next::Lost(Lost::Below) => break End::Nowhere,
            Next::Lost(Lost::Uneven) => break End::Uneven,
        }
    };
    crate::complain(&search.told(&end));
    Ok(search.found(&end))
}

/// How a search ends.
enum End {
    Found(Bracket),
    /// All held at the highest rate that was tried.
    Everywhere,
    /// It did not at the lowest one.
    Nowhere,
    /// Runs at the same rate do not agree, or there were too many of them.
    Uneven,
    Stopped,
}

/// What was seen so far, by rungs.
#[derive(Default)]
struct Search {
    tries: Tries,
    /// Of each rung one run: one at which all held, if there is one.
    runs: BTreeMap<i32, Ran>,
    /// Whether some run has proven that something does not hold.
    is_missed: bool,
}

impl Search {
    fn take(&mut self, rung: i32, ran: Ran) {
        let sought = ran.sought();
        let holds = sought.iter().all(|met| met.holds && met.is_proven);
        self.is_missed |= sought.iter().any(|met| !met.holds && met.is_proven);
        crate::complain(&format!("{}/s: {}", rate_of(rung), words(&ran)));
        self.tries.entry(rung).or_default().push(holds);
        if holds || !self.runs.contains_key(&rung) {
            self.runs.insert(rung, ran);
        }
    }

    /// The highest rung whose last run held, and the lowest whose last run did not.
    fn ends(&self) -> (Option<i32>, Option<i32>) {
        let last = |wanted: bool| {
            move |(rung, of): (&i32, &Vec<bool>)| (of.last() == Some(&wanted)).then_some(*rung)
        };
        let held = self.tries.iter().filter_map(last(true)).next_back();
        (held, self.tries.iter().find_map(last(false)))
    }

    fn told(&self, end: &End) -> String {
        let runs: usize = self.tries.values().map(Vec::len).sum();
        let (held, missed) = self.ends();
        let so_far = match (held, missed) {
            (Some(held), Some(missed)) => {
                let (held, missed) = (rate_of(held), rate_of(missed));
                format!("it held at {held}/s, and did not at {missed}/s")
            }
            (Some(held), None) => format!("it held at {}/s", rate_of(held)),
            (None, Some(missed)) => format!("it did not hold at {}/s", rate_of(missed)),
            (None, None) => String::from("nothing is known"),
        };
        match end {
            End::Found(Bracket { low, high }) => format!(
                "the highest rate at which it holds: {}/s; at {}/s it does not",
                rate_of(*low),
                rate_of(*high)
            ),
            End::Everywhere => format!("it holds at each rate that was tried: {so_far}"),
            End::Nowhere => String::from("it holds at no rate that was tried"),
            End::Uneven => format!(
                "no rate was found in {runs} runs, which may agree if they are longer \
                 (--duration): {so_far}"
            ),
            End::Stopped => format!("stopped: {so_far}"),
        }
    }

    fn found(mut self, end: &End) -> Found {
        let shown = match (end, self.ends()) {
            (End::Found(bracket), _) => Some(bracket.low),
            (_, (Some(held), _)) => Some(held),
            // At a low rate nothing may have been asked.
            _ => self.runs.iter().find(|(_, ran)| ran.has_asked()).map(|(rung, _)| *rung),
        };
        let shown = shown.or_else(|| self.runs.keys().next().copied());
        let ran = shown.and_then(|rung| self.runs.remove(&rung));
        let status = match end {
            End::Found(_) => None,
            End::Nowhere if self.is_missed => Some(ExitCode::FAILURE),
            _ => Some(ExitCode::from(UNPROVEN)),
        };
        Found { ran: ran.expect("a search begins with a run"), status }
    }
}

fn rate_of(rung: i32) -> f64 {
    rounded(bracket::rate(rung))
}

/// The same load at another rate.
pub(super) fn at(task: &Task, rate: f64) -> Task {
    let mut task = task.clone();
    task.choices.retain(|(name, _)| name != "rate");
    task.choices.push((String::from("rate"), rate.to_string()));
    task
}

/// What a run has shown of each bound.
fn words(ran: &Ran) -> String {
    let is_failing = |finding: &&Finding| finding.verdict == Verdict::Fails;
    let why = || ran.findings.iter().find(is_failing).map_or("", |finding| finding.gate);
    let word = |met: &Met| {
        let verdict = match (met.holds, met.is_proven) {
            (true, true) => String::from("holds"),
            (false, true) => String::from("does not hold"),
            (_, false) => format!("is not proven, because of {}", why()),
        };
        format!("{} {verdict} ({})", met.expected, met.seen)
    };
    ran.sought().iter().map(word).collect::<Vec<_>>().join(", ")
}
