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
use crate::setup::WarmUp;
pub use crate::spec::OF_CAPACITY;
use crate::spec::{COOL_DOWN, Load, Spec};
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
    /// Rivals whose rates are multiples of another one's capacity, with that one: of which they
    /// were made by knobs that are for an overload.
    pub made_of: Vec<(Subject, Subject)>,
    /// See [`filled`].
    pub filling_max_s: f64,
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
    /// The highest median of good replies in a second, and no more than were asked for in it.
    pub replies_per_s: f64,
    /// As many sessions in a second as it answers. A server that keeps its capacity has the same
    /// reply rate at many higher ones.
    pub rate: f64,
    /// Sessions that were begun in a second when it was found.
    pub found_at: f64,
}

/// Clients of the probe: more than any subject works on at a time, and few enough to be answered.
const PROBE_CLIENTS: u32 = 64;
/// For each millisecond of a round trip as many again, as each then waits for two of them and not
/// for the server; so that they ask for some thousands in a second at any distance.
const PROBE_CLIENTS_MAX: u32 = 2048;

/// Where a sweep's last rate is answered, it goes on upwards by this factor, so often; and
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
        let sweep_s = self.of_sweep(self.sweep.len() * self.bases().len());
        let rates_s = self.of_rates(self.subjects.len());
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
        if are_over(known, &specs) {
            specs.extend(self.again(known));
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
        best_of_sweep(known, self.experiment, &self.basis(of)).map(|(capacity, _)| capacity)
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

    /// About how long the rates of so many subjects take, with their repeats.
    #[must_use]
    pub fn of_rates(&self, subjects: usize) -> f64 {
        let loads = self.multiples.iter().map(|multiple| self.at_multiple(*multiple).costs_s());
        loads.sum::<f64>() * subjects as f64 * f64::from(self.repeats)
    }

    /// The same for so many points of the sweep, and for each subject's best one again.
    fn of_sweep(&self, points: usize) -> f64 {
        let again = self.bases().len() as f64 * f64::from(self.again_repeats());
        let points = points as f64 * f64::from(self.sweep_repeats);
        self.load_of_sweep().costs_s() * (points + again)
    }

    /// What is asked at a multiple of a capacity, without the rate.
    fn at_multiple(&self, multiple: f64) -> Load {
        filled(&self.load, multiple, self.filling_max_s)
    }

    fn load_of_sweep(&self) -> Load {
        Load { seconds: self.sweep_s, ..self.load.clone() }
    }

    /// Those whose capacity is looked for, each once.
    fn bases(&self) -> Vec<Subject> {
        let mut bases: Vec<Subject> = Vec::new();
        for of in self.subjects.iter().map(|of| self.basis(of)) {
            if !bases.contains(&of) {
                bases.push(of);
            }
        }
        bases
    }

    /// Whose capacity the rates of a subject are multiples of.
    #[must_use]
    pub fn basis(&self, of: &Subject) -> Subject {
        let made = self.made_of.iter().find(|(made, _)| made == of);
        made.map_or_else(|| of.clone(), |(_, basis)| basis.clone())
    }

    fn probe(&self, of: Subject) -> Spec {
        let far = PROBE_CLIENTS.saturating_mul(self.layout.round_trip_ms.unwrap_or(0));
        let clients = PROBE_CLIENTS.saturating_add(far).min(PROBE_CLIENTS_MAX);
        let mut load = self.load.with("clients", clients).with("keeps", "session");
        // So few who think would never ask for as much as it can do.
        if load::workload::named(&load.workload).is_some_and(|of| of.knobs.contains(&"think")) {
            load.flags.remove("think-scale");
            load = load.with("think", "none");
        }
        // Those are of a rate, and a closed loop has none.
        load.flags.remove("gaps");
        load.seconds = self.sweep_s;
        self.spec(PROBE, of, load)
    }

    fn sweep(&self, known: &Known<'_>) -> Vec<Spec> {
        let bases = self.bases();
        let each =
            self.sweep.iter().flat_map(|multiple| bases.iter().map(move |of| (of, multiple)));
        self.swept(each.filter_map(|(of, multiple)| self.of_probed(known, of, *multiple)))
    }

    /// So many steps above its end, of those who answer all of the highest rate, or of the one
    /// below it: one second that is slow by chance does not end the way.
    fn above(&self, known: &Known<'_>, steps: i32) -> Vec<Spec> {
        let Some(&last) = self.sweep.last() else { return Vec::new() };
        let next = |of: &Subject| {
            // What is too much fills a queue, in which nobody waits for too long within the second
            // that is measured: what is answered then is what it can do, and no more.
            let share = last * BEYOND.powi(steps - 1);
            let below = match steps {
                1 => self.sweep.iter().rev().nth(1).copied(),
                _ => Some(last * BEYOND.powi(steps - 2)),
            };
            let is_answered = |share| self.is_too_much(known, of, share).map(|is| !is);
            let is_wanted = is_answered(share)? || below.and_then(is_answered).unwrap_or_default();
            is_wanted.then(|| self.of_probed(known, of, last * BEYOND.powi(steps)))?
        };
        self.swept(self.bases().iter().filter_map(next))
    }

    /// So many steps below its begin, of those who do not answer all of the lowest rate: what they
    /// can may lie below it, and all of the sweep where they can no more.
    fn below(&self, known: &Known<'_>, steps: i32) -> Vec<Spec> {
        let Some(&first) = self.sweep.first() else { return Vec::new() };
        let next = |of: &Subject| {
            let is_wanted = self.is_too_much(known, of, first / BEYOND.powi(steps - 1))?;
            is_wanted.then(|| self.of_probed(known, of, first / BEYOND.powi(steps)))?
        };
        self.swept(self.bases().iter().filter_map(next))
    }

    /// What was best, again, as the highest of several medians is one that chance has raised: until
    /// it has as many repeats as a rate has, and once at least. If another rate is the best one
    /// then, that one too.
    fn again(&self, known: &Known<'_>) -> Vec<Spec> {
        let best = |of: Subject| Some((self.capacity(known, &of)?.found_at, of));
        let best = self.bases().into_iter().filter_map(best).map(|(rate, of)| (of, rate));
        let mut specs = repeated(&self.swept_once(best), self.again_repeats());
        specs.iter_mut().for_each(|spec| spec.repeat += self.sweep_repeats);
        specs
    }

    fn again_repeats(&self) -> u32 {
        self.repeats.saturating_sub(self.sweep_repeats).max(1)
    }

    /// Whether this share of what the probe saw is more than it answers, or answers evenly; `None`:
    /// it did not count.
    fn is_too_much(&self, known: &Known<'_>, of: &Subject, share: f64) -> Option<bool> {
        let (_, rate) = self.of_probed(known, of, share)?;
        let mut cells = cells_of_sweep(known, self.experiment, of);
        let cell = cells.find(|cell| cell.factor(RATE) == Some(rate))?;
        Some(!is_answered(cell)? || cell.is_failed())
    }

    fn of_probed(&self, known: &Known<'_>, of: &Subject, share: f64) -> Option<(Subject, f64)> {
        Some((of.clone(), rounded(self.probed(known, of)? * share)))
    }

    fn swept(&self, wanted: impl Iterator<Item = (Subject, f64)>) -> Vec<Spec> {
        let once = self.swept_once(wanted);
        repeated(&once, self.sweep_repeats)
    }

    fn swept_once(&self, wanted: impl Iterator<Item = (Subject, f64)>) -> Vec<Spec> {
        let load = self.load_of_sweep();
        wanted.map(|(of, rate)| self.at_rate(SWEEP, of, &load, rate)).collect()
    }

    fn rates(&self, known: &Known<'_>) -> Vec<Spec> {
        let mut once = Vec::new();
        for &multiple in self.multiples {
            let load = self.at_multiple(multiple);
            for of in &self.subjects {
                let Some(capacity) = self.capacity(known, of) else { continue };
                let rate = rounded(capacity.rate * multiple);
                let mut spec = self.at_rate(RATES, of.clone(), &load, rate);
                spec.factors.insert(OF_CAPACITY.into(), multiple);
                once.push(spec);
            }
        }
        repeated(&once, self.repeats)
    }

    fn at_rate(&self, stage: &str, of: Subject, load: &Load, rate: f64) -> Spec {
        let mut spec = self.spec(stage, of, load.with("rate", rate));
        spec.factors.insert(RATE.into(), rate);
        spec
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
        // Those that do not count are a hint as well, the last one the best.
        let points = cell.points().chain(cell.invalid.iter().rev().copied());
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

/// Whether a server may well be asked for more than it can do: where it is looked for what that is,
/// at its capacity and beyond, in steps, and beside SYNs.
#[must_use]
pub fn is_flood(spec: &Spec) -> bool {
    let is_search = spec.stage == PROBE || spec.stage == SWEEP;
    let of_capacity = spec.factors.get(OF_CAPACITY);
    is_search
        || spec.layout.syns.is_some()
        || of_capacity.is_some_and(|of| *of >= 1.0)
        || ["steps", "ramp"].iter().any(|flag| spec.load.flags.contains_key(*flag))
}

/// The capacity that an experiment's sweep of a subject has found, and where.
#[must_use]
pub fn best_of_sweep<'s, 'k>(
    known: &'s Known<'k>,
    experiment: &str,
    of: &Subject,
) -> Option<(Capacity, &'s Cell<'k>)> {
    let cells = cells_of_sweep(known, experiment, of).filter(|cell| cell.is_good());
    let told = cells.filter_map(|cell| {
        let (offered, found_at) = (cell.spread(&OFFERED)?.median, cell.factor(RATE)?);
        // What is more was asked for in the warm-up.
        let replies_per_s = cell.spread(&GOODPUT)?.median.min(offered);
        let answered = if offered > 0.0 { replies_per_s / offered } else { 0.0 };
        let capacity = Capacity { replies_per_s, rate: found_at * answered, found_at };
        // There is no multiple of nothing.
        (replies_per_s > 0.0).then_some((capacity, cell))
    });
    told.max_by(|(a, _), (b, _)| a.replies_per_s.total_cmp(&b.replies_per_s))
}

/// Whether a subject answers the highest rate of its sweep, so that what was found is the least of
/// what its capacity may be.
#[must_use]
pub fn is_least(known: &Known<'_>, experiment: &str, of: &Subject) -> bool {
    let rate = |cell: &&Cell<'_>| cell.factor(RATE).unwrap_or_default();
    let highest = cells_of_sweep(known, experiment, of).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    highest.is_some_and(|cell| cell.is_good() && is_answered(cell) == Some(true))
}

/// What was asked for in a second at the lowest rate of the sweep above another one of which not
/// all is answered.
#[must_use]
pub fn too_much(known: &Known<'_>, experiment: &str, of: &Subject, rate: f64) -> Option<f64> {
    let above = cells_of_sweep(known, experiment, of).filter_map(|cell| {
        cell.factor(RATE).filter(|its| *its > rate)?;
        let offered = cell.spread(&OFFERED)?.median;
        (is_answered(cell) == Some(false)).then_some(offered)
    });
    above.min_by(f64::total_cmp)
}

/// Whether as much was answered as was asked for; `None`: it did not count.
#[must_use]
pub fn is_answered(cell: &Cell<'_>) -> Option<bool> {
    let (good, offered) = (cell.spread(&GOODPUT)?.median, cell.spread(&OFFERED)?.median);
    Some(good >= ANSWERED * offered)
}

fn cells_of_sweep<'s, 'k>(
    known: &'s Known<'k>,
    experiment: &str,
    of: &Subject,
) -> impl Iterator<Item = &'s Cell<'k>> {
    known.cells(experiment, SWEEP).filter(move |cell| cell.subject() == of)
}

/// A SYN that was not answered is sent again after this, in seconds (RFC 6298 2.1).
const RETRY_S: f64 = 1.0;

/// A load whose warm-up lasts until a server that is asked for more than it can do has as many
/// clients waiting as it will ever have: of those that come at `multiple` times its capacity, a
/// queue of first come, first served loses its first one after their patience, and all that comes
/// then is what it will be after `multiple / (multiple - 1)` times of it. Until then an overload
/// looks better than it is. No longer than `filling_max_s`: closer to the capacity it would take
/// for ever. Those who wait for more than a second come again, and find a server that nobody asks
/// any more when the load is over: so it goes on until they give up.
#[must_use]
pub fn filled(load: &Load, multiple: f64, filling_max_s: f64) -> Load {
    let patience_s = load.flags.get("patience").and_then(|text| text.parse::<f64>().ok());
    let (WarmUp::Fixed(own_s), Some(patience_s)) = (load.warm_up, patience_s) else {
        return load.clone();
    };
    let fills_s = if multiple > 1.0 { patience_s * multiple / (multiple - 1.0) } else { 0.0 };
    // To a tenth, as it is told to people.
    let fills_s = (fills_s.min(filling_max_s) * 10.0).round() / 10.0;
    let load = Load { warm_up: WarmUp::Fixed(own_s.max(fills_s)), ..load.clone() };
    if multiple > 1.0 && patience_s > RETRY_S { load.with(COOL_DOWN, patience_s) } else { load }
}

/// All of them, then all of them again.
fn repeated(once: &[Spec], repeats: u32) -> Vec<Spec> {
    let again = |repeat| once.iter().map(move |spec| Spec { repeat, ..spec.clone() });
    (0..repeats).flat_map(again).collect()
}

/// Whether nothing more will come of any of them.
#[must_use]
pub fn are_over(known: &Known<'_>, specs: &[Spec]) -> bool {
    specs.iter().all(|spec| is_over(known, spec))
}

/// Whether nothing more will come of it.
#[must_use]
pub fn is_over(known: &Known<'_>, spec: &Spec) -> bool {
    // The client is the limit of a closed loop at full speed, and may be: a probe is but a hint.
    let mut in_vain = known.cell(spec).into_iter().flat_map(|cell| cell.in_vain_of(spec.repeat));
    let is_hint = spec.stage == PROBE && in_vain.any(|point| point.verdict.is_by_client());
    is_hint || known.attempts(spec).is_none_or(|attempts| attempts >= known.attempts_max())
}

/// To three digits, which is finer than any repeat.
pub(crate) fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf((rate.max(1.0).log10() - 2.0).floor()).max(0.01);
    (rate / unit).round() * unit
}
