//! Points that are simulated: the machine, its server and its clients are those of [`sim`].
//!
//! A repeat is a replication with draws of its own, the same for all rivals. They depend on nothing
//! that this machine does, so that as many run beside each other as it has processors.

use std::collections::BTreeMap;
use std::thread;

use load::choices::Choices;
use load::collector::results::Results;
use load::workload::settings::Settings;
use measure::Duration;
use sim::clients::Sessions;
use sim::models::Model;
use sim::parameters::Parameters;
use sim::point::{Course, replicate};
use sim::resources::memory::Warm;
use sim::run::{FIGURES, Run};
use sim::scenario::Scenario;
use sim::warm::Caches;

use crate::Failure;
use crate::point::{Point, Verdict};
use crate::spec::Spec;

/// Factors of one.
pub const PROCESSORS: &str = "processors";
/// Without the kernel's.
pub const MEMORY_MB: &str = "memory-mb";

/// Flags of its load, beside those of its workload and the parameters that are not as shipped.
pub const CLIENTS: &str = "clients";
/// How many repeats there are to be.
pub const REPLICATIONS: &str = "replications";
/// Of all that is drawn; not there: `FIRST_SEED`.
pub const SEED: &str = "seed";

/// What is simulated. Caches are warmed once for all that begin from the same and follow each
/// other; repeats that were run beside one that was asked for are kept until they are.
#[derive(Default)]
pub struct Simulations {
    warm: Option<(Caches, Warm)>,
    /// Of the spec with that key.
    ahead: (String, BTreeMap<u32, Run>),
    /// One for each that runs at a time, of the last workload and its settings.
    workloads: Vec<Sessions>,
    of: Option<(String, Settings)>,
}

impl Simulations {
    /// Simulates what a spec asks for.
    ///
    /// # Errors
    /// The operator's: there is no such model, workload, knob or parameter, or memory is too small.
    pub fn simulate(&mut self, spec: &Spec, point: &mut Point) -> Result<(), Failure> {
        let scenario = scenario(spec, point.attempt).map_err(Failure::Operator)?;
        let key = format!("{} {}", point.attempt, spec.key());
        if self.ahead.0 != key {
            self.ahead = (key, BTreeMap::new());
        }
        if !self.ahead.1.contains_key(&spec.repeat) {
            self.run_some(spec, &scenario)?;
        }
        let run = self.ahead.1.remove(&spec.repeat).expect("it was run just now");
        let figures = FIGURES.iter().map(|figure| (figure.name.into(), figure.of(&run)));
        point.counters = figures.collect();
        point.counted_s = (scenario.warm_up + scenario.measured).as_secs_f64();
        if let Err(why) = run.judge() {
            point.verdict = Verdict::Invalid(vec![why]);
        }
        // What size a file has changes nothing that is told, and would be most of a line.
        point.load = Some(Results { kinds: Vec::new(), ..run.results });
        Ok(())
    }

    fn workload(&mut self, scenario: &Scenario) -> Result<Sessions, Failure> {
        let of = (scenario.workload.clone(), scenario.settings.clone());
        if self.of.as_ref() != Some(&of) {
            (self.of, self.workloads) = (Some(of), Vec::new());
        }
        let made = || scenario.workload().map_err(Failure::Operator);
        self.workloads.pop().map_or_else(made, Ok)
    }

    /// This repeat and the next ones, as many as there are processors.
    fn run_some(&mut self, spec: &Spec, scenario: &Scenario) -> Result<(), Failure> {
        let processors = thread::available_parallelism().map_or(1, usize::from) as u64;
        let first = u64::from(spec.repeat);
        let all = whole(spec, REPLICATIONS).unwrap_or_default();
        let numbers = first..(first + processors).min(all).max(first + 1);
        let mut workloads: Vec<Sessions> =
            numbers.clone().map(|_| self.workload(scenario)).collect::<Result<_, _>>()?;
        self.heat(scenario, &mut workloads[0]).map_err(Failure::Operator)?;
        let (_, warm) = self.warm.as_ref().expect("it is warm");
        // Who stops a run of the lab waits for its point.
        let course = Course::default();
        let runs = replicate(scenario, warm, numbers, &mut workloads, &course)
            .map_err(Failure::Operator)?;
        self.workloads.append(&mut workloads);
        self.ahead.1.extend((spec.repeat..).zip(runs));
        Ok(())
    }

    /// Warms what the scenario begins from, unless it is the same as before.
    fn heat(&mut self, scenario: &Scenario, workload: &mut Sessions) -> Result<(), String> {
        let caches = scenario.caches()?;
        if self.warm.as_ref().is_none_or(|(of, _)| *of != caches) {
            self.warm = Some((caches, scenario.warm(workload)?));
        }
        Ok(())
    }
}

/// Whether it can be simulated at all: memory has room for files beside the server.
#[must_use]
pub fn fits(spec: &Spec) -> bool {
    scenario(spec, 0).and_then(|scenario| scenario.sized()).is_ok()
}

/// Which parameters a load names.
pub const PARAMETERS: &str = "parameters";

/// As where a server is measured.
const FIRST_SEED: u64 = 1;

/// What a spec asks for. Who has found no steady state is asked again with a longer warm-up.
pub(crate) fn scenario(spec: &Spec, attempt: u32) -> Result<Scenario, String> {
    const LONGER: u32 = 3;
    let load = &spec.load;
    let name = load.flags.get(PARAMETERS).map_or("choi05", String::as_str);
    let parameters = Parameters::shipped(name);
    let parameters = parameters.ok_or_else(|| format!("there are no parameters {name}"))?;
    let knobs = spec.subject.knobs.iter();
    let factor = |name| spec.factors.get(name).copied().unwrap_or(1.0);
    let mut scenario = Scenario {
        knobs: knobs.map(|(knob, value)| (knob.clone(), value.clone())).collect(),
        cores: factor(PROCESSORS) as u32,
        memory_bytes: (factor(MEMORY_MB) * f64::from(1 << 20)) as u64,
        clients: whole(spec, CLIENTS).unwrap_or(1) as u32,
        workload: load.workload.clone(),
        warm_up: Duration::from_secs_f64(load.warm_up.at_most_s()) * LONGER.pow(attempt),
        measured: Duration::from_secs_f64(load.seconds),
        seed: whole(spec, SEED).unwrap_or(FIRST_SEED),
        ..Scenario::new(Model::named(&spec.subject.name)?, &parameters)
    };
    let mut choices = Choices::default();
    choices.behaviour.patience = None;
    for (flag, value) in &load.flags {
        match flag.as_str() {
            CLIENTS | REPLICATIONS | PARAMETERS | SEED => {}
            "rate" | "gaps" | "keeps" | "patience" => choices.set(flag, value)?,
            _ => scenario.set(flag, value)?,
        }
    }
    scenario.choose(&choices)?;
    Ok(scenario)
}

fn whole(spec: &Spec, flag: &str) -> Option<u64> {
    spec.load.flags.get(flag).and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{SIMULATED, experiment};
    use crate::schedule::missing;
    use crate::setup::Setup;

    /// One that does not would end a sweep of an hour somewhere in it.
    #[test]
    fn all_that_sweeps_ask_for_fits_into_its_memory() {
        let setup = Setup { repeats: Some(1), ..Setup::default() };
        for name in SIMULATED {
            let (specs, _) = missing(experiment(name).expect("an experiment"), &setup, &[]);
            assert!(specs.len() > 1_000, "{name}: {}", specs.len());
            for spec in specs {
                let sized = scenario(&spec, 0).and_then(|scenario| scenario.sized().map(drop));
                assert_eq!(sized, Ok(()), "{name}: {} {:?}", spec.subject, spec.load.flags);
            }
        }
    }
}
