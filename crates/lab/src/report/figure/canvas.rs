//! What a figure is drawn on: the elements of an SVG.
//!
//! Lengths are in points of a figure that is [`WIDTH`](super::WIDTH) of them wide.

use std::fmt::{self, Display, Write as _};

use crate::report::text;

/// What readers have of these three; all are as wide as the first, whose widths are reckoned with.
const FAMILY: &str = "Arimo, Arial, Helvetica, Liberation Sans, sans-serif";

/// Of the signs from the space to `~` in those fonts, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Of letters beyond them, and of all else.
const LETTER_WIDTH: u16 = 600;
const SIGN_WIDTH: u16 = 1000;

/// To the right and downwards.
pub(super) type Point = (f64, f64);

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: Colour,
    pub(super) width: f64,
    /// Lengths of what is drawn and what is not, in turn; empty: all is drawn.
    pub(super) dash: &'static str,
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
    pub(super) colour: Colour,
    pub(super) anchor: Anchor,
    /// A quarter turn to the left, to be read from the right.
    pub(super) is_turned: bool,
}

/// The elements, one a line.
#[derive(Debug, Default)]
pub(super) struct Canvas(String);

/// A whole document, which tells those who cannot see it what it is.
pub(super) fn svg(size: Point, told: &str, draw: impl FnOnce(&mut Canvas)) -> String {
    let mut canvas = Canvas::default();
    draw(&mut canvas);
    let (told, (width, height)) = (text::escaped(told), size);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{told}\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"{FAMILY}\" fill=\"none\" stroke-linejoin=\"round\">\n{}</svg>\n",
        canvas.0
    )
}

impl Canvas {
    /// A line through all of them.
    pub(super) fn lines(&mut self, points: &[Point], Stroke { colour, width, dash }: Stroke) {
        let dash = match dash {
            "" => String::new(),
            lengths => format!(" stroke-dasharray=\"{lengths}\""),
        };
        let points = Corners(points);
        self.put(format_args!(
            "<polyline stroke=\"{colour}\" stroke-width=\"{width}\"{dash} points=\"{points}\"/>"
        ));
    }

    /// What is within them.
    pub(super) fn area(&mut self, corners: &[Point], colour: Colour) {
        self.put(format_args!("<polygon fill=\"{colour}\" points=\"{}\"/>", Corners(corners)));
    }

    /// From the corner on the upper left.
    pub(super) fn bar(&mut self, from: Point, to: Point, colour: Colour) {
        let (x, y) = (short(from.0), short(from.1));
        let (width, height) = (short(to.0 - from.0), short(to.1 - from.1));
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// A filled circle.
    pub(super) fn disc(&mut self, (x, y): Point, radius: f64, colour: Colour) {
        let (x, y) = (short(x), short(y));
        self.put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>"));
    }

    /// `at` is on the base line.
    pub(super) fn text(&mut self, text: &str, (x, y): Point, hand: Hand) {
        let Hand { size, colour, anchor, is_turned } = hand;
        let (x, y, text) = (short(x), short(y), text::escaped(text));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = match is_turned {
            true => format!(" transform=\"rotate(270 {x} {y})\""),
            false => String::new(),
        };
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor} fill=\"{colour}\"{turn}>\
             {text}</text>"
        ));
    }

    fn put(&mut self, element: fmt::Arguments<'_>) {
        writeln!(self.0, "{element}").expect("a string takes all");
    }
}

/// How long `text` is when written in `size`.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        ' '..='~' => WIDTHS[c as usize - ' ' as usize],
        ..'\u{2000}' => LETTER_WIDTH,
        _ => SIGN_WIDTH,
    };
    f64::from(text.chars().map(|c| u32::from(width(c))).sum::<u32>()) * size / 1000.0
}

/// A quarter of a point is as fine as a screen shows it.
fn short(length: f64) -> f64 {
    // Zero has no sign.
    (length * 4.0).round() / 4.0 + 0.0
}

struct Corners<'p>(&'p [Point]);

impl Display for Corners<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, &(x, y)) in self.0.iter().enumerate() {
            let space = if at > 0 { " " } else { "" };
            write!(f, "{space}{},{}", short(x), short(y))?;
        }
        Ok(())
    }
}

impl Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}
