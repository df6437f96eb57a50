//! Loads that differ in one thing, and what their differences are.

use std::collections::BTreeMap;

use crate::metric;
use crate::point::Point;
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;

/// A load, and how a server is set for it.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) is: &'static str,
    workload: &'static str,
    flags: &'static [(&'static str, &'static str)],
    pub(super) knobs: &'static [(&'static str, &'static str)],
    idle_connections: u32,
}

const KEPT: Case = Case {
    name: "kept",
    is: "one file of 1 KiB on connections that stay",
    workload: "one-packet",
    flags: &[("bytes", "1024"), ("keeps", "client")],
    knobs: &[],
    idle_connections: 0,
};

const EACH: Case = Case {
    name: "each",
    is: "the same on a connection for each request",
    flags: &[("bytes", "1024"), ("keeps", "request")],
    ..KEPT
};

const SELDOM: Case = Case {
    name: "seldom",
    is: "as kept, where each client rests for 4 ms, so that the server mostly sleeps",
    flags: &[("bytes", "1024"), ("keeps", "client"), ("rest", "exponential:0.004")],
    ..KEPT
};

const LARGE: Case = Case {
    name: "large",
    is: "one file of 65,000 bytes on connections that stay",
    flags: &[("bytes", "65000"), ("keeps", "client")],
    ..KEPT
};

const ASKED: Case = Case {
    name: "asked",
    is: "as kept, where each request looks at the file anew (answer-age-ms=0)",
    knobs: &[("answer-age-ms", "0")],
    ..KEPT
};

/// Many files: whoever asks for what another one's helper opens already has it opened for nothing.
const UNCACHED: Case = Case {
    name: "uncached",
    is: "as kept, of 2,000 files in turn of which nothing is kept, so that each request opens its \
         own (cache-mb=0)",
    flags: &[("bytes", "1024"), ("keeps", "client"), ("copies", "2000")],
    knobs: &[("cache-mb", "0")],
    ..KEPT
};

const IDLE: Case = Case {
    name: "idle",
    is: "as kept, beside 2,000 idle connections",
    idle_connections: OPEN,
    ..KEPT
};

const OPEN: u32 = 2_000;

const MANY_FILES: Case = Case {
    name: "many files",
    is: "2,000 files of which descriptors and heads are kept, and no content (small-file-kb=0)",
    workload: "synthetic",
    flags: &[("files", "2000"), ("mean-bytes", "4096"), ("hits", "0.5"), ("cache-mb", "1")],
    knobs: &[("small-file-kb", "0")],
    ..KEPT
};

const ONE_FILE: Case = Case {
    name: "one file",
    is: "as each, with no content kept (small-file-kb=0)",
    flags: &[("bytes", "1024"), ("keeps", "request")],
    knobs: &[("small-file-kb", "0")],
    ..KEPT
};

/// All of them.
pub(super) const CASES: [Case; 9] =
    [KEPT, EACH, SELDOM, LARGE, ASKED, UNCACHED, IDLE, MANY_FILES, ONE_FILE];

/// Those of which the steps of a simulated request are made; the others are of memory, and of
/// servers that look whether a file is the same.
pub(super) const OF_STEPS: [&Case; 5] = [&KEPT, &EACH, &SELDOM, &LARGE, &UNCACHED];

/// So many clients keep a server busy, and wait for it rather than it for them.
const CLIENTS: u32 = 16;

/// A parameter of each architecture.
pub(super) struct FromLoads {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) is: &'static str,
    /// With more of it, and with less; none: it is all of it.
    pub(super) more: &'static Case,
    pub(super) less: Option<&'static Case>,
    /// How much more.
    pub(super) share: f64,
    pub(super) of: fn(&Point) -> Option<f64>,
}

/// All of them; times are for each reply.
pub(super) const FROM_LOADS: [FromLoads; 15] = [
    row("request", "us", "a request of a file that is in memory, and its reply", &KEPT),
    FromLoads {
        less: Some(&KEPT),
        ..row("connection", "us", "a connection more: accept, its reply's FIN, close", &EACH)
    },
    FromLoads {
        less: Some(&KEPT),
        ..row("wake", "us", "a request more where the server sleeps and has to be woken", &SELDOM)
    },
    FromLoads {
        less: Some(&KEPT),
        share: (65_000.0 - 1024.0) / 1024.0,
        ..row("transmit-kb", "us", "each KiB more of a reply", &LARGE)
    },
    FromLoads {
        less: Some(&KEPT),
        ..row("path-translation", "us", "looking whether a file is the same as before", &ASKED)
    },
    FromLoads {
        less: Some(&KEPT),
        ..row(
            "miss",
            "us",
            "a file that is not in the server's own cache, but in memory",
            &UNCACHED,
        )
    },
    FromLoads {
        less: Some(&KEPT),
        share: OPEN as f64,
        of: memory,
        ..row("connection-bytes", "bytes", "memory of its processes for an idle connection", &IDLE)
    },
    FromLoads {
        less: Some(&ONE_FILE),
        share: 1_999.0,
        of: memory,
        ..row(
            "entry-bytes",
            "bytes",
            "memory of its processes for an open file's entry",
            &MANY_FILES,
        )
    },
    FromLoads {
        of: soft,
        ..row("soft-interrupts", "us", "of a request: work of the network", &KEPT)
    },
    FromLoads {
        of: soft,
        ..row(
            "connection-soft-interrupts",
            "us",
            "the same of one on a connection of its own",
            &EACH,
        )
    },
    FromLoads {
        of: switches,
        ..row("switches", "switches", "between threads and processes for a request", &KEPT)
    },
    FromLoads {
        less: Some(&KEPT),
        of: switches,
        ..row("connection-switches", "switches", "the same of a connection more", &EACH)
    },
    FromLoads {
        less: Some(&KEPT),
        of: switches,
        ..row(
            "miss-switches",
            "switches",
            "the same of a file that is not in the server's own cache",
            &UNCACHED,
        )
    },
    FromLoads {
        of: round_trip,
        ..row(
            "round-trip",
            "us",
            "what half of the clients wait for beyond what their request takes of the server",
            &SELDOM,
        )
    },
    FromLoads {
        of: client,
        ..row("client", "us", "the client's own processor for a request", &KEPT)
    },
];

const fn row(
    name: &'static str,
    unit: &'static str,
    is: &'static str,
    more: &'static Case,
) -> FromLoads {
    FromLoads { name, unit, is, more, less: None, share: 1.0, of: metric::CPU.of }
}

fn memory(point: &Point) -> Option<f64> {
    Some(point.vitals.as_ref()?.server.processes.pss_bytes? as f64)
}

fn soft(point: &Point) -> Option<f64> {
    each_reply(point, point.vitals.as_ref()?.server.processors.softirq_us)
}

fn switches(point: &Point) -> Option<f64> {
    let processes = &point.vitals.as_ref()?.server.processes;
    each_reply(point, processes.voluntary_switches + processes.involuntary_switches)
}

fn round_trip(point: &Point) -> Option<f64> {
    let waits_us = (metric::P50.of)(point)? * 1e3;
    Some(waits_us - (metric::CPU.of)(point)?).filter(|us| us.is_finite())
}

fn client(point: &Point) -> Option<f64> {
    each_reply(point, point.vitals.as_ref()?.client.processors.busy_us)
}

fn each_reply(point: &Point, all: u64) -> Option<f64> {
    let (load, vitals) = (point.load.as_ref()?, point.vitals.as_ref()?);
    let per_s = load.flow.replies as f64 / load.measured.as_secs_f64();
    let replies = per_s * vitals.elapsed_us as f64 / 1e6;
    (replies >= 1.0).then(|| all as f64 / replies)
}

impl Case {
    pub(super) fn load(&self, setup: &Setup) -> Load {
        let flags = self.flags.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let load = Load {
            workload: self.workload.into(),
            seconds: setup.seconds(1.0),
            warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
            flags: BTreeMap::from_iter(flags),
            idle_connections: self.idle_connections,
            beside: None,
        };
        load.with("clients", CLIENTS).with("verified", 0.05)
    }
}
