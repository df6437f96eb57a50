//! Beside noise of which the truth is known.

use measure::draw::Draw;
use proptest::prelude::*;

use super::*;

/// What a machine may do to a figure.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Of so many percent.
    Normal(f64),
    /// Three percent, and one repeat in ten is at three fifths.
    Slow,
    /// Never above, and far below now and then.
    Skew,
}

impl Noise {
    fn of(self, stream: &mut Stream) -> f64 {
        let normal = |percent: f64, stream: &mut Stream| {
            Draw::LogNormal { mu: 0.0, sigma: percent / 100.0 }.draw(stream)
        };
        match self {
            Self::Normal(percent) => normal(percent, stream),
            Self::Slow if stream.below(10) == 0 => 0.6 * normal(3.0, stream),
            Self::Slow => normal(3.0, stream),
            Self::Skew => 1.0 / (1.0 + Draw::Exponential { mean: 0.2 }.draw(stream)),
        }
    }

    fn pairs(self, ratio: f64, count: usize, stream: &mut Stream) -> Vec<Pair> {
        // What meets both of a pair alike.
        let mut drift = || Self::Normal(20.0).of(stream);
        let drifts: Vec<f64> = (0..count).map(|_| drift()).collect();
        let mut pair = |drift: f64| (ratio * drift * self.of(stream), drift * self.of(stream));
        drifts.into_iter().map(&mut pair).collect()
    }
}

/// In how many of a hundred cases the truth is not in an interval.
fn missed(noise: Noise, ratio: f64, count: usize, told: impl Fn(&[Pair]) -> (f64, f64)) -> f64 {
    const CASES: u32 = 400;
    let mut stream = Stream::new(7, count as u64);
    let missed = (0..CASES).filter(|_| {
        let (low, high) = told(&noise.pairs(ratio, count, &mut stream));
        !(low..=high).contains(&ratio)
    });
    100.0 * missed.count() as f64 / f64::from(CASES)
}

/// So few cases are by chance a few of a hundred off what all would show: 8 stands for 5.
#[test]
fn an_interval_misses_the_truth_as_seldom_as_it_says() {
    let whole = |pairs: &[Pair]| {
        let of = Ratio::of(pairs, MISSED_SHARE).expect("pairs");
        (of.low, of.high)
    };
    for noise in [Noise::Normal(1.0), Noise::Normal(30.0), Noise::Slow, Noise::Skew] {
        for (ratio, counts) in [(1.0, &[2, 3, 5, 9][..]), (1.5, &[3, 10]), (4.0, &[3])] {
            for &count in counts {
                let of = missed(noise, ratio, count, whole);
                assert!(of <= 8.0, "{noise:?}, {count} pairs, {ratio}: {of} %");
            }
        }
    }
    // Not by being wide.
    assert!(missed(Noise::Normal(5.0), 1.0, 3, whole) >= 2.0);
}

#[test]
fn few_pairs_are_too_few_for_a_bootstrap_and_many_are_its_best() {
    let mut stream = Stream::new(7, 7);
    let mut of = |noise: Noise| (noise.of(&mut stream), noise.of(&mut stream));
    let three: Vec<[Pair; 3]> = (0..60).map(|_| [Noise::Normal(5.0); 3].map(&mut of)).collect();
    let missed = three.iter().map(|pairs| drawn(pairs, MISSED_SHARE));
    let missed = missed.filter(|(low, high)| !(low..=high).contains(&&1.0)).count();
    assert!(missed >= 12, "{missed} of 60");
    let pairs = [Noise::Slow; 20].map(&mut of);
    let width = |(low, high): (f64, f64)| high / low - 1.0;
    let [drawn, student] = [drawn, student].map(|of| width(of(&pairs, MISSED_SHARE)));
    assert!(2.0 * drawn < student, "{drawn} {student}");
}

/// A page of twenty comparisons of equals tells of one in one case of twenty.
#[test]
fn of_many_equals_hardly_any_is_told_from_another() {
    const PAGES: usize = 100;
    let mut stream = Stream::new(7, 8);
    let mut page = || -> Vec<Vec<Pair>> {
        (0..20).map(|_| Noise::Normal(20.0).pairs(1.0, 4, &mut stream)).collect()
    };
    let judge = |_: usize, of: &Ratio| (of.is_more() || of.is_less()).then_some(());
    let wrong = |page: &Vec<Vec<Pair>>| told(page, judge).contains(&Some(()));
    let pages: Vec<Vec<Vec<Pair>>> = (0..PAGES).map(|_| page()).collect();
    let share = pages.iter().filter(|of| wrong(of)).count() as f64 / PAGES as f64;
    assert!(share <= 0.1, "{share}");
    // Each by itself, as if it stood alone.
    let each = pages.iter().filter(|page| page.iter().any(|of| wrong(&vec![of.clone()])));
    assert!(each.count() > PAGES / 2);
}

/// The more are told, the less the others have to show.
#[test]
fn what_is_told_leaves_its_share_to_the_others() {
    let clear: Vec<Pair> = vec![(2.0, 1.0), (2.01, 1.0), (2.02, 1.0)];
    let near = vec![(1.2, 1.0), (1.4, 1.0), (1.3, 1.0)];
    let nothing = vec![(1.0, 1.0), (1.3, 1.0), (0.8, 1.0)];
    let judge = |at: usize, of: &Ratio| of.is_more().then_some(at);
    type Row<'r> = (&'r [&'r Vec<Pair>], &'r [Option<usize>]);
    let rows: [Row<'_>; 4] = [
        (&[&near], &[Some(0)]),
        (&[&nothing, &near, &nothing], &[None, None, None]),
        (&[&clear, &near, &clear], &[Some(0), Some(1), Some(2)]),
        (&[&clear, &nothing], &[Some(0), None]),
    ];
    for (all, expected) in rows {
        let all: Vec<Vec<Pair>> = all.iter().map(|of| (*of).clone()).collect();
        assert_eq!(told(&all, judge), expected);
    }
}

#[test]
fn zeros_and_few_have_an_answer() {
    let any = f64::INFINITY;
    type Row<'r> = (&'r [Pair], Option<(f64, f64, f64)>);
    let rows: [Row<'_>; 6] = [
        (&[], None),
        (&[(2.0, 1.0)], None),
        (&[(0.0, 0.0); 3], Some((1.0, 1.0, 1.0))),
        (&[(5.0, 0.0); 3], Some((any, any, any))),
        (&[(0.0, 5.0); 3], Some((0.0, 0.0, 0.0))),
        // Once something, else nothing: anything may be.
        (&[(0.0, 0.0), (0.0, 0.0), (308.0, 0.0)], Some((1.0, 0.0, any))),
    ];
    for (pairs, expected) in rows {
        let told = Ratio::of(pairs, MISSED_SHARE).map(|of| (of.middle, of.low, of.high));
        assert_eq!(told, expected, "{pairs:?}");
    }
    assert_eq!(interval(&[4.0]), None);
    assert_eq!(interval(&[4.0; 3]), Some((4.0, 4.0)));
    assert_eq!(interval(&[0.0, 0.0, 308.0]), Some((0.0, any)));
    let (low, high) = interval(&[99.0, 100.0, 101.0]).expect("three");
    assert!((97.4..97.7).contains(&low) && (102.4..102.7).contains(&high), "{low} {high}");
}

fn any_pairs() -> impl Strategy<Value = Vec<Pair>> {
    let value = || prop_oneof![9 => 0.1..1e5, 1 => Just(0.0)];
    prop::collection::vec((value(), value()), 2..13)
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #[test]
    fn exchanged_it_is_the_other_way_round(pairs in any_pairs()) {
        let of = Ratio::of(&pairs, MISSED_SHARE).expect("two or more");
        let exchanged: Vec<Pair> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let other = Ratio::of(&exchanged, MISSED_SHARE).expect("two or more");
        prop_assert!(near(of.middle, 1.0 / other.middle), "{of:?} {other:?}");
        prop_assert!(near(of.low, 1.0 / other.high) && near(of.high, 1.0 / other.low));
        prop_assert_eq!(of.is_more(), other.is_less());
    }

    #[test]
    fn its_middle_is_in_it_and_surer_is_wider(pairs in any_pairs()) {
        let of = Ratio::of(&pairs, MISSED_SHARE).expect("two or more");
        prop_assert!(of.low <= of.middle && of.middle <= of.high, "{of:?}");
        let [less, more] = [0.2, 0.01].map(|missed| student(&pairs, missed));
        prop_assert!(more.0 <= less.0 && less.1 <= more.1, "{less:?} {more:?}");
    }

    #[test]
    fn what_meets_both_alike_is_no_difference(pairs in any_pairs(), drift in 0.1..10.0_f64) {
        let drifted = |(at, (a, b)): (usize, &Pair)| {
            let drift = if at % 2 == 0 { drift } else { 1.0 };
            (a * drift, b * drift)
        };
        let other: Vec<Pair> = pairs.iter().enumerate().map(drifted).collect();
        let ((low, high), (other_low, other_high)) =
            (student(&pairs, MISSED_SHARE), student(&other, MISSED_SHARE));
        prop_assert!(near(low, other_low) && near(high, other_high));
    }
}
