//! What is told of a point, each as a number with a unit.

use load::collector::figures::Figures;
use load::collector::results::Results;
use measure::Duration;

use crate::point::Point;
use crate::spec::OF_CAPACITY;
use crate::vitals::{Machine, Processes, Processors, Stalls, Vitals};

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// What it is.
    pub label: &'static str,
    /// In which unit; empty: a pure number.
    pub unit: &'static str,
    /// Whether it is drawn so that each step is a factor.
    pub is_logarithmic: bool,
    /// Its value; none if the point does not tell it.
    pub of: fn(&Point) -> Option<f64>,
}

impl Metric {
    /// Over a column.
    #[must_use]
    pub fn heading(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(", {}", self.unit) };
        format!("{}{unit}", self.label)
    }
}

/// One that is drawn so that each step is as long.
pub(crate) const fn metric(
    label: &'static str,
    unit: &'static str,
    of: fn(&Point) -> Option<f64>,
) -> Metric {
    Metric { label, unit, is_logarithmic: false, of }
}

const fn time(label: &'static str, of: fn(&Point) -> Option<f64>) -> Metric {
    Metric { label, unit: "ms", is_logarithmic: true, of }
}

/// Good replies within the clients' patience: what a capacity is told in.
pub const GOODPUT: Metric = metric("good replies", "replies/s", |point| {
    point.figures().map(|figures| figures.goodput_per_s)
});

/// Whole replies (httperf's reply rate; Brecht04 5, Pariag07 3.2).
pub const REPLIES: Metric =
    metric("replies", "replies/s", |point| point.figures().map(|figures| figures.replies_per_s));

/// What was asked for.
pub const OFFERED: Metric = metric("requests asked for", "requests/s", |point| {
    point.figures().map(|figures| figures.offered_per_s)
});

/// Of what was asked for, what was answered well: the same at the same multiple of a capacity,
/// however great that is.
pub const ANSWERED: Metric = metric("good replies, of those asked for", "%", |point| {
    let figures = point.figures()?;
    let share = figures.goodput_per_s / figures.offered_per_s;
    (figures.offered_per_s > 0.0).then_some(100.0 * share)
});

/// Server throughput (JAWS97 2.3; Pariag07 tells the same).
pub const SERVER_MBIT: Metric = metric("server throughput", "Mbit/s", |point| {
    point.figures().map(|figures| figures.server_throughput_mbit_per_s)
});

/// Server connections (JAWS97 2.3).
pub const CONNECTIONS: Metric = metric("connections", "connections/s", |point| {
    point.figures().map(|figures| figures.connections_per_s)
});

/// Client throughput (JAWS97 2.3).
pub const CLIENT_MBIT: Metric = metric("client throughput", "Mbit/s", |point| {
    point.figures().map(|figures| figures.client_throughput_mbit_per_s)
});

/// Client latency (JAWS97 2.3).
pub const CLIENT_LATENCY: Metric =
    time("client latency", |point| point.figures().map(|figures| figures.client_latency_ms));

/// Mean response time (Pariag07 8).
pub const RESPONSE: Metric =
    time("mean response time", |point| point.figures().map(|figures| figures.response_time_ms));

/// Of all requests, from the intended start; [`NEVER`] where more had no good reply. A server that
/// answers few at once is not as quick as one that answers all.
pub const P50: Metric = time("median response time", |point| of_all(point.load.as_ref()?, 0.5));

/// See [`P50`].
pub const P95: Metric =
    time("95th percentile of response times", |point| of_all(point.load.as_ref()?, 0.95));

/// See [`P50`].
pub const P99: Metric =
    time("99th percentile of response times", |point| of_all(point.load.as_ref()?, 0.99));

/// Of good replies alone: how soon those have theirs whom a server answers in a flood.
pub const GOOD_P50: Metric = time("median of good replies", |point| of_good(point, 0.5));

/// See [`GOOD_P50`].
pub const GOOD_P95: Metric = time("95th percentile of good replies", |point| of_good(point, 0.95));

/// See [`GOOD_P50`].
pub const GOOD_P99: Metric = time("99th percentile of good replies", |point| of_good(point, 0.99));

/// The time of who has no good reply: longer than all others.
pub const NEVER: f64 = f64::INFINITY;

fn of_all(results: &Results, share: f64) -> Option<f64> {
    let requests = &results.requests;
    let time = requests.whole_of_all(share).map_or(NEVER, milliseconds);
    (requests.counts.total() > 0).then_some(time)
}

fn of_good(point: &Point, share: f64) -> Option<f64> {
    let whole = &point.load.as_ref()?.requests.whole;
    (whole.count() > 0).then(|| milliseconds(whole.quantile(share)))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Sessions whose last request was answered well.
pub const FINISHED: Metric = metric("sessions finished", "sessions/s", |point| {
    let load = point.load.as_ref()?;
    // Results of old do not tell who was let in.
    let is_told = load.requests.admitted > 0 || load.flow.goodput == 0;
    is_told.then(|| each(load.requests.finished as f64, load.measured.as_secs_f64()))?
});

/// Of those that were let in, whose first request was answered; both within what is measured, so
/// that those that were let in before may make it more than all.
pub const FINISHED_SHARE: Metric = metric("finished, of those let in", "%", |point| {
    let requests = &point.load.as_ref()?.requests;
    Some(100.0 * each(requests.finished as f64, requests.admitted as f64)?)
});

/// What the load beside it was answered, within its own clients' patience.
pub const SECOND_GOODPUT: Metric =
    metric("good replies to the load beside", "replies/s", |point| {
        Some(Figures::of(point.beside.as_ref()?).goodput_per_s)
    });

/// See [`SECOND_GOODPUT`].
pub const SECOND_P99: Metric =
    time("99th percentile of the load beside", |point| of_all(point.beside.as_ref()?, 0.99));

/// Connections that the kernel dropped, as Brecht04 6.1 counts them: failed attempts and overflows
/// of the listen queue.
pub const DROPS: Metric =
    metric("queue drops", "drops/s", |point| Some(point.vitals.as_ref()?.queues.drops_per_s));

/// By the classes of Brecht04 6.3, as far as today's counters tell them apart.
pub const DROP_CLASSES: [&Metric; 4] = [
    &metric("SynQFull", "drops/s", |point| in_a_second(point, point.drops()?.syn_queue_full)),
    &metric("AcceptQFull", "drops/s", |point| in_a_second(point, point.drops()?.accept_queue_full)),
    &metric("DropRequest", "drops/s", |point| in_a_second(point, point.drops()?.drop_request)),
    &metric("ListenOverflow", "drops/s", |point| {
        in_a_second(point, point.drops()?.listen_overflow)
    }),
];

fn in_a_second(point: &Point, count: u64) -> Option<f64> {
    let elapsed_us = point.vitals.as_ref()?.elapsed_us;
    (elapsed_us > 0).then(|| count as f64 * 1e6 / elapsed_us as f64)
}

/// Processor time of the server's side for one reply, the network's work included. None where it is
/// asked for more than it can do: refusals and what is given up cost as well there, and a share of
/// that is no reply's.
pub const CPU: Metric = metric("processor time for a reply", "µs", |point| {
    let (load, vitals) = (point.load.as_ref()?, point.vitals.as_ref()?);
    let per_s = load.flow.replies as f64 / load.measured.as_secs_f64();
    let replies = per_s * vitals.elapsed_us as f64 / 1e6;
    let is_told = replies >= 1.0 && !is_beyond_capacity(point);
    is_told.then(|| vitals.server.processors.busy_us as f64 / replies)
});

/// The same of its own processes alone, without what the network did while nobody ran.
pub const OWN_CPU: Metric = metric("processor time of its processes for a reply", "µs", |point| {
    let Processors { busy_us, .. } = point.vitals.as_ref()?.server.processors;
    let Processes { user_us, system_us, .. } = point.vitals.as_ref()?.server.processes;
    let share = each((user_us + system_us) as f64, busy_us as f64)?;
    Some((CPU.of)(point)? * share)
});

/// How often a thread of the server's processes made way for another one, by itself or not: of
/// those that were there still.
pub const SWITCHES: Metric = metric("switches of its threads", "switches/s", |point| {
    let of = &point.vitals.as_ref()?.server.processes;
    in_a_second(point, of.voluntary_switches + of.involuntary_switches)
});

/// By what it was to be asked for, or by what it left without a good reply: of sessions, who is
/// slow is asked for less.
fn is_beyond_capacity(point: &Point) -> bool {
    /// Of a hundred, who answers less has too much to do.
    const ANSWERED: f64 = 95.0;
    let is_multiple = point.spec.factors.get(OF_CAPACITY).is_some_and(|of| *of > 1.0);
    is_multiple || (self::ANSWERED.of)(point).is_some_and(|share| share < ANSWERED)
}

/// Of the time of the server's processors, that in which they were at work.
pub const BUSY: Metric = metric("server's processors at work", "%", |point| {
    let vitals = point.vitals.as_ref()?;
    percent_of_processors(vitals, &vitals.server, |of| of.busy_us)
});

/// The same of its clients', the network's work included.
pub const CLIENT_BUSY: Metric = metric("client's processors at work", "%", |point| {
    let vitals = point.vitals.as_ref()?;
    percent_of_processors(vitals, &vitals.client, |of| of.busy_us)
});

/// The same of the server's for the network alone: packets received, timers. Of ticks, see
/// [`Processors`].
pub const SOFTIRQ: Metric = metric("server's processors at work for the network", "%", |point| {
    let vitals = point.vitals.as_ref()?;
    percent_of_processors(vitals, &vitals.server, |of| of.softirq_us)
});

/// SYNs that came beside the load, and reached the server's host.
pub const SYNS: Metric = metric("SYNs beside the load", "SYNs/s", |point| {
    in_a_second(point, point.syns.map_or(0, |sent| sent.syns))
});

fn percent_of_processors(
    vitals: &Vitals,
    of: &Machine,
    time_us: impl Fn(&Processors) -> u64,
) -> Option<f64> {
    let all_us = vitals.elapsed_us * of.processors.numbers.len() as u64;
    (all_us > 0).then(|| 100.0 * time_us(&of.processors) as f64 / all_us as f64)
}

/// Connections accepted (Brecht04 equation 1).
pub const ACCEPT_RATE: Metric =
    metric("accept rate", "connections/s", |point| point.counted_per_s("accepted"));

/// Connections that the kernel saw come about on the server's machine: what of
/// [`ACCEPT_RATE`] somebody else can count.
pub const ESTABLISHED: Metric = metric("connections established", "connections/s", |point| {
    in_a_second(point, point.vitals.as_ref()?.queues.established)
});

/// Connections that were open on the server's machine at the same time, at most, as far as somebody
/// looked (Brecht04 6.1 and 6.2, Pariag07 8).
pub const OPEN_MOST: Metric = metric("connections open, at most", "connections", |point| {
    Some(point.vitals.as_ref()?.queues.open_most? as f64)
});

/// Connections that were open on the server's machine when the measured time began, and ended.
pub const OPEN: Metric = metric("connections open", "connections", |point| {
    Some(point.vitals.as_ref()?.queues.open as f64)
});

/// Accept phases that took somebody, N_phases of Brecht04 equation 1.
pub const PHASES: Metric =
    metric("accept phases", "phases/s", |point| point.counted_per_s("accept_phases"));

/// Connections per accept phase, C_avg of Brecht04 equation 1.
pub const C_AVG: Metric = metric("C_avg", "connections", |point| {
    each(point.counted_per_s("accepted")?, point.counted_per_s("accept_phases")?)
});

/// Of the time of a loop, that in which it asks for events, waiting included; of several loops, of
/// all of them together (Brecht04 6.3; beside a load that leaves nothing to wait for, Pariag07's
/// share of poll).
pub const GETEVENTS_SHARE: Metric = metric("of a loop's time, in getevents phases", "%", |point| {
    phase_share(point, "getevents_ns")
});

/// The same, in which it accepts.
pub const ACCEPT_SHARE: Metric =
    metric("of a loop's time, in accept phases", "%", |point| phase_share(point, "accept_ns"));

/// The same, in which it works on connections.
pub const WORK_SHARE: Metric =
    metric("of a loop's time, in work phases", "%", |point| phase_share(point, "work_ns"));

fn phase_share(point: &Point, name: &str) -> Option<f64> {
    let phases = ["getevents_ns", "accept_ns", "work_ns"];
    let all: f64 = phases.iter().filter_map(|phase| point.counters.get(*phase)).sum();
    Some(100.0 * each(*point.counters.get(name)?, all)?)
}

/// Descriptors that a loop asks about by one call, on the average (Pariag07 4.4).
pub const INTEREST: Metric = metric("descriptors asked about by a call", "descriptors", |point| {
    each(point.counted_per_s("interest")?, point.counted_per_s("getevents_calls")?)
});

/// Events that such a call returns, on the average (Pariag07 5.3: the fewer, the more calls).
pub const RETURNED: Metric = metric("events returned by a call", "events", |point| {
    each(point.counted_per_s("events")?, point.counted_per_s("getevents_calls")?)
});

/// Connections of a work phase, on the average (Brecht04 6.3).
pub const WORK: Metric = metric("connections worked on in a phase", "connections", |point| {
    each(point.counted_per_s("worked")?, point.counted_per_s("work_phases")?)
});

/// The share of each of so many; of none there is no share.
fn each(all: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| all / of)
}

/// The right side of Brecht04 equation 1, of the server's own counters.
pub const EQUATION_1: Metric = metric("N_phases x C_avg", "connections/s", |point| {
    Some((PHASES.of)(point)? * (C_AVG.of)(point)?)
});

/// Calls for events.
pub const GETEVENTS: Metric =
    metric("getevents calls", "calls/s", |point| point.counted_per_s("getevents_calls"));

/// The same by equation 1, if each accept phase follows one call: the accept rate that the kernel
/// saw, divided by what the server took at a time.
pub const GETEVENTS_PREDICTED: Metric = metric("getevents calls, predicted", "calls/s", |point| {
    each((ESTABLISHED.of)(point)?, (C_AVG.of)(point)?)
});

/// Of the time of the server's processors, that in which they had nothing to do but to wait for a
/// disk (vmstat's; Pariag07 5.3).
pub const IO_WAIT: Metric = metric("processor waits for the disk", "%", |point| {
    let of = &point.vitals.as_ref()?.server.processors;
    let all_us = of.busy_us + of.idle_us + of.iowait_us + of.steal_us;
    (all_us > 0).then(|| 100.0 * of.iowait_us as f64 / all_us as f64)
});

/// Of the time, that in which a thread of the server's has waited for a disk, as the kernel counts
/// it (delay accounting); over all of them, so more than all of it where several do. Where that was
/// off, Weir's own word: what loops have waited in loads and in what they send from files, or a
/// thread in loads that it did itself. That is too much beside a quota, on kernels that take a
/// thread out of the queue that has used it up.
pub const BLOCKED: Metric = metric("blocked by the disk", "% of the time", |point| {
    let accounted = point.vitals.as_ref().and_then(|vitals| {
        let (waits_us, all_us) = (vitals.server.processes.disk_waits_us?, vitals.elapsed_us);
        (all_us > 0).then(|| 100.0 * waits_us as f64 / all_us as f64)
    });
    accounted.or_else(|| Some(point.counted_per_s("blocked_ns")? / 1e7))
});

/// Of the time, that in which somebody on the machine waited for a disk (PSI).
pub const IO_PRESSURE: Metric =
    metric("somebody on the machine waits for the disk", "% of the time", |point| {
        let vitals = point.vitals.as_ref()?;
        percent_of_time(vitals.pressure?.io, vitals.elapsed_us)
    });

/// The same of the server's control group alone, where that is of version 2.
pub const GROUP_IO_PRESSURE: Metric =
    metric("somebody in the server's group waits for the disk", "% of the time", |point| {
        let vitals = point.vitals.as_ref()?;
        percent_of_time(vitals.group_pressure?.io, vitals.elapsed_us)
    });

fn percent_of_time(stalls: Stalls, elapsed_us: u64) -> Option<f64> {
    (elapsed_us > 0).then(|| 100.0 * stalls.some_us as f64 / elapsed_us as f64)
}

/// Memory of the server's processes at the end, without files that are mapped: what several share
/// is counted to each by its part (Choi05 3).
pub const MEMORY: Metric = metric("memory of its processes", "MB", |point| {
    Some(point.vitals.as_ref()?.server.processes.pss_bytes? as f64 / 1e6)
});

/// The server's share of the page cache at the end, where its memory is limited.
pub const GROUP_CACHE: Metric = metric("the server's page cache", "MB", |point| {
    Some(point.vitals.as_ref()?.memory.group_page_cache_bytes? as f64 / 1e6)
});

/// Of the site's files, what was in memory before the server was started (cachestat), where its
/// memory is limited.
pub const SITE_BEFORE: Metric = metric("the site in memory before", "%", |point| {
    let site = point.site?;
    Some(100.0 * site.before_bytes as f64 / site.bytes.max(1) as f64)
});

/// The same when it had ended.
pub const SITE_AFTER: Metric = metric("the site in memory at the end", "%", |point| {
    let site = point.site?;
    Some(100.0 * site.after_bytes as f64 / site.bytes.max(1) as f64)
});

/// What a point cost beside its warm-up and what was measured: the machines, the server's start and
/// its end, the load's own, and replies that clients still waited for.
/// A simulated one has none of them.
pub const BESIDE: Metric = metric("spent beside what is measured", "s", |point| {
    let load = point.load.as_ref().filter(|_| !point.spec.is_simulated())?;
    let within_s = load.warm_up.as_secs_f64() + load.measured.as_secs_f64();
    Some(point.cost.whole_s - point.cost.warm_up_s - within_s)
});

/// All that files tell.
pub const ALL: [&Metric; 49] = [
    &GOODPUT,
    &REPLIES,
    &OFFERED,
    &SERVER_MBIT,
    &CONNECTIONS,
    &CLIENT_MBIT,
    &CLIENT_LATENCY,
    &RESPONSE,
    &P50,
    &P95,
    &P99,
    &GOOD_P50,
    &GOOD_P95,
    &GOOD_P99,
    &FINISHED,
    &FINISHED_SHARE,
    &SECOND_GOODPUT,
    &SECOND_P99,
    &CPU,
    &OWN_CPU,
    &SWITCHES,
    &BUSY,
    &SOFTIRQ,
    &CLIENT_BUSY,
    &SYNS,
    &DROPS,
    &ACCEPT_RATE,
    &PHASES,
    &C_AVG,
    &GETEVENTS,
    &GETEVENTS_PREDICTED,
    &ESTABLISHED,
    &OPEN,
    &OPEN_MOST,
    &WORK,
    &INTEREST,
    &RETURNED,
    &GETEVENTS_SHARE,
    &ACCEPT_SHARE,
    &WORK_SHARE,
    &IO_WAIT,
    &BLOCKED,
    &IO_PRESSURE,
    &GROUP_IO_PRESSURE,
    &MEMORY,
    &GROUP_CACHE,
    &SITE_BEFORE,
    &SITE_AFTER,
    &BESIDE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_their_own() {
        for (at, metric) in ALL.iter().enumerate() {
            let before = &ALL[..at];
            assert!(before.iter().all(|of| of.label != metric.label), "{}", metric.label);
        }
    }
}
