//! The numbers of a figure, for readers who cannot see it or want them exact.

use super::{figure, numbers};
use crate::page::{Dot, Figure, Mark, Shape, Table};

/// A row for each x, a column for each series.
pub(super) fn of(figure: &Figure) -> Table {
    let label = |label: &str| if label.is_empty() { String::from("–") } else { label.into() };
    let mut head = vec![label(&figure::label_of(&figure.x))];
    head.extend(figure.series.iter().map(|series| label(&series.label)));
    let mut xs: Vec<f64> =
        figure.series.iter().flat_map(|series| &series.points).map(|dot| dot.x).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup_by(|one, other| one.total_cmp(other).is_eq());
    let rows = xs.into_iter().map(|x| {
        let name = match figure.shape {
            Shape::Curves | Shape::Estimates => numbers::shown(x),
            Shape::Bars | Shape::Stack => figure::name_of(figure, x),
        };
        let cells = figure.series.iter().map(|series| {
            let dots = series.points.iter().filter(|dot| dot.x.total_cmp(&x).is_eq());
            dots.map(cell).collect::<Vec<_>>().join("; ")
        });
        std::iter::once(name).chain(cells).collect()
    });
    let rows = rows.collect();
    let title = format!("Numbers: {}", figure::label_of(&figure.y));
    Table { title, head, rows, notes: Vec::new() }
}

fn cell(dot: &Dot) -> String {
    let (low, high) = dot.spread;
    let spread = match low == high || low.is_nan() || high.is_nan() {
        true => String::new(),
        false => format!(" ({} to {})", numbers::shown(low), numbers::shown(high)),
    };
    let mark = match dot.mark {
        Mark::Plain => "",
        Mark::Failed => ", failed",
        Mark::Unstable => ", unstable",
    };
    format!("{}{spread}{mark}", numbers::shown(dot.y))
}
