//! How much memory a simulation takes at most, in MB of 10^6 bytes: one of 100,000 connections that
//! are open, and one of UC Berkeley's half a million files.
//!
//!     cargo run --release -p sim --example memory

use std::process::Command;
use std::{env, fs};

use measure::Duration;
use sim::models::Model;
use sim::parameters::Parameters;
use sim::scenario::Scenario;

/// Name, workload, clients, memory in MiB.
const CASES: [(&str, &str, u32, u64); 2] = [
    ("100,000 connections", "choi-worldcup98", 100_000, 16 << 10),
    ("UC Berkeley's files", "choi-ucb", 1_000, 3_584),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(asked) = env::args().nth(1) {
        let case = CASES.iter().find(|(name, ..)| *name == asked).ok_or("there is no such case")?;
        return Ok(simulate(case)?);
    }
    for (name, ..) in CASES {
        // What one has taken would be counted with the next one.
        let told = Command::new(env::current_exe()?).arg(name).output()?;
        print!("{name:20} {}", String::from_utf8(told.stdout)?);
    }
    Ok(())
}

fn simulate((_, workload, clients, memory_mib): &(&str, &str, u32, u64)) -> Result<(), String> {
    let parameters = Parameters::shipped("choi05").expect("a set");
    let scenario = Scenario {
        cores: 16,
        memory_bytes: memory_mib << 20,
        clients: *clients,
        workload: String::from(*workload),
        warm_up: Duration::from_secs(5),
        measured: Duration::from_secs(10),
        ..Scenario::new(Model::named("sped")?, &parameters)
    };
    let mut workload = scenario.workload()?;
    let warm = scenario.warm(&mut workload)?;
    let (run, _) = scenario.run(warm, workload)?;
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kb = peak.and_then(|kb| kb.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let peak_mb = peak_kb.ok_or("/proc/self/status has no VmHWM")? * 1024.0 / 1e6;
    println!("{peak_mb:6.1} MB, {} open, {} replies", run.whole.open, run.whole.tally.replied);
    Ok(())
}
