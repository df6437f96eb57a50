//! Loads that are measured one beside another and known by their stage: in which order, and for
//! each a group of bars and rows of a table.

use crate::curves;
use crate::design::Plan;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{Axis, Figure, Series, Shape, Table};
use crate::spec::Spec;
use crate::subject::Subject;

/// An experiment with its stages, in their order.
pub(super) struct Stages<'k, 'e> {
    pub(super) experiment: &'static str,
    /// As they stand in specs, and as readers see them.
    pub(super) stages: &'e [(&'static str, &'static str)],
    pub(super) known: &'e Known<'k>,
    pub(super) subjects: &'e [Subject],
}

/// All cases in turn, again and again: nothing depends on what comes out. Rivals under one load
/// follow each other.
pub(super) fn rounds<C>(
    repeats: u32,
    cases: &[C],
    subjects: &[Subject],
    spec: impl Fn(&C, &Subject, u32) -> Spec,
) -> Plan {
    let mut specs = Vec::new();
    for repeat in 0..repeats {
        for case in cases {
            specs.extend(subjects.iter().map(|of| spec(case, of, repeat)));
        }
    }
    Plan { specs, later_s: 0.0 }
}

/// What was measured of a subject under one of them.
pub(super) fn cell<'s, 'k>(
    known: &'s Known<'k>,
    (experiment, stage): (&str, &str),
    of: &Subject,
) -> Option<&'s Cell<'k>> {
    known.cells(experiment, stage).find(|cell| cell.subject() == of)
}

impl<'k> Stages<'k, '_> {
    fn cell(&self, stage: &str, of: &Subject) -> Option<&Cell<'k>> {
        cell(self.known, (self.experiment, stage), of)
    }

    /// A group of bars for each subject.
    pub(super) fn bars(&self, name: &str, metric: &Metric) -> Figure {
        let series = self.stages.iter().map(|(stage, title)| {
            let dots = self.subjects.iter().enumerate();
            let dots = dots.filter_map(|(x, of)| self.cell(stage, of)?.dot(x as f64, metric));
            Series { label: (*title).into(), points: dots.collect(), is_reference: false }
        });
        let x = Axis {
            label: String::from("server"),
            names: self.subjects.iter().map(Subject::label).collect(),
            ..Axis::default()
        };
        let series = series.filter(|series| !series.points.is_empty()).collect();
        Figure { shape: Shape::Bars, ..curves::figure(name, metric, x, series) }
    }

    /// A row for each subject under each load.
    pub(super) fn table(&self, metrics: &[&Metric]) -> Table {
        let mut rows = Vec::new();
        for (stage, title) in self.stages {
            for of in self.subjects {
                let Some(cell) = self.cell(stage, of).filter(|cell| curves::is_known(cell)) else {
                    continue;
                };
                let told = metrics.iter().map(|metric| curves::told(cell, metric));
                rows.push([(*title).into(), of.to_string()].into_iter().chain(told).collect());
            }
        }
        let head = ["load", "subject"].map(String::from);
        Table {
            title: String::from("All loads"),
            head: head.into_iter().chain(metrics.iter().map(|of| of.heading())).collect(),
            rows,
            notes: vec![curves::MARKS.into()],
        }
    }
}
