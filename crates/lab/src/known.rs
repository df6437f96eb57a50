//! Points put together: repeats of one measurement, their median and their spread.

use std::collections::{BTreeMap, HashMap};

use crate::compare::{self, NEAR_SHARE, Pair};
use crate::metric::{ANSWERED, Metric};
use crate::page::{Dot, Mark};
use crate::point::{Point, Verdict};
use crate::spec::Spec;
use crate::subject::Subject;

/// What was measured so far, by what was to be measured.
#[derive(Debug, Default)]
pub struct Known<'k> {
    cells: Vec<Cell<'k>>,
    /// By [`Spec::key`].
    places: HashMap<String, usize>,
    /// See [`Setup::attempts`](crate::setup::Setup::attempts); none: [`ATTEMPTS_MAX`].
    attempts_max: Option<u32>,
}

/// All repeats of one measurement.
#[derive(Debug)]
pub struct Cell<'k> {
    /// That of the first repeat.
    pub spec: &'k Spec,
    /// Those that count, or that the server failed, by repeat.
    points: BTreeMap<u32, &'k Point>,
    /// Those that do not count, in the order in which they were measured.
    pub invalid: Vec<&'k Point>,
}

/// A median and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Half of them are above.
    pub median: f64,
    /// A quarter is below the first, and above the second one.
    pub quartiles: (f64, f64),
    /// The least and the most.
    pub range: (f64, f64),
    /// Of how many.
    pub count: usize,
}

/// So often is tried to measure what turns out invalid, unless the operator says otherwise: what
/// disturbs a machine goes by, or is there to stay.
pub const ATTEMPTS_MAX: u32 = 3;

impl<'k> Known<'k> {
    /// Of points, in the order in which they were measured.
    #[must_use]
    pub fn of(points: &'k [Point]) -> Self {
        let mut known = Self::default();
        for point in points {
            let place = *known.places.entry(point.spec.key()).or_insert_with(|| {
                let (points, invalid) = (BTreeMap::new(), Vec::new());
                known.cells.push(Cell { spec: &point.spec, points, invalid });
                known.cells.len() - 1
            });
            known.cells[place].take(point);
        }
        known
    }

    /// With the operator's own number of attempts, if he has one.
    #[must_use]
    pub fn tried(self, attempts_max: Option<u32>) -> Self {
        Self { attempts_max, ..self }
    }

    /// So often is tried to measure what turns out invalid.
    #[must_use]
    pub fn attempts_max(&self) -> u32 {
        self.attempts_max.unwrap_or(ATTEMPTS_MAX)
    }

    /// The repeats of one measurement, whichever repeat `spec` is of.
    #[must_use]
    pub fn cell(&self, spec: &Spec) -> Option<&Cell<'k>> {
        self.cell_of(&spec.key())
    }

    /// The same by its [`Spec::key`], which takes longer to make than to look up.
    #[must_use]
    pub fn cell_of(&self, key: &str) -> Option<&Cell<'k>> {
        self.places.get(key).map(|&place| &self.cells[place])
    }

    /// All cells of a part of an experiment.
    pub fn cells<'s>(&'s self, experiment: &str, stage: &str) -> impl Iterator<Item = &'s Cell<'k>>
    where
        'k: 's,
    {
        let is_of =
            |cell: &&Cell<'_>| cell.spec.experiment == experiment && cell.spec.stage == stage;
        self.cells.iter().filter(is_of).collect::<Vec<_>>().into_iter()
    }

    /// Every cell.
    #[must_use]
    pub fn all(&self) -> &[Cell<'k>] {
        &self.cells
    }

    /// How often a repeat was measured in vain, or `None` if it is known.
    #[must_use]
    pub fn attempts(&self, spec: &Spec) -> Option<u32> {
        self.cell(spec).map_or(Some(0), |cell| cell.attempts(spec.repeat))
    }
}

impl<'k> Cell<'k> {
    fn take(&mut self, point: &'k Point) {
        match point.verdict {
            Verdict::Invalid(_) => self.invalid.push(point),
            Verdict::Good | Verdict::Failed(_) => {
                self.points.insert(point.spec.repeat, point);
            }
        }
    }

    /// See [`Known::attempts`].
    pub(crate) fn attempts(&self, repeat: u32) -> Option<u32> {
        let is_known = self.points.contains_key(&repeat);
        (!is_known).then(|| self.in_vain_of(repeat).count() as u32)
    }

    /// Those of one repeat that do not count.
    pub(crate) fn in_vain_of(&self, repeat: u32) -> impl Iterator<Item = &'k Point> {
        self.invalid.iter().copied().filter(move |point| point.spec.repeat == repeat)
    }

    /// Those that count, or that the server failed.
    pub fn points(&self) -> impl Iterator<Item = &'k Point> {
        self.points.values().copied()
    }

    /// Of each repeat that never came to count, what became of it last.
    #[must_use]
    pub fn in_vain(&self) -> Vec<&'k Point> {
        let in_vain = self.invalid.iter().map(|point| (point.spec.repeat, *point));
        let in_vain = in_vain.filter(|(repeat, _)| !self.points.contains_key(repeat));
        in_vain.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// What was measured.
    #[must_use]
    pub fn subject(&self) -> &'k Subject {
        &self.spec.subject
    }

    /// Whether verification failed in any repeat.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.points().any(|point| matches!(point.verdict, Verdict::Failed(_)))
    }

    /// Whether there is a repeat that counts, and none that the server failed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        !self.points.is_empty() && !self.is_failed()
    }

    /// Whether its repeats differ too much to tell it from others: by what of all that was asked
    /// for they answer, as how much that is differs by itself. `None`: nobody knows, of one.
    #[must_use]
    pub fn is_unstable(&self) -> Option<bool> {
        let (low, high) = self.interval(&ANSWERED)?;
        let median = self.spread(&ANSWERED)?.median;
        Some(low < median * (1.0 - NEAR_SHARE) || high * (1.0 - NEAR_SHARE) > median)
    }

    /// Within what the median of its repeats is known; `None` of one or none.
    #[must_use]
    pub fn interval(&self, metric: &Metric) -> Option<(f64, f64)> {
        compare::interval(&self.points().filter_map(metric.of).collect::<Vec<_>>())
    }

    /// What it and another one had in the same repeats; none, if a server failed verification in
    /// one of the two.
    #[must_use]
    pub fn pairs(&self, other: &Cell<'_>, metric: &Metric) -> Vec<Pair> {
        let is_good = self.is_good() && other.is_good();
        let pair = |(repeat, own): (&u32, &&Point)| {
            Some(((metric.of)(own)?, (metric.of)(other.points.get(repeat)?)?))
        };
        self.points.iter().filter(|_| is_good).filter_map(pair).collect()
    }

    /// Of a metric, over all repeats that tell it.
    #[must_use]
    pub fn spread(&self, metric: &Metric) -> Option<Spread> {
        Spread::of(self.points().filter_map(metric.of).collect())
    }

    /// The same, of those that passed verification in every repeat: what is said of a server that
    /// answers wrongly is said for nothing.
    #[must_use]
    pub fn judged(&self, metric: &Metric) -> Option<Spread> {
        self.spread(metric).filter(|_| self.is_good())
    }

    /// The same, with what a reader has to see.
    #[must_use]
    pub fn dot(&self, x: f64, metric: &Metric) -> Option<Dot> {
        let spread = self.spread(metric)?;
        let mark = if self.is_failed() { Mark::Failed } else { Mark::Plain };
        Some(Dot { x, y: spread.median, spread: spread.range, mark })
    }

    /// What varies.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<f64> {
        self.spec.factors.get(name).copied()
    }
}

impl Spread {
    /// Of values, in any order; none of none. What is never is more than all others.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| !value.is_nan());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        // Between two values, as far as the share lies between their places.
        let at = |share: f64| {
            let place = share * last as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            // Between two nevers there is nothing.
            let is_there = place.fract() == 0.0 || below == above;
            if is_there { below } else { below + (above - below) * place.fract() }
        };
        let (quartiles, range) = ((at(0.25), at(0.75)), (values[0], values[last]));
        Some(Self { median: at(0.5), quartiles, range, count: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::NEVER;

    #[test]
    fn a_spread_is_the_median_and_its_quartiles() {
        type Row<'r> = (&'r [f64], Option<[f64; 5]>);
        let rows: [Row<'_>; 7] = [
            (&[], None),
            (&[3.0], Some([3.0, 3.0, 3.0, 3.0, 3.0])),
            (&[9.0, 1.0, 5.0], Some([1.0, 3.0, 5.0, 7.0, 9.0])),
            (&[4.0, 1.0, 2.0, 3.0], Some([1.0, 1.75, 2.5, 3.25, 4.0])),
            (&[f64::NAN, 2.0], Some([2.0, 2.0, 2.0, 2.0, 2.0])),
            (&[1.0, NEVER, 2.0], Some([1.0, 1.5, 2.0, NEVER, NEVER])),
            (&[NEVER, NEVER], Some([NEVER; 5])),
        ];
        for (values, expected) in rows {
            let spread = Spread::of(values.to_vec());
            let told = spread.map(|Spread { median, quartiles, range, .. }| {
                [range.0, quartiles.0, median, quartiles.1, range.1]
            });
            assert_eq!(told, expected, "{values:?}");
        }
    }
}
