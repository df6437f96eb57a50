//! A server that takes a millisecond for a request, and for nothing else, under an open loop.
#![allow(unreachable_pub, reason = "each test is a program of its own")]

use load::arrivals::Gaps;
use sim::models::Model;
use sim::parameters::{DEFINITIONS, Parameters, Takes};
use sim::run::Run;
use sim::scenario::Scenario;

/// Times that are limits.
const NO_COSTS: [&str; 4] = ["slice", "syn-timeout", "data-timeout", "grain"];

/// At a rate, and with these parameters as they are set here.
pub fn scenario(model: &'static Model, rate: f64, set: &[(&str, &str)]) -> Scenario {
    let mut parameters = Parameters::shipped("choi05").expect("a set");
    let is_cost = |name| !NO_COSTS.contains(&name);
    for of in DEFINITIONS.iter().filter(|of| of.takes == Takes::Time && is_cost(of.name)) {
        parameters.set(of.name, "0").expect("a time");
    }
    for (name, value) in [("receive", "1000")].iter().chain(set) {
        parameters.set(name, value).expect("a parameter");
    }
    Scenario {
        gaps: Some(Gaps::Poisson(Box::new(Gaps::Fixed { rate }))),
        workload: String::from("one-packet"),
        ..Scenario::new(model, &parameters)
    }
}

/// Nothing may be lost on the way.
pub fn run(scenario: &Scenario) -> Run {
    let mut workload = scenario.workload().expect("a workload");
    let warm = scenario.warm(&mut workload).expect("it fits");
    let run = scenario.run(warm, workload).expect("it runs").0;
    assert_eq!(run.whole.faults, [""; 0], "{}", scenario.model.name);
    run
}
