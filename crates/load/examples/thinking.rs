//! What thinking clients cost: so many sessions are begun, all of which think at the same time on
//! kept connections, and then go on. Says how they went, how late they were and how much memory
//! this process ever had.
//!
//!     cargo run --release -p load --example thinking -- 127.0.0.1:8080 /index.html 19000
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Behaviour;
use load::engine::{self, Plan};
use load::files::{File, FileId, Files};
use load::session::{Burst, Request, Session};
use load::stop::Stop;
use load::workload::Workload;
use measure::Duration;
use measure::draw::Stream;

/// Sessions that begin in a second.
const RATE: f64 = 2_000.0;

/// The requests of a session of SPECweb99's kind, in two pages.
const REQUESTS: [usize; 2] = [4, 3];

struct Thinking {
    files: Files,
    think: Duration,
}

impl Workload for Thinking {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, _: &mut Stream, _: &mut Stream) -> Session {
        let burst =
            |count| Burst { requests: vec![Request::get(FileId(0)); count], think: self.think };
        Session { bursts: REQUESTS.into_iter().map(burst).collect() }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [to, target, sessions] = arguments.as_slice() else {
        panic!("ADDRESS:PORT TARGET SESSIONS");
    };
    let sessions: u64 = sessions.parse().expect("a number of sessions");
    let begun = Duration::from_secs_f64(sessions as f64 / RATE);
    let think = begun * 2 + Duration::from_secs(1);
    let file = File::unknown(target.as_str());
    let mut workload = Thinking { files: Files::new(vec![file], false), think };
    assert!(os::limits::descriptors() > sessions, "too many for this process");
    let plan = Plan {
        to: to.parse().expect("an address and a port"),
        host: to.clone(),
        arrivals: Arrivals::Open(Gaps::Fixed { rate: RATE }),
        behaviour: Behaviour::default(),
        stop: Stop {
            after: (begun + think) * 2,
            sessions_max: Some(sessions),
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
        },
        seed: 1,
        begin: os::clock::monotonic(),
        part: engine::Part::WHOLE,
        spins: false,
    };
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let mut latest = Duration::ZERO;
    let done = engine::run(&plan, &mut workload, &mut |record: &load::record::Record| {
        *outcomes.entry(format!("{:?}", record.outcome)).or_default() += 1;
        latest = latest.max(record.started - record.intended);
    });
    println!("{outcomes:?}, at most {latest:?} late, {done:?}");
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let memory = status.lines().filter(|line| line.starts_with("VmHWM"));
    memory.for_each(|line| println!("{line}"));
}
