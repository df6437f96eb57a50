//! Queue drops by class (Brecht04 6.3).

use super::{AUTO, At, LIMIT, at, policy};
use crate::design::Design;
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::{Axis, Dot, Figure, Series, Shape};

/// Drops by class, on top of each other, of the accept-limits 1 and Inf (figure 16), and of what
/// tunes itself.
pub(in super::super) fn drops_by_class(
    design: &Design,
    known: &Known<'_>,
    multiples: &[f64],
) -> Figure {
    let mut columns: Vec<(String, &Cell<'_>)> = Vec::new();
    for &multiple in multiples {
        for of in &design.subjects {
            let is_shown = |at: &&String| ["1", "inf", AUTO].contains(&&***at);
            let Some(limit) = of.knobs.get(LIMIT).filter(is_shown) else { continue };
            let Some(policy) = policy(of) else { continue };
            let cell = at(design, known, (&of.name, limit), At::Load(multiple));
            columns.extend(cell.map(|cell| (format!("{policy} at {multiple}"), cell)));
        }
    }
    let series = metric::DROP_CLASSES.iter().map(|class| {
        let dots = columns.iter().enumerate().filter_map(|(x, (_, cell))| {
            let dot = cell.dot(x as f64, class)?;
            Some(Dot { spread: (dot.y, dot.y), ..dot })
        });
        Series { label: class.label.into(), points: dots.collect(), is_reference: false }
    });
    Figure {
        name: String::from("classes"),
        title: String::from("Queue drops by class (Brecht04 figure 16)"),
        x: Axis {
            label: String::from("policy, and multiple of the capacity"),
            names: columns.iter().map(|(name, _)| name.clone()).collect(),
            ..Axis::default()
        },
        y: Axis {
            label: String::from("queue drops"),
            unit: String::from("drops/s"),
            ..Axis::default()
        },
        series: series.collect(),
        shape: Shape::Stack,
    }
}
