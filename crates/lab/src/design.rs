//! The design that most experiments have: find each subject's capacity, then ask for multiples of
//! it.
//!
//! Three stages. A *probe* in a closed loop says where to look. *Tries* in an open loop, near that,
//! find two rates between which the capacity lies ([`bracket`](load::bracket)). Then *rates* are
//! multiples of the subject's own capacity, so that a server is seen idle, at its best and beyond,
//! wherever that is; of whom no capacity was found nothing is asked. Last all subjects are asked at
//! *equal* rates, as what a reply costs and how long it takes compare at the same load alone.
//! Within a stage, repeats go round: all subjects at all rates, then all of it again, so that what
//! the machine does at some time is not held against one of them.

use std::collections::BTreeMap;

use load::bracket::rounded;

use crate::capacity::{self, Capacity, RATE, Search, TRIES, search};
use crate::known::{Cell, Known};
use crate::setup::{Setup, WarmUp};
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
    /// How long each try is measured, in seconds.
    pub try_s: f64,
    /// Of the capacity.
    pub multiples: &'static [f64],
    /// All subjects are asked at [`OF_EQUAL`] of these capacities: of which so large a share of all
    /// is less.
    pub equal: &'static [f64],
    /// Of the rates.
    pub repeats: u32,
    /// Rivals whose rates are multiples of another one's capacity, with that one: of which they
    /// were made by knobs that are for an overload.
    pub made_of: Vec<(Subject, Subject)>,
    /// See [`filled`].
    pub filling_max_s: f64,
    /// By subject, the capacity that a search for the best knobs has found, in sessions begun in a
    /// second.
    pub tuned: Vec<(Subject, f64)>,
}

/// What is to be done now, and what will be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// All that can be said now, in the order in which it is to be measured; also what is known.
    pub specs: Vec<Spec>,
    /// About how long takes what cannot be said yet.
    pub later_s: f64,
}

/// Clients of the probe: more than any subject works on at a time, and few enough to be answered.
const PROBE_CLIENTS: u32 = 64;
/// For each millisecond of a round trip as many again, as each then waits for two of them and not
/// for the server; so that they ask for some thousands in a second at any distance.
const PROBE_CLIENTS_MAX: u32 = 2048;

/// A probe that is longer tells no more.
const PROBE_S: f64 = 1.0;

/// So long is each try, unless the operator or a paper says otherwise: a second is too short to see
/// a queue that grows by a hundredth.
const TRY_S: f64 = 3.0;

/// What a search takes most often.
const TRIES_EXPECTED: usize = 5;

/// Near to what is compared, and answered by all who can do as much.
pub const OF_EQUAL: f64 = 0.9;

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
    /// Of these subjects, with what most experiments have: no rates, and three repeats.
    #[must_use]
    pub fn of(
        experiment: &'static str,
        setup: &Setup,
        subjects: Vec<Subject>,
        (load, layout): (Load, Layout),
    ) -> Self {
        let tuned = setup.tuned.iter().filter(|tuned| tuned.workload == load.workload);
        let tuned = tuned.flat_map(|tuned| &tuned.servers);
        Self {
            tuned: tuned.map(|server| (server.of.clone(), server.rate)).collect(),
            experiment,
            subjects,
            load,
            layout,
            try_s: setup.seconds(TRY_S),
            multiples: &[],
            equal: &[],
            repeats: setup.repeats(3),
            made_of: Vec::new(),
            filling_max_s: setup.filling_max_s(),
        }
    }

    /// What is to be measured next, given what is known.
    #[must_use]
    pub fn plan(&self, known: &Known<'_>) -> Plan {
        let bases = self.bases();
        let sought = bases.iter().filter_map(|of| self.sought(known, of));
        let mut sought: Vec<(usize, Spec)> =
            sought.map(|spec| (self.tried(known, &spec), spec)).collect();
        if let Some(least) = sought.iter().map(|(tried, _)| *tried).min() {
            let tries = sought.iter().map(|(tried, _)| TRIES_EXPECTED.saturating_sub(*tried));
            let tries_s = self.load_of_try().costs_s() * tries.sum::<usize>() as f64;
            // Of a run that goes on, some have had their turn.
            sought.retain(|(tried, _)| *tried == least);
            let specs = sought.into_iter().map(|(_, spec)| spec).collect();
            let equal_s = self.of_points(self.load.seconds, self.equal.len() * self.subjects.len());
            let later_s = tries_s + self.of_rates(self.subjects.len()) + equal_s;
            return Plan { specs, later_s };
        }
        let specs = [self.rates(known), self.at_equal(known)].concat();
        Plan { specs, later_s: 0.0 }
    }

    /// What the search for a subject's capacity is to measure next, be it known or not; `None`: it
    /// is over.
    fn sought(&self, known: &Known<'_>, of: &Subject) -> Option<Spec> {
        let probe = self.probe(of.clone());
        if !is_over(known, &probe) {
            return Some(probe);
        }
        let Search::Goes { rate, repeat } = self.search(known, of)? else { return None };
        let spec = self.at_rate(TRIES, of.clone(), &self.load_of_try(), rate);
        // A machine that was disturbed each time is quiet again some time, as the limit of a client
        // is not; what cannot be measured at all ends it.
        let is_by_client =
            |cell: &Cell<'_>| cell.in_vain().iter().any(|point| point.verdict.is_by_client());
        let more = if known.cell(&spec).is_some_and(is_by_client) { 0 } else { DISTURBED_MAX };
        let tries = (0..=repeat + more).map(|repeat| Spec { repeat, ..spec.clone() });
        tries.into_iter().find(|spec| !is_over(known, spec))
    }

    /// So many came before it: the probe and tries.
    fn tried(&self, known: &Known<'_>, next: &Spec) -> usize {
        let cells = known.cells(self.experiment, TRIES).filter(|of| *of.subject() == next.subject);
        1 + cells.map(|cell| cell.points().count()).sum::<usize>()
            - usize::from(next.stage == PROBE)
    }

    /// How far the search for a subject's capacity has come; `None`: nothing says where to begin.
    #[must_use]
    pub fn search(&self, known: &Known<'_>, of: &Subject) -> Option<Search> {
        let probed = self.probed(known, of)?;
        // With another quota it is another capacity: so much the probe tells, and no more.
        let is_near = |rate: &f64| (0.5..=2.0).contains(&(rate / probed));
        let mut tuned = self.tuned.iter().filter(|(its, _)| its == of).map(|(_, rate)| *rate);
        Some(search(known, self.experiment, of, tuned.find(is_near).unwrap_or(probed)))
    }

    /// The capacity of a subject, if it was found.
    #[must_use]
    pub fn capacity(&self, known: &Known<'_>, of: &Subject) -> Option<Capacity> {
        capacity::capacity(known, self.experiment, &self.basis(of))
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

    /// What is asked at a multiple of a capacity, without the rate.
    fn at_multiple(&self, multiple: f64) -> Load {
        filled(&self.load, multiple, self.filling_max_s)
    }

    fn load_of_try(&self) -> Load {
        Load { seconds: self.try_s, ..self.load.clone() }
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
        load.seconds = self.try_s.min(PROBE_S);
        self.spec(PROBE, of, load)
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

    /// All at each rate that is to be the same for all.
    fn at_equal(&self, known: &Known<'_>) -> Vec<Spec> {
        let mut once = Vec::new();
        let rates = self.equal_rates(known);
        for (at, (&share, &rate)) in self.equal.iter().zip(&rates).enumerate() {
            if rates[..at].contains(&rate) {
                continue;
            }
            let answering =
                self.subjects.iter().filter(|of| self.probed(known, &self.basis(of)).is_some());
            once.extend(answering.map(|of| {
                let mut spec = self.at_rate(EQUAL, of.clone(), &self.load, rate);
                spec.factors.insert(OF_CAPACITIES.into(), share);
                spec
            }));
        }
        repeated(&once, self.repeats)
    }

    /// The rates that are the same for all, in sessions begun in a second; none before there is a
    /// capacity.
    #[must_use]
    pub fn equal_rates(&self, known: &Known<'_>) -> Vec<f64> {
        let found = self.subjects.iter().filter_map(|of| self.capacity(known, of));
        let mut rates: Vec<f64> = found.map(|capacity| capacity.rate).collect();
        rates.sort_by(f64::total_cmp);
        let Some(last) = rates.len().checked_sub(1) else { return Vec::new() };
        let at = |share: &f64| rounded(OF_EQUAL * rates[(share * last as f64) as usize]);
        self.equal.iter().map(at).collect()
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

/// So many tries of a rate that never came to count leave a search going: with three attempts at
/// each, a disturbance of half a minute.
const DISTURBED_MAX: u32 = 2;

/// Stages, as they stand in [`Spec::stage`].
pub const PROBE: &str = "probe";
/// See [`PROBE`].
pub const RATES: &str = "rates";
/// See [`PROBE`].
pub const EQUAL: &str = "equal rates";
/// What varies, as it stands in [`Spec::factors`]: [`Design::equal`].
pub const OF_CAPACITIES: &str = "of_capacities";

/// Whether a server may well be asked for more than it can do: where it is looked for what that is,
/// at rates that are the same for all, at its capacity and beyond, in steps, and beside SYNs.
#[must_use]
pub fn is_flood(spec: &Spec) -> bool {
    let of_capacity = spec.factors.get(OF_CAPACITY);
    [PROBE, TRIES, EQUAL].contains(&&*spec.stage)
        || spec.layout.syns.is_some()
        || of_capacity.is_some_and(|of| *of >= 1.0)
        || ["steps", "ramp"].iter().any(|flag| spec.load.flags.contains_key(*flag))
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
    is_over_in(known, known.cell(spec), spec)
}

/// The same where its cell was found already.
pub(crate) fn is_over_in(known: &Known<'_>, cell: Option<&Cell<'_>>, spec: &Spec) -> bool {
    let Some(cell) = cell else { return known.attempts_max() == 0 };
    // The client is the limit of a closed loop at full speed, and may be: a probe is but a hint.
    let is_hint = spec.stage == PROBE
        && cell.in_vain_of(spec.repeat).any(|point| point.verdict.is_by_client());
    let attempts = cell.attempts(spec.repeat);
    is_hint || attempts.is_none_or(|attempts| attempts >= known.attempts_max())
}
