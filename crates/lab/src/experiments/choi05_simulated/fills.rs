//! What the paper leaves open, and what else it might have meant.

use crate::page::Table;

/// One thing that is another than by default.
pub(super) struct Fill {
    pub(super) name: &'static str,
    /// By the names of parameters, in their units.
    pub(super) parameters: &'static [(&'static str, &'static str)],
    /// Models that these can change, by the names of the registry; to all others it is as by
    /// default.
    pub(super) models: &'static [&'static str],
    /// Of a model, a knob, and its value,
    pub(super) knobs: &'static [(&'static str, &'static str, u32)],
    /// for each of these.
    pub(super) each: Each,
    /// Why it may be so.
    pub(super) why: &'static str,
}

/// What a knob is multiplied by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Each {
    Processor,
    Client,
    /// It is so many in all.
    Server,
}

const ALL: &[&str] = &["mp", "mt", "sped", "amped", "pipelined"];
/// Those whose processes have entries of their own.
const OF_PROCESSES: &[&str] = &["mp", "sped", "amped"];
/// Those whose threads share what is kept, under locks.
const OF_THREADS: &[&str] = &["mt", "pipelined"];
const OF_LOOPS: &[&str] = &["sped", "amped"];
/// Where others may wait for a processor: SPED has one process for each.
const BUT_SPED: &[&str] = &["mp", "mt", "amped", "pipelined"];

impl Fill {
    /// Whether there may be no room for files beside what it takes.
    pub(super) fn takes_memory(&self) -> bool {
        let is_size = |(name, _): &(&str, &str)| ["process-bytes", "thread-bytes"].contains(name);
        !self.knobs.is_empty() || self.parameters.iter().any(is_size)
    }

    /// Whether it is anything else than by default to that model.
    pub(super) fn changes(&self, model: &str) -> bool {
        self.models.contains(&model) || self.knobs.iter().any(|(of, ..)| *of == model)
    }

    /// Those of a model, with so many processors and clients.
    pub(super) fn knobs_of(
        &self,
        model: &str,
        (cores, clients): (u32, u32),
    ) -> Vec<(String, String)> {
        let times = match self.each {
            Each::Processor => cores,
            Each::Client => clients,
            Each::Server => 1,
        };
        let own = self.knobs.iter().filter(|(of, ..)| *of == model);
        own.map(|(_, knob, each)| (String::from(*knob), (each * times).to_string())).collect()
    }
}

/// What the paper says, and what is filled in where it does not.
pub(super) const AS_SAID: Fill = of("as by default", &[], &[], "");

const fn of(
    name: &'static str,
    models: &'static [&'static str],
    parameters: &'static [(&'static str, &'static str)],
    why: &'static str,
) -> Fill {
    Fill { name, parameters, models, knobs: &[], each: Each::Processor, why }
}

const fn with(
    name: &'static str,
    knobs: &'static [(&'static str, &'static str, u32)],
    each: Each,
    why: &'static str,
) -> Fill {
    Fill { name, parameters: &[], models: &[], knobs, each, why }
}

pub(super) const FILLS: &[Fill] = &[
    of(
        "memory after one pass",
        ALL,
        &[("warmth", "pass")],
        "6 warms up for 5,000 s, and whether a trace begins again in them is not said; after one \
         pass files stand in memory that were asked for once",
    ),
    of(
        "contents private",
        OF_PROCESSES,
        &[("contents", "private")],
        "3.2 and 4 say that each process has a cache of its own; table 1 multiplies entries only",
    ),
    of(
        "all files of the mean size",
        ALL,
        &[("file-sizes", "mean")],
        "table 4 has means alone; of a synthesised trace what is asked for most is smaller",
    ),
    of(
        "entries counted",
        ALL,
        &[("entry-file", "0")],
        "table 1 counts an entry for each 15 KB; Penn State CSE's files have 124 KB",
    ),
    of(
        "slow disk",
        ALL,
        &[("disk-latency", "5.35"), ("disk-rate", "594")],
        "section 6 does not say which disk; 5.3 has the slow one",
    ),
    of(
        "disk a pure delay",
        ALL,
        &[("disk-channels", "1000")],
        "how requests queue for the disk is not said",
    ),
    of(
        "a look for each block",
        ALL,
        &[("lookup-bytes", "512")],
        "whether a large file is looked up again for each block is not said; MT's threads would \
         compete for the lock far more",
    ),
    of(
        "64 locks",
        OF_THREADS,
        &[("cache-locks", "64")],
        "how many locks the shared cache has is not said",
    ),
    of(
        "locks spin 10 us",
        OF_THREADS,
        &[("lock-spin", "10")],
        "how threads wait for a lock is not said",
    ),
    of("slice of 1 ms", BUT_SPED, &[("slice", "1")], "the scheduler is not described"),
    of("slice of 100 ms", BUT_SPED, &[("slice", "100")], "the same"),
    of(
        "switches of 50 us",
        OF_THREADS,
        &[("thread-switch", "50")],
        "what a switch does to caches is not in table 3: a switch may cost more than it takes",
    ),
    of(
        "switches between processes of 20 us",
        &["mp", "amped"],
        &[("process-switch", "20")],
        "table 3 tells of switches between threads; AMPED's helpers are processes",
    ),
    of(
        "64 KB for each thread",
        OF_THREADS,
        &[("thread-bytes", "64")],
        "25 KB were measured of Apache; 6.3 says that memory of threads takes part. With more, \
         MT's 1,000 would leave no memory for WorldCup98's files",
    ),
    of(
        "a loop takes one event at a time",
        OF_LOOPS,
        &[("events-batch", "1")],
        "how many it takes before it accepts again is not said",
    ),
    of(
        "pools not pinned",
        &["sped", "amped", "pipelined"],
        &[("pinned", "no")],
        "4 says only that a pool can be launched on each",
    ),
    of(
        "a path miss reads the disk",
        ALL,
        &[("path-miss-reads", "4096")],
        "table 3 has only what a look takes",
    ),
    of(
        "16 MB for each process",
        ALL,
        &[("process-bytes", "16")],
        "the slope of figure 2 is 16 MB for each server, and table 1 comes to 8.7",
    ),
    of(
        "24 us of a client's own link",
        ALL,
        &[("transmit", "0"), ("link-rate", "170.667"), ("link-is", "own")],
        "table 3 says that 512 B take 24 us to transmit, and not of what: it may be time on the \
         wire, which differs from one client to the next",
    ),
    of(
        "locks held while files are read",
        OF_THREADS,
        &[("lock-covers", "read")],
        "3.2 tells of threads that compete for the shared cache, and not for how long",
    ),
    of("locks held while files are sent", OF_THREADS, &[("lock-covers", "send")], "the same"),
    of(
        "a row of tasks for each processor",
        &["mp", "mt"],
        &[("task-rows", "each")],
        "the scheduler is not described",
    ),
    of(
        "a stage takes one request at a time",
        &["pipelined"],
        &[("stage-takes", "one")],
        "4 does not say what a thread takes from its queue before the next one runs",
    ),
    of(
        "memory of contents alone",
        ALL,
        &[("memory-is", "contents")],
        "table 5 and 5.3 give sizes of the cache itself, 6.1 the same numbers as the machine's",
    ),
    of("a path miss of 100 us", ALL, &[("path-miss", "100")], "table 3 has only what a look takes"),
    of(
        "hand-overs of 5 us",
        &["amped", "pipelined"],
        &[("hand-over", "5")],
        "what it takes to give work to another task is not in table 3",
    ),
    of(
        "1 us for a lock of another processor",
        OF_THREADS,
        &[("lock-transfer", "1")],
        "what a lock moves from one processor's cache to another's is not in table 3",
    ),
    with(
        "loops accept one at a time",
        &[("sped", "accept-limit", 1), ("amped", "accept-limit", 1)],
        Each::Server,
        "the paper names no accept-limit",
    ),
    with(
        "MT: a thread for each client",
        &[("mt", "threads", 1)],
        Each::Client,
        "6.3: MT needs many active threads, and its memory grows with clients",
    ),
    with(
        "MT: 32 threads for each processor",
        &[("mt", "threads", 32)],
        Each::Processor,
        "3.2: 32 or 64",
    ),
    with(
        "MP: 32 processes for each processor",
        &[("mp", "processes", 32)],
        Each::Processor,
        "3.3: 16 or 32",
    ),
    with(
        "MP: a process for each client",
        &[("mp", "processes", 1)],
        Each::Client,
        "5.3: MP's bandwidth drops with clients, and its processes are all that they could change",
    ),
    with(
        "SPED: 2 processes for each processor",
        &[("sped", "processes", 2)],
        Each::Processor,
        "3.3: Zeus advises two for each processor",
    ),
];

/// All of them, with the reasons, and whether all was simulated that is judged with them.
pub(super) fn table(is_whole: impl Fn(&Fill) -> bool) -> Table {
    let row = |fill: &Fill| {
        let parameters = fill.parameters.iter().map(|(name, value)| format!("{name} {value}"));
        let each = match fill.each {
            Each::Processor => "processor",
            Each::Client => "client",
            Each::Server => "server",
        };
        let knobs = fill.knobs.iter();
        let knobs =
            knobs.map(|(model, knob, value)| format!("{model} {knob} {value} for each {each}"));
        let is = parameters.chain(knobs).collect::<Vec<_>>().join(", ");
        let whole = if is_whole(fill) { "yes" } else { "no" };
        vec![fill.name.into(), is, fill.why.into(), whole.into()]
    };
    Table {
        title: String::from("What is changed, one at a time"),
        head: ["fill", "is", "as", "simulated whole"].map(String::from).into(),
        rows: FILLS.iter().map(row).collect(),
        notes: vec![String::from(
            "Where a fill leaves no memory for files nothing is simulated with it, and a claim of \
             that place stays open.",
        )],
    }
}

#[cfg(test)]
mod tests {
    use measure::Duration;
    use sim::scenario::Scenario;

    use super::*;
    use crate::experiments::choi05_simulated::{MODELS, chart_named};
    use crate::setup::Setup;
    use crate::simulated::scenario;

    /// Models that a fill is said not to change are simulated without it: they have to do the same
    /// with it, event by event. And each fill changes one of those that it is said to change.
    #[test]
    fn a_fill_changes_its_models_and_no_others() {
        let mut idle: Vec<&str> = FILLS.iter().map(|fill| fill.name).collect();
        let chart = chart_named("6c-clarknet");
        for (model, name) in MODELS {
            let spec = chart.spec(&Setup::default(), (model, 2), &AS_SAID);
            let scenario = scenario(&spec, 0).expect("what the chart is of");
            let base = Scenario { warm_up: Duration::ZERO, clients: 200, ..scenario };
            let mut base = Scenario { measured: Duration::from_millis(500), ..base };
            base.memory_bytes /= 10;
            base.set("trace-scale", "0.1").expect("a tenth of the files");
            base.set("path-entries", "600").expect("and of the paths");
            let digest = |scenario: &Scenario| {
                let mut workload = scenario.workload().expect("a trace");
                let warm = scenario.warm(&mut workload).expect("it fits");
                let run = scenario.run(warm, workload).expect("it runs").0;
                assert!(run.whole.tally.replied > 100, "{name}: {:?}", run.whole.tally);
                run.whole.digest
            };
            let expected = digest(&base);
            for fill in FILLS {
                let knobs = fill.knobs_of(name, (base.cores, base.clients));
                let mut filled = Scenario { knobs, ..base.clone() };
                for (parameter, value) in fill.parameters {
                    filled.set(parameter, value).expect("a parameter");
                }
                // What leaves no room for files is not simulated.
                if filled.sized().is_ok() {
                    let is_changed = digest(&filled) != expected;
                    assert!(fill.changes(name) || !is_changed, "{name}: {}", fill.name);
                    idle.retain(|of| !is_changed || *of != fill.name);
                }
            }
        }
        assert_eq!(idle, [""; 0]);
    }
}
