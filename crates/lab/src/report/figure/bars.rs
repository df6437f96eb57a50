//! Series as bars, side by side or on top of each other.

use super::canvas::{Anchor, Canvas, Hand};
use super::{Across, Ends, Frame, Scale, extent, numbered, palette, placed_up, spread_of};
use crate::page::{Axis, Dot, Figure, Mark, Series, Shape};
use crate::report::numbers;

/// Of the room for a column, what its bars take.
const GROUP: f64 = 0.8;
const STACK: f64 = 0.66;
/// A part of a stack that is lower than this has no room for its number.
const NUMBER_SIZE: f64 = 11.5;
const NUMBERED_HEIGHT_MIN: f64 = 15.0;
const NUMBERED_WIDTH_MIN: f64 = 26.0;

/// The columns, the scale of their heights, and how many values have no place.
pub(super) fn scales(figure: &Figure) -> (Across, Scale, usize) {
    let dots = || figure.series.iter().flat_map(|series| &series.points);
    let left_out = dots().filter(|dot| height(figure, dot).is_none()).count();
    let columns = columns(figure);
    let drawn = dots().filter(|dot| height(figure, dot).is_some());
    let heights = match figure.shape {
        Shape::Stack => extent(columns.iter().map(|&(x, _)| {
            let parts = figure.series.iter().flat_map(|series| at(series, x));
            parts.filter_map(|dot| height(figure, dot)).sum()
        })),
        Shape::Curves | Shape::Estimates | Shape::Bars => extent(drawn.clone().flat_map(|dot| {
            let (low, high) = spread_of(dot, &figure.y).unwrap_or((dot.y, dot.y));
            [low, dot.y, high]
        })),
    };
    let is_empty = drawn.count() == 0;
    let axis = scale_axis(figure);
    let up = Scale::of(heights.filter(|_| !is_empty).unwrap_or((1.0, 1.0)), &axis, Ends::Steps);
    let across = if is_empty { Across::Nothing } else { Across::Names(columns) };
    (across, up, left_out)
}

/// Parts of a stack are compared by their lengths, which a logarithmic scale falsifies.
fn scale_axis(figure: &Figure) -> Axis {
    let is_logarithmic = figure.y.is_logarithmic && figure.shape != Shape::Stack;
    Axis { is_logarithmic, ..Axis::default() }
}

fn height(figure: &Figure, dot: &Dot) -> Option<f64> {
    let value = placed_up(dot.y, &scale_axis(figure)).filter(|_| dot.x.is_finite())?;
    (figure.shape != Shape::Stack || (0.0..f64::INFINITY).contains(&value)).then_some(value)
}

/// All that have a name, and all that have a value.
fn columns(figure: &Figure) -> Vec<(f64, String)> {
    let dots = figure.series.iter().flat_map(|series| &series.points);
    let named = (0..figure.x.names.len()).map(|x| x as f64);
    let mut xs: Vec<f64> = dots.map(|dot| dot.x).filter(|x| x.is_finite()).chain(named).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs.into_iter().map(|x| (x, name(&figure.x, x))).collect()
}

/// Of the column at `x`; its number where it has none.
pub(super) fn name(axis: &Axis, x: f64) -> String {
    let is_place = x >= 0.0 && x.fract() == 0.0;
    let name = is_place.then(|| axis.names.get(x as usize)).flatten();
    name.cloned().unwrap_or_else(|| numbers::shown(x))
}

fn at(series: &Series, x: f64) -> impl Iterator<Item = &Dot> {
    series.points.iter().filter(move |dot| dot.x == x)
}

pub(super) fn draw(
    canvas: &mut Canvas,
    figure: &Figure,
    frame: Frame,
    columns: &[(f64, String)],
    up: &Scale,
) {
    let slot = (frame.right - frame.left) / columns.len() as f64;
    for (column, &(x, _)) in columns.iter().enumerate() {
        let middle = frame.left + (column as f64 + 0.5) * slot;
        match figure.shape {
            Shape::Stack => stack(canvas, figure, frame, (x, middle, slot * STACK), up),
            Shape::Curves | Shape::Estimates | Shape::Bars => {
                group(canvas, figure, frame, (x, middle, slot * GROUP), up);
            }
        }
    }
    let ground = frame.y(up.place(up.ground()));
    let line = super::Stroke { colour: palette::INK, width: 1.0, dash: "" };
    canvas.lines(&[(frame.left, ground), (frame.right, ground)], line);
}

/// Side by side.
fn group(
    canvas: &mut Canvas,
    figure: &Figure,
    frame: Frame,
    (x, middle, width): (f64, f64, f64),
    up: &Scale,
) {
    /// What is narrower is not seen.
    const BAR_MIN: f64 = 0.5;
    /// Fewer in a group would be as wide as a hand.
    const WIDTH_MAX: f64 = 60.0;
    let bar = (width / figure.series.len() as f64).min(WIDTH_MAX);
    let left = middle - bar * figure.series.len() as f64 / 2.0;
    let ground = frame.y(up.place(up.ground()));
    for (at_bar, (number, series)) in numbered(figure).enumerate() {
        let from = left + at_bar as f64 * bar;
        // A line of paper between neighbours, where there is room.
        let to = from + if bar > 4.0 { bar - 1.0 } else { bar.max(BAR_MIN) };
        let colour = match series.is_reference {
            true => palette::REFERENCE,
            false => palette::fill(number),
        };
        for dot in at(series, x) {
            let Some(value) = height(figure, dot) else { continue };
            let top = frame.y(up.place(value));
            let end = ((from + to) / 2.0, top);
            if dot.mark == Mark::Failed {
                palette::failed(canvas, end);
                continue;
            }
            if value == f64::INFINITY {
                // As high as a bar may be, it would seem to be of that height.
                palette::never(canvas, end, colour);
                continue;
            }
            canvas.bar((from, top.min(ground)), (to, top.max(ground)), colour);
            if let Some((low, high)) = spread_of(dot, &figure.y) {
                let ends = (frame.y(up.place(low)), frame.y(up.place(high)));
                palette::spread(canvas, end.0, ends, palette::INK);
            }
            if dot.mark == Mark::Unstable {
                palette::unstable(canvas, end, palette::INK);
            }
        }
    }
}

/// On top of each other, the first series at the ground.
fn stack(
    canvas: &mut Canvas,
    figure: &Figure,
    frame: Frame,
    (x, middle, width): (f64, f64, f64),
    up: &Scale,
) {
    let (from, to) = (middle - width / 2.0, middle + width / 2.0);
    let mut ground = 0.0;
    for (number, series) in numbered(figure) {
        let colour = match series.is_reference {
            true => palette::REFERENCE,
            false => palette::fill(number),
        };
        for dot in at(series, x) {
            let Some(value) = height(figure, dot) else { continue };
            let (bottom, top) = (frame.y(up.place(ground)), frame.y(up.place(ground + value)));
            ground += value;
            let middle = (middle, f64::midpoint(bottom, top));
            // The line of paper is what tells parts apart in grey.
            let top = if bottom - top > 2.0 { top + 0.75 } else { top };
            canvas.bar((from, top), (to, bottom), colour);
            if bottom - top >= NUMBERED_HEIGHT_MIN && width >= NUMBERED_WIDTH_MIN {
                let hand = Hand {
                    size: NUMBER_SIZE,
                    colour: palette::ink_on(colour),
                    anchor: Anchor::Middle,
                    is_turned: false,
                };
                let base = (middle.0, middle.1 + NUMBER_SIZE * 0.35);
                canvas.text(&numbers::short(value), base, hand);
            }
            if dot.mark == Mark::Unstable {
                palette::unstable(canvas, middle, palette::INK);
            }
        }
    }
    // Once, at its end, as at that of a bar: it is one server that failed, and a cross in each part
    // would hide the numbers.
    let parts = figure.series.iter().flat_map(|series| at(series, x));
    if parts.into_iter().any(|dot| dot.mark == Mark::Failed) {
        palette::failed(canvas, (middle, frame.y(up.place(ground))));
    }
}
