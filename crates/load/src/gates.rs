//! Whether a run says what it seems to say: was the load made as it was to be, and did the server
//! answer all of it fairly? Each gate says in words what it found, and where it fails also by how
//! much and what to do.

mod replies;

use measure::Duration;
use serde::Serialize;

use crate::collector::counts::Counts;
use crate::collector::kinds::Kind;
use crate::collector::results::{Results, Share};
use crate::collector::{LATE, Pace};
use crate::record::Outcome;
use crate::units;

/// What the generator may get wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The 99th percentile of how late requests are made: [`LATE`], or a time that is told from
    /// the start of the schedule may be one of the generator's.
    pub lag_p99: Duration,
    /// Of the sessions, those that begin late, by [`Results::lag_max`] or more: 1 %.
    pub late_share: f64,
    /// Of one processor, what a process of the generator uses: 90 %. Beyond, it waits for its
    /// processor, and its clients seem to wait for the server.
    pub cpu_share: f64,
    /// Of the requests, those that were not started because too many connections were open: 1 %.
    /// Beyond, the server sees another load than is told.
    pub not_started_share: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lag_p99: LATE, late_share: 0.01, cpu_share: 0.9, not_started_share: 0.01 }
    }
}

/// Of timeouts and of replies that broke off, by how much the share of one size may exceed that of
/// all (Pariag07 3.4).
const UNEVEN_MAX: f64 = 0.02;
/// And by more than chance makes once in so many times where it is just allowed: of a hundred
/// requests, two hundredths more are nothing. Of the paper's points, which last 120 s, chance makes
/// less than a hundredth. Every row of neighbours among the 36 sizes of SPECweb99 is judged, 666 of
/// them: one of a hundred fair servers may be wronged, at most.
const CHANCES: f64 = 1e5;
/// The share of timeouts, at most, of all requests (Pariag07 3.4), and of losses.
const TIMEOUTS_MAX: f64 = 0.10;
/// The same of one client's requests for one size (Pariag07 3.4).
const CLIENT_TIMEOUTS_MAX: f64 = 0.05;
/// The two above are meant for clients with this patience (Pariag07 3.2).
pub const PAPER_PATIENCE: Duration = Duration::from_secs(15);
/// What is said where there is nothing to judge.
const NO_TIMEOUT: &str = "no request timed out";
/// Of fewer requests a share of 2 % says nothing: it is less than one of them.
const REQUESTS_JUDGED_MIN: u64 = 50;
/// Of a processor, what a generator needs less of that is late by its own work.
const HELD_UP: f64 = 0.5;

/// What a gate found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which gate.
    pub gate: &'static str,
    /// What it makes of the run.
    pub verdict: Verdict,
    /// Why, for people.
    pub words: String,
}

/// See [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All is well.
    Holds,
    /// The run is invalid.
    Fails,
    /// Said, and not judged.
    Told,
}

type Gate = fn(&Results, &Limits) -> (Verdict, String);

/// What a gate judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Whether the generator asked all that it was to ask.
    Completeness,
    /// Whether the generator was in time.
    Punctuality,
    /// What the server did.
    Server,
}

use Judged::{Completeness, Punctuality, Server};

/// In the order in which they are told: what the generator did, then what the server did.
const GATES: [(&str, Judged, Gate); 12] = [
    ("measured", Completeness, measured),
    ("schedule-lag", Punctuality, schedule_lag),
    ("late-starts", Punctuality, late_starts),
    ("client-cpu", Punctuality, client_cpu),
    ("descriptors", Completeness, descriptors),
    ("not-started", Completeness, not_started),
    (ANSWERED, Server, replies::answered),
    ("correct", Server, replies::correct),
    (LOSSES, Server, replies::losses),
    ("even-timeouts", Server, even_timeouts),
    ("timeouts", Server, timeouts),
    ("client-timeouts", Server, client_timeouts),
];

const ANSWERED: &str = "answered";
const LOSSES: &str = "losses";

/// Returns what each gate found, in the order of the gates with three exceptions. If no reply came,
/// that finding stands first. If more requests were lost than answered wrongly, `losses` stands
/// before `correct`. If nothing was measured, the other findings are left out.
#[must_use]
pub fn findings(results: &Results, limits: &Limits) -> Vec<Finding> {
    let found = |&(name, _, gate): &(&'static str, Judged, Gate)| {
        let (verdict, words) = gate(results, limits);
        Finding { gate: name, verdict, words }
    };
    let mut findings: Vec<Finding> = GATES.iter().map(found).collect();
    if findings[0].verdict == Verdict::Fails {
        findings.truncate(1);
    }
    // If no reply came, how the generator did explains nothing.
    let unanswered = |of: &Finding| of.gate == ANSWERED && of.verdict == Verdict::Fails;
    if let Some(place) = findings.iter().position(unanswered) {
        findings[..=place].rotate_right(1);
    }
    let losses = findings.iter().position(|of| of.gate == LOSSES);
    if let Some(place) = losses.filter(|_| replies::are_mostly_lost(&results.requests.counts)) {
        findings.swap(place - 1, place);
    }
    findings
}

/// Whether none of them fails.
#[must_use]
pub fn is_valid(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.verdict != Verdict::Fails)
}

/// What the gate of this name judges; `None`: there is none.
#[must_use]
pub fn judged(gate: &str) -> Option<Judged> {
    GATES.iter().find(|(name, ..)| *name == gate).map(|&(_, judged, _)| judged)
}

/// What a run can prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Everything: the run is valid.
    All,
    /// The generator was late, but it started every request of its schedule. That makes the times
    /// from the schedule longer and the rates lower, so the true ones are at most, and at least,
    /// those that were seen.
    Bounds,
    /// The server failed a gate, and the generator was in time: a bound that was missed is missed.
    Misses,
    /// Nothing.
    Nothing,
}

/// What a run proves, by what the gates found.
#[must_use]
pub fn proof(findings: &[Finding], results: &Results) -> Proof {
    let fails = |by: Judged| {
        let mut failing = findings.iter().filter(|finding| finding.verdict == Verdict::Fails);
        failing.any(|finding| judged(finding.gate) == Some(by))
    };
    let counts = &results.requests.counts;
    let is_refused = counts.of(Outcome::Refused) == counts.total();
    // From the second request of a session on, times do not count from the schedule.
    let is_by_schedule = results.pace == Pace::Open && results.requests.arrivals == counts.total();
    let has_all = results.missed() == 0 && counts.of(Outcome::NotStarted) == 0;
    match (fails(Completeness), fails(Punctuality), fails(Server)) {
        (false, false, false) => Proof::All,
        (false, true, false) if is_by_schedule && has_all => Proof::Bounds,
        (false, false, true) => Proof::Misses,
        // A generator in time would have been refused, too.
        (false, true, true) if is_refused => Proof::Misses,
        _ => Proof::Nothing,
    }
}

fn measured(results: &Results, _: &Limits) -> (Verdict, String) {
    let (requests, measured) = (results.requests.counts.total(), results.measured);
    if requests == 0 || measured.is_zero() {
        let warm_up = units::time(results.warm_up);
        let words = format!(
            "no request was to be made between the end of the warm-up ({warm_up}) and that of the \
             run: let it last longer, or say a shorter warm-up"
        );
        return (Verdict::Fails, words);
    }
    let words = format!("{} requests in {}", units::count(requests), units::time(measured));
    (Verdict::Holds, words)
}

fn schedule_lag(results: &Results, limits: &Limits) -> (Verdict, String) {
    let (p99, most) = (results.requests.lag.quantile(0.99), limits.lag_p99);
    let what = format!("p99 of the schedule lag is {}", units::time(p99));
    if p99 > most {
        let (above, most) = (units::time(p99 - most), units::time(most));
        return (
            Verdict::Fails,
            format!("{what}, {above} above the limit of {most}: {}", held_up(results)),
        );
    }
    match results.pace {
        Pace::Open => (Verdict::Holds, format!("{what}, of {} at most", units::time(most))),
        Pace::Closed => (
            Verdict::Told,
            String::from(
                "closed loop: its clients wait for the server, so while it stalls nobody else \
                 comes, and these times are too good; ask at a rate to see what users would",
            ),
        ),
    }
}

/// What to do where the generator is late.
fn held_up(results: &Results) -> &'static str {
    match (results.busiest(), results.pace) {
        (Some((_, share)), _) if share < HELD_UP => {
            "the generator had time left: something else holds it up, as other work on its \
             processor, or a kernel that looks long for a free port (use --sources)"
        }
        (_, Pace::Open) => {
            "the generator cannot keep up; lower the rate, or use more processes or processors"
        }
        (_, Pace::Closed) => {
            "the generator cannot keep up; let there be fewer clients, or more --processes or \
             processors"
        }
    }
}

fn late_starts(results: &Results, limits: &Limits) -> (Verdict, String) {
    let requests = &results.requests;
    let missed = results.missed();
    let late = Share {
        count: requests.arrivals_late.saturating_add(missed),
        of: requests.arrivals.saturating_add(missed),
    };
    let and_missed = match missed {
        0 => String::new(),
        _ => format!(" (of {} that were never begun)", units::count(missed)),
    };
    let late_by = units::time(results.lag_max);
    at_most(
        &format!("the share of sessions begun {late_by} late or later{and_missed} is"),
        late.ratio(),
        limits.late_share,
        held_up(results),
    )
}

fn client_cpu(results: &Results, limits: &Limits) -> (Verdict, String) {
    let Some((place, most)) = results.busiest() else {
        return (
            Verdict::Told,
            String::from("what the generator used of its processor is unknown"),
        );
    };
    at_most(
        &format!("of a processor, the generator's process {} used", place + 1),
        most,
        limits.cpu_share,
        "its clients wait for it and not for the server; use more processes, or processors that \
         the server has no part in",
    )
}

fn descriptors(results: &Results, _: &Limits) -> (Verdict, String) {
    let counts = &results.requests.counts;
    let (none, no_address) = (counts.of(Outcome::NoDescriptor), counts.of(Outcome::NoAddress));
    let total = units::count(counts.total());
    if none > 0 {
        let max = results.processes.iter().map(|process| process.descriptors_max).min();
        let told = |max| format!(" (a process may have {})", units::count(max));
        let had = max.map(told).unwrap_or_default();
        let words = format!(
            "no descriptor was free for {} of {total} requests{had}: raise RLIMIT_NOFILE, use more \
             processes, or allow fewer connections",
            units::count(none)
        );
        return (Verdict::Fails, words);
    }
    if no_address > 0 {
        let words = format!(
            "no port was free for {} of {total} requests: use more source addresses, widen \
             net.ipv4.ip_local_port_range, or keep connections",
            units::count(no_address)
        );
        return (Verdict::Fails, words);
    }
    let open = results.processes.iter().max_by_key(|process| process.descriptors);
    let words = open.map_or(String::from("enough descriptors and ports"), |process| {
        let (most, max) = (units::count(process.descriptors), process.descriptors_max);
        format!("at most {most} of {} descriptors of a process were open", units::count(max))
    });
    (Verdict::Holds, words)
}

fn not_started(results: &Results, limits: &Limits) -> (Verdict, String) {
    let counts = &results.requests.counts;
    let not = Share { count: counts.of(Outcome::NotStarted), of: counts.total() };
    at_most(
        "the share of requests not started for want of a connection is",
        not.ratio(),
        limits.not_started_share,
        "the server sees less load than is told; allow more connections, use more processes, or \
         lower the load or the patience",
    )
}

fn even_timeouts(results: &Results, _: &Limits) -> (Verdict, String) {
    // Who breaks off large replies is as fast by it as who lets them time out.
    let unserved = |counts: &Counts| Share {
        count: counts.timeouts().saturating_add(counts.broken_off()),
        of: counts.total(),
    };
    let all = unserved(&results.requests.counts);
    if all.count == 0 {
        return (Verdict::Holds, String::from("no request timed out or was broken off"));
    }
    let mean = all.ratio();
    let just = (mean + UNEVEN_MAX).min(1.0);
    let kinds: Vec<(Kind, Share)> =
        results.kinds.iter().map(|of| (of.kind, unserved(&of.detail.counts))).collect();
    let surprise = |of: Share| surprise(of, just);
    let rows = rows(&kinds).map(|(first, last, share)| (first, last, share, surprise(share)));
    let mean_told = units::share(mean);
    let Some((first, last, most, _)) =
        rows.filter(|row| row.3 > CHANCES.ln()).max_by(|a, b| a.3.total_cmp(&b.3))
    else {
        let words = format!(
            "{mean_told} time out or break off, and no size, alone or with its neighbours, more \
             than chance makes"
        );
        return (Verdict::Holds, words);
    };
    let of = match (first.bytes, last.bytes) {
        _ if first == last => named(results, first),
        (Some(from), Some(to)) => {
            format!("files of {} to {} bytes", units::count(from), units::count(to))
        }
        _ => format!("{} to {}", named(results, first), named(results, last)),
    };
    let (is, count) = (most.ratio(), units::count(most.of));
    let words = format!(
        "{of}, {count} requests, time out or break off for {}, {} above the mean of {mean_told}: \
         more than the {} that are allowed, and than chance makes; the server is fast at the cost \
         of these files; do not compare it at this load",
        units::share(is),
        units::points(is - mean),
        units::points(UNEVEN_MAX)
    );
    (Verdict::Fails, words)
}

/// Every row of neighbours, one or more: a size that is rare says little alone, and with those like
/// it enough.
fn rows(kinds: &[(Kind, Share)]) -> impl Iterator<Item = (Kind, Kind, Share)> {
    kinds.iter().enumerate().flat_map(|(at, &(first, _))| {
        let mut sum = Share::default();
        kinds[at..].iter().map(move |&(last, share)| {
            sum = Share { count: sum.count + share.count, of: sum.of + share.of };
            (first, last, sum)
        })
    })
}

/// The logarithm of how seldom, at most, so many or more are hit where each is with this
/// probability (Chernoff's bound): true of few as of many.
fn surprise(of: Share, each: f64) -> f64 {
    let is = of.ratio();
    if is <= each {
        return 0.0;
    }
    let part = |is: f64, each: f64| if is > 0.0 { is * (is / each).ln() } else { 0.0 };
    of.of as f64 * (part(is, each) + part(1.0 - is, 1.0 - each))
}

fn timeouts(results: &Results, _: &Limits) -> (Verdict, String) {
    let share = Share::of_timeouts(&results.requests.counts);
    if share.count == 0 {
        return (Verdict::Holds, String::from(NO_TIMEOUT));
    }
    let share = share.ratio();
    let what = "the share of requests that timed out is";
    if results.patience != Some(PAPER_PATIENCE) {
        return (Verdict::Told, format!("{what} {}; {}", units::share(share), unjudged()));
    }
    at_most(
        what,
        share,
        TIMEOUTS_MAX,
        "the server cannot answer at this load; lower it, or flood it with another patience",
    )
}

fn client_timeouts(results: &Results, _: &Limits) -> (Verdict, String) {
    if results.requests.counts.timeouts() == 0 {
        return (Verdict::Holds, String::from(NO_TIMEOUT));
    }
    let of_clients = results.clients.iter().enumerate().flat_map(|(client, of)| {
        let kinds = results.kinds.iter().zip(&of.kinds);
        kinds.map(move |(kind, &share)| ((client, kind.kind), share))
    });
    let judged = of_clients.filter(|(_, share)| share.of >= REQUESTS_JUDGED_MIN);
    let worst =
        judged.reduce(|most, next| if next.1.ratio() > most.1.ratio() { next } else { most });
    let Some(((client, kind), share)) = worst else {
        let words = format!(
            "no size of a client has the {REQUESTS_JUDGED_MIN} requests that a share can be told of"
        );
        return (Verdict::Told, words);
    };
    let share = share.ratio();
    let what = format!("most time out for client {client} and {}:", named(results, kind));
    if results.patience != Some(PAPER_PATIENCE) {
        return (Verdict::Told, format!("{what} {}; {}", units::share(share), unjudged()));
    }
    at_most(
        &what,
        share,
        CLIENT_TIMEOUTS_MAX,
        "the server is not fair to all clients and files at this load; lower it, or flood it with \
         another patience",
    )
}

fn at_most(what: &str, is: f64, most: f64, mend: &str) -> (Verdict, String) {
    let told = format!("{what} {}", units::share(is));
    let limit = units::share(most);
    if is <= most {
        return (Verdict::Holds, format!("{told}, of {limit} at most"));
    }
    let above = units::points(is - most);
    (Verdict::Fails, format!("{told}, {above} above the limit of {limit}: {mend}"))
}

fn named(results: &Results, kind: Kind) -> String {
    match kind.bytes {
        Some(bytes) => format!("files of {} bytes", units::count(bytes)),
        None => format!("files of {}", results.class_name(kind.class)),
    }
}

fn unjudged() -> String {
    format!("judged with a patience of {} only", units::time(PAPER_PATIENCE))
}

#[cfg(test)]
mod tests;
