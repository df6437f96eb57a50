//! What a figure is drawn on: as SVG, or as the pixels of a PNG, by the same calls.
//!
//! Lengths are in points of a figure that is [`WIDTH`](super::WIDTH) of them wide. plotters' own
//! coordinates are whole numbers, so each point is [`FINE`] of its; the pixels are then averaged
//! down to [`PIXELS`] for each point, which smooths them too.

use std::sync::Once;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle,
    register_font,
};

use crate::report::text;

/// Steps of plotters for each point.
const FINE: u32 = 4;
/// Pixels for each point, in each direction.
const PIXELS: u32 = 2;
/// The pixels that are averaged to one are squares of so many.
const AVERAGED: usize = (FINE / PIXELS) as usize;

/// What readers have of these three; all are as wide as the first, whose widths are reckoned with.
const FAMILY: &str = "Arimo, Arial, Helvetica, Liberation Sans, sans-serif";
/// Latin, Greek and a few signs of Arimo, so that no font of the machine is needed.
const FONT: &[u8] = include_bytes!("../font/Arimo-subset.ttf");
/// Of the font, its ascent and descent for each em: sizes of pixels are reckoned by their sum.
const EM_HEIGHT: f64 = (1854.0 + 434.0) / 2048.0;
/// plotters divides a size by this for SVG.
const SVG_SIZE: f64 = 1.24;
/// How far below its anchor plotters puts the base line of a text in SVG, in em.
const SVG_TOP: f64 = 0.76;

/// To the right and downwards.
pub(super) type Point = (f64, f64);

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: RGBColor,
    pub(super) width: f64,
    /// Lengths of what is drawn and what is not, in turn; empty: all is drawn.
    pub(super) dash: &'static [f64],
}

/// Which point of a text is put at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hand {
    pub(super) size: f64,
    pub(super) colour: RGBColor,
    pub(super) anchor: Anchor,
    /// A quarter turn to the left, to be read from the right.
    pub(super) is_turned: bool,
}

pub(super) struct Canvas<'b>(Target<'b>);

enum Target<'b> {
    Svg(SVGBackend<'b>),
    Pixels(BitMapBackend<'b>),
}

/// The elements of an SVG without the outermost, which is the caller's to write.
pub(super) fn svg(size: (f64, f64), draw: impl FnOnce(&mut Canvas<'_>)) -> String {
    register();
    let (width, height) = (fine(size.0) as u32, fine(size.1) as u32);
    let mut text = String::new();
    draw(&mut Canvas(Target::Svg(SVGBackend::with_string(&mut text, (width, height)))));
    let elements = text.split_once('>').map_or("", |(_, elements)| elements);
    // What every element repeats is said once, by the outermost.
    let elements = elements
        .replace(&format!(" font-family=\"{FAMILY}\""), "")
        .replace(" opacity=\"1\"", "")
        .replace(" fill=\"none\"", "")
        .replace(" stroke=\"none\" stroke-width=\"1\"", "")
        .replace(" stroke=\"none\"", "")
        .replace(" \"/>", "\"/>")
        .replace("\">\n", "\">")
        .replace("\n</text>", "</text>");
    let elements = elements.trim_start().strip_suffix("</svg>\n").unwrap_or(&elements);
    format!(
        "viewBox=\"0 0 {width} {height}\" width=\"{}\" height=\"{}\" font-family=\"{FAMILY}\" \
         fill=\"none\" stroke-linejoin=\"round\">\n{elements}</svg>\n",
        width / FINE,
        height / FINE,
    )
}

/// A whole PNG.
pub(super) fn png(size: (f64, f64), draw: impl FnOnce(&mut Canvas<'_>)) -> Vec<u8> {
    register();
    let (width, height) = (size.0 as u32 * FINE, size.1 as u32 * FINE);
    let mut pixels = vec![u8::MAX; width as usize * height as usize * 3];
    draw(&mut Canvas(Target::Pixels(BitMapBackend::with_buffer(&mut pixels, (width, height)))));
    let pixels = averaged(&pixels, width as usize * 3);
    let mut file = Vec::new();
    let of = (width / FINE * PIXELS, height / FINE * PIXELS);
    let mut encoder = png::Encoder::new(&mut file, of.0, of.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Balanced);
    let written = encoder.write_header().and_then(|mut image| image.write_image_data(&pixels));
    written.expect("a file in memory takes all pixels of its size");
    file
}

fn averaged(pixels: &[u8], row_bytes: usize) -> Vec<u8> {
    let mut small = Vec::with_capacity(pixels.len() / (AVERAGED * AVERAGED));
    for rows in pixels.chunks_exact(row_bytes * AVERAGED) {
        for at in (0..row_bytes).step_by(3 * AVERAGED) {
            for colour in 0..3 {
                let square = (0..AVERAGED * AVERAGED).map(|part| {
                    let (row, column) = (part / AVERAGED, part % AVERAGED);
                    u32::from(rows[row * row_bytes + at + column * 3 + colour])
                });
                small.push((square.sum::<u32>() / (AVERAGED * AVERAGED) as u32) as u8);
            }
        }
    }
    small
}

impl Canvas<'_> {
    /// A line through all of them.
    pub(super) fn lines(&mut self, points: &[Point], stroke: Stroke) {
        for piece in dashes(points, stroke.dash) {
            match &mut self.0 {
                Target::Svg(to) => {
                    drawn(to.draw_path(piece.iter().map(|&at| fine_point(at)), &shape(stroke)));
                }
                // plotters joins pieces in a spike where they turn sharply; discs join them round.
                Target::Pixels(to) => {
                    for pair in piece.windows(2) {
                        let ends = pair.iter().map(|&at| fine_point(at));
                        drawn(to.draw_path(ends, &shape(stroke)));
                    }
                    let radius = fine(stroke.width / 2.0) as u32;
                    for joint in piece.windows(3) {
                        drawn(to.draw_circle(fine_point(joint[1]), radius, &stroke.colour, true));
                    }
                }
            }
        }
    }

    /// What is within them.
    pub(super) fn area(&mut self, corners: &[Point], colour: RGBColor) {
        let corners = corners.iter().map(|&at| fine_point(at));
        match &mut self.0 {
            Target::Svg(to) => drawn(to.fill_polygon(corners, &colour)),
            Target::Pixels(to) => drawn(to.fill_polygon(corners, &colour)),
        }
    }

    /// From the corner on the upper left.
    pub(super) fn bar(&mut self, from: Point, to: Point, colour: RGBColor) {
        let (from, to) = (fine_point(from), fine_point(to));
        match &mut self.0 {
            Target::Svg(on) => drawn(on.draw_rect(from, to, &colour, true)),
            Target::Pixels(on) => drawn(on.draw_rect(from, to, &colour, true)),
        }
    }

    /// A filled circle.
    pub(super) fn disc(&mut self, middle: Point, radius: f64, colour: RGBColor) {
        let (middle, radius) = (fine_point(middle), fine(radius) as u32);
        match &mut self.0 {
            Target::Svg(to) => drawn(to.draw_circle(middle, radius, &colour, true)),
            Target::Pixels(to) => drawn(to.draw_circle(middle, radius, &colour, true)),
        }
    }

    /// `at` is on the base line. The two ways of drawing put texts at different heights and have
    /// different sizes: here they are made the same.
    pub(super) fn text(&mut self, text: &str, at: Point, hand: Hand) {
        let (drop, size) = match self.0 {
            Target::Svg(_) => (SVG_TOP * hand.size, hand.size * SVG_SIZE),
            Target::Pixels(_) => (EM_HEIGHT / 2.0 * hand.size, hand.size * EM_HEIGHT),
        };
        let at = if hand.is_turned { (at.0 - drop, at.1) } else { (at.0, at.1 - drop) };
        let style = style(size * f64::from(FINE), hand);
        let text = &text::clean(text);
        match &mut self.0 {
            Target::Svg(to) => drawn(to.draw_text(text, &style, fine_point(at))),
            Target::Pixels(to) => drawn(to.draw_text(text, &style, fine_point(at))),
        }
    }
}

/// How long `text` is when written in `size`.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    /// plotters tells whole steps.
    const EXACT: f64 = 100.0;
    register();
    let font = FontDesc::new(FontFamily::Name(FAMILY), EXACT * EM_HEIGHT, FontStyle::Normal);
    let ((left, _), (right, _)) = font.layout_box(text).expect("the font is registered");
    f64::from(right - left) * size / EXACT
}

/// Pieces of a line, each of two points or more.
fn dashes(points: &[Point], dash: &[f64]) -> Vec<Vec<Point>> {
    if dash.is_empty() {
        return vec![points.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece = Vec::from_iter(points.first().copied());
    let mut lengths = dash.iter().copied().cycle();
    let (mut left, mut is_drawn) = (lengths.next().unwrap_or(1.0), true);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let part = gone / length;
            let at = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            if is_drawn {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            is_drawn = !is_drawn;
            left = lengths.next().unwrap_or(1.0);
        }
        left -= length - gone;
        if is_drawn {
            piece.push(to);
        }
    }
    pieces.extend((piece.len() > 1).then_some(piece));
    pieces
}

fn shape(stroke: Stroke) -> ShapeStyle {
    let stroke_width = (stroke.width * f64::from(FINE)).round().max(1.0) as u32;
    ShapeStyle { color: stroke.colour.into(), filled: false, stroke_width }
}

fn style(size: f64, hand: Hand) -> TextStyle<'static> {
    let across = match hand.anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    };
    let turn = if hand.is_turned { FontTransform::Rotate270 } else { FontTransform::None };
    let font = FontDesc::new(FontFamily::Name(FAMILY), size, FontStyle::Normal).transform(turn);
    let pos = Pos::new(across, VPos::Top);
    TextStyle { font, color: hand.colour.to_backend_color(), pos }
}

fn fine(length: f64) -> i32 {
    (length * f64::from(FINE)).round() as i32
}

fn fine_point(at: Point) -> (i32, i32) {
    (fine(at.0), fine(at.1))
}

fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let done = register_font(FAMILY, FontStyle::Normal, FONT);
        assert!(done.is_ok(), "the font in this crate is one");
    });
}

fn drawn<E: std::fmt::Debug>(result: Result<(), E>) {
    result.expect("memory takes what is drawn, and the font is registered");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_round_corners() {
        let corner = [(0.0, 0.0), (3.0, 0.0), (3.0, 4.0)];
        let rows: [(&[f64], Vec<Vec<Point>>); 3] = [
            (&[], vec![corner.to_vec()]),
            (
                &[5.0, 1.0],
                vec![vec![(0.0, 0.0), (3.0, 0.0), (3.0, 2.0)], vec![(3.0, 3.0), (3.0, 4.0)]],
            ),
            (&[2.0, 9.0], vec![vec![(0.0, 0.0), (2.0, 0.0)]]),
        ];
        for (dash, expected) in rows {
            assert_eq!(dashes(&corner, dash), expected, "{dash:?}");
        }
    }
}
