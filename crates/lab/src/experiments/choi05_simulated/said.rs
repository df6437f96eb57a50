//! What the paper says of its figures, and what became of it.

use super::advantage::{self, ADVANTAGE, Advantage};
use super::fills::{AS_SAID, FILLS, Fill};
use super::{At, CHARTS, Chart, LOCK_WAIT, MODELS, Over, Said, chart_named, judged};
use crate::claim::{self, Beside, Says};
use crate::curves::number;
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::{Agreement, Comparison, Table};
use crate::setup::Setup;

use Says::{About, Alike, Less, More, NoMore};

const MP: &str = "MP";
const MT: &str = "MT";
const SPED: &str = "SPED";
const AMPED: &str = "AMPED";
const PIPELINED: &str = "PIPELINED";

/// All but MP, with 16.
const BUT_MP: &[At] = &[(MT, 16), (SPED, 16), (AMPED, 16), (PIPELINED, 16)];

const CLAIMS: &[Said] = &[
    mbit("5a", "beyond 100 MB MP's bandwidth drops", (MP, 150), Less, &[(MP, 80)]),
    mbit("5a", "MT's too", (MT, 150), Less, &[(MT, 80)]),
    mbit("5a", "SPED's too", (SPED, 150), Less, &[(SPED, 80)]),
    mbit("5a", "AMPED's too", (AMPED, 150), Less, &[(AMPED, 80)]),
    mbit(
        "5a",
        "MP has less than the others",
        (MP, 150),
        Less,
        &[(MT, 150), (SPED, 150), (AMPED, 150)],
    ),
    mbit("5b", "MP's bandwidth drops slowly beyond 200 clients", (MP, 500), Less, &[(MP, 200)]),
    mbit(
        "5b",
        "MP has less than the others",
        (MP, 500),
        Less,
        &[(MT, 500), (SPED, 500), (AMPED, 500)],
    ),
    said("6a", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("6a", "up to 30 % more", (PIPELINED, 16), About(130), &[(MT, 16)]),
    grows("6a", "its advantage over MT grows with processors", MT, 16, ("6a", 4)),
    grows("6a", "so does that over SPED", SPED, 16, ("6a", 4)),
    grows("6a", "so does that over AMPED", AMPED, 16, ("6a", 4)),
    said(
        "6a",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    said("6a", "SPED answers less than AMPED", (SPED, 16), Less, &[(AMPED, 16)]),
    said("6a", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6b",
        "up to 3 processors AMPED is the best: with one",
        (AMPED, 1),
        More,
        &[(MP, 1), (MT, 1), (SPED, 1), (PIPELINED, 1)],
    ),
    said(
        "6b",
        "up to 3 processors AMPED is the best: with three",
        (AMPED, 3),
        More,
        &[(MP, 3), (MT, 3), (SPED, 3), (PIPELINED, 3)],
    ),
    said(
        "6b",
        "beyond that PIPELINED is: with 16",
        (PIPELINED, 16),
        More,
        &[(MP, 16), (MT, 16), (SPED, 16), (AMPED, 16)],
    ),
    said("6b", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6c",
        "up to 8 processors SPED is level with PIPELINED",
        (SPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said(
        "6c",
        "up to 8 processors AMPED is level with PIPELINED",
        (AMPED, 8),
        Alike,
        &[(PIPELINED, 8)],
    ),
    said("6c", "beyond 9 SPED drops", (SPED, 16), Less, &[(SPED, 9), (PIPELINED, 16)]),
    said("6c", "beyond 9 AMPED drops", (AMPED, 16), Less, &[(AMPED, 9), (PIPELINED, 16)]),
    said("6c", "MT answers less than PIPELINED", (MT, 16), Less, &[(PIPELINED, 16)]),
    said("6c", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6c-clarknet",
        "Clarknet is like Penn State: MT answers less than PIPELINED",
        (MT, 16),
        Less,
        &[(PIPELINED, 16)],
    ),
    said("6c-clarknet", "MP is the worst", (MP, 16), Less, BUT_MP),
    said("6d", "MT does as well as PIPELINED", (MT, 16), Alike, &[(PIPELINED, 16)]),
    said(
        "6d",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    Said {
        there: &["6a", "6b", "6c", "6c-clarknet", "6d-nasa"],
        ..said(
            "6d",
            "most is answered with WorldCup98's trace",
            (PIPELINED, 16),
            More,
            &[(PIPELINED, 16)],
        )
    },
    said("6d", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "6d-nasa",
        "NASA is like WorldCup98: MT does as well as PIPELINED",
        (MT, 16),
        Alike,
        &[(PIPELINED, 16)],
    ),
    said("6d-nasa", "MP is the worst", (MP, 16), Less, BUT_MP),
    said("7a", "SPED has its peak at 5: 4 answer more than 16", (SPED, 4), More, &[(SPED, 16)]),
    said("7a", "and more than 1", (SPED, 4), More, &[(SPED, 1)]),
    said("7a", "AMPED has its peak at 5: 4 answer more than 16", (AMPED, 4), More, &[(AMPED, 16)]),
    said("7a", "and more than 1", (AMPED, 4), More, &[(AMPED, 1)]),
    said("7a", "MT is steady: 16 are as good as 6", (MT, 16), Alike, &[(MT, 6)]),
    said("7a", "so is PIPELINED", (PIPELINED, 16), Alike, &[(PIPELINED, 6)]),
    said(
        "7a",
        "PIPELINED is the best",
        (PIPELINED, 16),
        More,
        &[(MP, 16), (MT, 16), (SPED, 16), (AMPED, 16)],
    ),
    said("7a", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "7b",
        "PIPELINED answers more than SPED and AMPED",
        (PIPELINED, 16),
        More,
        &[(SPED, 16), (AMPED, 16)],
    ),
    said("7b", "MP is the worst", (MP, 16), Less, BUT_MP),
    said(
        "7c",
        "beyond 12 the disk is the limit of SPED: 16 answer no more",
        (SPED, 16),
        NoMore,
        &[(SPED, 12)],
    ),
    said(
        "7c",
        "beyond 12 the disk is the limit of AMPED: 16 answer no more",
        (AMPED, 16),
        NoMore,
        &[(AMPED, 12)],
    ),
    said("7c", "MP is the worst", (MP, 16), Less, BUT_MP),
    grows(
        "7b",
        "PIPELINED's advantage over SPED grows with memory, from 1 GB",
        SPED,
        16,
        ("7a", 16),
    ),
    grows("7b", "that over AMPED too", AMPED, 16, ("7a", 16)),
    grows(
        "7c",
        "PIPELINED's advantage over SPED grows with memory, from 2 GB",
        SPED,
        16,
        ("7b", 16),
    ),
    grows("7c", "that over AMPED too", AMPED, 16, ("7b", 16)),
    // Figure 7d is figure 6a.
    said("6a", "7d: with 4 GB the disk is the limit of MP alone", (MP, 16), NoMore, &[(MP, 12)]),
    grows(
        "6a",
        "7d: PIPELINED's advantage over SPED grows with memory, from 3 GB",
        SPED,
        16,
        ("7c", 16),
    ),
    grows("6a", "7d: that over AMPED too", AMPED, 16, ("7c", 16)),
    said("6a", "7d: PIPELINED answers 32 % more than MT", (PIPELINED, 16), About(132), &[(MT, 16)]),
    said("8a", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8a", "up to 12 % more", (PIPELINED, 16), About(112), &[(MT, 16)]),
    said("8b", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    grows("8b", "its advantage grows with clients, from 500", MT, 16, ("8a", 16)),
    said("8c", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8c", "by 18 %", (PIPELINED, 16), About(118), &[(MT, 16)]),
    said("8d", "PIPELINED answers more than MT", (PIPELINED, 16), More, &[(MT, 16)]),
    said("8d", "by 26 %", (PIPELINED, 16), About(126), &[(MT, 16)]),
    grows("8d", "its advantage grows with clients, from 500", MT, 16, ("8a", 16)),
    Said {
        metric: &LOCK_WAIT,
        there: &["8a"],
        ..said(
            "8d",
            "MT's threads wait longer for locks than with 500 clients",
            (MT, 16),
            More,
            &[(MT, 16)],
        )
    },
    Said {
        metric: &LOCK_WAIT,
        there: &["8a"],
        ..said("8d", "20 % longer", (MT, 16), About(120), &[(MT, 16)])
    },
    said("8d", "MP is the worst", (MP, 16), Less, BUT_MP),
];

const fn said(
    chart: &'static str,
    paper: &'static str,
    of: At,
    says: Says,
    beside: &'static [At],
) -> Said {
    Said { paper, chart, of, says, beside, metric: &metric::REPLIES, there: &[], over: None }
}

/// In what the validation of the paper is measured (5.3).
const fn mbit(
    chart: &'static str,
    paper: &'static str,
    of: At,
    says: Says,
    beside: &'static [At],
) -> Said {
    Said { metric: &metric::SERVER_MBIT, ..said(chart, paper, of, says, beside) }
}

/// PIPELINED has a greater part of what that model has than there.
const fn grows(
    chart: &'static str,
    paper: &'static str,
    over: &'static str,
    x: u32,
    there: (&'static str, u32),
) -> Said {
    let claim = said(chart, paper, (PIPELINED, x), More, &[]);
    Said { metric: &ADVANTAGE, over: Some(Advantage { over, there }), ..claim }
}

/// Where in a chart something is said, each once.
pub(super) fn places(chart: &Chart) -> Vec<At> {
    let mut places = Vec::new();
    for claim in CLAIMS {
        let theirs = if claim.there.is_empty() { &[claim.chart][..] } else { claim.there };
        let own = (claim.chart == chart.name).then_some(claim.of);
        let others = claim.beside.iter().copied().filter(|_| theirs.contains(&chart.name));
        let of_advantage = claim.over.iter().flat_map(|of| of.cells(claim));
        let of_advantage = of_advantage.filter(|(name, _)| *name == chart.name).map(|(_, at)| at);
        for at in own.into_iter().chain(others).chain(of_advantage) {
            if !places.contains(&at) {
                places.push(at);
            }
        }
    }
    places
}

/// Each beside what was simulated with that fill.
pub(super) fn comparisons(setup: &Setup, known: &Known<'_>, fill: &Fill) -> Vec<Comparison> {
    let of = |name: &str, at: At| chart_named(name).cell((setup, known), at, fill);
    let advantages = advantage::points(CLAIMS, of);
    let advantages = Known::of(&advantages);
    let side = |name: &str, at: At| {
        let Chart { title, over, .. } = chart_named(name);
        (format!("{} with {} ({title})", at.0, over.named(at.1)), of(name, at))
    };
    let figures: Vec<String> = CLAIMS
        .iter()
        .map(|claim| format!("Choi05 figure {}", chart_named(claim.chart).figure))
        .collect();
    let compared = CLAIMS.iter().zip(&figures).map(|(claim, figure)| {
        let [one, others] = match &claim.over {
            Some(advantage) => advantage.sides(claim, &advantages).map(|side| vec![side]),
            None => {
                let there = if claim.there.is_empty() { &[claim.chart][..] } else { claim.there };
                let others =
                    there.iter().flat_map(|name| claim.beside.iter().map(|at| side(name, *at)));
                [vec![side(claim.chart, claim.of)], others.collect()]
            }
        };
        claim::Claim {
            figure,
            paper: claim.paper,
            says: claim.says,
            metric: claim.metric,
            at: String::from(", simulated"),
            one: one.into_iter().next().expect("of whom it is said"),
            beside: Beside::Every,
            others,
        }
    });
    claim::judged(&compared.collect::<Vec<_>>())
}

/// What each claim comes to with each fill, and which of them decide.
pub(super) fn deciding(setup: &Setup, known: &Known<'_>) -> Table {
    let base = comparisons(setup, known, &AS_SAID);
    let fills: Vec<&Fill> = FILLS.iter().filter(|fill| is_whole(setup, known, fill)).collect();
    let all: Vec<_> = fills.iter().map(|fill| comparisons(setup, known, fill)).collect();
    // Of a sweep that was stopped nothing is decided.
    let is_decided = is_whole(setup, known, &AS_SAID) && !fills.is_empty();
    let row = |(at, claim): (usize, &Comparison)| {
        let differs = |is: Agreement| {
            let fills = fills.iter().zip(&all).filter(|(_, of)| of[at].agrees == is);
            fills.map(|(fill, _)| fill.name).collect::<Vec<_>>().join("; ")
        };
        let verdict =
            |is: Agreement| if claim.agrees == is { "all others".into() } else { differs(is) };
        vec![
            claim.of.replace("Choi05 figure ", ""),
            claim.paper.clone(),
            match is_decided {
                true => decided(claim.agrees, all.iter().map(|of| of[at].agrees)).into(),
                false => NOT_WHOLE.into(),
            },
            verdict(Agreement::Yes),
            verdict(Agreement::No),
            verdict(Agreement::Open),
        ]
    };
    Table {
        title: String::from("Which fill decides"),
        head: ["figure", "claim", "so", "yes with", "no with", "open with"]
            .map(String::from)
            .into(),
        rows: base.iter().enumerate().map(row).collect(),
        notes: vec![String::from(
            "Yes, or no: by default, and whatever is changed, but where it is open. Only if: with \
             some fills and not with others. By default is among \"all others\". Fills have four \
             replications and the default six, so that more is open with them. What differs by \
             less than 5 % is open, too, whatever the number of replications. A fill that was not \
             simulated whole is left out.",
        )],
    }
}

/// Whether all that is judged was simulated with that fill: otherwise it decides nothing.
pub(super) fn is_whole(setup: &Setup, known: &Known<'_>, fill: &Fill) -> bool {
    let has_all = |cell: &Cell<'_>| {
        cell.points().count() + cell.in_vain().len() >= fill.repeats(setup) as usize
    };
    CHARTS.iter().all(|chart| {
        let mut cells = judged(chart, setup, fill).map(|at| chart.cell((setup, known), at, fill));
        cells.all(|cell| cell.is_some_and(has_all))
    })
}

const NOT_WHOLE: &str = "not simulated whole";

/// What stands by default may only be left open by a fill. What is open by default a fill can tell,
/// of itself alone.
fn decided(base: Agreement, fills: impl Iterator<Item = Agreement> + Clone) -> &'static str {
    let has = |is| base == is || fills.clone().any(|of| of == is);
    match (base, has(Agreement::Yes), has(Agreement::No)) {
        (_, true, true) => "only if",
        (Agreement::Yes, ..) => "yes",
        (Agreement::No, ..) => "no",
        (Agreement::Open, true, false) => "open; yes with some",
        (Agreement::Open, false, true) => "open; no with some",
        (Agreement::Open, false, false) => "open",
    }
}

/// The most with 16 processors, in each chart.
pub(super) fn answer(setup: &Setup, known: &Known<'_>) -> Vec<String> {
    let place = |chart: &Chart| {
        let cell = |model| chart.cell((setup, known), (model, 16), &AS_SAID);
        let replies = |cell: &Cell<'_>| Some(cell.judged(&metric::REPLIES)?.median);
        let told =
            MODELS.iter().filter_map(|(model, _)| Some((*model, cell(*model).and_then(replies)?)));
        let mut told: Vec<(&str, f64)> = told.collect();
        told.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all: Vec<_> =
            told.iter().map(|(model, replies)| format!("{model} {}", number(*replies))).collect();
        let all = all.join("; ");
        (!told.is_empty()).then(|| {
            format!("{}, 16 processors, simulated replies/s, the most first: {all}.", chart.title)
        })
    };
    let over_processors = |chart: &&Chart| chart.over == Over::Processors;
    CHARTS.iter().filter(over_processors).filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::Agreement::{No, Open, Yes};
    use super::*;

    #[test]
    fn a_fill_decides_what_it_changes() {
        for (base, fills, expected) in [
            (Yes, &[Yes, Open][..], "yes"),
            (Yes, &[Yes, No], "only if"),
            (No, &[Open, No], "no"),
            (No, &[Yes], "only if"),
            (Open, &[Open], "open"),
            (Open, &[Open, Yes], "open; yes with some"),
            (Open, &[No], "open; no with some"),
            (Open, &[No, Yes], "only if"),
        ] {
            assert_eq!(decided(base, fills.iter().copied()), expected, "{base:?} {fills:?}");
        }
    }
}
