//! What the paper says of its figures, and what became of it.

use super::claims::CLAIMS;
use super::fills::{AS_SAID, FILLS, Fill};
use super::{
    At, CHARTS, Chart, MODELS, Over, REPEATS, Said, Than, advantage, chart_named, full, judged,
    memory,
};
use crate::claim::{self, Beside};
use crate::curves::number;
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::{Agreement, Comparison, Table};
use crate::setup::Setup;

/// Where in a chart something is said, each once.
pub(super) fn places(chart: &Chart) -> Vec<At> {
    let mut places = Vec::new();
    for claim in CLAIMS {
        let theirs = if claim.there.is_empty() { &[claim.chart][..] } else { claim.there };
        let own = (claim.chart == chart.name).then_some(claim.of);
        let others = claim.beside.iter().copied().filter(|_| theirs.contains(&chart.name));
        let of_advantage = match &claim.than {
            Than::Advantage(of) => of.cells(claim).to_vec(),
            Than::Others | Than::FullDisk => Vec::new(),
        };
        let of_advantage = of_advantage.into_iter().filter(|(name, _)| *name == chart.name);
        let of_advantage = of_advantage.map(|(_, at)| at);
        for at in own.into_iter().chain(others).chain(of_advantage) {
            if !places.contains(&at) {
                places.push(at);
            }
        }
    }
    places
}

/// Each beside what was simulated with that fill.
fn comparisons(setup: &Setup, known: &Known<'_>, fill: &Fill) -> Vec<Comparison> {
    let of = |name: &str, at: At| chart_named(name).cell((setup, known), at, fill);
    let advantages = advantage::points(CLAIMS, of);
    let advantages = Known::of(&advantages);
    let full = full::points(CLAIMS, of);
    let full = Known::of(&full);
    let side = |name: &str, at: At| {
        let Chart { title, over, .. } = chart_named(name);
        (format!("{} with {} ({title})", at.0, over.named(at.1)), of(name, at))
    };
    let figures: Vec<String> = CLAIMS.iter().map(Said::place).collect();
    let compared = CLAIMS.iter().zip(&figures).map(|(claim, figure)| {
        let (one, others) = match &claim.than {
            Than::Advantage(advantage) => {
                let [one, other] = advantage.sides(claim, &advantages);
                (one, vec![other])
            }
            Than::FullDisk => (side(claim.chart, claim.of), vec![full::side(claim, &full)]),
            Than::Others => {
                let there = if claim.there.is_empty() { &[claim.chart][..] } else { claim.there };
                let others =
                    there.iter().flat_map(|name| claim.beside.iter().map(|at| side(name, *at)));
                (side(claim.chart, claim.of), others.collect())
            }
        };
        claim::Claim {
            figure,
            paper: claim.paper,
            says: claim.says,
            metric: claim.metric,
            at: String::from(", simulated"),
            one,
            beside: Beside::Every,
            others,
        }
    });
    claim::judged(&compared.collect::<Vec<_>>())
}

/// All that the paper says, of memory first.
pub(super) fn whole(setup: &Setup, known: &Known<'_>, fill: &Fill) -> Vec<Comparison> {
    [memory::comparisons(fill), comparisons(setup, known, fill)].concat()
}

/// What each claim comes to with each fill, and which of them decide.
pub(super) fn deciding(setup: &Setup, known: &Known<'_>) -> Table {
    let base = whole(setup, known, &AS_SAID);
    let fills: Vec<&Fill> = FILLS.iter().filter(|fill| is_whole(setup, known, fill)).collect();
    let all: Vec<_> = fills.iter().map(|fill| whole(setup, known, fill)).collect();
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
             some fills and not with others. By default is among \"all others\". What differs by \
             less than 5 % is open, whatever the number of replications. A fill that was not \
             simulated whole is left out.",
        )],
    }
}

/// Whether all that is judged was simulated with that fill: otherwise it decides nothing.
pub(super) fn is_whole(setup: &Setup, known: &Known<'_>, fill: &Fill) -> bool {
    let has_all = |cell: &Cell<'_>| {
        cell.points().count() + cell.in_vain().len() >= setup.repeats(REPEATS) as usize
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

    /// Verdicts are looked up by them, for docs/papers.md.
    #[test]
    fn no_two_claims_have_the_same_place_and_words() {
        let mut all: Vec<_> = super::super::said().collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

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
