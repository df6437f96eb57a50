//! How many connections should be taken at a time if each of them has more to ask? (Brecht04
//! figures 2 to 7, 14 and 17.)
//!
//! The paper's SPECweb99-like workload (6.1): sessions of 7.2 requests on the average over one
//! connection each, and a set of files that is in memory.

use super::brecht04::{self, At, Claim, Part};
use crate::claim::Says::{Alike, Less, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::Section;
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "brecht04-specweb99",
    paper: "Brecht04 figures 2 to 7, 14 and 17",
    is_as_in_papers: true,
    question: "how many connections should be taken at a time when each asks for several files?",
    ignores: &["workload", "disk", "memory-percent"],
    plan: |setup, known| design(setup).plan(known),
    sections,
};

const PART: Part = Part {
    experiment: &EXPERIMENT,
    title: "Accept-limits with sessions",
    workload: "the SPECweb99-like workload",
    figures: [("sped", 2, 3), ("knot", 4, 5), ("tux", 6, 7)],
    versus: 14,
    claims: &CLAIMS,
};

/// Of one processor, what the server's processes have: replies of 15 KB cost the client as much as
/// the server.
const QUOTA_PERCENT: u32 = 20;

/// The whole set is in memory there (6.1): here a smaller one, of 50 MB, which is made and cached
/// sooner.
const DIRS: u32 = 10;

fn design(setup: &Setup) -> Design {
    let load = Load {
        workload: String::from("specweb99"),
        seconds: setup.seconds(4.0),
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 30.0 } else { 2.0 })),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    // Sessions of this paper do not think (Pariag07 3.2 brought that in).
    let load = load.with("dirs", DIRS).with("think", "none");
    // The contents of some replies: a client that looks at all of them would be the limit.
    let load = load.with("verified", 0.05);
    let load = load.with("patience", setup.patience_s(1.0));
    brecht04::design(EXPERIMENT.name, setup, load, QUOTA_PERCENT)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let mut section = brecht04::section(&PART, &design, known);
    let title =
        String::from("Mean response times under the SPECweb99-like workload (Brecht04 figure 17)");
    let response = brecht04::over_targets(&design, known, ("response", title), &metric::RESPONSE);
    section.figures.push(response);
    vec![section]
}

pub(super) const CLAIMS: [Claim; 17] = [
    Claim {
        figure: "Brecht04 figure 2",
        paper: "at 30,000 requests/s the µserver answers 39 % more with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "at 30,000 requests/s the µserver accepts 1,571 clients/s with Inf, 1,127 with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::ACCEPT_RATE,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 3",
        paper: "the µserver drops fewer connections with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 4",
        paper: "more than 1 does not improve Knot: with 100 its performance suffers",
        of: ("knot", "100"),
        to: ("knot", "1"),
        says: Less,
        metric: &metric::REPLIES,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "at 20,000 requests/s Knot accepts 240 % faster with 100 than with 1",
        of: ("knot", "100"),
        to: ("knot", "1"),
        says: More,
        metric: &metric::ACCEPT_RATE,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 5",
        paper: "Knot has significantly fewer queue drops with 50 and 100 than with 1",
        of: ("knot", "100"),
        to: ("knot", "1"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 6",
        paper: "TUX answers 19 % more with 1 than with Inf at 14,500 requests/s",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 7",
        paper: "from 12,000 to 15,000 requests/s TUX has fewer queue drops with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 14",
        paper: "TUX with Inf answers up to 28 % more than the µserver with 1 (30,000 requests/s)",
        of: ("tux", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 14",
        paper: "the µserver with Inf compares quite favourably with TUX with Inf",
        of: ("sped", "inf"),
        to: ("tux", "inf"),
        says: Alike,
        metric: &metric::REPLIES,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 17",
        paper: "in overload the µserver's mean response times are higher with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::RESPONSE,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 17",
        paper: "in overload TUX has lower mean response times with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: &metric::RESPONSE,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 figure 6",
        paper: "TUX' peak is 12 % higher with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Peak,
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "TUX has many more accept phases with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::PHASES,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "that is by more than the connections of each go down: TUX accepts faster with 1 \
                than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::EQUATION_1,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "the µserver has more accept phases with 1 than with Inf, too",
        of: ("sped", "1"),
        to: ("sped", "inf"),
        says: More,
        metric: &metric::PHASES,
        at: At::Load(2.0),
    },
    Claim {
        figure: "Brecht04 6.1",
        paper: "there that is by less than the connections of each go down: it accepts slower \
                with 1",
        of: ("sped", "1"),
        to: ("sped", "inf"),
        says: Less,
        metric: &metric::EQUATION_1,
        at: At::Load(2.0),
    },
];
