//! What does it cost a server to turn a client away?

use super::frame;
use super::refusal_costs as costs;
use super::refusal_syns as syns;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;
use crate::subject::Subject;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "refusal",
    paper: "",
    is_as_in_papers: false,
    question: "what does it cost to turn a client away, and what do SYNs alone do to a server?",
    ignores: &["disk", "memory-percent"],
    plan,
    sections,
};

fn plan(setup: &Setup, known: &Known<'_>) -> Plan {
    let subjects = setup.subjects(&costs::SUBJECTS);
    let of_costs = Plan { specs: costs::specs(EXPERIMENT.name, setup, &subjects), later_s: 0.0 };
    syns::plan(&syns::design(EXPERIMENT.name, setup), known).after(of_costs)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let (name, design) = (EXPERIMENT.name, syns::design(EXPERIMENT.name, setup));
    let subjects = setup.subjects(&costs::SUBJECTS);
    let mut answer = costs::answer(name, known, &subjects);
    answer.extend(syns::answer(&design, known));
    let more = design.subjects.iter().filter(|of| !subjects.contains(of)).cloned();
    let all: Vec<Subject> = subjects.iter().cloned().chain(more).collect();
    vec![Section {
        question: vec![costs::question(), syns::question()],
        answer,
        figures: vec![costs::figure(name, known, &subjects), syns::figure(&design, known)],
        tables: vec![costs::table(name, known, &subjects), syns::table(&design, known)],
        ..frame::section(&EXPERIMENT, "What refusing costs", known, &all)
    }]
}
