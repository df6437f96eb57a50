//! Does the simulator say of Weir's own servers what is measured of them?
//!
//! Three architectures on one processor, whose files are in the page cache and not in their own:
//! each reply opens and reads one of many files, so that the server is the limit and not its one
//! processor of clients, without a quota, which would leave the network's work out.
//!
//! What the simulator has to know is measured in the same run, at points that judge nothing: what
//! a reply takes of a server at a fifth and at seven tenths of its capacity. Of these two
//! parameters are made ([`crate::fitted`]). Another way has nothing made of anything: each step is
//! measured by itself. Simulated and judged in both is what the server does at a half and at nine
//! tenths, and how much it can do, which lies beyond all that parameters are made of.

mod reference;
mod specs;
mod told;
mod verdicts;
mod ways;

use sim::models::Model;

use super::frame;
use crate::design::{Plan, are_over};
use crate::experiment::Experiment;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;
use crate::spec::Spec;
use crate::subject::Subject;
use verdicts::Row;

pub(super) const KEPT: Experiment = Experiment {
    name: OF_KEPT.name,
    question: "does the simulator say of kept connections what is measured?",
    plan: |setup, known| OF_KEPT.plan(setup, known),
    sections: |setup, known| vec![OF_KEPT.section(setup, known, &KEPT)],
    ..ONE_PACKET
};

pub(super) const ONE_PACKET: Experiment = Experiment {
    name: OF_EACH.name,
    paper: "",
    is_as_in_papers: false,
    question: "does the simulator say of a connection for each request what is measured?",
    ignores: &["workload", "quota", "disk", "memory-percent"],
    plan: |setup, known| OF_EACH.plan(setup, known),
    sections: |setup, known| vec![OF_EACH.section(setup, known, &ONE_PACKET)],
};

const OF_KEPT: Validation =
    Validation { name: "validation-kept", keeps: "client", title: "1 KB on kept connections" };
const OF_EACH: Validation = Validation {
    name: "validation-one-packet",
    keeps: "request",
    title: "1 KB on a connection for each request",
};

/// One of the two.
struct Validation {
    name: &'static str,
    /// As `weir load --keeps` has it.
    keeps: &'static str,
    title: &'static str,
}

/// Who has a thread for each of its clients has no limit but its processor.
const SUBJECTS: [&str; 3] = ["sped:cache-mb=0", "mt:cache-mb=0,threads=1024", "amped:cache-mb=0"];

/// Of the capacity, where parameters are made,
const SELDOM: f64 = 0.2;
/// by either of them;
const OFTEN: f64 = 0.7;
/// and where they are judged.
const JUDGED: [f64; 2] = [0.5, 0.9];

impl Validation {
    /// First what steps cost and about where to look for capacities, then these, then rates; then
    /// what is simulated.
    fn plan(&self, setup: &Setup, known: &Known<'_>) -> Plan {
        let subjects = subjects(setup);
        let busy = [self.steps(setup, &subjects), self.all_busy(setup, &subjects)].concat();
        if !are_over(known, &busy) {
            let others_s = self.others_s(setup, subjects.len());
            return Plan { specs: busy, later_s: others_s };
        }
        let tries: Vec<Spec> =
            subjects.iter().filter_map(|of| self.next_try(setup, known, of)).collect();
        if !tries.is_empty() {
            return Plan { specs: tries, later_s: self.others_s(setup, subjects.len()) / 2.0 };
        }
        let rates = self.rates(setup, known, &subjects);
        if !are_over(known, &rates) {
            return Plan { specs: rates, later_s: 0.0 };
        }
        let simulated = subjects.iter().flat_map(|of| self.simulations(setup, known, of));
        Plan { specs: simulated.collect(), later_s: 0.0 }
    }

    fn section(&self, setup: &Setup, known: &Known<'_>, experiment: &Experiment) -> Section {
        let subjects = subjects(setup);
        let rows: Vec<Row> = subjects.iter().flat_map(|of| self.rows(setup, known, of)).collect();
        let title = format!("Simulated and measured: {}", self.title);
        let own = [verdicts::table(&rows), self.parameters(setup, known, &subjects)];
        let steps = self.by_steps_told(setup, known, &subjects);
        let mut section = Section {
            question: question(),
            answer: self.answer(setup, known, &subjects, &rows),
            tables: own.into_iter().chain(steps).collect(),
            ..frame::section(experiment, title, known, &subjects)
        };
        section.excluded.extend(self.steps_in_vain(setup, known, &subjects));
        section
    }
}

/// Those of which there is a model.
fn subjects(setup: &Setup) -> Vec<Subject> {
    let mut subjects = setup.subjects(&SUBJECTS);
    subjects.retain(|of| Model::named(&of.name).is_ok());
    subjects
}

fn question() -> Vec<String> {
    let ways = [
        "Three of Weir's architectures on one processor, asked for 2,000 files of 1 KB in turn. \
         They keep no files (cache-mb=0): each reply opens and reads its file, which is in the \
         page cache, so that the server is the limit and not the one processor of its clients. \
         They have no quota, as what the network does on the server's processor is a part of what \
         a reply takes.",
        "What the simulator has to know is measured in the same run, at points that judge \
         nothing: what a reply takes of a server at 0.2 of its capacity, where its processor has \
         to be woken for most requests, and at 0.7. A search by simulations makes two parameters \
         of these, receive and wake. What a client waits for at 0.2 of the capacity, beyond its \
         server's work, is the round trip; a switch and a hand-over are timed by themselves (weir \
         lab cost).",
        "The other way fits nothing. Each step is measured by itself, as weir lab run parameters \
         does it, in this run: what the kernel does in one call is timed (weir lab cost), and what \
         else a request takes is the difference of two loads in a closed loop, of which none \
         judges: a request of a kept file, less its bytes, its switches and its looks (receive); \
         each KiB more (transmit); a connection more, less its end and its switches (accept, \
         close); a file that is opened for its reply, less its switches and hand-overs (path-miss, \
         its name's lookup included, so that path-translation is not added to it; of AMPED it is \
         its helper's); a request more where the server sleeps (wake). A request is then receive, \
         path-miss and transmit, beside two looks; where it has a connection of its own accept and \
         close as well; and the simulator adds wakes, switches, hand-overs and calls for events as \
         they come about in it.",
        "Then the simulator says what the server does at 0.5 and 0.9 of its measured capacity: \
         replies, what each takes, and how long half of the clients wait; and how much it can do, \
         which is beyond what the parameters are made of. New clients come by chance (Poisson), \
         there and here. Replies are told by the clients at a rate that is below the capacity, so \
         that a yes there says little.",
        "Where clients are at their limit before their server is, no capacity is found. All shares \
         are then of the highest rate that they could ask for and that was answered, and the page \
         says so.",
    ];
    ways.map(String::from).into()
}
