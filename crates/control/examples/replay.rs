//! What the constants of today would have decided in floods that were seen:
//! `weir serve --admission-log FILE`, then `cargo run -p control --example replay < FILE`. For each
//! look: the time in ms, who waited, what was set then, and what would be now. It is no model: who
//! would have come then is not known.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::process::ExitCode;

use control::admission::{ALL, Setting};
use control::record::{Record, Replay};

fn main() -> ExitCode {
    match replay(io::stdin().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("replay: {why}");
            ExitCode::FAILURE
        }
    }
}

fn replay(lines: impl BufRead) -> Result<(), String> {
    // Of each worker and listening socket.
    let mut all: HashMap<String, Replay> = HashMap::new();
    for (n, line) in lines.lines().enumerate() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        let of_line = |why: String| format!("line {}: {why}", n + 1);
        let (of, text) = line.split_once(' ').ok_or_else(|| of_line("it is cut".into()))?;
        let record: Record = text.parse().map_err(of_line)?;
        let now_set = all.entry(of.into()).or_default().go_on(&record);
        if let (Some(would), Record::Looks { now, sample, setting: was, .. }) = (now_set, record) {
            let (at_ms, queue) = (now.ns / 1_000_000, sample.queue);
            println!("{of} {at_ms} ms: {queue} wait; {}; now {}", told(was), told(would));
        }
    }
    Ok(())
}

fn told(Setting { backlog, share }: Setting) -> String {
    let percent = 100.0 * f64::from(share) / f64::from(ALL);
    format!("{percent:.1} % and {backlog}")
}
