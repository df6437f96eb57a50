//! Points that are simulated: the machine, its server and its clients are those of [`sim`].
//!
//! A repeat is a replication with draws of its own, the same for all rivals. They depend on nothing
//! that this machine does, so that as many run beside each other as it has processors.

use std::collections::BTreeMap;
use std::sync::Arc;
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
/// How many repeats there are to be: a point says of how many it is one.
pub const REPLICATIONS: &str = "replications";
/// Of all that is drawn; not there: `FIRST_SEED`.
pub const SEED: &str = "seed";

/// What is simulated: as many at a time as there are processors. Caches are warmed once for all
/// that begin from the same and follow each other.
#[derive(Default)]
pub struct Simulations {
    warm: Option<(Caches, Arc<Warm>)>,
    /// What was run beside one that was asked for, until it is asked for: by [`key`].
    ahead: BTreeMap<String, Run>,
    /// Workloads that nobody runs, of the last one and its settings.
    workloads: Vec<Sessions>,
    of: Option<OfWorkload>,
}

/// What a workload is made by.
type OfWorkload = (String, Settings);

/// One run that is to be made.
struct Job {
    key: String,
    scenario: Scenario,
    /// Of the replication.
    number: u64,
    warm: Arc<Warm>,
    workload: Sessions,
}

/// What came of it, and its workload again.
struct Done {
    key: String,
    run: Run,
    of: OfWorkload,
    workloads: Vec<Sessions>,
}

impl Simulations {
    /// Simulates what the first of these asks for, and what comes behind it as far as there are
    /// processors.
    ///
    /// # Errors
    /// The operator's: there is no such model, workload, knob or parameter, or memory is too small.
    pub fn simulate(&mut self, specs: &[Spec], point: &mut Point) -> Result<(), Failure> {
        let asked = key(&specs[0], point.attempt);
        if !self.ahead.contains_key(&asked) {
            self.run_some(specs, point.attempt).map_err(Failure::Operator)?;
        }
        let run = self.ahead.remove(&asked).expect("it was run just now");
        let figures = FIGURES.iter().map(|figure| (figure.name.into(), figure.of(&run)));
        point.counters = figures.collect();
        point.counted_s = run.whole.lasts_ns as f64 / 1e9;
        if let Err(why) = run.judge() {
            point.verdict = Verdict::Invalid(vec![why]);
        }
        // What size a file has changes nothing that is told, and would be most of a line.
        point.load = Some(Results { kinds: Vec::new(), ..run.results });
        Ok(())
    }

    /// The first ones, as many as there are processors, as if all were of the same attempt, which
    /// most are.
    fn run_some(&mut self, specs: &[Spec], attempt: u32) -> Result<(), String> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let specs = specs.iter().take_while(|spec| spec.is_simulated()).take(processors);
        let jobs: Vec<Job> = specs.map(|spec| self.job(spec, attempt)).collect::<Result<_, _>>()?;
        // Who stops a run of the lab waits for its point.
        let course = Course::default();
        let done: Vec<Result<_, String>> = thread::scope(|scope| {
            let run = |job: Job| scope.spawn(|| job.run(&course));
            let threads: Vec<_> = jobs.into_iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().expect("a simulation ends")).collect()
        });
        self.ahead.clear();
        for job in done {
            let Done { key, run, of, workloads } = job?;
            self.ahead.insert(key, run);
            if self.of.as_ref() == Some(&of) {
                self.workloads.extend(workloads);
            }
        }
        Ok(())
    }

    fn job(&mut self, spec: &Spec, attempt: u32) -> Result<Job, String> {
        let scenario = scenario(spec, attempt)?;
        let of = of_workload(&scenario);
        if self.of.as_ref() != Some(&of) {
            (self.of, self.workloads) = (Some(of), Vec::new());
        }
        let mut workload = self.workloads.pop().map_or_else(|| scenario.workload(), Ok)?;
        let warm = self.warm(&scenario, &mut workload)?;
        let (key, number) = (key(spec, attempt), spec.repeat.into());
        Ok(Job { key, scenario, number, warm, workload })
    }

    /// What the scenario begins from, which may be the same as before.
    fn warm(&mut self, scenario: &Scenario, workload: &mut Sessions) -> Result<Arc<Warm>, String> {
        let caches = scenario.caches()?;
        match &self.warm {
            Some((of, warm)) if *of == caches => Ok(Arc::clone(warm)),
            _ => {
                let warm = Arc::new(scenario.warm(workload)?);
                self.warm = Some((caches, Arc::clone(&warm)));
                Ok(warm)
            }
        }
    }
}

impl Job {
    fn run(self, course: &Course) -> Result<Done, String> {
        let Self { key, scenario, number, warm, workload } = self;
        let mut workloads = vec![workload];
        let runs = replicate(&scenario, &warm, number..number + 1, &mut workloads, course)?;
        let run = runs.into_iter().next().expect("nobody has stopped it");
        Ok(Done { key, run, of: of_workload(&scenario), workloads })
    }
}

fn of_workload(scenario: &Scenario) -> OfWorkload {
    (scenario.workload.clone(), scenario.settings.clone())
}

/// What a run is found by.
fn key(spec: &Spec, attempt: u32) -> String {
    format!("{attempt} {} {}", spec.repeat, spec.key())
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiments::{SIMULATED, experiment};
    use crate::schedule::missing;
    use crate::setup::Setup;

    /// Those behind the first are run beside it, whatever workload they ask for: each comes out as
    /// by itself.
    #[test]
    fn what_is_run_beside_others_is_the_same() {
        let setup = Setup { repeats: Some(2), seconds: Some(1.0), ..Setup::default() };
        let (mut specs, _) = missing(experiment("choi05").expect("an experiment"), &setup, &[]);
        // Of figure 5a, whose sets are each a workload: two repeats, and two models.
        specs.retain(|spec| ["mp", "mt"].contains(&&*spec.subject.name));
        specs.truncate(12);
        let sets: BTreeSet<_> = specs.iter().map(|spec| &spec.load.flags).collect();
        assert_eq!(sets.len(), 3, "{sets:?}");
        let simulated = |simulations: &mut Simulations, specs: &[Spec]| {
            let mut point = Point::begun("run", &specs[0], 0);
            simulations.simulate(specs, &mut point).expect("a scenario");
            (point.counters, point.load.expect("a load").flow.replies)
        };
        let mut together = Simulations::default();
        for at in 0..specs.len() {
            let alone = simulated(&mut Simulations::default(), &specs[at..=at]);
            assert_eq!(simulated(&mut together, &specs[at..]), alone, "{}", specs[at].key());
        }
    }

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
