//! One figure as SVG.
//!
//! From the left: the upright axis, the plot, and the legend, beside the plot or below it where it
//! is long, so that it covers no line.

mod bars;
mod canvas;
mod curves;
mod legend;
mod palette;
mod scale;
mod words;

use canvas::{Anchor, Canvas, Hand, Point, Stroke};
use legend::{Legend, Place};
use palette::{FAINT_GRID, GRID, INK, PALE_INK};
use scale::{Ends, Scale, placed, placed_up};

use crate::page::{Axis, Dot, Figure, Series, Shape};

/// Of every figure, in points; its height follows from what is in it.
const WIDTH: f64 = 860.0;
const PLOT_HEIGHT: f64 = 340.0;
/// With nothing in it.
const EMPTY_HEIGHT: f64 = 120.0;
const MARGIN: f64 = 14.0;
/// Between parts.
const GAP: f64 = 8.0;
const TICK: f64 = 5.0;
const TITLE: f64 = 17.0;
const LABEL: f64 = 14.0;
const STEP: f64 = 13.0;
const NOTE: f64 = 12.0;
/// From one base line to the next, in sizes of the text.
const LEADING: f64 = 1.3;
/// A turned name of a column is cut here.
const TURNED_MAX: f64 = 200.0;

/// A document of its own, which can also stand in a page of HTML.
pub fn svg(figure: &Figure) -> String {
    let plan = Plan::of(figure);
    canvas::svg((WIDTH, plan.height), &alternative(figure), |canvas| plan.draw(canvas))
}

/// For those who cannot see it.
pub(super) fn alternative(figure: &Figure) -> String {
    let kind = match figure.shape {
        Shape::Curves | Shape::Estimates => "Curves",
        Shape::Bars => "Bars",
        Shape::Stack => "Stacked bars",
    };
    let of: Vec<&str> = figure.series.iter().map(|series| &series.label[..]).collect();
    let (x, y) = (label_of(&figure.x), label_of(&figure.y));
    let of = if of.is_empty() { String::from("none") } else { of.join("; ") };
    format!("{}. {kind} of {y} over {x}: {of}.", figure.title)
}

/// The label with its unit.
pub(super) fn label_of(axis: &Axis) -> String {
    let separator = if axis.label.is_empty() || axis.unit.is_empty() { "" } else { ", " };
    format!("{}{separator}{}", axis.label, axis.unit)
}

/// Each series with its number among those that are no reference, which decides how it looks.
fn numbered(figure: &Figure) -> impl DoubleEndedIterator<Item = (usize, &Series)> {
    let mut number = 0;
    let series = figure.series.iter().map(move |series| {
        let at = number;
        number += usize::from(!series.is_reference);
        (at, series)
    });
    series.collect::<Vec<_>>().into_iter()
}

/// Where the plot is.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    fn y(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }
}

/// What is along the foot.
enum Across {
    Values(Scale),
    /// Of bars: where each group is, and its name.
    Names(Vec<(f64, String)>),
    Nothing,
}

/// How the names of columns are written.
struct Names {
    lines: Vec<Vec<String>>,
    are_turned: bool,
    height: f64,
}

/// Where everything goes.
struct Plan<'f> {
    figure: &'f Figure,
    title: Vec<String>,
    y_label: Vec<String>,
    x_label: Vec<String>,
    note: Vec<String>,
    frame: Frame,
    across: Across,
    names: Names,
    up: Scale,
    legend: Legend,
    legend_at: Point,
    height: f64,
}

impl<'f> Plan<'f> {
    fn of(figure: &'f Figure) -> Self {
        let (across, up, left_out) = match figure.shape {
            Shape::Curves | Shape::Estimates => curves::scales(figure),
            Shape::Bars | Shape::Stack => bars::scales(figure),
        };
        let is_empty = matches!(across, Across::Nothing);
        let legend = if is_empty { Legend::default() } else { Legend::of(figure) };
        let wide = WIDTH - 2.0 * MARGIN;
        let title = words::wrapped(&figure.title, TITLE, wide);
        let tall = if is_empty { EMPTY_HEIGHT } else { PLOT_HEIGHT };
        let y_label = words::wrapped(&label_of(&figure.y), LABEL, tall);
        let steps = up.steps.iter().map(|(_, text)| canvas::text_width(text, STEP));
        let steps = if is_empty { 0.0 } else { steps.fold(0.0, f64::max) };
        let left = MARGIN + height(&y_label, LABEL) + GAP + steps * words::SLACK + TICK + GAP / 2.0;
        let beside = if let Place::Beside(width) = legend.place { width } else { 0.0 };
        let right = WIDTH - MARGIN - beside - 2.0 * GAP;
        let top = MARGIN + height(&title, TITLE) + 1.5 * GAP;
        let frame = Frame { left, right, top, bottom: top + tall };
        let x_label = words::wrapped(&label_of(&figure.x), LABEL, right - left);
        let left_out = (left_out > 0).then(|| left_out_note(left_out, figure));
        let never = has_never(figure).then(|| String::from(NEVER_NOTE));
        let notes = never.into_iter().chain(left_out);
        let note: Vec<String> = notes.flat_map(|note| words::wrapped(&note, NOTE, wide)).collect();
        let names = match &across {
            Across::Names(columns) => Names::of(columns, (right - left) / columns.len() as f64),
            Across::Values(_) => {
                Names { lines: Vec::new(), are_turned: false, height: STEP * LEADING }
            }
            Across::Nothing => Names { lines: Vec::new(), are_turned: false, height: 0.0 },
        };
        let foot = frame.bottom + TICK + names.height + GAP + height(&x_label, LABEL);
        let (legend_at, foot) = match legend.place {
            Place::Nowhere => ((0.0, 0.0), foot),
            Place::Beside(_) => ((right + 2.0 * GAP, top), foot.max(top + legend.height)),
            Place::Below => ((MARGIN, foot + GAP), foot + GAP + legend.height),
        };
        let foot = foot + height(&note, NOTE) + MARGIN;
        let height = foot.ceil();
        Self {
            figure,
            title,
            y_label,
            x_label,
            note,
            frame,
            across,
            names,
            up,
            legend,
            legend_at,
            height,
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        canvas.bar((0.0, 0.0), (WIDTH, self.height), palette::PAPER);
        self.draw_texts(canvas);
        match &self.across {
            Across::Nothing => {
                let frame = self.frame;
                self.draw_box(canvas);
                let middle = (frame.x(0.5), frame.y(0.5));
                canvas.text("There are no values to draw.", middle, hand(LABEL, PALE_INK));
                return;
            }
            Across::Values(across) => {
                self.draw_grid(canvas, Some(across));
                curves::draw(canvas, self.figure, self.frame, across, &self.up);
            }
            Across::Names(columns) => {
                self.draw_grid(canvas, None);
                bars::draw(canvas, self.figure, self.frame, columns, &self.up);
                self.names.draw(canvas, self.frame);
            }
        }
        self.legend.draw(canvas, self.legend_at);
    }

    fn draw_texts(&self, canvas: &mut Canvas) {
        let middle = self.frame.x(0.5);
        let mut y = MARGIN;
        for line in &self.title {
            y += TITLE * LEADING;
            let hand = Hand { anchor: Anchor::Start, ..hand(TITLE, INK) };
            canvas.text(line, (MARGIN, y - TITLE * 0.3), hand);
        }
        let mut x = MARGIN;
        for line in &self.y_label {
            x += LABEL * LEADING;
            let hand = Hand { is_turned: true, ..hand(LABEL, INK) };
            canvas.text(line, (x - LABEL * 0.3, self.frame.y(0.5)), hand);
        }
        let mut y = self.frame.bottom + TICK + self.names.height + GAP;
        for line in &self.x_label {
            y += LABEL * LEADING;
            canvas.text(line, (middle, y - LABEL * 0.3), hand(LABEL, INK));
        }
        let mut y = self.height - MARGIN - height(&self.note, NOTE);
        for line in &self.note {
            y += NOTE * LEADING;
            let hand = Hand { anchor: Anchor::Start, ..hand(NOTE, PALE_INK) };
            canvas.text(line, (MARGIN, y), hand);
        }
    }

    /// Steps and lines of both axes; `across` is none where columns have names.
    fn draw_grid(&self, canvas: &mut Canvas, across: Option<&Scale>) {
        let Frame { left, right, top, bottom } = self.frame;
        let line = |colour| Stroke { colour, width: 1.0, dash: "" };
        for (scale, is_across) in
            across.map(|scale| (scale, true)).into_iter().chain([(&self.up, false)])
        {
            let between = scale.between.iter().map(|&at| (at, FAINT_GRID));
            let steps = scale.steps.iter().map(|&(at, _)| (at, GRID));
            for (value, colour) in between.chain(steps) {
                let ends = if is_across {
                    let x = self.frame.x(scale.place(value));
                    [(x, top), (x, bottom)]
                } else {
                    let y = self.frame.y(scale.place(value));
                    [(left, y), (right, y)]
                };
                canvas.lines(&ends, line(colour));
            }
        }
        for (value, text) in &self.up.steps {
            let y = self.frame.y(self.up.place(*value));
            canvas.lines(&[(left - TICK, y), (left, y)], line(INK));
            let hand = Hand { anchor: Anchor::End, ..hand(STEP, INK) };
            canvas.text(text, (left - TICK - GAP / 2.0, y + STEP * 0.35), hand);
        }
        for (value, text) in across.iter().flat_map(|scale| &scale.steps) {
            let x = self.frame.x(across.map_or(0.0, |scale| scale.place(*value)));
            canvas.lines(&[(x, bottom), (x, bottom + TICK)], line(INK));
            canvas.text(text, (x, bottom + TICK + STEP * 1.1), hand(STEP, INK));
        }
        self.draw_box(canvas);
    }

    fn draw_box(&self, canvas: &mut Canvas) {
        let Frame { left, right, top, bottom } = self.frame;
        let line = Stroke { colour: INK, width: 1.0, dash: "" };
        canvas.lines(&[(left, top), (left, bottom), (right, bottom)], line);
    }
}

impl Names {
    /// Upright where each fits above its column in a few lines.
    fn of(columns: &[(f64, String)], slot: f64) -> Self {
        const LINES_MAX: usize = 3;
        let wrapped: Option<Vec<_>> = columns
            .iter()
            .map(|(_, name)| words::wrapped_whole(name, STEP, slot - 6.0, LINES_MAX))
            .collect();
        if let Some(lines) = wrapped {
            let most = lines.iter().map(Vec::len).max().unwrap_or(0);
            return Self { lines, are_turned: false, height: most as f64 * STEP * LEADING };
        }
        let lines_max = (slot / (STEP * LEADING)).floor().max(1.0) as usize;
        let turned = |(_, name): &(f64, String)| {
            let whole = words::wrapped_whole(name, STEP, TURNED_MAX, lines_max);
            whole.unwrap_or_else(|| vec![words::cut(name, STEP, TURNED_MAX)])
        };
        let lines: Vec<_> = columns.iter().map(turned).collect();
        let widths =
            lines.iter().flatten().map(|line| canvas::text_width(line, STEP) * words::SLACK);
        let height = widths.fold(0.0, f64::max) + GAP;
        Self { lines, are_turned: true, height }
    }

    fn draw(&self, canvas: &mut Canvas, frame: Frame) {
        let slot = 1.0 / self.lines.len() as f64;
        // Where there are more columns than lines of text fit, some of them have no name.
        let every = (STEP * LEADING / (slot * (frame.right - frame.left))).ceil() as usize;
        let every = if self.are_turned { every.max(1) } else { 1 };
        for (column, lines) in self.lines.iter().enumerate().step_by(every) {
            let x = frame.x((column as f64 + 0.5) * slot);
            let mut y = frame.bottom + TICK;
            // The middle of all its lines is that of the column.
            let mut across = x + STEP * 0.35 - (lines.len() as f64 - 1.0) * STEP * LEADING / 2.0;
            for line in lines {
                if self.are_turned {
                    let hand = Hand { is_turned: true, anchor: Anchor::End, ..hand(STEP, INK) };
                    canvas.text(line, (across, y), hand);
                    across += STEP * LEADING;
                } else {
                    y += STEP * LEADING;
                    canvas.text(line, (x, y - STEP * 0.2), hand(STEP, INK));
                }
            }
        }
    }
}

/// Under a figure with something at its upper edge.
const NEVER_NOTE: &str = "An arrow at the upper edge: never. Too many had no good reply.";

fn has_never(figure: &Figure) -> bool {
    let dots = figure.series.iter().flat_map(|series| &series.points);
    figure.shape != Shape::Stack && dots.into_iter().any(|dot| dot.y == f64::INFINITY)
}

fn left_out_note(many: usize, figure: &Figure) -> String {
    let values = if many == 1 { "value is" } else { "values are" };
    let is_logarithmic = figure.x.is_logarithmic || figure.y.is_logarithmic;
    let why = match (figure.shape, is_logarithmic) {
        (Shape::Stack, _) => "no number, or below zero",
        (_, true) => "no number, or not above zero on a logarithmic axis",
        (_, false) => "no number, or beyond all that can be measured",
    };
    format!("{many} {values} not drawn: {why}. The table of numbers has all.")
}

fn hand(size: f64, colour: canvas::Colour) -> Hand {
    Hand { size, colour, anchor: Anchor::Middle, is_turned: false }
}

fn height(lines: &[String], size: f64) -> f64 {
    lines.len() as f64 * size * LEADING
}

/// The spread, if both ends have a place and differ.
fn spread_of(dot: &Dot, axis: &Axis) -> Option<(f64, f64)> {
    let (low, high) = (placed_up(dot.spread.0, axis)?, placed_up(dot.spread.1, axis)?);
    (low < high).then_some((low, high))
}

/// The lowest and the highest that are finite.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |extent, value| {
        let (low, high) = extent.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Of bars: what is written under the column at `x`.
pub(super) fn name_of(figure: &Figure, x: f64) -> String {
    bars::name(&figure.x, x)
}
