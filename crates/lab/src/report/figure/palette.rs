//! Colours, dashes and marks: a series is told from another by at least two of them, so that
//! neither a print in grey nor an eye that sees no red against green loses any.

use super::canvas::{Canvas, Colour, Point, Stroke};

/// What carries no meaning.
pub(super) const PAPER: Colour = Colour(0xFF, 0xFF, 0xFF);
/// Texts and axes.
pub(super) const INK: Colour = Colour(0x22, 0x22, 0x22);
/// Texts that matter less, and references.
pub(super) const PALE_INK: Colour = Colour(0x66, 0x66, 0x66);
/// Lines at the steps of an axis.
pub(super) const GRID: Colour = Colour(0xD9, 0xD9, 0xD9);
/// Lines between them.
pub(super) const FAINT_GRID: Colour = Colour(0xEE, 0xEE, 0xEE);
/// Of references among bars.
pub(super) const REFERENCE: Colour = Colour(0xB0, 0xB0, 0xB0);
/// Of a failed verification.
pub(super) const FAILED: Colour = Colour(0xC8, 0x00, 0x1E);
/// On dark and on light bars.
pub(super) const ON_DARK: Colour = Colour(0xFE, 0xFE, 0xFE);
pub(super) const ON_LIGHT: Colour = Colour(0x11, 0x11, 0x11);

const BLACK: Colour = Colour(0x1A, 0x1A, 0x1A);
/// What it is where it fills: on dark paper lines turn light, but what carries a number stays dark.
const SOFT_BLACK: Colour = Colour(0x3C, 0x3C, 0x3C);

/// Okabe and Ito's, without the yellow, which is not seen on white; dark and light in turn, so that
/// neighbours differ in grey.
const COLOURS: [Colour; 7] = [
    Colour(0x00, 0x72, 0xB2),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0x56, 0xB4, 0xE9),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0xCC, 0x79, 0xA7),
    BLACK,
];

/// One for each round through the colours.
const DASHES: [&str; 3] = ["", "7 3", "2 2.5"];

/// As many as [`mark`] knows.
const MARKS: usize = 7;

/// Of references.
pub(super) const REFERENCE_STROKE: Stroke = Stroke { colour: PALE_INK, width: 1.25, dash: "4 3" };

/// The colour of the series with this number among those that are no reference.
pub(super) fn colour(series: usize) -> Colour {
    COLOURS[series % COLOURS.len()]
}

/// The same for what is filled, where there are no dashes: each round is lighter.
pub(super) fn fill(series: usize) -> Colour {
    let round = (series / COLOURS.len()).min(DASHES.len() - 1) as u16;
    let lighter = |part: u8| (255 - (255 - u16::from(part)) * 5 / (5 + 6 * round)) as u8;
    let Colour(red, green, blue) = match colour(series) {
        BLACK => SOFT_BLACK,
        other => other,
    };
    Colour(lighter(red), lighter(green), lighter(blue))
}

/// What is read on `fill`.
pub(super) fn ink_on(Colour(red, green, blue): Colour) -> Colour {
    let light = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    if light > 128_000 { ON_LIGHT } else { ON_DARK }
}

/// Its line.
pub(super) fn stroke(series: usize) -> Stroke {
    Stroke {
        colour: colour(series),
        width: 1.75,
        dash: DASHES[series / COLOURS.len() % DASHES.len()],
    }
}

/// Its mark. A cross stays for what failed and an open circle for what is unstable.
pub(super) fn mark(canvas: &mut Canvas, (x, y): Point, series: usize) {
    let colour = colour(series);
    let corners = |of: &[Point]| of.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
    // Each round begins with another mark, so that no colour meets its own again.
    match (series + 3 * (series / COLOURS.len())) % MARKS {
        0 => canvas.disc((x, y), 3.75, colour),
        1 => canvas.bar((x - 3.25, y - 3.25), (x + 3.25, y + 3.25), colour),
        2 => canvas.area(&corners(&[(0.0, -4.75), (4.5, 3.5), (-4.5, 3.5)]), colour),
        3 => {
            let diamond = [(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)];
            canvas.area(&corners(&diamond), colour);
        }
        4 => canvas.area(&corners(&[(0.0, 4.75), (4.5, -3.5), (-4.5, -3.5)]), colour),
        5 => {
            canvas.bar((x - 4.75, y - 1.5), (x + 4.75, y + 1.5), colour);
            canvas.bar((x - 1.5, y - 4.75), (x + 1.5, y + 4.75), colour);
        }
        _ => {
            let star: Vec<Point> = (0..10)
                .map(|corner| {
                    let angle = f64::from(corner) * std::f64::consts::PI / 5.0;
                    let radius = if corner % 2 == 0 { 5.75 } else { 2.5 };
                    (radius * angle.sin(), -radius * angle.cos())
                })
                .collect();
            canvas.area(&corners(&star), colour);
        }
    }
}

/// An open circle.
pub(super) fn unstable(canvas: &mut Canvas, at: Point, colour: Colour) {
    canvas.disc(at, 4.75, colour);
    canvas.disc(at, 3.0, PAPER);
}

/// An arrow upwards, at the upper edge.
pub(super) fn never(canvas: &mut Canvas, (x, y): Point, colour: Colour) {
    canvas.area(&[(x, y - 6.0), (x + 4.5, y + 1.5), (x - 4.5, y + 1.5)], colour);
    canvas.bar((x - 1.25, y + 1.5), (x + 1.25, y + 9.0), colour);
}

/// A red cross.
pub(super) fn failed(canvas: &mut Canvas, (x, y): Point) {
    let stroke = Stroke { colour: FAILED, width: 2.25, dash: "" };
    canvas.lines(&[(x - 4.5, y - 4.5), (x + 4.5, y + 4.5)], stroke);
    canvas.lines(&[(x - 4.5, y + 4.5), (x + 4.5, y - 4.5)], stroke);
}

/// From the lower to the upper end of a spread.
pub(super) fn spread(canvas: &mut Canvas, x: f64, (low, high): (f64, f64), colour: Colour) {
    const CAP: f64 = 2.75;
    let ends =
        [(x - CAP, low), (x + CAP, low), (x, low), (x, high), (x - CAP, high), (x + CAP, high)];
    canvas.lines(&ends, Stroke { colour, width: 1.0, dash: "" });
}
