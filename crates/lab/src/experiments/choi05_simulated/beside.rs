//! What servers of the same names have answered on a real machine, beside what is simulated.

use super::fills::AS_SAID;
use super::{MODELS, chart_named};
use crate::compare::{self, Ratio};
use crate::curves::ratio_text;
use crate::experiments::choi05_architectures;
use crate::known::{Cell, Known};
use crate::metric;
use crate::page::Table;
use crate::setup::Setup;
use crate::simulated::PROCESSORS;

/// Charts whose traces are asked there too.
const CHARTS: [&str; 6] = ["6a", "6b", "6c", "6c-clarknet", "6d", "6d-nasa"];

/// As many as it has.
const CORES: [u32; 2] = [1, 2];

const REFERENCE: &str = "PIPELINED";

/// How many times PIPELINED's replies each model has, simulated and measured.
pub(in crate::experiments) fn table(
    setup: &Setup,
    known: &Known<'_>,
    measured: &Known<'_>,
) -> Table {
    let mut rows = Vec::new();
    for chart in CHARTS.map(chart_named) {
        for cores in CORES {
            let real = |model: &str| {
                let (_, name) = MODELS.iter().find(|(of, _)| *of == model)?;
                let is_it = |cell: &&Cell<'_>| {
                    cell.spec.experiment == choi05_architectures::EXPERIMENT.name
                        && cell.spec.load.workload == chart.trace
                        && cell.subject().name == *name
                        && cell.factor(PROCESSORS) == Some(f64::from(cores))
                };
                measured.all().iter().find(is_it)
            };
            let made = |model| chart.cell((setup, known), (model, cores), &AS_SAID);
            for (model, _) in MODELS.iter().filter(|(model, _)| *model != REFERENCE) {
                let Some(here) = ratio(real(model), real(REFERENCE)) else { continue };
                let Some(made) = ratio(made(model), made(REFERENCE)) else { continue };
                let meet =
                    if made.low <= here.high && here.low <= made.high { "yes" } else { "no" };
                let told = [cores.to_string(), (*model).into(), ratio_text(&made)];
                let told = told.into_iter().chain([ratio_text(&here), meet.into()]);
                rows.push(std::iter::once(String::from(chart.title)).chain(told).collect());
            }
        }
    }
    Table {
        title: String::from("Beside servers on a real machine"),
        head: ["trace", "processors", "model", "simulated, times PIPELINED", "measured", "meet"]
            .map(String::from)
            .into(),
        rows,
        notes: vec![String::from(
            "Replies/s of each model by those of PIPELINED, with the 95 % interval of the ratio, \
             and whether the two intervals meet. Measured is what choi05-architectures has of \
             Weir's own servers, on another machine with faster processors, with fewer files and \
             as much less memory, and with a slowed disk: of both only shares compare.",
        )],
    }
}

fn ratio(one: Option<&Cell<'_>>, other: Option<&Cell<'_>>) -> Option<Ratio> {
    Ratio::of(&one?.pairs(other?, &metric::REPLIES), compare::MISSED_SHARE)
}
