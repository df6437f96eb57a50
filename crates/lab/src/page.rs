//! What a report shows, as values: experiments make them of points, whoever
//! draws them knows nothing of experiments.

use std::collections::BTreeMap;

/// A whole page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Over all of it.
    pub title: String,
    /// The answer first: paragraphs under the title.
    pub summary: Vec<String>,
    /// One for each question.
    pub sections: Vec<Section>,
    /// What the reader has to know of the machine, the versions, the testbed: a table each.
    pub facts: Vec<(String, BTreeMap<String, String>)>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// What names files: small letters, digits and hyphens.
    pub name: String,
    /// Over it.
    pub title: String,
    /// What is asked, and how it was measured: paragraphs.
    pub question: Vec<String>,
    /// What came out, in words: paragraphs.
    pub answer: Vec<String>,
    /// What a paper reports beside what was measured here.
    pub comparisons: Vec<Comparison>,
    /// In this order, before the tables.
    pub figures: Vec<Figure>,
    /// In this order.
    pub tables: Vec<Table>,
    /// Points that do not count, each in a line with the reason.
    pub excluded: Vec<String>,
    /// So that a reader can do the same by hand.
    pub commands: Vec<String>,
    /// What other programs are to read, beside the page: names and texts.
    pub files: Vec<(String, String)>,
}

/// What a figure of a paper shows, and what was measured here.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// `Brecht04 figure 8`.
    pub of: String,
    /// What the paper reports.
    pub paper: String,
    /// What was measured here.
    pub here: String,
    /// Whether the direction is the same.
    pub agrees: Agreement,
}

/// Whether what was measured points where the paper does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Differences are within the spread, or points are missing.
    Open,
}

/// Curves over one axis, or bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What names its files, within the section.
    pub name: String,
    /// Over it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Curves or bars.
    pub shape: Shape,
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A curve for each series, with the spread of each of its points.
    Curves,
    /// The same, where the spread is the interval that has the median in 19 of 20 cases.
    Estimates,
    /// For each x, whose values are named by [`Axis::names`], a group of bars side by side.
    Bars,
    /// For each x, whose values are named, one bar of all series on top of each other.
    Stack,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What it counts.
    pub label: String,
    /// In which unit; empty: a pure number.
    pub unit: String,
    /// Whether each step is a factor.
    pub is_logarithmic: bool,
    /// Of bars: the names of x = 0, 1, 2 and so on.
    pub names: Vec<String>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// In the legend.
    pub label: String,
    /// By x, upwards.
    pub points: Vec<Dot>,
    /// A reference, drawn in grey and dashed: what is asked for, or a paper's own figure.
    pub is_reference: bool,
}

/// One value with its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// Where.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// The lowest and the highest of the repeats, or of [`Shape::Estimates`] the ends of the
    /// interval; both the median where there was but one.
    pub spread: (f64, f64),
    /// What a reader has to see at it.
    pub mark: Mark,
}

/// What is drawn at a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A plain one.
    Plain,
    /// Verification failed: a cross in red.
    Failed,
    /// Its repeats differ too much: an open circle.
    Unstable,
}

/// Rows and columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Over it.
    pub title: String,
    /// Of the columns, units included.
    pub head: Vec<String>,
    /// As many cells each as `head`.
    pub rows: Vec<Vec<String>>,
    /// Under it.
    pub notes: Vec<String>,
}

impl Table {
    /// Without the columns in which nothing is known of any row; the first one stays.
    pub fn drop_empty_columns(&mut self) {
        let is_told = |cell: &String| !cell.is_empty() && cell != NONE;
        let is_kept: Vec<bool> = (0..self.head.len())
            .map(|column| {
                column == 0 || self.rows.iter().any(|row| row.get(column).is_some_and(is_told))
            })
            .collect();
        let keep = |cells: &mut Vec<String>| {
            let mut kept = is_kept.iter();
            cells.retain(|_| *kept.next().unwrap_or(&true));
        };
        keep(&mut self.head);
        self.rows.iter_mut().for_each(keep);
    }
}

/// What stands in a cell of which nothing is known.
pub const NONE: &str = "-";
