//! How many connections should be taken at a time in a flood of new clients? (Brecht04 figures 8 to
//! 13, 15 and 16.)
//!
//! The paper's one-packet workload (6.2): each client asks for one small file on a connection of
//! its own, as in the flood of the news sites in September 2001.

use super::brecht04::{self, At, Claim, Part};
use crate::claim::Says::{Alike, Less, More};
use crate::design::Design;
use crate::experiment::Experiment;
use crate::known::Known;
use crate::metric;
use crate::page::{Agreement, Comparison, Section};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "brecht04-one-packet",
    paper: "Brecht04 figures 8 to 13, 15 and 16",
    is_as_in_papers: true,
    question: "how many connections should be taken at a time in a flood of new clients?",
    ignores: &["workload", "disk", "memory-percent"],
    plan: |setup, known| design(setup).plan(known),
    sections,
};

const PART: Part = Part {
    experiment: &EXPERIMENT,
    title: "Accept-limits in a flood of new clients",
    workload: "the one-packet workload",
    figures: [("sped", 8, 9), ("knot", 12, 13), ("tux", 10, 11)],
    versus: 15,
    claims: &CLAIMS,
};

/// Of one processor, what the server's processes have.
const QUOTA_PERCENT: u32 = 20;

/// 24,000, 27,000 and 30,000 requests/s were so much of the 21,500 at which accept-limit-Inf began
/// to drop connections.
const SELECTED: [f64; 3] = [1.1, 1.25, 1.5];

fn design(setup: &Setup) -> Design {
    let load = Load {
        workload: String::from("one-packet"),
        seconds: setup.seconds(2.0),
        // As long as clients wait: until then those who came first are still to be answered.
        warm_up: setup.warm_up(WarmUp::Fixed(if setup.is_paper { 15.0 } else { 1.0 })),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    let load = load.with("patience", setup.patience_s(1.0));
    brecht04::design(EXPERIMENT.name, setup, load, QUOTA_PERCENT)
}

fn sections(setup: &Setup, known: &Known<'_>) -> Vec<Section> {
    let design = design(setup);
    let mut section = brecht04::section(&PART, &design, known);
    section.comparisons.push(Comparison {
        of: String::from("Brecht04 figure 16"),
        paper: String::from(
            "at 24,000 requests/s the µserver with Inf has far fewer DropRequests than with 1",
        ),
        here: String::from(
            "Linux today bounds the SYN queue by the backlog and answers with cookies beyond: \
             there are no DropRequests",
        ),
        agrees: Agreement::Open,
    });
    section.figures.push(brecht04::drops_by_class(&design, known, &SELECTED));
    vec![section]
}

pub(super) const CLAIMS: [Claim; 25] = [
    Claim {
        figure: "Brecht04 figure 8",
        paper: "at 30,000 requests/s the µserver answers 71 % more with Inf than with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 8",
        paper: "the µserver's peak is slightly higher with 10 (22,000 replies/s) than with Inf",
        of: ("sped", "10"),
        to: ("sped", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Peak,
    },
    Claim {
        figure: "Brecht04 figure 8",
        paper: "the µserver's peak is 13 % higher with 10 than with 1 (19,500 replies/s)",
        of: ("sped", "10"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Peak,
    },
    Claim {
        figure: "Brecht04 figure 9",
        paper: "with 10 there are few queue drops up to 23,000 requests/s, with Inf many from \
                21,500 on",
        of: ("sped", "10"),
        to: ("sped", "inf"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 16",
        paper: "from 24,000 to 30,000 requests/s Inf drops fewer connections in all than 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 figure 16",
        paper: "at 24,000 requests/s Inf has more AcceptQFull than 1, as it takes in bursts",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: metric::DROP_CLASSES[1],
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 6.3",
        paper: "at 24,000 requests/s: 12,507 getevents calls/s with 1, and 267 with Inf",
        of: ("sped", "1"),
        to: ("sped", "inf"),
        says: More,
        metric: &metric::GETEVENTS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 6.3",
        paper: "at 24,000 requests/s a work phase has 184.9 connections with Inf, 3.6 with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::WORK,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 12",
        paper: "Knot answers 32 % more with 50 than with 1 at 14,000 requests/s, 24 % at 30,000",
        of: ("knot", "50"),
        to: ("knot", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 figure 12",
        paper: "beyond saturation Knot with 100 falls far behind Knot with 50",
        of: ("knot", "100"),
        to: ("knot", "50"),
        says: Less,
        metric: &metric::REPLIES,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 13",
        paper: "from 15,000 requests/s on Knot drops slightly fewer with 50 than with 1",
        of: ("knot", "50"),
        to: ("knot", "1"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 figure 10",
        paper: "TUX answers 36 % more with 1 than with Inf at 23,000 requests/s",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 11",
        paper: "TUX with 1 has the fewest queue drops",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 15",
        paper: "TUX with Inf answers up to 84 % more than the µserver with 1 (30,000 requests/s)",
        of: ("tux", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 15",
        paper: "the µserver with Inf compares quite favourably with TUX with Inf",
        of: ("sped", "inf"),
        to: ("tux", "inf"),
        says: Alike,
        metric: &metric::REPLIES,
        at: At::Load(1.5),
    },
    Claim {
        figure: "Brecht04 figure 16",
        paper: "at 24,000 requests/s TUX with 1 drops far fewer connections than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: &metric::DROPS,
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 16",
        paper: "TUX with 1 mostly has fewer AcceptQFull",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: Less,
        metric: metric::DROP_CLASSES[1],
        at: At::Load(1.1),
    },
    Claim {
        figure: "Brecht04 figure 12",
        paper: "Knot's peak is 17 % higher with 50 (14,000 replies/s) than with 1",
        of: ("knot", "50"),
        to: ("knot", "1"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Peak,
    },
    Claim {
        figure: "Brecht04 figure 10",
        paper: "TUX' peak is 14 % higher with 1 (22,998 replies/s) than with Inf (20,194)",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::REPLIES,
        at: At::Peak,
    },
    Claim {
        figure: "Brecht04 slides",
        paper: "at 26,000 requests/s an accept phase of the µserver takes 112 with Inf, 1 with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::C_AVG,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 slides",
        paper: "at 26,000 requests/s a work phase of the µserver has 886 connections with Inf, 22 \
                with 1",
        of: ("sped", "inf"),
        to: ("sped", "1"),
        says: More,
        metric: &metric::WORK,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 slides",
        paper: "at 26,000 requests/s the µserver asks for events 184,322 times with 1, 5,201 with \
                Inf",
        of: ("sped", "1"),
        to: ("sped", "inf"),
        says: More,
        metric: &metric::GETEVENTS,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 slides",
        paper: "at 26,000 requests/s an accept phase of TUX takes 407 with Inf, 1 with 1",
        of: ("tux", "inf"),
        to: ("tux", "1"),
        says: More,
        metric: &metric::C_AVG,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 slides",
        paper: "at 26,000 requests/s a work phase of TUX has 10,740 connections with Inf, 48 with \
                1",
        of: ("tux", "inf"),
        to: ("tux", "1"),
        says: More,
        metric: &metric::WORK,
        at: At::Load(1.25),
    },
    Claim {
        figure: "Brecht04 6.2",
        paper: "as with sessions, TUX accepts faster with 1 than with Inf",
        of: ("tux", "1"),
        to: ("tux", "inf"),
        says: More,
        metric: &metric::ACCEPT_RATE,
        at: At::Load(1.1),
    },
];
