//! What can each server do, and what does it do when it is asked for more?
//!
//! The curve that every other question starts from: good replies and response times from a quarter
//! of a server's own capacity to twice of it (Banga and Druschel 1997 for why beyond; Brecht04 and
//! Pariag07 draw the same). With clients that wait one second, as people do in a flash crowd.

use super::frame;
use super::overload;
use crate::curves;
use crate::design::{Design, Plan};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "capacity",
    paper: "",
    is_as_in_papers: false,
    question: "what can each server do, and what does it do when it is asked for more?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

fn design(setup: &Setup) -> Design {
    let subjects = setup.subjects(&frame::ARCHITECTURES);
    Design {
        multiples: &[0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0],
        equal: &[0.0, 0.5],
        ..Design::of(
            EXPERIMENT.name,
            setup,
            subjects,
            (overload::load(setup, 2.0), overload::layout(setup)),
        )
    }
}

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    design(setup).plan(known)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    vec![Section {
        question: overload::question(&design),
        answer: overload::answer(&design, known),
        figures: vec![
            curves::over_rates(&design, known, "goodput", &metric::GOODPUT),
            curves::over_capacity(&design, known, "p99", &metric::P99),
        ],
        tables: vec![
            curves::table(&design, known, &curves::OF_LOAD),
            curves::at_equal_rates(&design, known),
        ],
        ..frame::section(&EXPERIMENT, "Capacity, and what comes beyond", known, &design.subjects)
    }]
}
