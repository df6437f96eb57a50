//! The two ways in which a simulation is told what a request takes: by two parameters that are made
//! of measurements of the whole, or by its steps, of which each is measured by itself.

use std::collections::BTreeSet;

use super::specs::{BUSY_CLIENTS, ENOUGH_MB, made, modelled};
use super::{JUDGED, Validation};
use crate::capacity::RATE;
use crate::curves;
use crate::design::is_over;
use crate::experiments::parameters;
use crate::fitted::{RECEIVE, WAKE};
use crate::known::Known;
use crate::setup::{Setup, WarmUp};
use crate::simulated::{CLIENTS, MEMORY_MB, PARAMETERS, REPLICATIONS};
use crate::spec::{Load, SIMULATED, Spec};
use crate::subject::Subject;

/// See the head of this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// See [`crate::fitted`].
    Fitted,
    /// See [`parameters::steps`].
    Steps,
}

/// Both.
pub(super) const WAYS: [Way; 2] = [Way::Fitted, Way::Steps];

/// At a time, of an open loop that is simulated: as many as wait for a second at 100,000/s.
const OPEN_CLIENTS: u32 = 100_000;

/// What varies, as it stands in [`Spec::factors`]: see [`Way::Steps`].
const BY_STEPS: &str = "by_steps";

impl Way {
    /// Before what is told of it.
    pub(super) const fn is(self) -> &'static str {
        match self {
            Self::Fitted => "Fitted",
            Self::Steps => "By steps",
        }
    }
}

impl Validation {
    /// What is simulated of a subject, once what it is told is known; of what is fitted, that is
    /// looked for first.
    pub(super) fn simulations(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Vec<Spec> {
        let fit = self.fit(setup, known, of).filter(|fit| !is_over(known, fit));
        let all = WAYS.into_iter().flat_map(|way| {
            let shares = [None].into_iter().chain(JUDGED.map(Some));
            shares.filter_map(move |share| self.simulation(setup, known, of, (way, share)))
        });
        let again =
            |spec: Spec| (0..setup.repeats(3)).map(move |repeat| Spec { repeat, ..spec.clone() });
        fit.into_iter().chain(all.flat_map(again)).collect()
    }

    /// At a share of the measured capacity; `None`: as many as it can, as it is never idle.
    pub(super) fn simulation(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        of: &Subject,
        (way, share): (Way, Option<f64>),
    ) -> Option<Spec> {
        let load = self.told(setup, known, of, way)?;
        let load = Load { seconds: 2.0, warm_up: WarmUp::Fixed(0.2), ..load };
        let load = load.with(REPLICATIONS, setup.repeats(3));
        let (load, rate) = match share {
            None => (load, None),
            Some(share) => {
                let rate = self.rate(setup, known, of, share)?.factors.get(RATE).copied()?;
                let load = load.with("rate", rate).with("gaps", "poisson");
                (load.with(CLIENTS, OPEN_CLIENTS), Some(rate))
            }
        };
        let mut spec = self.spec(setup, (SIMULATED, &modelled(of)), load, 0);
        let reference = self.reference(setup, known, of)?;
        let by_steps = (way == Way::Steps).then_some(1.0);
        let factors = [
            (RATE, rate),
            (reference.factor(), share),
            (MEMORY_MB, Some(ENOUGH_MB)),
            (BY_STEPS, by_steps),
        ];
        let told = factors.into_iter().filter_map(|(name, of)| Some((name.into(), of?)));
        spec.factors = told.collect();
        Some(spec)
    }

    /// What is measured of the steps: by and for the experiment that has them, so that both
    /// validations of a run share them.
    pub(super) fn steps(&self, setup: &Setup, subjects: &[Subject]) -> Vec<Spec> {
        let names: BTreeSet<&str> = subjects.iter().map(|of| &*of.name).collect();
        let names: Vec<&str> = names.into_iter().collect();
        parameters::for_steps(&unlimited(setup), &names, setup.repeats(3))
    }

    /// Those that never came to count, in a line each.
    pub(super) fn steps_in_vain(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
    ) -> Vec<String> {
        let once = self.steps(setup, subjects).into_iter().filter(|spec| spec.repeat == 0);
        let in_vain = once.filter_map(|spec| Some(known.cell(&spec)?.in_vain()));
        let line = |point: &crate::point::Point| {
            format!("{}: {}", curves::name(&point.spec), point.verdict)
        };
        in_vain.flatten().map(line).collect()
    }

    /// What a simulation is told of a subject, but for how often it is asked; `None`: it is not
    /// known.
    pub(super) fn told(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        of: &Subject,
        way: Way,
    ) -> Option<Load> {
        match way {
            Way::Fitted => {
                let fit = self.fit(setup, known, of)?;
                let made = made(known, &fit)?;
                Some(fit.load.with(RECEIVE, made.receive_us).with(WAKE, made.wake_us))
            }
            Way::Steps => self.by_steps(setup, known, of),
        }
    }

    /// Each step as it was measured, put together as the validation's servers take them.
    fn by_steps(&self, setup: &Setup, known: &Known<'_>, of: &Subject) -> Option<Load> {
        let steps = parameters::steps(&unlimited(setup), known, &of.name)?;
        let us = |wanted: &str| steps.iter().find(|(name, _)| *name == wanted).map(|(_, us)| *us);
        let load = self.load(setup).with(PARAMETERS, "weir").with(CLIENTS, BUSY_CLIENTS);
        let load = steps.iter().fold(load, |load, (name, us)| load.with(name, us));
        let load = load
            // No name is kept, and every file is opened: by AMPED's helper, and in the place where
            // its model has a helper for each request.
            .with("path-entries", 0)
            .with("path-miss", us("disk-read")?)
            .with("disk-read", 0)
            // Weir's helpers are threads.
            .with("process-switch", us("thread-switch")?);
        Some(load)
    }
}

/// Steps have a quota of their own, and nothing else here has one: the operator's changes neither.
fn unlimited(setup: &Setup) -> Setup {
    Setup { quota_percent: None, ..setup.clone() }
}
