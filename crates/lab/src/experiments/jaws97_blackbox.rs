//! Which web server is fastest for a number of clients at a time? (JAWS97 figures 2 to 5, and 18 to
//! 21 with JAWS itself.)
//!
//! The paper has Apache, PHTTPD, the Java Server, Netscape Enterprise, Zeus and JAWS on an ATM
//! network of 155 Mbit/s. Here are their descendants and successors by their architecture: Apache
//! with processes, Apache with threads and events, nginx and lighttpd as Zeus' heirs, and `mt`,
//! which is JAWS' thread pool.

use super::jaws97;
use crate::closed::Closed;
use crate::curves;
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-blackbox",
    paper: "JAWS97 figures 2 to 5 and 18 to 21",
    question: "which server is fastest for 1 to 42 clients at a time?",
    plan,
    sections,
};

const SUBJECTS: [&str; 9] = [
    "mt",
    "sped",
    "amped",
    "proactor",
    "apache-prefork",
    "apache-event",
    "nginx",
    "lighttpd",
    "h2o",
];

fn closed(setup: &Setup) -> Closed {
    jaws97::closed(EXPERIMENT.name, setup, setup.subjects(&SUBJECTS))
}

fn plan(setup: &Setup, _: &Known<'_>) -> Plan {
    closed(setup).plan()
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let closed = closed(setup);
    let of = |name: &str| closed.subjects.iter().find(|of| of.name == name);
    let ratio = |a: &str, b: &str, metric| jaws97::ratio(&closed, known, (of(a)?, of(b)?), metric);
    let times = |ratio: f64| format!("{} times as much", curves::number(ratio));
    let comparisons = vec![
        jaws97::compared(
            "JAWS97 figures 2 and 3",
            "the processes of Apache have the least throughput and the fewest connections of all",
            false,
            ratio("apache-prefork", "nginx", &metric::CONNECTIONS),
            |ratio| format!("Apache's processes have {} of nginx' connections", times(ratio)),
        ),
        jaws97::compared(
            "JAWS97 figure 5",
            "latency grows with the number of clients, most of all with Apache's processes",
            true,
            ratio("apache-prefork", "nginx", &metric::CLIENT_LATENCY),
            |ratio| format!("with Apache's processes it is {} that of nginx", times(ratio)),
        ),
        jaws97::compared(
            "JAWS97 figures 18 to 21",
            "JAWS, a tuned pool of threads, outperforms the best servers of its time",
            true,
            ratio("mt", "nginx", &metric::CONNECTIONS),
            |ratio| format!("mt has {} of nginx' connections", times(ratio)),
        ),
    ];
    vec![Section {
        name: EXPERIMENT.name.into(),
        title: String::from("Servers by the number of clients (JAWS97)"),
        question: vec![String::from(
            "So many clients ask for WebStone's files (500 bytes to 5 MB), one request on each \
             connection, and again when they are answered.",
        )],
        answer: Vec::new(),
        comparisons,
        figures: jaws97::black_box(&closed, known),
        tables: Vec::new(),
        excluded: curves::excluded(known, EXPERIMENT.name),
        commands: curves::commands(known, EXPERIMENT.name, &closed.subjects),
    }]
}
