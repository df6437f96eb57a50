//! Which line is whose, beside the plot; below it where there are too many.

use super::canvas::{Anchor, Canvas, Hand, Point, text_width};
use super::{
    GAP, LEADING, MARGIN, PLOT_HEIGHT, WIDTH, numbered, palette, placed, spread_of, words,
};
use crate::page::{Figure, Mark, Series, Shape};

const SIZE: f64 = 13.0;
/// Of a piece of line, or of a patch.
const SAMPLE: f64 = 30.0;
const SAMPLE_GAP: f64 = 8.0;
const BETWEEN: f64 = 5.0;
/// Longer labels are wrapped.
const LABEL_MAX: f64 = 190.0;
/// A legend so much taller than the plot goes below it.
const BESIDE_MAX: f64 = 1.35 * PLOT_HEIGHT;

/// Nothing where one series is all there is and it needs no name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Legend {
    /// Side by side.
    columns: Vec<Vec<Entry>>,
    column_width: f64,
    pub(super) place: Place,
    /// Of the highest column.
    pub(super) height: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Place {
    #[default]
    Nowhere,
    /// It takes so much of the width.
    Beside(f64),
    Below,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    key: Key,
    label: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Line(usize),
    Reference,
    Patch(usize),
    ReferencePatch,
    Failed,
    Unstable,
    Spread,
}

impl Legend {
    pub(super) fn of(figure: &Figure) -> Self {
        let mut entries: Vec<Entry> = numbered(figure)
            .map(|(number, series)| Entry {
                key: key(figure.shape, number, series),
                label: words::wrapped(&series.label, SIZE, LABEL_MAX),
            })
            .filter(|entry| !entry.label.is_empty())
            .collect();
        // The uppermost of a stack is the last; a legend that says so is read without looking up.
        if figure.shape == Shape::Stack {
            entries.reverse();
        }
        entries.extend(keys_of_marks(figure));
        let widths = entries.iter().flat_map(|entry| &entry.label);
        let widths = widths.map(|line| (text_width(line, SIZE) * words::SLACK).min(LABEL_MAX));
        let width = SAMPLE + SAMPLE_GAP + widths.fold(0.0, f64::max);
        let (column_width, height) = (width + 3.0 * GAP, column_height(&entries));
        if entries.is_empty() {
            return Self::default();
        }
        if height <= BESIDE_MAX {
            let place = Place::Beside(width);
            return Self { columns: vec![entries], column_width, place, height };
        }
        let columns = ((WIDTH - 2.0 * MARGIN) / column_width).floor().max(1.0) as usize;
        let columns = entries.chunks(entries.len().div_ceil(columns)).map(<[Entry]>::to_vec);
        let columns: Vec<_> = columns.collect();
        let height = columns.iter().map(|column| column_height(column)).fold(0.0, f64::max);
        Self { columns, column_width, place: Place::Below, height }
    }

    /// `at` is the corner on the upper left.
    pub(super) fn draw(&self, canvas: &mut Canvas, (left, top): Point) {
        for (column, entries) in self.columns.iter().enumerate() {
            let mut at = (left + column as f64 * self.column_width, top);
            for entry in entries {
                entry.draw(canvas, at);
                at.1 += entry.height();
            }
        }
    }
}

impl Entry {
    fn height(&self) -> f64 {
        self.label.len() as f64 * SIZE * LEADING + BETWEEN
    }

    fn draw(&self, canvas: &mut Canvas, (x, y): Point) {
        let middle = y + SIZE * LEADING / 2.0;
        self.key.draw(canvas, (x, middle));
        for (line, text) in self.label.iter().enumerate() {
            let base = middle + SIZE * 0.35 + line as f64 * SIZE * LEADING;
            let hand =
                Hand { size: SIZE, colour: palette::INK, anchor: Anchor::Start, is_turned: false };
            canvas.text(text, (x + SAMPLE + SAMPLE_GAP, base), hand);
        }
    }
}

fn column_height(entries: &[Entry]) -> f64 {
    entries.iter().map(Entry::height).sum()
}

fn key(shape: Shape, number: usize, series: &Series) -> Key {
    match (shape, series.is_reference) {
        (Shape::Curves | Shape::Estimates, false) => Key::Line(number),
        (Shape::Curves | Shape::Estimates, true) => Key::Reference,
        (Shape::Bars | Shape::Stack, false) => Key::Patch(number),
        (Shape::Bars | Shape::Stack, true) => Key::ReferencePatch,
    }
}

fn keys_of_marks(figure: &Figure) -> Vec<Entry> {
    let dots = || figure.series.iter().flat_map(|series| &series.points);
    let drawn = |dot: &&crate::page::Dot| placed(dot.y, &figure.y).is_some();
    let has = |mark| dots().filter(drawn).any(|dot| dot.mark == mark);
    let has_spread = figure.shape != Shape::Stack
        && dots().filter(drawn).any(|dot| spread_of(dot, &figure.y).is_some());
    let of_spread = match figure.shape {
        Shape::Estimates => "95 % interval of the median",
        Shape::Curves | Shape::Bars | Shape::Stack => "lowest to highest repeat",
    };
    let keys = [
        (has_spread, Key::Spread, of_spread),
        (has(Mark::Unstable), Key::Unstable, "unstable: its repeats differ too much"),
        (has(Mark::Failed), Key::Failed, "failed its verification"),
    ];
    let keys = keys.into_iter().filter(|(is_there, ..)| *is_there);
    keys.map(|(_, key, label)| Entry { key, label: words::wrapped(label, SIZE, LABEL_MAX) })
        .collect()
}

impl Key {
    /// `at` is the left end, in the middle of the line of text.
    fn draw(self, canvas: &mut Canvas, (x, y): Point) {
        let middle = (x + SAMPLE / 2.0, y);
        let ends = [(x, y), (x + SAMPLE, y)];
        let patch = [(x + 7.0, y - 6.5), (x + SAMPLE, y + 6.5)];
        match self {
            Self::Line(number) => {
                canvas.lines(&ends, palette::stroke(number));
                palette::mark(canvas, middle, number);
            }
            Self::Reference => canvas.lines(&ends, palette::REFERENCE_STROKE),
            Self::Patch(number) => canvas.bar(patch[0], patch[1], palette::fill(number)),
            Self::ReferencePatch => canvas.bar(patch[0], patch[1], palette::REFERENCE),
            Self::Failed => palette::failed(canvas, middle),
            Self::Unstable => palette::unstable(canvas, middle, palette::PALE_INK),
            Self::Spread => {
                palette::spread(canvas, middle.0, (y + 6.0, y - 6.0), palette::PALE_INK);
            }
        }
    }
}
