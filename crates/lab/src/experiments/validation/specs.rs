//! What is measured, and what is fitted to it.

use std::collections::BTreeMap;

use load::bracket;
use sim::models::Model;

use super::{JUDGED, OFTEN, SELDOM, Validation};
use crate::capacity::RATE;
use crate::experiments::frame;
use crate::fitted::{self, FITTED, OFTEN_RATE, OFTEN_US, SELDOM_RATE, SELDOM_US};
use crate::known::{Cell, Known};
use crate::metric;
use crate::point::Point;
use crate::profile::{Kind, Seen};
use crate::setup::{Setup, WarmUp};
use crate::simulated::{CLIENTS, MEMORY_MB, PARAMETERS};
use crate::spec::{Load, Spec};
use crate::subject::Subject;

/// Stages, as they stand in [`Spec::stage`].
const BUSY: &str = "busy";
const RATES: &str = "rates";

/// Files: so that no two who ask at a time ask for the same one, which AMPED's helper would open
/// for both.
const COPIES: u32 = 2_000;

/// Whom steps are timed beside: somebody has to listen.
const IDLER: &str = "floor-readiness";

/// More than any of them works on at a time.
pub(super) const BUSY_CLIENTS: u32 = 64;

/// So long is measured: what decides whether a rate is answered is seen soon,
const TRY_S: f64 = 1.5;
/// and what a reply takes differs from one second to the next by tens of per cent.
const RATE_S: f64 = 3.0;

/// For the files, and all clients.
pub(super) const ENOUGH_MB: f64 = 4096.0;

/// Parameters of all that a request takes but what is made of measurements, which hold all of it.
const NOTHING_MORE: [&str; 14] = [
    "interrupt",
    "interrupt-dropped",
    "accept",
    "close",
    "header",
    "transmit",
    "events-call",
    "event",
    "path-lookup",
    "cache-lookup",
    "path-miss",
    // So that AMPED's helper has each of them.
    "path-entries",
    "lock-transfer",
    "disk-read",
];

impl Validation {
    pub(super) fn spec(
        &self,
        setup: &Setup,
        (stage, of): (&str, &Subject),
        load: Load,
        repeat: u32,
    ) -> Spec {
        Spec {
            experiment: self.name.into(),
            stage: stage.into(),
            subject: of.clone(),
            load,
            layout: frame::joined(setup, None),
            factors: BTreeMap::new(),
            repeat,
            profile: None,
        }
    }

    pub(super) fn load(&self, setup: &Setup) -> Load {
        let load = Load {
            workload: String::from("one-packet"),
            seconds: setup.seconds(TRY_S),
            warm_up: setup.warm_up(WarmUp::Fixed(0.3)),
            flags: BTreeMap::new(),
            idle_connections: 0,
            beside: None,
        };
        load.with("bytes", 1024).with("copies", COPIES).with("keeps", self.keeps)
    }

    /// The contents of some replies are compared: a client that looks at all would be the limit.
    fn measured(&self, setup: &Setup) -> Load {
        self.load(setup).with("verified", 0.05)
    }

    fn open(&self, setup: &Setup, rate: f64) -> Load {
        self.measured(setup).with("rate", rate).with("gaps", "poisson").with("patience", 1)
    }

    fn busy(&self, setup: &Setup, of: &Subject) -> Spec {
        self.spec(setup, (BUSY, of), self.measured(setup).with(CLIENTS, BUSY_CLIENTS), 0)
    }

    /// What switches cost: once, as it is alike for all.
    fn switches(&self, setup: &Setup) -> Spec {
        const FEW_PER_S: u32 = 100;
        let idler: Subject = IDLER.parse().expect("a floor");
        // A floor has one file.
        let load = self.open(setup, FEW_PER_S.into()).with("copies", 1);
        Spec { profile: Some(Kind::Costs), ..self.spec(setup, (BUSY, &idler), load, 0) }
    }

    pub(super) fn all_busy(&self, setup: &Setup, subjects: &[Subject]) -> Vec<Spec> {
        subjects.iter().map(|of| self.busy(setup, of)).chain([self.switches(setup)]).collect()
    }

    /// Where to look for what it can do, by what it did when it was busy.
    pub(super) fn begin(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<f64> {
        // Who comes by chance asks for all that it can do only for moments.
        const BEGIN_SHARE: f64 = 0.8;
        let busy = known.cell(&self.busy(setup, of))?;
        // Those that do not count, as the client was the limit, are a hint as well.
        let hints = || busy.invalid.iter().rev().filter_map(|point| (metric::GOODPUT.of)(point));
        let counted = busy.spread(&metric::GOODPUT).map(|of| of.median);
        Some(BEGIN_SHARE * counted.or_else(|| hints().find(|per_s| *per_s > 0.0))?)
    }

    pub(super) fn at_rate(&self, setup: &Setup, (stage, of): (&str, &Subject), rate: f64) -> Spec {
        let mut spec = self.spec(setup, (stage, of), self.open(setup, rate), 0);
        spec.factors.insert(RATE.into(), rate);
        spec
    }

    /// At a share of its capacity, or of what its clients could ask for, where that was found.
    pub(super) fn rate(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        of: &Subject,
        share: f64,
    ) -> Option<Spec> {
        let reference = self.reference(setup, known, of)?;
        let rate = bracket::rounded(reference.rate() * share);
        let mut spec = self.at_rate(setup, (RATES, of), rate);
        spec.load.seconds = setup.seconds(RATE_S);
        spec.factors.insert(reference.factor().into(), share);
        Some(spec)
    }

    pub(super) fn rates(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
    ) -> Vec<Spec> {
        let shares = || [SELDOM, OFTEN].into_iter().chain(JUDGED);
        let once: Vec<Spec> = shares()
            .flat_map(|share| subjects.iter().map(move |of| (share, of)))
            .filter_map(|(share, of)| self.rate(setup, known, of, share))
            .collect();
        let again = |repeat| once.iter().map(move |spec| Spec { repeat, ..spec.clone() });
        (0..setup.repeats(3)).flat_map(again).collect()
    }

    /// About how long all takes but what is done first.
    pub(super) fn others_s(&self, setup: &Setup, subjects: usize) -> f64 {
        /// A search takes about so many.
        const TRIES_EXPECTED: usize = 5;
        let of_try = self.open(setup, 1.0);
        let of_rate = Load { seconds: setup.seconds(RATE_S), ..of_try.clone() };
        let rates = (2 + JUDGED.len()) * setup.repeats(3) as usize;
        let rates_s = of_rate.costs_s() * rates as f64;
        subjects as f64 * (of_try.costs_s() * TRIES_EXPECTED as f64 + rates_s)
    }

    /// What parameters are made of; `None`: something of it does not count.
    pub(super) fn fit(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<Spec> {
        let told = |share| {
            let spec = self.rate(setup, known, of, share)?;
            let cell = known.cell(&spec)?;
            let cpu_us = cell.judged(&metric::CPU)?.median;
            let waits_us = cell.judged(&metric::P50)?.median * 1e3;
            Some((spec.factors.get(RATE).copied()?, cpu_us, waits_us))
        };
        let (seldom_rate, seldom_us, waits_us) = told(SELDOM)?;
        let (often_rate, often_us, _) = told(OFTEN)?;
        // A connection has its handshake's as well.
        let round_trips = if self.keeps == "request" { 2.0 } else { 1.0 };
        let round_trip_us = ((waits_us - seldom_us) / round_trips).max(1.0);
        let step_us = |name: &str| Some(cost(known.cell(&self.switches(setup))?, name)? / 1e3);
        let switch_us = step_us("switch-thread")?;
        let hand_over_us = (step_us("hand-over")? - switch_us).max(0.0);
        let load = NOTHING_MORE.iter().fold(self.load(setup), |load, name| load.with(name, 0));
        let load = Load { seconds: 1.0, warm_up: WarmUp::Fixed(0.1), ..load };
        let load = load
            .with(PARAMETERS, "weir")
            .with(CLIENTS, BUSY_CLIENTS)
            .with("round-trip", round_trip_us)
            .with("thread-switch", switch_us)
            // Weir's helpers are threads.
            .with("process-switch", switch_us)
            .with("hand-over", hand_over_us);
        let mut spec = self.spec(setup, (FITTED, &modelled(of)), load, 0);
        let often = [(OFTEN_US, often_us), (OFTEN_RATE, often_rate)];
        let targets = [often, [(SELDOM_US, seldom_us), (SELDOM_RATE, seldom_rate)]].concat();
        let factors = targets.into_iter().chain([(MEMORY_MB, ENOUGH_MB)]);
        spec.factors = factors.map(|(name, value)| (name.into(), value)).collect();
        Some(spec)
    }
}

/// What came of a search for parameters, in µs.
pub(super) struct Made {
    pub(super) receive_us: f64,
    pub(super) wake_us: f64,
}

/// `None`: none were found that reach what they were made of.
pub(super) fn made(known: &Known<'_>, fit: &Spec) -> Option<Made> {
    let point = known.cell(fit)?.points().next()?;
    let of = |name: &str| point.counters.get(name).copied();
    Some(Made { receive_us: of(fitted::RECEIVE)?, wake_us: of(fitted::WAKE)? })
}

/// A step that is timed by itself, in ns.
fn cost(cell: &Cell<'_>, name: &str) -> Option<f64> {
    let costs = |point: &Point| match &point.profile.as_ref()?.as_ref().ok()?.seen {
        Seen::Costs(costs) => costs.get(name).copied(),
        Seen::Calls(_) | Seen::Shares(_) => None,
    };
    cell.points().find_map(costs)
}

/// The server as its model has it: without knobs of which a model knows nothing.
pub(super) fn modelled(of: &Subject) -> Subject {
    let knows = |knob: &str| {
        Model::named(&of.name).is_ok_and(|model| model.knobs.iter().any(|its| its.name == knob))
    };
    let knobs = of.knobs.iter().filter(|(knob, _)| knows(knob));
    Subject {
        name: of.name.clone(),
        knobs: knobs.map(|(knob, value)| (knob.clone(), value.clone())).collect(),
    }
}
