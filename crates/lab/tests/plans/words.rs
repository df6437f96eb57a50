//! What a terminal shows: how long an experiment takes, and what came out.

use lab::experiments::EXPERIMENTS;
use lab::schedule::{costs, missing};
use lab::setup::Setup;

use super::designs::performed;

/// An estimate: what comes later depends on what came before.
#[test]
fn experiments_take_about_as_long_as_is_said() {
    let setup = Setup { repeats: Some(1), ..Setup::default() };
    for of in EXPERIMENTS {
        let (specs, later_s) = missing(of, &setup, &[]);
        let said_s = costs(&specs) + later_s;
        let points = performed(of, &setup, &|_, rate| rate.map_or(5_000.0, |r| r.min(5_000.0)));
        let took_s: f64 = points.iter().map(|point| point.cost.whole_s).sum();
        let share = said_s / took_s;
        assert!((0.7..=1.35).contains(&share), "{}: {said_s:.0} s of {took_s:.0} s", of.name);
    }
}
