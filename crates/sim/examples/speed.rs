//! How fast the simulator is on one core: events and requests in a second, by model.
//!
//!     cargo run --release -p sim --example speed [MODEL]

use std::env;
use std::time::{Duration, Instant};

use sim::models::Model;
use sim::parameters::Parameters;
use sim::scenario::Scenario;

/// Of each, and the best counts: what is slower was disturbed.
const RUNS: usize = 5;

fn main() -> Result<(), String> {
    let asked = env::args().nth(1);
    let parameters = Parameters::shipped("choi05").expect("a set");
    for (name, knobs) in [("sped", ""), ("mt", "threads=1000"), ("pipelined", "")] {
        if asked.as_deref().is_some_and(|asked| asked != name) {
            continue;
        }
        let knobs = knobs.split_once('=').map(|(knob, value)| (knob.into(), value.into()));
        let scenario = Scenario {
            knobs: knobs.into_iter().collect(),
            cores: 16,
            memory_bytes: 110 << 20,
            workload: String::from("choi-worldcup98"),
            warm_up: Duration::from_secs(1),
            measured: Duration::from_secs(20),
            ..Scenario::new(Model::named(name)?, &parameters)
        };
        let mut workload = scenario.workload()?;
        let warm = scenario.warm(&mut workload)?;
        let mut best = (0.0, 0.0);
        for _ in 0..RUNS {
            let warm = warm.clone();
            let began = Instant::now();
            let run;
            (run, workload) = scenario.run(warm, workload)?;
            let took_s = began.elapsed().as_secs_f64();
            let events = run.whole.events as f64 / took_s;
            if events > best.0 {
                best = (events, run.whole.tally.replied as f64 / took_s);
            }
        }
        let (events, requests) = (best.0 / 1e6, best.1 / 1e3);
        println!("{name:10} {events:6.2} M events/s {requests:7.1} k requests/s");
    }
    Ok(())
}
