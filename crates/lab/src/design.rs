//! The design that most experiments have: find each subject's capacity, then ask for multiples of
//! it.
//!
//! Three stages. A *probe* in a closed loop says where to look. A *sweep* in an open loop, around
//! that, finds the capacity: the highest median reply rate of it. Then *rates* are multiples of the
//! subject's own capacity, so that a server is seen idle, at its best and beyond, wherever that is.
//! Within a stage, repeats go round: all subjects at all rates, then all of it again, so that what
//! the machine does at some time is not held against one of them.

use std::collections::BTreeMap;

use crate::known::{Cell, Known};
use crate::metric::{GOODPUT, OFFERED};
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

/// See the head of this file.
#[derive(Debug, Clone)]
pub struct Design {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Rivals.
    pub subjects: Vec<Subject>,
    /// What they are asked, without a rate.
    pub load: Load,
    /// On which machines.
    pub layout: Layout,
    /// Of what the probe found, upwards.
    pub sweep: &'static [f64],
    /// How long each point of probe and sweep is measured, in seconds.
    pub sweep_s: f64,
    /// Of the capacity.
    pub multiples: &'static [f64],
    /// Of the sweep.
    pub sweep_repeats: u32,
    /// Of the rates.
    pub repeats: u32,
    /// Whose capacity the rates of a subject are multiples of.
    pub basis: fn(&Subject) -> Subject,
}

/// What is to be done now, and what will be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// All that can be said now, in the order in which it is to be measured; also what is known.
    pub specs: Vec<Spec>,
    /// About how long takes what cannot be said yet.
    pub later_s: f64,
}

/// Capacity as a sweep found it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// The highest median of good replies in a second, of those that were asked for in it.
    pub replies_per_s: f64,
    /// As many sessions in a second as it answers. A server that keeps its capacity has the same
    /// reply rate at many higher ones.
    pub rate: f64,
    /// Sessions that were begun in a second when it was found.
    pub found_at: f64,
}

/// Clients of the probe: more than any subject works on at a time, and few enough to be answered.
const PROBE_CLIENTS: u32 = 64;

/// Where a sweep's last rate is its best one, it goes on upwards by this factor, so often; and
/// downwards, where its first one is too much.
const BEYOND: f64 = 1.2;
const BEYOND_MAX: i32 = 3;

/// Of what is asked for in a second, who answers less in it is asked for too much.
const ANSWERED: f64 = 0.95;

impl Plan {
    /// Behind another one, whose specs come first.
    #[must_use]
    pub fn after(self, mut other: Self) -> Self {
        other.specs.extend(self.specs);
        other.later_s += self.later_s;
        other
    }
}

impl Design {
    /// What is to be measured next, given what is known.
    #[must_use]
    pub fn plan(&self, known: &Known<'_>) -> Plan {
        let mut specs: Vec<Spec> = self.bases().into_iter().map(|of| self.probe(of)).collect();
        let sweep_s = self.of_points(self.sweep_s, self.sweep.len() * self.bases().len());
        let rates = self.multiples.len() * self.subjects.len();
        let rates_s = self.of_points(self.load.seconds, rates);
        if !are_over(known, &specs) {
            return Plan { specs, later_s: sweep_s + rates_s };
        }
        specs.extend(self.sweep(known));
        for steps in 1..=BEYOND_MAX {
            if !are_over(known, &specs) {
                break;
            }
            specs.extend(self.above(known, steps));
            specs.extend(self.below(known, steps));
        }
        if !are_over(known, &specs) {
            return Plan { specs, later_s: rates_s };
        }
        specs.extend(self.rates(known));
        Plan { specs, later_s: 0.0 }
    }

    /// The capacity of a subject, as far as it is known.
    #[must_use]
    pub fn capacity(&self, known: &Known<'_>, of: &Subject) -> Option<Capacity> {
        let of = (self.basis)(of);
        let told =
            self.cells_of_sweep(known, &of).filter(|cell| cell.is_good()).filter_map(|cell| {
                let (offered, found_at) = (cell.spread(&OFFERED)?.median, cell.factor(RATE)?);
                // What is more was asked for in the warm-up.
                let replies_per_s = cell.spread(&GOODPUT)?.median.min(offered);
                let answered = if offered > 0.0 { replies_per_s / offered } else { 0.0 };
                Some(Capacity { replies_per_s, rate: found_at * answered, found_at })
            });
        told.max_by(|a, b| a.replies_per_s.total_cmp(&b.replies_per_s))
    }

    /// The cells of one subject's rates, upwards.
    #[must_use]
    pub fn curve<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Vec<&'s Cell<'k>> {
        let mut cells: Vec<_> =
            known.cells(self.experiment, RATES).filter(|cell| cell.subject() == of).collect();
        let rate = |cell: &Cell<'_>| cell.factor(RATE).unwrap_or_default();
        cells.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        cells
    }

    /// About how long so many of them take, with their repeats.
    #[must_use]
    pub fn of_points(&self, seconds: f64, points: usize) -> f64 {
        let load = Load { seconds, ..self.load.clone() };
        load.costs_s() * points as f64 * f64::from(self.repeats)
    }

    /// Those whose capacity is looked for, each once.
    fn bases(&self) -> Vec<Subject> {
        let mut bases: Vec<Subject> = Vec::new();
        for of in self.subjects.iter().map(self.basis) {
            if !bases.contains(&of) {
                bases.push(of);
            }
        }
        bases
    }

    fn probe(&self, of: Subject) -> Spec {
        let mut load = self.load.with("clients", PROBE_CLIENTS).with("keeps", "session");
        // So few who think would never ask for as much as it can do.
        if load::workload::named(&load.workload).is_some_and(|of| of.knobs.contains(&"think")) {
            load.flags.remove("think-scale");
            load = load.with("think", "none");
        }
        load.seconds = self.sweep_s;
        self.spec(PROBE, of, load)
    }

    fn sweep(&self, known: &Known<'_>) -> Vec<Spec> {
        let bases = self.bases();
        let each =
            self.sweep.iter().flat_map(|multiple| bases.iter().map(move |of| (of, multiple)));
        self.swept(each.filter_map(|(of, multiple)| self.of_probed(known, of, *multiple)))
    }

    /// So many steps above its end, of those whose best rate is the last.
    fn above(&self, known: &Known<'_>, steps: i32) -> Vec<Spec> {
        let Some(&last) = self.sweep.last() else { return Vec::new() };
        let next = |of: &Subject| {
            let (_, highest) = self.of_probed(known, of, last * BEYOND.powi(steps - 1))?;
            let is_best = self.capacity(known, of)?.found_at >= highest;
            is_best.then(|| self.of_probed(known, of, last * BEYOND.powi(steps)))?
        };
        self.swept(self.bases().iter().filter_map(next))
    }

    /// So many steps below its begin, of those who do not answer all of the lowest rate: what they
    /// can may lie below it, and all of the sweep where they can no more.
    fn below(&self, known: &Known<'_>, steps: i32) -> Vec<Spec> {
        let Some(&first) = self.sweep.first() else { return Vec::new() };
        let next = |of: &Subject| {
            let (_, lowest) = self.of_probed(known, of, first / BEYOND.powi(steps - 1))?;
            let mut cells = self.cells_of_sweep(known, of);
            let cell = cells.find(|cell| cell.factor(RATE) == Some(lowest) && cell.is_good())?;
            let (good, offered) = (cell.spread(&GOODPUT)?.median, cell.spread(&OFFERED)?.median);
            let is_too_much = good < ANSWERED * offered;
            is_too_much.then(|| self.of_probed(known, of, first / BEYOND.powi(steps)))?
        };
        self.swept(self.bases().iter().filter_map(next))
    }

    fn of_probed(&self, known: &Known<'_>, of: &Subject, share: f64) -> Option<(Subject, f64)> {
        Some((of.clone(), rounded(self.probed(known, of)? * share)))
    }

    fn swept(&self, wanted: impl Iterator<Item = (Subject, f64)>) -> Vec<Spec> {
        let load = Load { seconds: self.sweep_s, ..self.load.clone() };
        self.at_rates((SWEEP, &load, self.sweep_repeats), &wanted.collect::<Vec<_>>())
    }

    fn cells_of_sweep<'s, 'k>(
        &self,
        known: &'s Known<'k>,
        of: &Subject,
    ) -> impl Iterator<Item = &'s Cell<'k>> {
        known.cells(self.experiment, SWEEP).filter(move |cell| cell.subject() == of)
    }

    fn rates(&self, known: &Known<'_>) -> Vec<Spec> {
        let mut wanted = Vec::new();
        for multiple in self.multiples {
            for of in &self.subjects {
                let Some(capacity) = self.capacity(known, of) else { continue };
                wanted.push((of.clone(), rounded(capacity.rate * multiple), *multiple));
            }
        }
        let of = |wanted: &[(Subject, f64, f64)]| {
            let pairs = wanted.iter().map(|(of, rate, _)| (of.clone(), *rate));
            self.at_rates((RATES, &self.load, self.repeats), &pairs.collect::<Vec<_>>())
        };
        let mut specs = of(&wanted);
        for (spec, (_, _, multiple)) in specs.iter_mut().zip(wanted.iter().cycle()) {
            spec.factors.insert(OF_CAPACITY.into(), *multiple);
        }
        specs
    }

    /// Every repeat of all of them, before the next repeat of any.
    fn at_rates(
        &self,
        (stage, load, repeats): (&str, &Load, u32),
        wanted: &[(Subject, f64)],
    ) -> Vec<Spec> {
        let repeats = 0..repeats;
        let each = repeats.flat_map(|repeat| wanted.iter().map(move |wanted| (repeat, wanted)));
        let spec = |(repeat, (of, rate)): (u32, &(Subject, f64))| {
            let load = load.with("rate", rate);
            let mut spec = Spec { repeat, ..self.spec(stage, of.clone(), load) };
            spec.factors.insert(RATE.into(), *rate);
            spec
        };
        each.map(spec).collect()
    }

    fn spec(&self, stage: &str, subject: Subject, load: Load) -> Spec {
        Spec {
            experiment: self.experiment.into(),
            stage: stage.into(),
            subject,
            load,
            layout: self.layout.clone(),
            factors: BTreeMap::new(),
            repeat: 0,
            profile: None,
        }
    }

    /// Sessions in a second that the probe saw.
    fn probed(&self, known: &Known<'_>, of: &Subject) -> Option<f64> {
        let cell = known.cell(&self.probe(of.clone()))?;
        let sessions = |point: &crate::point::Point| {
            let load = point.load.as_ref()?;
            let (replies, seconds) = (load.flow.goodput as f64, load.measured.as_secs_f64());
            let first = load.requests.arrivals as f64;
            let all = load.requests.counts.total() as f64;
            (seconds > 0.0 && all > 0.0).then(|| replies / seconds * first / all)
        };
        // The client is the limit of a closed loop at full speed, and may be: it is but a hint.
        let points = cell.points().chain(cell.invalid.iter().copied());
        points.filter_map(sessions).find(|sessions| *sessions > 0.0)
    }
}

/// Stages, as they stand in [`Spec::stage`].
pub const PROBE: &str = "probe";
/// See [`PROBE`].
pub const SWEEP: &str = "sweep";
/// See [`PROBE`].
pub const RATES: &str = "rates";
/// What varies, as it stands in [`Spec::factors`]: sessions begun in a second.
pub const RATE: &str = "rate";
/// The same as a share of the capacity.
pub const OF_CAPACITY: &str = "of_capacity";

/// Whether nothing more will come of any of them.
#[must_use]
pub fn are_over(known: &Known<'_>, specs: &[Spec]) -> bool {
    specs.iter().all(|spec| is_over(known, spec))
}

/// Whether nothing more will come of it.
#[must_use]
pub fn is_over(known: &Known<'_>, spec: &Spec) -> bool {
    let attempts_max = if spec.stage == PROBE { 1 } else { known.attempts_max() };
    known.attempts(spec).is_none_or(|attempts| attempts >= attempts_max)
}

/// To three digits, which is finer than any repeat.
fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf((rate.max(1.0).log10() - 2.0).floor()).max(0.01);
    (rate / unit).round() * unit
}
