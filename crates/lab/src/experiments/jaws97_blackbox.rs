//! Which web server is fastest for a number of clients at a time? (JAWS97 figures 2 to 5, and 18 to
//! 21 with JAWS itself.)
//!
//! The paper has Apache, PHTTPD, the Java Server, Netscape Enterprise, Zeus and JAWS on an ATM
//! network of 155 Mbit/s. Here are their descendants and successors by their architecture: Apache
//! with processes, Apache with threads and events, nginx and lighttpd as Zeus' heirs, and `mt`,
//! which is JAWS' thread pool.

use super::frame;
use super::frame::Rival::{Any, Every, One};
use super::jaws97::{self, At, Claim, OPTIMISED};
use crate::claim::Says::{Less, More};
use crate::closed::Closed;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::Setup;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "jaws97-blackbox",
    paper: "JAWS97 figures 2 to 5 and 18 to 21",
    is_as_in_papers: true,
    question: "which server is fastest for 1 to 42 clients at a time?",
    ignores: &["disk", "memory-percent"],
    plan: |setup, _| closed(setup).plan(),
    sections,
};

/// All but JAWS.
const SERVERS: [&str; 9] = [
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

/// The servers of others: who was the best of them is for the figures to say.
const PEERS: [&str; 5] = ["apache-prefork", "apache-event", "nginx", "lighttpd", "h2o"];

/// All but those that stand for Enterprise and for Zeus.
const OTHERS: [&str; 7] =
    ["sped", "amped", "proactor", "apache-prefork", "apache-event", "lighttpd", "h2o"];

fn closed(setup: &Setup) -> Closed {
    let all = [&SERVERS[..], &[OPTIMISED]].concat();
    jaws97::closed(EXPERIMENT.name, setup, setup.subjects(&all))
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let closed = closed(setup);
    let mut question = jaws97::question(&closed);
    question.push(String::from(
        "Servers of today stand for those of 1997 by their architectures: apache-prefork for \
         Apache with processes, nginx for Zeus' few processes with a loop each, mt for the threads \
         of Enterprise, and mt with JAWS' pool of 20 threads for JAWS; for the best servers of its \
         time all that are not Weir's. Nothing here is like the Java Server. Figure 11 is a \
         drawing of JAWS' classes: there is nothing to measure.",
    ));
    vec![Section {
        question,
        answer: jaws97::answer(&closed, known, &NAMES),
        comparisons: jaws97::comparisons(&closed, known, &NAMES, &CLAIMS),
        figures: jaws97::black_box(&closed, known, &NUMBERS),
        ..frame::section(
            &EXPERIMENT,
            "Servers by the number of clients (JAWS97)",
            known,
            &closed.subjects,
        )
    }]
}

const NUMBERS: [&str; 4] =
    ["figures 2 and 18", "figures 3 and 19", "figures 4 and 20", "figures 5 and 21"];

const NAMES: [(&str, &str); 1] = [(OPTIMISED, "mt as JAWS")];

pub(super) const CLAIMS: [Claim; 15] = [
    Claim {
        figure: "JAWS97 figure 2",
        paper: "the processes of Apache have the lowest throughput",
        of: ("apache-prefork", At::Most),
        to: (Every(&SERVERS), At::Most),
        says: Less,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 2",
        paper: "multi-threaded Enterprise consistently has the highest throughput",
        of: ("mt", At::Most),
        to: (Every(&SERVERS), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 2",
        paper: "Zeus does quite well too: here, beside Apache",
        of: ("nginx", At::Most),
        to: (One("apache-prefork"), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 2",
        paper: "with one client at a time the throughput is low: here, that of Zeus",
        of: ("nginx", At::Few),
        to: (One("nginx"), At::Most),
        says: Less,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 3",
        paper: "Enterprise completes the most connections",
        of: ("mt", At::Most),
        to: (Every(&SERVERS), At::Most),
        says: More,
        metric: &metric::CONNECTIONS,
    },
    Claim {
        figure: "JAWS97 figure 3",
        paper: "Zeus follows it: more than all others",
        of: ("nginx", At::Most),
        to: (Every(&OTHERS), At::Most),
        says: More,
        metric: &metric::CONNECTIONS,
    },
    Claim {
        figure: "JAWS97 figure 4",
        paper: "the more clients, the less throughput has each: here, those of Zeus",
        of: ("nginx", At::Most),
        to: (One("nginx"), At::Few),
        says: Less,
        metric: &metric::CLIENT_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 4",
        paper: "servers with a high throughput give it to their clients: here, Zeus beside Apache",
        of: ("nginx", At::Most),
        to: (One("apache-prefork"), At::Most),
        says: More,
        metric: &metric::CLIENT_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 5",
        paper: "latency grows with the clients: here, that of Apache",
        of: ("apache-prefork", At::Most),
        to: (One("apache-prefork"), At::Few),
        says: More,
        metric: &metric::CLIENT_LATENCY,
    },
    Claim {
        figure: "JAWS97 figure 5",
        paper: "it is the highest with Apache's processes",
        of: ("apache-prefork", At::Most),
        to: (Every(&SERVERS), At::Most),
        says: More,
        metric: &metric::CLIENT_LATENCY,
    },
    Claim {
        figure: "JAWS97 figure 18",
        paper: "under heavy load JAWS has more throughput than the best servers of its time",
        of: (OPTIMISED, At::Most),
        to: (Every(&PEERS), At::Most),
        says: More,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 18",
        paper: "under light load the best server (Enterprise) has more throughput than JAWS",
        of: (OPTIMISED, At::Few),
        to: (Any(&PEERS), At::Few),
        says: Less,
        metric: &metric::SERVER_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 19",
        paper: "under heavy load JAWS completes more connections than the best servers",
        of: (OPTIMISED, At::Most),
        to: (Every(&PEERS), At::Most),
        says: More,
        metric: &metric::CONNECTIONS,
    },
    Claim {
        figure: "JAWS97 figure 20",
        paper: "under heavy load JAWS' clients have more throughput",
        of: (OPTIMISED, At::Most),
        to: (Every(&PEERS), At::Most),
        says: More,
        metric: &metric::CLIENT_MBIT,
    },
    Claim {
        figure: "JAWS97 figure 21",
        paper: "under heavy load JAWS' clients have less latency",
        of: (OPTIMISED, At::Most),
        to: (Every(&PEERS), At::Most),
        says: Less,
        metric: &metric::CLIENT_LATENCY,
    },
];
