//! What each server can do, as its tries have shown it: see [`bracket`].

use load::bracket::{self, Bracket, Lost, Next, Tries, rate, rounded, rung};

use crate::known::{Cell, Known, Spread};
use crate::metric::GOODPUT;
use crate::point::Point;
use crate::subject::Subject;

/// What a server can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// In the middle of the two rates between which it lies: sessions begun in a second.
    pub rate: f64,
    /// The same in good replies.
    pub replies_per_s: f64,
    /// In good replies in a second: what was answered, and what was not.
    pub range: (f64, f64),
    /// How far these are from each other: 5 or 10.
    pub percent: i32,
    /// Tries at both.
    tries: usize,
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Search {
    /// At this rate it goes on, for the so-manieth time, from 0.
    Goes {
        /// Sessions begun in a second.
        rate: f64,
        /// Tries of this rate before.
        repeat: u32,
    },
    /// It is over.
    Found(Capacity),
    /// It is over, and in vain.
    Lost(Lost),
}

/// The stage, as it stands in [`Spec::stage`](crate::spec::Spec::stage).
pub const TRIES: &str = "tries";
/// What varies, as it stands in [`Spec::factors`](crate::spec::Spec::factors): sessions begun in a
/// second.
pub const RATE: &str = "rate";

/// Of what was to be answered, so much has to be.
const ANSWERED: f64 = 0.99;

/// The search of a subject that is to begin near a rate.
#[must_use]
pub fn search(known: &Known<'_>, experiment: &str, of: &Subject, begin: f64) -> Search {
    let tries = tries(known, experiment, of);
    match bracket::next(rung(begin), &tries) {
        Next::Try(rung) => {
            let repeat = tries.get(&rung).map_or(0, Vec::len) as u32;
            Search::Goes { rate: rounded(rate(rung)), repeat }
        }
        Next::Found(bracket) => {
            found(known, experiment, of, bracket).map_or(Search::Lost(Lost::Below), Search::Found)
        }
        Next::Lost(why) => Search::Lost(why),
    }
}

/// The capacity that a search has found.
#[must_use]
pub fn capacity(known: &Known<'_>, experiment: &str, of: &Subject) -> Option<Capacity> {
    // Where it began says only what is to be tried next.
    match search(known, experiment, of, 1.0) {
        Search::Found(capacity) => Some(capacity),
        Search::Goes { .. } | Search::Lost(_) => None,
    }
}

fn found(known: &Known<'_>, experiment: &str, of: &Subject, bracket: Bracket) -> Option<Capacity> {
    let at = |rung| tried(known, experiment, of).find(|(its, _)| *its == rung);
    let (low, high) = (at(bracket.low)?.1, at(bracket.high)?.1);
    let of_session = low.spread(&GOODPUT)?.median / low.factor(RATE)?;
    let (middle, ends) = (bracket.middle(), (rate(bracket.low), rate(bracket.high)));
    // There is no multiple of nothing.
    (of_session > 0.0).then_some(Capacity {
        rate: middle,
        replies_per_s: middle * of_session,
        range: (ends.0 * of_session, ends.1 * of_session),
        percent: bracket.percent(),
        tries: low.points().count() + high.points().count(),
    })
}

impl Capacity {
    /// For comparisons: it may be anywhere between what was answered and what was not.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let (median, range) = (self.replies_per_s, self.range);
        Spread { median, quartiles: range, range, count: self.tries }
    }
}

/// Why a subject that was tried has no capacity.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyNot {
    /// At this rate nothing counts, for this reason.
    Uncounted(f64, String),
    /// It answers all that it was asked for, up to this rate.
    Above(f64),
    /// It does not answer this rate.
    Below(f64),
    /// Its tries do not agree.
    Uneven,
    /// The search is not over: it was stopped.
    Goes,
}

impl WhyNot {
    /// `None`: it has a capacity, or was not tried.
    #[must_use]
    pub fn of(known: &Known<'_>, experiment: &str, of: &Subject) -> Option<Self> {
        if capacity(known, experiment, of).is_some() {
            return None;
        }
        let cells = || known.cells(experiment, TRIES).filter(|cell| cell.subject() == of);
        let uncounted = |cell: &Cell<'_>, points: &[&Point]| {
            Some(Self::Uncounted(cell.factor(RATE)?, points.first()?.verdict.to_string()))
        };
        let unmeasured = cells().find_map(|cell| uncounted(cell, &cell.in_vain()));
        let tries = tries(known, experiment, of);
        unmeasured.or_else(|| {
            let (lowest, highest) = (*tries.keys().next()?, *tries.keys().next_back()?);
            // Where all tries are alike it began at the end from which it went away.
            let is_above = tries[&lowest].iter().all(|is_answered| *is_answered);
            match bracket::next(if is_above { lowest } else { highest }, &tries) {
                Next::Try(_) => Some(Self::Goes),
                Next::Lost(Lost::Above) => Some(Self::Above(rounded(rate(highest)))),
                Next::Lost(Lost::Uneven) => Some(Self::Uneven),
                Next::Lost(Lost::Below) | Next::Found(_) => {
                    let failed = cells().filter(|cell| cell.is_failed());
                    let mut failed = failed.filter_map(|cell| {
                        let mut points = cell.points().filter(|point| !point.verdict.is_good());
                        uncounted(cell, &[points.next()?])
                    });
                    Some(failed.next().unwrap_or(Self::Below(rounded(rate(lowest)))))
                }
            }
        })
    }
}

/// Whether this is one of the two rates between which the capacity of its subject lies.
#[must_use]
pub fn is_end(known: &Known<'_>, cell: &Cell<'_>) -> bool {
    let tries = tries(known, &cell.spec.experiment, cell.subject());
    match bracket::next(0, &tries) {
        Next::Found(Bracket { low, high }) => {
            cell.factor(RATE).is_some_and(|rate| [low, high].contains(&rung(rate)))
        }
        Next::Try(_) | Next::Lost(_) => false,
    }
}

fn tries(known: &Known<'_>, experiment: &str, of: &Subject) -> Tries {
    let answers = |cell: &Cell<'_>| cell.points().map(is_answered).collect();
    tried(known, experiment, of).map(|(rung, cell)| (rung, answers(cell))).collect()
}

/// Rates that were tried and count, with their rungs.
fn tried<'s, 'k>(
    known: &'s Known<'k>,
    experiment: &str,
    of: &Subject,
) -> impl Iterator<Item = (i32, &'s Cell<'k>)> {
    let cells = known.cells(experiment, TRIES);
    let of_it = cells.filter(move |cell| cell.subject() == of && cell.points().next().is_some());
    of_it.filter_map(|cell| Some((rung(cell.factor(RATE)?), cell)))
}

/// Whether as many sessions were served to their end as began, and evenly: all but those that ended
/// badly, and those that wait for a reply at the end and did not at the begin. Requests alone do
/// not tell it: who waits for a reply asks for no more. Users who think do not wait.
#[must_use]
pub fn is_answered(point: &Point) -> bool {
    let Some(load) = point.load.as_ref().filter(|_| point.verdict.is_good()) else { return false };
    let (requests, flow) = (&load.requests, &load.flow);
    let (made, ended) = (requests.counts.total(), flow.replies + flow.failed);
    let (lost, waiting) = (made - requests.whole.count(), made.saturating_sub(ended));
    let begun = requests.arrivals as f64;
    begun > 0.0 && begun - (lost + waiting) as f64 >= ANSWERED * begun
}
