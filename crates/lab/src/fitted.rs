//! Two parameters of a simulated server, made of two measurements of a real one: what a request
//! takes of its processor where it is often busy, and what one takes where it mostly sleeps.
//!
//! A search by simulations: what they are off by is added. Whoever judges a simulation by them
//! looks elsewhere.

use load::arrivals::Gaps;
use sim::point::{Course, Point as Simulated};
use sim::run::CPU;
use sim::scenario::Scenario;

use crate::Failure;
use crate::point::{Point, Verdict};
use crate::simulated;
use crate::spec::Spec;

/// The stage of one that is asked for.
pub const FITTED: &str = "fitted";

/// What is reached, as it stands in [`Spec::factors`]: µs of processor for a reply of an open loop,
pub const OFTEN_US: &str = "often_us";
/// at this rate, in sessions begun in a second;
pub const OFTEN_RATE: &str = "often_rate";
/// and at another one.
pub const SELDOM_US: &str = "seldom_us";
/// See [`SELDOM_US`].
pub const SELDOM_RATE: &str = "seldom_rate";

/// What comes out, as it stands in [`Point::counters`], in µs: names of parameters.
pub const RECEIVE: &str = "receive";
/// See [`RECEIVE`].
pub const WAKE: &str = "wake";

/// Simulations are this near to both in the end.
const NEAR_SHARE: f64 = 0.005;

/// A search that goes on takes no more.
const ROUNDS: u32 = 12;

/// About so many of the requests find the processor idle that come often, and that come seldom.
const IDLE_SHARES: [f64; 2] = [0.3, 0.8];

/// Whether a spec asks for it.
#[must_use]
pub fn is_asked(spec: &Spec) -> bool {
    spec.stage == FITTED
}

/// Looks for both. Where nothing comes near enough the point does not count, and says so.
///
/// # Errors
/// The operator's: see `simulated::scenario`.
pub fn fit(spec: &Spec, point: &mut Point) -> Result<(), Failure> {
    let factor = |name: &str| spec.factors.get(name).copied().unwrap_or_default();
    let targets_us = [factor(OFTEN_US), factor(SELDOM_US)];
    let rates = [factor(OFTEN_RATE), factor(SELDOM_RATE)];
    let scenario = simulated::scenario(spec, 0).map_err(Failure::Operator)?;
    let (mut receive_us, mut wake_us) = (targets_us[0], (targets_us[1] - targets_us[0]).max(0.0));
    let mut reached_us = [0.0; 2];
    for _ in 0..ROUNDS {
        reached_us = match simulated_us(&scenario, (receive_us, wake_us), rates) {
            Ok(reached_us) => reached_us,
            Err(why) => {
                point.verdict = Verdict::Invalid(vec![why]);
                return Ok(());
            }
        };
        let off_us = [0, 1].map(|at| targets_us[at] - reached_us[at]);
        if [0, 1].iter().all(|at| off_us[*at].abs() <= NEAR_SHARE * targets_us[*at]) {
            point.counters.insert(RECEIVE.into(), receive_us);
            point.counters.insert(WAKE.into(), wake_us);
            return Ok(());
        }
        let [often, seldom] = IDLE_SHARES;
        let more_us = (off_us[1] - off_us[0]) / (seldom - often);
        receive_us = (receive_us + off_us[0] - often * more_us).max(0.0);
        wake_us = (wake_us + more_us).max(0.0);
    }
    let us = |[often, seldom]: [f64; 2]| format!("{often:.1} µs often and {seldom:.1} µs seldom");
    point.verdict = Verdict::Invalid(vec![format!(
        "no parameters were found by which a reply of {} takes {}: simulations came to {}",
        spec.subject.name,
        us(targets_us),
        us(reached_us)
    )]);
    Ok(())
}

/// What a reply takes under both loads.
fn simulated_us(
    scenario: &Scenario,
    (receive_us, wake_us): (f64, f64),
    rates: [f64; 2],
) -> Result<[f64; 2], String> {
    /// At a time: more never wait for a server that sleeps now and then.
    const CLIENTS: u32 = 10_000;
    let mut scenario = Scenario { clients: CLIENTS, ..scenario.clone() };
    scenario.set(RECEIVE, &receive_us.to_string())?;
    scenario.set(WAKE, &wake_us.to_string())?;
    let us = |rate| {
        let gaps = Some(Gaps::Poisson(Box::new(Gaps::Fixed { rate })));
        let simulated =
            Simulated::new(&Scenario { gaps, ..scenario.clone() }, 1, 1, &Course::default())?;
        simulated.judge()?;
        Ok::<_, String>(simulated.figure(&CPU).mean)
    };
    Ok([us(rates[0])?, us(rates[1])?])
}
