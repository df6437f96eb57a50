//! Series as curves, with spreads and marks.

use super::canvas::{Canvas, Point};
use super::{Across, Ends, Frame, Scale, extent, numbered, palette, placed, placed_up, spread_of};
use crate::page::{Dot, Figure, Mark, Series};

/// References are shown up to so much above all that was measured; a line of what was asked for
/// would else press the rest to the ground.
const REFERENCE_ROOM: f64 = 1.25;

/// Both, and how many values have no place on them.
pub(super) fn scales(figure: &Figure) -> (Across, Scale, usize) {
    let dots = |is_reference| {
        let of = figure.series.iter().filter(move |series| series.is_reference == is_reference);
        of.flat_map(|series| &series.points)
    };
    let heights = |is_reference| {
        let dots = dots(is_reference).filter(|dot| place(figure, dot).is_some());
        extent(dots.flat_map(|dot| {
            let (low, high) = spread_of(dot, &figure.y).unwrap_or((dot.y, dot.y));
            [low, dot.y, high]
        }))
    };
    let all = dots(false).chain(dots(true));
    let left_out = all.clone().filter(|dot| place(figure, dot).is_none()).count();
    let along = extent(all.filter_map(|dot| Some(place(figure, dot)?.0)));
    let up = match (heights(false), heights(true)) {
        (Some((low, high)), Some((low_asked, high_asked))) => {
            let is_cut = !figure.y.is_logarithmic && low_asked < high * REFERENCE_ROOM;
            let asked = if is_cut { high_asked.min(high * REFERENCE_ROOM) } else { high_asked };
            Some((low.min(low_asked), high.max(asked)))
        }
        (measured, asked) => measured.or(asked),
    };
    let up_scale = Scale::of(up.unwrap_or((1.0, 1.0)), &figure.y, Ends::Steps);
    let across = match along {
        Some(along) => Across::Values(Scale::of(along, &figure.x, Ends::Values)),
        None => Across::Nothing,
    };
    (across, up_scale, left_out)
}

/// References below, then lines, then marks, so that no line crosses one; those that are not plain
/// last, so that none hides them.
pub(super) fn draw(canvas: &mut Canvas, figure: &Figure, frame: Frame, across: &Scale, up: &Scale) {
    let at = |x: f64, y: f64| (frame.x(across.place(x)), frame.y(up.place(y)));
    for series in figure.series.iter().filter(|series| series.is_reference) {
        for run in runs(figure, series) {
            for piece in below(&run, up) {
                let piece: Vec<Point> = piece.iter().map(|&(x, y)| at(x, y)).collect();
                canvas.lines(&piece, palette::REFERENCE_STROKE);
            }
        }
    }
    let measured: Vec<_> = numbered(figure).filter(|(_, series)| !series.is_reference).collect();
    for &(number, series) in &measured {
        for run in runs(figure, series).iter().filter(|run| run.len() > 1) {
            let run: Vec<Point> = run.iter().map(|&(x, y)| at(x, y)).collect();
            canvas.lines(&run, palette::stroke(number));
        }
    }
    let is_plain = |dot: &&Dot| dot.mark == Mark::Plain;
    for &(number, series) in &measured {
        for dot in series.points.iter().filter(is_plain) {
            mark(canvas, figure, number, dot, &at);
        }
    }
    for &(number, series) in &measured {
        for dot in series.points.iter().filter(|dot| !is_plain(dot)) {
            mark(canvas, figure, number, dot, &at);
        }
    }
}

/// With its spread.
fn mark(
    canvas: &mut Canvas,
    figure: &Figure,
    number: usize,
    dot: &Dot,
    at: &impl Fn(f64, f64) -> Point,
) {
    let Some((x, y)) = place(figure, dot) else { return };
    let middle = at(x, y);
    if let Some((low, high)) = spread_of(dot, &figure.y) {
        let ends = (at(x, low).1, at(x, high).1);
        palette::spread(canvas, middle.0, ends, palette::colour(number));
    }
    match dot.mark {
        Mark::Plain | Mark::Unstable if y == f64::INFINITY => {
            palette::never(canvas, middle, palette::colour(number));
        }
        Mark::Plain => palette::mark(canvas, middle, number),
        Mark::Unstable => palette::unstable(canvas, middle, palette::colour(number)),
        Mark::Failed => palette::failed(canvas, middle),
    }
}

fn place(figure: &Figure, dot: &Dot) -> Option<Point> {
    Some((placed(dot.x, &figure.x)?, placed_up(dot.y, &figure.y)?))
}

/// Points that a line joins: a value that failed is none to lead a line through, and where a value
/// has no place there is a gap.
fn runs(figure: &Figure, series: &Series) -> Vec<Vec<Point>> {
    let places = series.points.iter().map(|dot| match dot.mark {
        Mark::Plain | Mark::Unstable => place(figure, dot),
        Mark::Failed => None,
    });
    let places: Vec<Option<Point>> = places.collect();
    let runs = places.split(Option::is_none);
    runs.filter(|run| !run.is_empty()).map(|run| run.iter().copied().flatten().collect()).collect()
}

/// The pieces of `run` that are on the scale: a line ends at its upper edge.
fn below(run: &[Point], up: &Scale) -> Vec<Vec<Point>> {
    let (_, edge) = up.ends();
    let mut pieces = vec![Vec::new()];
    for pair in run.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let crossing = (x0 + (x1 - x0) * ((edge - y0) / (y1 - y0)).clamp(0.0, 1.0), edge);
        let Some(piece) = pieces.last_mut() else { break };
        match (up.holds(y0), up.holds(y1)) {
            (true, true) => piece.extend([(x0, y0), (x1, y1)]),
            (true, false) => {
                piece.extend([(x0, y0), crossing]);
                pieces.push(Vec::new());
            }
            (false, true) => piece.extend([crossing, (x1, y1)]),
            (false, false) => {}
        }
    }
    for piece in &mut pieces {
        piece.dedup();
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}
