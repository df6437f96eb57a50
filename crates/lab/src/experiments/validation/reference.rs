//! Of what a server's rates are shares: of its capacity, or, where its clients are at their limit
//! before it is, of what they could ask for.

use load::bracket;

use super::Validation;
use crate::capacity::{self, Capacity, RATE, Search, TRIES};
use crate::design::is_over;
use crate::known::{Cell, Known};
use crate::setup::Setup;
use crate::spec::{OF_CAPACITY, Spec};
use crate::subject::Subject;

/// See the head of this file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reference {
    /// Found between a rate that was answered and one that was not.
    Capacity(Capacity),
    /// The highest rate that counted, and was answered: sessions begun in a second.
    Asked(f64),
}

/// Where the search for it is.
#[derive(Debug, Clone, Copy)]
enum Sought {
    /// It goes on at this rate, which was tried so often.
    At(f64, u32),
    /// It is over.
    Over(Option<Reference>),
}

/// What varies, as it stands in [`Spec::factors`]: a share of what clients could ask for.
const OF_ASKED: &str = "of_asked";

/// Below a rate that clients could not ask for, the next one that is tried is so much of it,
const LOWER_SHARE: f64 = 0.9;
/// and after so many of them the search is given up: at less than a half of where it began.
const LOWER_MAX: usize = 8;

/// So many tries of a rate that never came to count leave a search going: a machine that was
/// disturbed each time is quiet again some time.
const DISTURBED_MAX: u32 = 2;

impl Reference {
    /// Sessions begun in a second.
    pub(super) const fn rate(&self) -> f64 {
        match self {
            Self::Capacity(capacity) => capacity.rate,
            Self::Asked(rate) => *rate,
        }
    }

    /// Behind "0.5 of".
    pub(super) const fn is(&self) -> &'static str {
        match self {
            Self::Capacity(_) => "its capacity",
            Self::Asked(_) => "what its clients could ask for",
        }
    }

    /// As a share of it stands in [`Spec::factors`].
    pub(super) const fn factor(&self) -> &'static str {
        match self {
            Self::Capacity(_) => OF_CAPACITY,
            Self::Asked(_) => OF_ASKED,
        }
    }
}

impl Validation {
    /// `None`: it is not found yet, or was looked for in vain.
    pub(super) fn reference(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        of: &Subject,
    ) -> Option<Reference> {
        match self.sought(setup, known, of)? {
            Sought::Over(reference) => reference,
            Sought::At(..) => None,
        }
    }

    /// Of the search, which begins where the server was busy; `None`: it is over.
    pub(super) fn next_try(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<Spec> {
        let Sought::At(rate, repeat) = self.sought(setup, known, of)? else { return None };
        let spec = self.at_rate(setup, (TRIES, of), rate);
        let tries = (0..=repeat + DISTURBED_MAX).map(|repeat| Spec { repeat, ..spec.clone() });
        tries.into_iter().find(|spec| !is_over(known, spec))
    }

    fn sought(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<Sought> {
        let begin = self.begin(setup, known, of)?;
        let (rate, repeat) = match capacity::search(known, self.name, of, begin) {
            Search::Found(capacity) => {
                return Some(Sought::Over(Some(Reference::Capacity(capacity))));
            }
            Search::Lost(_) => return Some(Sought::Over(None)),
            Search::Goes { rate, repeat } => (rate, repeat),
        };
        let cells = || known.cells(self.name, TRIES).filter(|cell| cell.subject() == of);
        let beyond = cells().filter(|cell| is_beyond_clients(known, cell));
        let beyond: Vec<f64> = beyond.filter_map(|cell| cell.factor(RATE)).collect();
        let Some(limit) = beyond.iter().copied().min_by(f64::total_cmp) else {
            return Some(Sought::At(rate, repeat));
        };
        if rate < limit {
            return Some(Sought::At(rate, repeat));
        }
        let answered = cells().filter(|cell| cell.points().any(capacity::is_answered));
        let answered = answered.filter_map(|cell| cell.factor(RATE)).filter(|rate| *rate <= limit);
        Some(match answered.max_by(f64::total_cmp) {
            Some(rate) => Sought::Over(Some(Reference::Asked(rate))),
            None if beyond.len() > LOWER_MAX => Sought::Over(None),
            None => Sought::At(bracket::rounded(limit * LOWER_SHARE), 0),
        })
    }
}

/// Whether its clients did not come as far as that rate. One that was measured before is not given
/// up as soon: they were disturbed then.
fn is_beyond_clients(known: &Known<'_>, cell: &Cell<'_>) -> bool {
    let is_by_client = |repeat| cell.in_vain_of(repeat).any(|point| point.verdict.is_by_client());
    let in_vain = cell.in_vain().into_iter();
    let given_up = in_vain.filter(|point| is_over(known, &point.spec));
    let by_client = given_up.filter(|point| is_by_client(point.spec.repeat)).count();
    let enough = if cell.points().next().is_some() { 1 + DISTURBED_MAX } else { 1 };
    by_client >= enough as usize
}
