//! The loads, a row for each.

use std::collections::BTreeMap;

use crate::experiments::{best, disk, frame};
use crate::spec::{Beside, Load};

/// A load, and what is asked about it.
pub(super) struct Flood {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) question: &'static str,
    /// What a reader has to know of it beside that.
    pub(super) says: &'static str,
    pub(super) ignores: &'static [&'static str],
    pub(super) subjects: &'static [&'static str],
    pub(super) asks: Asks,
    /// How long clients wait, in seconds.
    pub(super) patience_s: f64,
    /// The longest warm-up that its queues are given to fill: see `design::filled`.
    pub(super) filling_max_s: f64,
    /// Of one processor, what the server's processes have; none: all of theirs.
    pub(super) quota_percent: Option<u32>,
    pub(super) round_trip_ms: Option<u32>,
    /// Whether the server has little memory, and a slow disk.
    pub(super) has_disk: bool,
    /// What else the server has to do.
    pub(super) beside: Option<fn() -> Beside>,
    /// Whether it is measured without that, and then at the same rates with it; or with it alone.
    pub(super) is_compared: bool,
    /// Of the capacity.
    pub(super) multiples: &'static [f64],
    pub(super) repeats: u32,
}

/// What clients come for.
pub(super) enum Asks {
    /// One small file.
    OnePacket,
    /// A session of SPECweb99, with its pauses.
    Sessions,
    /// The same without.
    SessionsAtOnce,
}

/// Measured for each point: a second has some hundreds of replies under this quota, of which the
/// slowest hundredth is a handful.
pub(super) const SECONDS: f64 = 2.0;

/// As in `flood`, of which each row says in what it differs.
const AS_FLOOD: Flood = Flood {
    name: "",
    title: "",
    question: "",
    says: "",
    ignores: &["disk", "memory-percent"],
    subjects: &["sped", "mt", "proactor"],
    asks: Asks::OnePacket,
    patience_s: 1.0,
    filling_max_s: 3.0,
    quota_percent: Some(15),
    round_trip_ms: None,
    has_disk: false,
    beside: None,
    is_compared: false,
    multiples: &[2.0],
    repeats: 2,
};

/// In the order in which they are listed.
pub(super) const FLOODS: [Flood; 10] = [
    Flood {
        name: "flood-patience-3",
        title: "A flood of clients who wait three seconds",
        question: "does a server keep what it can do in a flood of clients who wait 3 seconds?",
        patience_s: 3.0,
        // All who wait have a descriptor of the client's, of which it may have 20,000 in all.
        quota_percent: Some(10),
        filling_max_s: 6.0,
        multiples: &[2.0, 3.0],
        ..AS_FLOOD
    },
    Flood {
        name: "flood-patience-15",
        title: "A flood of clients who wait 15 seconds",
        question: "does a server keep what it can do in a flood of clients who wait 15 seconds?",
        says: "A queue in which clients wait so long takes half a minute to fill, and more \
               clients than one machine can hold. Here it has four seconds before anything is \
               measured, so longer waits are not seen. Clients that are refused come again after \
               1, 3 and 7 seconds. So the flood goes on for 15 seconds after what is measured, \
               and each point is measured once.",
        patience_s: 15.0,
        filling_max_s: 4.0,
        quota_percent: Some(4),
        repeats: 1,
        ..AS_FLOOD
    },
    far(
        "flood-far-20",
        "A flood from 20 ms away",
        "does a server keep what it can do in a flood from 20 ms away?",
        20,
    ),
    far(
        "flood-far-100",
        "A flood from 100 ms away",
        "does a server keep what it can do in a flood from 100 ms away?",
        100,
    ),
    Flood {
        name: "flood-sessions",
        title: "A flood of sessions",
        question: "in a flood of sessions, how many of those let in are finished?",
        says: "Sessions of SPECweb99 with 7 requests on average, over one connection each. Users \
               think 0.03 times as long as the benchmark's, so that without waiting a session is \
               over in less than a second. What counts is how many sessions are finished.",
        ignores: &["workload", "disk", "memory-percent"],
        asks: Asks::Sessions,
        quota_percent: Some(20),
        ..AS_FLOOD
    },
    Flood {
        name: "flood-kept",
        title: "A flood beside clients who stay",
        question: "does a server keep what it can do in a flood beside 4,000 clients who stay?",
        says: "Beside the flood 4,000 clients keep a connection each and rest five seconds on \
               average before they ask again, also while the capacity is looked for. They begin \
               in the middle of their rests, five seconds before the warm-up, so not all of them \
               are there at once.",
        beside: Some(who_stay),
        ..AS_FLOOD
    },
    Flood {
        name: "flood-slow-readers",
        title: "A flood beside slow readers",
        question: "does a server keep what it can do in a flood beside 2,000 slow readers?",
        says: "The capacity and each rate are measured without slow readers; then each rate is \
               asked for again beside 2,000 clients who take 4 KiB in a second of a file of 5 \
               MB, and give up after eight. They come all at once, a second before the warm-up. \
               A short queue lets in fewer of them (see the connections open), so that server \
               has less to do.",
        beside: Some(slow_readers),
        is_compared: true,
        multiples: &[0.9, 2.0],
        ..AS_FLOOD
    },
    Flood {
        name: "flood-disk",
        title: "A flood for what is in memory, beside misses",
        question: "does a server keep what it can do in a flood beside those who want the disk?",
        says: "The flood asks for one small file, which is in memory. Beside it 32 clients in a \
               closed loop ask for SPECweb99's files, also while the capacity is looked for. At \
               most five eighths of these are in memory; the others are on a slow disk.",
        subjects: &frame::ARCHITECTURES,
        ignores: &[],
        has_disk: true,
        beside: Some(misses),
        multiples: &[0.9, 2.0],
        ..AS_FLOOD
    },
    Flood {
        name: "flood-whole",
        title: "A flood for a server with a whole processor",
        question: "does a server with a whole processor keep what it can do in a flood?",
        says: "Without a quota one client may be the limit: the page says what it could not ask \
               for.",
        quota_percent: None,
        ignores: &["quota", "disk", "memory-percent"],
        ..AS_FLOOD
    },
    Flood {
        name: "flood-sessions-whole",
        title: "A flood of sessions for a server with a whole processor",
        question: "does a server with a whole processor keep its sessions in a flood of them?",
        says: "Sessions of SPECweb99 without pauses, of which those that are turned away cost \
               their clients little: so these can ask for more than a server with a whole \
               processor can do, and nobody needs a quota. Where they could not, it is told.",
        ignores: &["workload", "quota", "disk", "memory-percent"],
        subjects: &best::SUBJECTS,
        asks: Asks::SessionsAtOnce,
        quota_percent: None,
        repeats: 3,
        ..AS_FLOOD
    },
];

const fn far(
    name: &'static str,
    title: &'static str,
    question: &'static str,
    trip_ms: u32,
) -> Flood {
    Flood {
        name,
        title,
        question,
        round_trip_ms: Some(trip_ms),
        // What a carried packet costs the kernel is done elsewhere, and who carries packets has to
        // keep up with twice of what the server can do.
        quota_percent: Some(5),
        ..AS_FLOOD
    }
}

/// Of users' thoughts: sessions that are shorter than what is measured, and still overlap.
const THINK_SCALE: f64 = 0.03;

/// What a load asks for, as sessions of users who think.
pub(super) fn sessions(load: Load) -> Load {
    let mut load = at_once(load).with("think-scale", THINK_SCALE);
    load.flags.remove("think");
    load
}

/// The same without thoughts.
pub(super) fn at_once(load: Load) -> Load {
    let load = Load { workload: String::from("specweb99"), ..load };
    // A set that is in memory, as this is not about disks. And the contents of some replies: a
    // client that looks at all of them would be the limit.
    load.with("dirs", 10).with("think", "none").with("verified", 0.05)
}

fn who_stay() -> Beside {
    beside(
        "one-packet",
        None,
        5.0,
        &[("clients", "4000"), ("rest", "exponential:5"), ("keeps", "client"), ("patience", "3")],
    )
}

/// A file of which no send buffer holds much. A point waits for its last clients to give up.
fn slow_readers() -> Beside {
    beside(
        "webstone",
        Some("/webstone/file5m.html"),
        1.0,
        &[("clients", "2000"), ("reads-kb-per-s", "4"), ("patience", "8")],
    )
}

/// Memory fills before the warm-up: until half of that is over the disk is as fast as it is.
fn misses() -> Beside {
    let dirs = disk::DIRS.to_string();
    beside(
        "specweb99",
        None,
        3.0,
        &[
            ("clients", "32"),
            ("dirs", &dirs),
            ("think", "none"),
            ("verified", "0.05"),
            ("patience", "3"),
        ],
    )
}

fn beside(workload: &str, target: Option<&str>, begins_s: f64, flags: &[(&str, &str)]) -> Beside {
    let flags = flags.iter().map(|(name, value)| (String::from(*name), String::from(*value)));
    let flags: BTreeMap<_, _> = flags.collect();
    Beside { workload: workload.into(), target: target.map(String::from), flags, begins_s }
}
