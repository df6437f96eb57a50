//! Points that are simulated: the machine, its server and its clients are those of [`sim`].
//!
//! A repeat is a replication with draws of its own, the same for all rivals. They depend on nothing
//! that this machine does, so that as many run beside each other as it has processors.

use std::collections::BTreeMap;
use std::thread;

use load::collector::results::Results;
use load::workload::settings::Settings;
use measure::Duration;
use sim::PolicyKind;
use sim::models::Model;
use sim::parameters::{DEFINITIONS, Parameters, SHIPPED};
use sim::scenario::{Run, Scenario, Sessions, Warm};

use crate::Failure;
use crate::point::{Point, Verdict};
use crate::setup::WarmUp;
use crate::spec::Spec;

/// Factors of one.
pub const PROCESSORS: &str = "processors";
/// Without the kernel's.
pub const MEMORY_MB: &str = "memory-mb";

/// Flags of its load, beside those of its workload and the parameters that are not as shipped.
pub const CLIENTS: &str = "clients";
/// How many repeats there are to be.
pub const REPLICATIONS: &str = "replications";

/// What is counted of one, by name.
pub const DATA_CACHE: &str = "data cache bytes";
/// Looks for files in memory.
pub const LOOKS: &str = "looks";
/// Those that found it.
pub const HITS: &str = "hits";
/// Requests that were answered, warm-up included, as the others here.
pub const REPLIED: &str = "replied";
/// Waits for locks, in nanoseconds.
pub const LOCK_WAITS_NS: &str = "lock waits ns";
/// Processors at work for requests, in nanoseconds.
pub const WORK_NS: &str = "work ns";
/// And with switches.
pub const SWITCHING_NS: &str = "switching ns";
/// The disk's channels.
pub const DISK_NS: &str = "disk ns";
/// Simulated time.
pub const LASTS_NS: &str = "lasts ns";

/// What is simulated. Caches are warmed once for all repeats, and those that were run beside one
/// that was asked for are kept until they are.
#[derive(Default)]
pub struct Simulations {
    /// Of the last spec, by its key.
    last: Option<(String, Warm)>,
    ahead: BTreeMap<u32, Run>,
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
        if self.last.as_ref().is_none_or(|(of, _)| *of != key) {
            let mut workload = self.workload(&scenario)?;
            let warm = scenario.warm(&mut workload).map_err(Failure::Operator)?;
            self.workloads.push(workload);
            (self.last, self.ahead) = (Some((key, warm)), BTreeMap::new());
        }
        if !self.ahead.contains_key(&spec.repeat) {
            self.run_some(spec, &scenario)?;
        }
        let run = self.ahead.remove(&spec.repeat).expect("it was run just now");
        point.counters = counters(&run);
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
        let processors = thread::available_parallelism().map_or(1, usize::from) as u32;
        let all = whole(spec, REPLICATIONS).unwrap_or_default() as u32;
        let end = (spec.repeat + processors).min(all).max(spec.repeat + 1);
        let workloads = (spec.repeat..end).map(|_| self.workload(scenario));
        let workloads = workloads.collect::<Result<Vec<_>, _>>()?;
        let (_, warm) = self.last.as_ref().expect("it is warm");
        let runs: Vec<_> = thread::scope(|scope| {
            let one = |(repeat, workload)| {
                let seed = 1 + u64::from(repeat);
                let run = Scenario { seed, ..scenario.clone() };
                scope.spawn(move || (repeat, run.run(warm.clone(), workload)))
            };
            let runs: Vec<_> = (spec.repeat..end).zip(workloads).map(one).collect();
            runs.into_iter().map(|run| run.join().expect("a simulation ends")).collect()
        });
        for (repeat, run) in runs {
            let (run, workload) = run.map_err(Failure::Operator)?;
            self.ahead.insert(repeat, run);
            self.workloads.push(workload);
        }
        Ok(())
    }
}

fn counters(run: &Run) -> BTreeMap<String, f64> {
    let whole = &run.whole;
    let sum = |of: fn(&sim::resources::cores::Busy) -> u64| whole.busy.iter().map(of).sum::<u64>();
    let counted = [
        (DATA_CACHE, run.footprint.data_cache_bytes()),
        (LOOKS, whole.seen.hits + whole.seen.misses),
        (HITS, whole.seen.hits),
        (REPLIED, whole.tally.replied),
        (LOCK_WAITS_NS, whole.locks.waited_ns),
        (WORK_NS, sum(|busy| busy.work_ns)),
        (SWITCHING_NS, sum(|busy| busy.switching_ns)),
        (DISK_NS, whole.reads.busy_ns),
        (LASTS_NS, whole.lasts_ns),
    ];
    counted.into_iter().map(|(name, count)| (name.into(), count as f64)).collect()
}

/// Which parameters a load names.
const PARAMETERS: &str = "parameters";
const CACHE_POLICY: &str = "cache-policy";

/// What a spec asks for. Who has found no steady state is asked again with a longer warm-up.
fn scenario(spec: &Spec, attempt: u32) -> Result<Scenario, String> {
    const LONGER: u32 = 3;
    let load = &spec.load;
    let mut settings = Settings::default();
    let name = load.flags.get(PARAMETERS).map_or("choi05", String::as_str);
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == name);
    let shipped = shipped.ok_or_else(|| format!("there are no parameters {name}"))?;
    let mut parameters = Parameters::read(shipped.text, shipped.name)?;
    let mut policy = PolicyKind::Lru;
    for (flag, value) in &load.flags {
        match &**flag {
            CLIENTS | REPLICATIONS | PARAMETERS => {}
            CACHE_POLICY => {
                let named = PolicyKind::ALL.iter().find(|policy| policy.name() == value);
                policy = *named.ok_or_else(|| format!("there is no policy {value}"))?;
            }
            flag if DEFINITIONS.iter().any(|definition| definition.name == flag) => {
                parameters.set(flag, value)?;
            }
            flag => settings.set(flag, value)?,
        }
    }
    let warm_up_s = match load.warm_up {
        WarmUp::Fixed(seconds) => seconds,
        WarmUp::Steady(most) => f64::from(most),
    };
    let knobs = spec.subject.knobs.iter();
    let factor = |name| spec.factors.get(name).copied().unwrap_or(1.0);
    Ok(Scenario {
        model: Model::named(&spec.subject.name)?,
        knobs: knobs.map(|(knob, value)| (knob.clone(), value.clone())).collect(),
        parameters,
        cores: factor(PROCESSORS) as u32,
        memory_bytes: (factor(MEMORY_MB) * f64::from(1 << 20)) as u64,
        clients: whole(spec, CLIENTS).unwrap_or(1) as u32,
        workload: load.workload.clone(),
        settings,
        policy,
        warm_up: Duration::from_secs_f64(warm_up_s) * LONGER.pow(attempt),
        measured: Duration::from_secs_f64(load.seconds),
        seed: 1 + u64::from(spec.repeat),
    })
}

fn whole(spec: &Spec, flag: &str) -> Option<u64> {
    spec.load.flags.get(flag).and_then(|text| text.parse().ok())
}
