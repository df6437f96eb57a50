//! What does it cost a server to turn a client away?

use super::frame;
use super::refusal_costs as costs;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "refusal",
    paper: "",
    is_as_in_papers: false,
    question: "what does it cost to turn a client away, and what do SYNs alone do to a server?",
    ignores: &[],
    plan,
    sections,
};

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    let subjects = setup.subjects(&costs::SUBJECTS);
    Plan { specs: costs::specs(EXPERIMENT.name, setup, &subjects), later_s: 0.0 }
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let subjects = setup.subjects(&costs::SUBJECTS);
    vec![Section {
        question: vec![costs::question()],
        answer: costs::answer(EXPERIMENT.name, known, &subjects),
        figures: vec![costs::figure(EXPERIMENT.name, known, &subjects)],
        tables: vec![costs::table(EXPERIMENT.name, known, &subjects)],
        ..frame::section(&EXPERIMENT, "What refusing costs", known, &subjects)
    }]
}
