//! Where a server's capacity lies: between a rate that it answers and one that it does not.
//!
//! Rates are rungs of a ladder, [`STEP`] apart. From the rung at which a search is told to begin it
//! goes up or down in ever longer steps until both kinds of rates are known, then halves what lies
//! between them. One try is enough on the way: at its end both rates are tried again, until two of
//! three tries agree. Where they refute what the first try said, rates that near are not told from
//! each other here, and the two ends may be two rungs apart.
//!
//! There is no best of several rates in it: the highest of several is one that chance has raised.

use std::collections::BTreeMap;

/// From one rung to the next, so that two of them are a tenth.
pub const STEP: f64 = 1.048_808_848;

/// So many tries at each end have to agree...
const AGREE: usize = 2;
/// ... and after so many in all a search is given up.
pub const TRIES_MAX: usize = 24;

/// From where it begins, a search looks at rungs so far away: up to four times as much, and down to
/// a quarter.
pub const NEAR: &[i32] = &[1, 3, 7, 15, 31];
/// The same up to ten thousand times as much.
pub const FAR: &[i32] = &[1, 3, 7, 15, 31, 63, 127, 191];

/// Which rung it is, and whether what was asked for was answered, try by try.
pub type Tries = BTreeMap<i32, Vec<bool>>;

/// What a search does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To try this rung once more.
    Try(i32),
    /// It has found what it looked for.
    Found(Bracket),
    /// It has found nothing.
    Lost(Lost),
}

/// Two rungs between which a capacity lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bracket {
    /// It was answered.
    pub low: i32,
    /// It was not.
    pub high: i32,
}

/// Why a search has found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The highest rate was answered: the capacity is more.
    Above,
    /// Not even the lowest rate was answered.
    Below,
    /// Tries at the same rate do not agree, or [`TRIES_MAX`] were not enough.
    Uneven,
}

/// What is to be tried next, by all tries so far, in a search that looks [`NEAR`].
#[must_use]
pub fn next(start: i32, tries: &Tries) -> Next {
    next_of(NEAR, start, tries)
}

/// The same in a search that looks at rungs so far away from where it begins.
#[must_use]
pub fn next_of(away: &[i32], start: i32, tries: &Tries) -> Next {
    let wanted = wanted(away, start, tries);
    match wanted {
        Next::Try(_) if tries.values().map(Vec::len).sum::<usize>() >= TRIES_MAX => {
            Next::Lost(Lost::Uneven)
        }
        wanted => wanted,
    }
}

fn wanted(away: &[i32], start: i32, tries: &Tries) -> Next {
    if let Some((torn, _)) = tries.iter().find(|(_, of)| is_answered(of).is_none()) {
        return Next::Try(*torn);
    }
    let is = |wanted: bool| move |of: &(&i32, &Vec<bool>)| is_answered(of.1) == Some(wanted);
    let low = tries.iter().filter(is(true)).map(|(rung, _)| *rung).next_back();
    let high = tries.iter().find(is(false)).map(|(rung, _)| *rung);
    match (low, high) {
        (None, None) => Next::Try(start),
        (Some(low), None) => {
            let above = away.iter().map(|far| start + far).find(|rung| *rung > low);
            above.map_or(Next::Lost(Lost::Above), Next::Try)
        }
        (None, Some(high)) => {
            let below = away.iter().map(|far| start - far).find(|rung| *rung < high);
            below.map_or(Next::Lost(Lost::Below), Next::Try)
        }
        // A rate that is answered above one that is not.
        (Some(low), Some(high)) if low > high => Next::Lost(Lost::Uneven),
        (Some(low), Some(high)) => between(tries, Bracket { low, high }),
    }
}

fn between(tries: &Tries, bracket: Bracket) -> Next {
    let Bracket { low, high } = bracket;
    let is_refuted = |of: &Vec<bool>| of.len() > AGREE && Some(of[0]) != is_answered(of);
    let is_noisy = tries.values().any(is_refuted);
    if high - low > 1 + i32::from(is_noisy) {
        return Next::Try(low + (high - low) / 2);
    }
    let ends = [(low, true), (high, false)];
    let is_open = |(rung, wanted): &(i32, bool)| {
        tries[rung].iter().filter(|is_answered| *is_answered == wanted).count() < AGREE
    };
    let open = ends.into_iter().find(is_open);
    open.map_or(Next::Found(bracket), |(rung, _)| Next::Try(rung))
}

/// By most of the tries of a rung; `None`: half of them say so.
fn is_answered(of: &[bool]) -> Option<bool> {
    let yes = of.iter().filter(|is_answered| **is_answered).count();
    (2 * yes != of.len()).then_some(2 * yes > of.len())
}

impl Bracket {
    /// Its middle.
    #[must_use]
    pub fn middle(self) -> f64 {
        (rate(self.low) * rate(self.high)).sqrt()
    }

    /// How far its ends are from each other.
    #[must_use]
    pub fn percent(self) -> i32 {
        5 * (self.high - self.low)
    }
}

/// The rate of a rung.
#[must_use]
pub fn rate(rung: i32) -> f64 {
    STEP.powi(rung)
}

/// The rung that is nearest to a rate, which is above 0.
#[must_use]
pub fn rung(rate: f64) -> i32 {
    (rate.ln() / STEP.ln()).round() as i32
}

/// To three digits, which is finer than any repeat.
#[must_use]
pub fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf((rate.max(1.0).log10() - 2.0).floor()).max(0.01);
    (rate / unit).round() * unit
}
