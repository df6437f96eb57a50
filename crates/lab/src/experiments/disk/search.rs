//! How late the disk's reads are answered: so late that a single loop waits for them at its
//! capacity as long as the paper's did (Pariag07 5.3).
//!
//! Found with clients who always ask for more, so that the loop is at its capacity whatever that
//! is with this disk.

use std::collections::BTreeMap;

use super::{KNOBS, PAPERS, thousand};
use crate::curves::number;
use crate::design::is_over;
use crate::known::Known;
use crate::metric;
use crate::setup::{OnDisk, Setup};
use crate::spec::Spec;
use crate::subject::Subject;
use crate::testbed::Disk;

/// Of the time, in percent: the paper's, and what is as good.
const BLOCKED_PERCENT: f64 = 33.0;
const GOOD_ENOUGH: std::ops::RangeInclusive<f64> = 31.0..=35.0;
/// What will do, where nothing better was found.
const WILL_DO: std::ops::RangeInclusive<f64> = 28.0..=38.0;

/// A step is no longer than this, whatever it looks like.
const STEP_MAX: f64 = 4.0;
/// No disk is slower.
const DELAY_MAX_US: u32 = 1_000_000;
/// Two are mostly enough.
const STEPS_MAX: usize = 8;

/// As in the probe of any other experiment.
const CLIENTS: u32 = 64;
const SECONDS: f64 = 6.0;

/// As they stand in [`Spec`].
const EXPERIMENT: &str = "pariag07-processes";
const STAGE: &str = "disk";
const DELAY_US: &str = "delay_us";

/// What has been tried, and what is to be next.
pub(super) struct Search {
    pub(super) specs: Vec<Spec>,
    pub(super) found: Found,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// The last of the specs is to be measured.
    NotYet,
    /// This; none: the machine's own.
    Disk(Option<Disk>),
    /// No delay makes it wait for so long.
    Nothing,
}

pub(super) fn search(setup: &Setup, known: &Known<'_>) -> Search {
    if let Some(disk) = said(setup) {
        return Search { specs: Vec::new(), found: Found::Disk(disk) };
    }
    let mut specs = Vec::new();
    let mut tried = Vec::new();
    let mut delay_us = PAPERS.delay_us;
    for _ in 0..STEPS_MAX {
        let spec = spec(setup, delay_us);
        specs.push(spec);
        let Some(blocked) = blocked(known, &specs[specs.len() - 1]) else {
            return Search { specs, found: Found::NotYet };
        };
        tried.push((delay_us, blocked));
        let next_us = next_us(delay_us, blocked);
        if GOOD_ENOUGH.contains(&blocked) || tried.iter().any(|(us, _)| *us == next_us) {
            break;
        }
        delay_us = next_us;
    }
    let far = |blocked: f64| (blocked - BLOCKED_PERCENT).abs();
    let nearest = tried.into_iter().min_by(|(_, a), (_, b)| far(*a).total_cmp(&far(*b)));
    let found = nearest.filter(|(_, blocked)| WILL_DO.contains(blocked));
    let disk = found.map(|(delay_us, _)| Found::Disk(Some(Disk { delay_us, arm: None })));
    Search { specs, found: disk.unwrap_or(Found::Nothing) }
}

/// What the operator's choices leave of it; none: it is to be found. The machine's own disk is
/// none, too, within.
pub(in crate::experiments) fn said(setup: &Setup) -> Option<Option<Disk>> {
    match setup.disk {
        _ if setup.is_loopback => Some(None),
        Some(OnDisk::Itself) => Some(None),
        Some(OnDisk::Slow(disk)) => Some(Some(disk)),
        None => None,
    }
}

/// A loop that is blocked for a share of the time does its work in the rest of it: what it waits
/// for each piece of work is as their ratio, and grows as the delay.
fn next_us(delay_us: u32, blocked: f64) -> u32 {
    let ratio = |percent: f64| percent / (100.0 - percent);
    let blocked = blocked.clamp(1.0, 99.0);
    let factor = (ratio(BLOCKED_PERCENT) / ratio(blocked)).clamp(1.0 / STEP_MAX, STEP_MAX);
    // To a hundredth of a millisecond: nobody sees less.
    (((f64::from(delay_us) * factor / 10.0).round() as u32).max(1) * 10).min(DELAY_MAX_US)
}

/// In percent of the time; none: it is still to be measured. What never came to count is a hint as
/// well, the last one the best.
fn blocked(known: &Known<'_>, spec: &Spec) -> Option<f64> {
    is_over(known, spec).then_some(())?;
    let cell = known.cell(spec)?;
    let points = cell.points().chain(cell.invalid.iter().rev().copied());
    Some(points.filter_map(metric::BLOCKED.of).next().unwrap_or(0.0))
}

fn spec(setup: &Setup, delay_us: u32) -> Spec {
    let subject = loop_of(setup);
    let disk = Disk { delay_us, arm: None };
    let design = super::design(EXPERIMENT, setup, vec![subject.clone()], Some(disk));
    let mut load = design.load.with("clients", CLIENTS).with("keeps", "session");
    load.flags.remove("think-scale");
    load = load.with("think", "none");
    load.seconds = setup.seconds(SECONDS);
    Spec {
        experiment: EXPERIMENT.into(),
        stage: STAGE.into(),
        subject,
        load,
        layout: design.layout,
        factors: BTreeMap::from([(DELAY_US.into(), f64::from(delay_us))]),
        repeat: 0,
        profile: None,
    }
}

/// The paper's userver-nb-30K-1p.
fn loop_of(setup: &Setup) -> Subject {
    let own = [
        ("connections-max", (30 * thousand(setup)).to_string()),
        ("processes", String::from("1")),
    ];
    let all = KNOBS.map(|(knob, value)| (knob, String::from(value)));
    let knobs = own.into_iter().chain(all).map(|(knob, value)| (knob.into(), value)).collect();
    Subject { name: String::from("sped"), knobs }
}

/// How the disk was set, for the reader of a page.
pub(super) fn told(setup: &Setup, known: &Known<'_>) -> Vec<String> {
    let search = search(setup, known);
    let line = match (search.found, search.specs.is_empty()) {
        (Found::Disk(None), _) if setup.is_loopback => return Vec::new(),
        (Found::Disk(None), _) => {
            String::from("The disk is the machine's own, as it is: nothing makes it slower.")
        }
        (Found::Disk(Some(disk)), true) => format!(
            "The disk is an image whose reads are answered late, as the operator says: {disk}."
        ),
        (found, _) => {
            let tried = search.specs.iter().filter_map(|spec| {
                let (us, blocked) = (spec.factors.get(DELAY_US)?, blocked(known, spec)?);
                Some(format!("{} ms: {} %", number(us / 1e3), number(blocked)))
            });
            let tried = tried.collect::<Vec<_>>().join("; ");
            let came = match found {
                Found::Disk(Some(disk)) => format!(
                    "It is {} ms, and several reads are in flight at a time, as many as a server \
                     asks for.",
                    number(f64::from(disk.delay_us) / 1e3)
                ),
                Found::Nothing => String::from(
                    "No delay makes it wait for 28 to 38 % of the time, so nothing else was \
                     measured; --disk says a delay.",
                ),
                Found::NotYet | Found::Disk(None) => String::from("It is not found yet."),
            };
            format!(
                "The disk is an image whose reads are each answered late. How late was found by \
                 how long a single loop is blocked by it at its capacity, which is to be \
                 {BLOCKED_PERCENT} % of the time, as in the paper (5.3): {tried}. {came}"
            )
        }
    };
    vec![line]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_as_far_as_the_ratio_of_waiting_and_work() {
        let rows = [(6_000, 33.0, 6_000), (6_000, 20.0, 11_820), (6_000, 50.0, 2_960)];
        let far = [(6_000, 0.0, 24_000), (6_000, 99.9, 1_500), (10, 99.9, 10)];
        for (delay_us, blocked, expected) in rows.into_iter().chain(far) {
            assert_eq!(next_us(delay_us, blocked), expected, "{delay_us} {blocked}");
        }
    }
}
