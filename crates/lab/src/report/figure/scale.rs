//! From values to places along an axis, and what is written at it.

use crate::page::Axis;
use crate::report::numbers;

/// Larger values are no measurement: beyond this a float skips whole numbers.
const LARGEST: f64 = 1e15;
/// Smaller values are no measurement either, in any unit that people use.
const SMALLEST: f64 = 1e-15;
/// So many steps of an even scale at most; more crowd each other.
const STEPS_MAX: f64 = 8.5;

/// Of one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    is_logarithmic: bool,
    /// Where, and what is written there.
    pub(super) steps: Vec<(f64, String)>,
    /// Lines without a number between them.
    pub(super) between: Vec<f64>,
}

/// Where an even scale ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At a step, and zero is always on it: heights are compared.
    Steps,
    /// A little beyond the outermost values; zero is on it where it is near.
    Values,
}

/// `value`, if it has a place on `axis`.
pub(super) fn placed(value: f64, axis: &Axis) -> Option<f64> {
    let is_tiny = value.abs() < SMALLEST;
    match axis.is_logarithmic {
        true => (SMALLEST..=LARGEST).contains(&value).then_some(value),
        false => (value.abs() <= LARGEST).then_some(if is_tiny { 0.0 } else { value }),
    }
}

/// The same upwards, where what is never stands at the upper edge, above all times.
pub(super) fn placed_up(value: f64, axis: &Axis) -> Option<f64> {
    if value == f64::INFINITY { Some(value) } else { placed(value, axis) }
}

impl Scale {
    /// That has a place for all from `low` to `high`, both with a place on `axis`.
    pub(super) fn of((low, high): (f64, f64), axis: &Axis, ends: Ends) -> Self {
        if axis.is_logarithmic { logarithmic(low, high) } else { even(low, high, ends) }
    }

    /// From 0 to 1; what is outside stays at the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.is_logarithmic {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Whether it is not outside.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Where bars stand.
    pub(super) fn ground(&self) -> f64 {
        if self.is_logarithmic { self.from } else { 0.0 }
    }

    /// The lowest and the highest value.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }
}

fn even(low: f64, high: f64, ends: Ends) -> Scale {
    let zero_is_near = ends == Ends::Steps || low <= 0.6 * high;
    let mut from = if zero_is_near { low.min(0.0) } else { low };
    let mut to = if zero_is_near { high.max(0.0) } else { high };
    // One value, or what differs by less than floats tell apart: some room on both sides.
    if to - from <= from.abs().max(to.abs()) * 1e-9 {
        let room = if to == 0.0 { 1.0 } else { to.abs() * 0.1 };
        (from, to) = if to == 0.0 { (0.0, room) } else { (from - room, to + room) };
    }
    let width = step_width(to - from);
    match ends {
        Ends::Steps => {
            from = (from / width + 1e-9).floor() * width;
            to = (to / width - 1e-9).ceil() * width;
        }
        Ends::Values => {
            let room = (to - from) * 0.03;
            (from, to) = (if from == 0.0 { 0.0 } else { from - room }, to + room);
        }
    }
    let first = (from / width - 1e-9).ceil() as i64;
    let last = (to / width + 1e-9).floor() as i64;
    let largest = from.abs().max(to.abs());
    let steps = (first..=last).map(|step| {
        let value = step as f64 * width;
        (value, numbers::step(value, width, largest))
    });
    Scale { from, to, is_logarithmic: false, steps: steps.collect(), between: Vec::new() }
}

/// 1, 2 or 5 times a power of ten.
fn step_width(span: f64) -> f64 {
    let least = span / STEPS_MAX;
    let power = 10_f64.powi(least.log10().floor() as i32);
    let of = [1.0, 2.0, 5.0].into_iter().find(|of| of * power >= least * (1.0 - 1e-9));
    of.unwrap_or(10.0) * power
}

/// The ends are 1, 2 or 5 times a power of ten. Powers alone are numbered where there are enough.
fn logarithmic(low: f64, high: f64) -> Scale {
    const FACTORS: [u8; 3] = [1, 2, 5];
    let powers = (low.log10().floor() as i32 - 1)..=(high.log10().ceil() as i32 + 1);
    let value = |(factor, power): (u8, i32)| f64::from(factor) * 10_f64.powi(power);
    let all: Vec<(u8, i32)> =
        powers.flat_map(|power| FACTORS.map(|factor| (factor, power))).collect();
    // Neighbours on the outside where a value is at an end, or the only one.
    let first = all.iter().rposition(|&at| value(at) <= low * 1.0001).unwrap_or(0);
    let last = all.iter().position(|&at| value(at) >= high * 0.9999).unwrap_or(all.len() - 1);
    let (first, last) = if last - first < 2 {
        (first.saturating_sub(1), (last + 1).min(all.len() - 1))
    } else {
        (first, last)
    };
    let within = &all[first..=last];
    let powers: Vec<_> = within.iter().copied().filter(|(factor, _)| *factor == 1).collect();
    let numbered = if powers.len() >= 4 { &powers[..] } else { within };
    let every = numbered.len().div_ceil(8);
    let steps = numbered
        .iter()
        .step_by(every)
        .map(|&(factor, power)| (value((factor, power)), numbers::factor(factor, power)));
    let steps: Vec<_> = steps.collect();
    let (from, to) = (value(within[0]), value(within[within.len() - 1]));
    let between = match powers.len() {
        ..=5 => (all[0].1..=all[all.len() - 1].1)
            .flat_map(|power| (1..10).map(move |factor| f64::from(factor) * 10_f64.powi(power)))
            .filter(|at| (from * 1.0001..to * 0.9999).contains(at))
            .filter(|at| !steps.iter().any(|(step, _)| (step / at - 1.0).abs() < 1e-6))
            .collect(),
        _ => Vec::new(),
    };
    Scale { from, to, is_logarithmic: true, steps, between }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_numbers() {
        let even = Axis::default();
        let logarithmic = Axis { is_logarithmic: true, ..Axis::default() };
        let rows: [(&Axis, Ends, (f64, f64), &str); 13] = [
            (
                &even,
                Ends::Steps,
                (0.0, 8300.0),
                "0 1,000 2,000 3,000 4,000 5,000 6,000 7,000 8,000 9,000",
            ),
            (&even, Ends::Steps, (3.0, 60_000.0), "0 10 k 20 k 30 k 40 k 50 k 60 k"),
            (&even, Ends::Steps, (5.0, 5.0), "0 1 2 3 4 5"),
            (&even, Ends::Steps, (0.0, 0.0), "0 0.2 0.4 0.6 0.8 1.0"),
            (&even, Ends::Steps, (-0.3, 0.5), "−0.3 −0.2 −0.1 0 0.1 0.2 0.3 0.4 0.5"),
            (&even, Ends::Values, (1000.0, 16_000.0), "0 2 k 4 k 6 k 8 k 10 k 12 k 14 k 16 k"),
            (&even, Ends::Values, (95.0, 100.0), "95 96 97 98 99 100"),
            (&even, Ends::Values, (-1e15, 1e15), "−1e15 −5e14 0 5e14 1e15"),
            (&even, Ends::Values, (1e-15, 1e-15), "9e−16 9.5e−16 1e−15 1.05e−15 1.1e−15"),
            (&logarithmic, Ends::Steps, (0.8, 990.0), "1 10 100 1,000"),
            (&logarithmic, Ends::Steps, (3.0, 40.0), "2 5 10 20 50"),
            (&logarithmic, Ends::Steps, (10.0, 10.0), "5 10 20"),
            (&logarithmic, Ends::Steps, (1e-15, 1e15), "1e−15 1e−11 1e−7 0.001 10 100 k 1 G 1e13"),
        ];
        for (axis, ends, extent, expected) in rows {
            let scale = Scale::of(extent, axis, ends);
            let steps: Vec<&str> = scale.steps.iter().map(|(_, text)| &text[..]).collect();
            assert_eq!(steps.join(" "), expected, "{extent:?}");
            assert!(scale.holds(extent.0) && scale.holds(extent.1), "{extent:?} {scale:?}");
        }
    }
}
