//! What a paper says of two measurements, and whether it is so here.

use crate::curves::{number, spread_text};
use crate::known::{Spread, UNSTABLE_SHARE};
use crate::metric::Metric;
use crate::page::{Agreement, Comparison};

/// How the first of two is to the second, as the paper says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// It has more.
    More,
    /// It has less.
    Less,
    /// About as much.
    Alike,
}

/// Beyond it, two are not alike: further from each other than from one run to the next, and less
/// than any difference that the papers speak of as one.
const ALIKE_SHARE: f64 = 0.10;

/// Of two that are equal, so many repeats of each are wholly apart in one pair of ten: those of one
/// are the three least or the three greatest of all six in 2 of 20 ways. With two, in one of three.
pub(crate) const REPEATS_MIN: usize = 3;

/// What a verdict takes, for readers of a page.
pub const HOW_SURE: &str = "\
    A yes or a no takes three repeats of each, all of the one above all of the other, and medians \
    that are more than 5 % apart. Of two that are equal, chance alone puts all of one above all of \
    the other in one pair of ten with three repeats of each, and in one of 126 with five; beside \
    several it has as many chances. Alike are two whose medians and quartiles are all within 10 %. \
    All else is open, and so is what was measured less often, unless it is told by what count it \
    was judged.";

/// One of the two: what it is called, and what was measured.
pub type Side<'s> = (&'s str, Option<Spread>);

/// The comparison of a metric of two, at some load.
#[must_use]
pub fn compared(
    (figure, paper): (&str, &str),
    says: Says,
    (metric, at): (&Metric, &str),
    (a, b): (Side<'_>, Side<'_>),
) -> Comparison {
    let (here, agrees) = match (a.1, b.1) {
        (Some(of_a), Some(of_b)) => {
            let Metric { label, unit, .. } = metric;
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let told = |name: &str, of: &Spread| format!("{}{unit} with {name}", spread_text(of));
            let (told_a, told_b) = (told(a.0, &of_a), told(b.0, &of_b));
            let difference = difference(of_a.median, of_b.median);
            let here = format!("{label}{at}: {told_a}, {told_b}{difference}");
            (here, judged(says, &of_a, &of_b))
        }
        (None, None) => (String::from("not measured"), Agreement::Open),
        (None, _) => (format!("{} was not measured", a.0), Agreement::Open),
        (_, None) => (format!("{} was not measured", b.0), Agreement::Open),
    };
    Comparison { of: figure.into(), paper: paper.into(), here, agrees }
}

/// Whether it is as the paper says; open where their repeats do not tell them apart
/// ([`HOW_SURE`]).
#[must_use]
pub fn judged(says: Says, a: &Spread, b: &Spread) -> Agreement {
    if a.count.min(b.count) < REPEATS_MIN {
        return Agreement::Open;
    }
    let share = apart(a.median, b.median);
    let is_disjoint = a.range.0 > b.range.1 || a.range.1 < b.range.0;
    let (low, high) = (a.quartiles.0.min(b.quartiles.0), a.quartiles.1.max(b.quartiles.1));
    match says {
        Says::Alike if share <= ALIKE_SHARE && apart(low, high) <= ALIKE_SHARE => Agreement::Yes,
        Says::Alike if share <= ALIKE_SHARE || !is_disjoint => Agreement::Open,
        Says::Alike => Agreement::No,
        _ if share <= UNSTABLE_SHARE || !is_disjoint => Agreement::Open,
        Says::More if a.median > b.median => Agreement::Yes,
        Says::Less if a.median < b.median => Agreement::Yes,
        _ => Agreement::No,
    }
}

/// Whether the first of two shares of what was counted is more, where both were seen too seldom for
/// [`judged`]: each as a part of one, and of how many it is. Open where they are within
/// three standard errors of each other, or nearly alike.
#[must_use]
pub fn is_counted_more(a: (f64, f64), b: (f64, f64)) -> Agreement {
    let variance = |(share, of): (f64, f64)| share * (1.0 - share) / of;
    let is_apart = (a.0 - b.0).abs() > ERRORS_MAX * (variance(a) + variance(b)).sqrt();
    match is_apart && apart(a.0, b.0) > UNSTABLE_SHARE {
        true if a.0 > b.0 => Agreement::Yes,
        true => Agreement::No,
        false => Agreement::Open,
    }
}

/// Standard errors of counting: chance brings equal shares further from each other in three pairs
/// of a thousand.
const ERRORS_MAX: f64 = 3.0;

/// Beside how many of several others something has to be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Beside each of them.
    Every,
    /// Beside one of them.
    Any,
}

/// What verdicts beside several others come to.
#[must_use]
pub fn together(beside: Beside, verdicts: &[Agreement]) -> Agreement {
    let (settles, all) = match beside {
        Beside::Every => (Agreement::No, Agreement::Yes),
        Beside::Any => (Agreement::Yes, Agreement::No),
    };
    match verdicts {
        [] => Agreement::Open,
        verdicts if verdicts.contains(&settles) => settles,
        verdicts if verdicts.iter().all(|verdict| *verdict == all) => all,
        _ => Agreement::Open,
    }
}

/// How far two are from each other, as a share of the greater one.
fn apart(a: f64, b: f64) -> f64 {
    let most = a.abs().max(b.abs());
    if most > 0.0 { (a - b).abs() / most } else { 0.0 }
}

/// In words; nothing where there is nothing to divide by.
fn difference(a: f64, b: f64) -> String {
    /// Beyond, nobody thinks in percent.
    const TIMES: f64 = 3.0;
    let ratio = a / b;
    match ratio {
        _ if a <= 0.0 || b <= 0.0 || !ratio.is_finite() => String::new(),
        ratio if ratio >= TIMES => format!(": {} times as much", number(ratio)),
        ratio if ratio >= 1.0 => format!(": {} % more", number((ratio - 1.0) * 100.0)),
        ratio => format!(": {} % less", number((1.0 - ratio) * 100.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;

    fn spread(values: &[f64]) -> Option<Spread> {
        Spread::of(values.to_vec())
    }

    #[test]
    fn a_claim_is_judged_by_what_repeats_tell() {
        use {Agreement as A, Says as S};
        type Row<'r> = (S, &'r [f64], &'r [f64], A);
        let rows: [Row<'_>; 21] = [
            (S::More, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::Yes),
            (S::More, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::No),
            (S::Less, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::Yes),
            (S::Less, &[120.0, 121.0, 122.0], &[100.0, 101.0, 102.0], A::No),
            // Each within the spread of the other.
            (S::More, &[90.0, 110.0, 130.0], &[80.0, 100.0, 120.0], A::Open),
            // Quartiles are apart, repeats are not.
            (S::More, &[106.0, 120.0, 122.0], &[98.0, 100.0, 108.0], A::Open),
            // Every time, but by less than is told from nothing.
            (S::More, &[102.0, 102.0, 102.0], &[100.0, 100.0, 100.0], A::Open),
            (S::Less, &[102.0, 102.0, 102.0], &[100.0, 100.0, 100.0], A::Open),
            // Seen once or twice, however great.
            (S::More, &[200.0], &[100.0], A::Open),
            (S::Less, &[200.0], &[100.0], A::Open),
            (S::Alike, &[100.0], &[100.0], A::Open),
            (S::More, &[200.0, 201.0], &[100.0, 101.0], A::Open),
            (S::More, &[200.0, 201.0, 202.0], &[100.0, 101.0], A::Open),
            // Nothing is dropped by either.
            (S::More, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], A::Open),
            (S::Alike, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], A::Yes),
            (S::More, &[5.0, 5.0, 5.0], &[0.0, 0.0, 0.0], A::Yes),
            (S::Alike, &[100.0, 101.0, 102.0], &[107.0, 108.0, 109.0], A::Yes),
            (S::Alike, &[100.0, 101.0, 102.0], &[120.0, 121.0, 122.0], A::No),
            (S::Alike, &[80.0, 100.0, 130.0], &[90.0, 120.0, 140.0], A::Open),
            // Their medians are near, and they themselves anywhere.
            (S::Alike, &[60.0, 100.0, 140.0], &[60.0, 101.0, 140.0], A::Open),
            // Near each other, and wholly apart.
            (S::Alike, &[96.0, 100.0, 100.0], &[104.0, 109.0, 112.0], A::Open),
        ];
        for (says, a, b, expected) in rows {
            let (of_a, of_b) = (spread(a).unwrap(), spread(b).unwrap());
            assert_eq!(judged(says, &of_a, &of_b), expected, "{says:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn shares_of_one_look_are_judged_by_their_counts() {
        use Agreement as A;
        let rows = [
            // 0.06 % and 0.3 % of 3,600 samples: 2 and 11 of them.
            ((0.003, 3_600.0), (0.000_6, 3_600.0), A::Open),
            ((0.010_6, 3_600.0), (0.000_6, 3_600.0), A::Yes),
            ((0.000_6, 3_600.0), (0.010_6, 3_600.0), A::No),
            ((0.2, 3_600.0), (0.19, 3_600.0), A::Open),
            // More samples tell it.
            ((0.003, 36_000.0), (0.000_6, 36_000.0), A::Yes),
            // Sure, and nearly nothing.
            ((0.51, 1e6), (0.50, 1e6), A::Open),
            ((0.0, 3_600.0), (0.0, 3_600.0), A::Open),
            ((0.5, 0.0), (0.1, 0.0), A::Open),
        ];
        for (a, b, expected) in rows {
            assert_eq!(is_counted_more(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn verdicts_beside_several_come_to_one() {
        use Agreement::{No, Open, Yes};
        let rows: [(&[Agreement], Agreement, Agreement); 6] = [
            (&[], Open, Open),
            (&[Yes, Yes], Yes, Yes),
            (&[No, No], No, No),
            (&[Yes, No], No, Yes),
            (&[Yes, Open], Open, Yes),
            (&[No, Open], No, Open),
        ];
        for (verdicts, every, any) in rows {
            assert_eq!(together(Beside::Every, verdicts), every, "{verdicts:?}");
            assert_eq!(together(Beside::Any, verdicts), any, "{verdicts:?}");
        }
    }

    /// The chances that [`HOW_SURE`] tells, by all ways in which ranks may fall to two.
    #[test]
    fn equal_servers_are_seldom_told_apart() {
        for (repeats, pairs) in [(3, 10), (5, 126)] {
            let (mut apart, mut all) = (0, 0);
            for chosen in (0_u32..1 << (2 * repeats)).filter(|of| of.count_ones() == repeats) {
                let ranks = |is_chosen: bool| {
                    let has = move |rank: &u32| (chosen >> rank & 1 == 1) == is_chosen;
                    let far = (0..2 * repeats).filter(has).map(|rank| 2_f64.powf(rank.into()));
                    Spread::of(far.collect()).expect("ranks")
                };
                all += 1;
                apart +=
                    i32::from(judged(Says::More, &ranks(true), &ranks(false)) != Agreement::Open);
            }
            assert_eq!(all, apart * pairs, "{repeats} repeats");
        }
    }

    #[test]
    fn a_comparison_says_what_was_measured_and_what_was_not() {
        let ten = spread(&[10.0]);
        let rows = [
            (
                (spread(&[14.0]), ten),
                "replies at 1.5: 14.0 replies/s with x, 10.0 replies/s with y: 40.0 % more",
            ),
            (
                (ten, spread(&[40.0])),
                "replies at 1.5: 10.0 replies/s with x, 40.0 replies/s with y: 75.0 % less",
            ),
            (
                (spread(&[50.0]), ten),
                "replies at 1.5: 50.0 replies/s with x, 10.0 replies/s with y: 5.00 times as much",
            ),
            ((ten, spread(&[0.0])), "replies at 1.5: 10.0 replies/s with x, 0 replies/s with y"),
            ((None, ten), "x was not measured"),
            ((ten, None), "y was not measured"),
            ((None, None), "not measured"),
        ];
        for ((a, b), expected) in rows {
            let sides = (("x", a), ("y", b));
            let told = compared(("f", "p"), Says::More, (&metric::REPLIES, " at 1.5"), sides);
            assert_eq!(told.here, expected);
        }
    }
}
