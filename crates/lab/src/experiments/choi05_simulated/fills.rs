//! What the paper leaves open, and what else it might have meant.

use crate::page::Table;
use crate::setup::Setup;

/// One thing that is another than by default.
pub(super) struct Fill {
    pub(super) name: &'static str,
    /// By the parameters' names, in their units.
    pub(super) parameters: &'static [(&'static str, &'static str)],
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
}

/// Replications: those of one draw the same for all models.
const REPEATS: u32 = 6;
/// Of what is judged with a fill changed.
const FILL_REPEATS: u32 = 4;

impl Fill {
    /// Whether there may be no room for files beside what it takes.
    pub(super) fn takes_memory(&self) -> bool {
        let is_size = |(name, _): &(&str, &str)| ["process-bytes", "thread-bytes"].contains(name);
        !self.knobs.is_empty() || self.parameters.iter().any(is_size)
    }

    pub(super) fn repeats(&self, setup: &Setup) -> u32 {
        let is_said = self.parameters.is_empty() && self.knobs.is_empty();
        let repeats = setup.repeats(REPEATS);
        if is_said { repeats } else { repeats.min(FILL_REPEATS) }
    }
}

/// What the paper says, and what is filled in where it does not.
pub(super) const AS_SAID: Fill = of("as by default", &[], "");

const fn of(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    why: &'static str,
) -> Fill {
    Fill { name, parameters, knobs: &[], each: Each::Processor, why }
}

const fn with(
    name: &'static str,
    knobs: &'static [(&'static str, &'static str, u32)],
    each: Each,
    why: &'static str,
) -> Fill {
    Fill { name, parameters: &[], knobs, each, why }
}

pub(super) const FILLS: &[Fill] = &[
    of(
        "memory after one pass",
        &[("warmth", "pass")],
        "6 warms up for 5,000 s, and whether a trace begins again in them is not said; after one \
         pass files stand in memory that were asked for once",
    ),
    of(
        "contents private",
        &[("contents", "private")],
        "3.2 and 4 say that each process has a cache of its own; table 1 multiplies entries only",
    ),
    of(
        "all files of the mean size",
        &[("file-sizes", "mean")],
        "table 4 has means alone; of a synthesised trace what is asked for most is smaller",
    ),
    of(
        "entries counted",
        &[("entry-file", "0")],
        "table 1 counts an entry for each 15 KB; Penn State CSE's files have 124 KB",
    ),
    of(
        "slow disk",
        &[("disk-latency", "5.35"), ("disk-rate", "594")],
        "section 6 does not say which disk; 5.3 has the slow one",
    ),
    of(
        "disk a pure delay",
        &[("disk-channels", "1000")],
        "how requests queue for the disk is not said",
    ),
    of(
        "a look for each block",
        &[("lookup-bytes", "512")],
        "whether a large file is looked up again for each block is not said; MT's threads would \
         compete for the lock far more",
    ),
    of("64 locks", &[("cache-locks", "64")], "how many locks the shared cache has is not said"),
    of("locks spin 10 us", &[("lock-spin", "10")], "how threads wait for a lock is not said"),
    of("slice of 1 ms", &[("slice", "1")], "the scheduler is not described"),
    of("slice of 100 ms", &[("slice", "100")], "the same"),
    of(
        "switches of 50 us",
        &[("thread-switch", "50")],
        "what a switch does to caches is not in table 3: a switch may cost more than it takes",
    ),
    of(
        "switches between processes of 20 us",
        &[("process-switch", "20")],
        "table 3 tells of switches between threads; AMPED's helpers are processes",
    ),
    of(
        "64 KB for each thread",
        &[("thread-bytes", "64")],
        "25 KB were measured of Apache; 6.3 says that memory of threads takes part. With more, \
         MT's 1,000 would leave no memory for WorldCup98's files",
    ),
    of(
        "a loop takes one event at a time",
        &[("events-batch", "1")],
        "how many it takes before it accepts again is not said",
    ),
    of("pools not pinned", &[("pinned", "no")], "4 says only that a pool can be launched on each"),
    of(
        "a path miss reads the disk",
        &[("path-miss-reads", "4096")],
        "table 3 has only what a look takes",
    ),
    of(
        "16 MB for each process",
        &[("process-bytes", "16")],
        "the slope of figure 2 is 16 MB for each server, and table 1 comes to 8.7",
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
