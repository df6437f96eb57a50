//! What came of one run, and whether it may be believed.

use load::collector::results::Results;
use measure::student::reach;

use crate::clients::Tally;
use crate::crew::Crew;
use crate::footprint::Footprint;
use crate::resources::cores::Busy;
use crate::resources::links::Carried;
use crate::resources::locks::Waits;
use crate::resources::memory::Seen;
use crate::server::Done;

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    /// As of a run of `weir load`.
    pub results: Results,
    /// Replies in a second, in each tenth of what counts.
    pub batches: [f64; BATCHES],
    /// Who worked.
    pub crew: Crew,
    /// What memory was taken by.
    pub footprint: Footprint,
    /// From the start on, warm-up included.
    pub whole: Whole,
}

/// What resources did, from the start on.
#[derive(Debug)]
pub struct Whole {
    /// Simulated time.
    pub lasts_ns: u64,
    /// Alarms that rang.
    pub events: u64,
    /// Of all of them: see [`World::digest`](crate::world::World::digest).
    pub digest: u64,
    /// Each core.
    pub busy: Vec<Busy>,
    /// For how long the disk's channels were busy, together.
    pub disk_busy_ns: u64,
    /// Requests that it serves at a time.
    pub channels: u32,
    /// The link, if there is one.
    pub carried: Carried,
    /// Locks, all together.
    pub locks: Waits,
    /// What was looked for in memory.
    pub seen: Seen,
    /// What clients did.
    pub tally: Tally,
    /// Connections that are open at the end.
    pub open: u64,
    /// Who has done the first steps.
    pub done: Vec<Done>,
    /// What was lost on the way, which would be a mistake of the simulator: a line each.
    pub faults: Vec<String>,
}

/// Something that each run tells, warm-up included.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// In words.
    pub name: &'static str,
    /// Of its numbers; empty: pure ones.
    pub unit: &'static str,
    /// Whether it is 0 of most runs, and not worth a line then.
    pub is_rare: bool,
    of: fn(&Run) -> f64,
}

/// See [`Footprint::data_cache_bytes`].
pub const CACHE: Figure = figure("memory for contents", "MiB", |run| {
    run.footprint.data_cache_bytes() as f64 / f64::from(1 << 20)
});
/// Of the looks for files in memory.
pub const HITS: Figure = figure("hits", "%", |run| {
    let Seen { hits, misses } = run.whole.seen;
    100.0 * hits as f64 / (hits + misses).max(1) as f64
});
/// Of the time of all processors.
pub const WORK: Figure = figure("processors at work", "%", |run| run.share(|busy| busy.work_ns));
/// The same.
pub const SWITCHING: Figure = figure("switching", "%", |run| run.share(|busy| busy.switching_ns));
/// Of the time of all its channels.
pub const DISK: Figure = figure("disk busy", "%", |run| {
    let all_ns = run.whole.lasts_ns as f64 * f64::from(run.whole.channels);
    100.0 * run.whole.disk_busy_ns as f64 / all_ns
});
/// Of the time, that somebody sends: over one at least, where each client has a link of his own.
pub const LINK: Figure = figure("link busy", "%", |run| {
    100.0 * run.whole.carried.busy_ns as f64 / run.whole.lasts_ns as f64
});
/// Of all tasks together.
pub const LOCK_WAIT: Figure = figure("wait for locks, for each request", "µs", |run| {
    run.each(run.whole.locks.waited_ns) / 1e3
});
/// SYNs and ends of handshakes, of which each is sent again.
pub const DROPPED: Figure =
    figure("queue drops, for each request", "", |run| run.each(run.whole.tally.drops.all()));
/// All that processors were busy with: what Linux counts of them.
pub const CPU: Figure = figure("processor time, for each request", "µs", |run| {
    run.each(run.whole.busy.iter().map(Busy::busy_ns).sum()) / 1e3
});
/// Alarms that rang.
pub const EVENTS: Figure = figure("events, for each request", "", |run| run.each(run.whole.events));

/// By clients, as nothing of theirs came through or they had no more patience.
pub const GIVEN_UP: Figure =
    rare("given up, of each request asked for", |run| run.of_asked(run.whole.tally.given_up));
/// [`DROPPED`] by Brecht04's classes: see [`Drops`](crate::clients::Drops).
pub const SYN_QUEUE_FULL: Figure = rare("SynQFull, of each request asked for", |run| {
    run.of_asked(run.whole.tally.drops.syn_queue_full)
});
/// The same.
pub const DROP_REQUEST: Figure = rare("DropRequest, of each request asked for", |run| {
    run.of_asked(run.whole.tally.drops.drop_request)
});
/// The same.
pub const ACCEPT_QUEUE_FULL: Figure = rare("AcceptQFull, of each request asked for", |run| {
    run.of_asked(run.whole.tally.drops.accept_queue_full)
});
/// The same.
pub const LISTEN_OVERFLOW: Figure = rare("ListenOverflow, of each request asked for", |run| {
    run.of_asked(run.whole.tally.drops.listen_overflow)
});

/// All of them.
pub const FIGURES: [Figure; 15] = [
    CACHE,
    HITS,
    WORK,
    SWITCHING,
    CPU,
    DISK,
    LINK,
    LOCK_WAIT,
    DROPPED,
    EVENTS,
    GIVEN_UP,
    SYN_QUEUE_FULL,
    DROP_REQUEST,
    ACCEPT_QUEUE_FULL,
    LISTEN_OVERFLOW,
];

const fn figure(name: &'static str, unit: &'static str, of: fn(&Run) -> f64) -> Figure {
    Figure { name, unit, is_rare: false, of }
}

const fn rare(name: &'static str, of: fn(&Run) -> f64) -> Figure {
    Figure { name, unit: "", is_rare: true, of }
}

impl Figure {
    /// With its unit.
    #[must_use]
    pub fn heading(&self) -> String {
        let unit = if self.unit.is_empty() { "" } else { ", " };
        format!("{}{unit}{}", self.name, self.unit)
    }

    /// What a run tells of it.
    #[must_use]
    pub fn of(&self, run: &Run) -> f64 {
        (self.of)(run)
    }
}

/// Pieces that a run is judged by.
pub const BATCHES: usize = 10;

/// Half of a run may do so much more than the other, whatever chance does, before it is no steady
/// state;
const STEADY_SHARE: f64 = 0.05;

/// or by what chance alone does in one of so many runs.
const CHANCE: f64 = 0.001;

/// Degrees of freedom of a variance by the differences of ten neighbours: 2 (n - 1)² / (3n - 4).
const SPREAD_FREEDOM: usize = 6;

impl Run {
    /// Whether the second half of what counts is as the first one, as far as the differences of
    /// neighbouring tenths tell: a trend is little of these, and all of the tenths' spread (von
    /// Neumann and others, The Mean Square Successive Difference, 1941).
    ///
    /// # Errors
    /// There is no steady state, or something was lost on the way: one line.
    pub fn judge(&self) -> Result<(), String> {
        if let Some(fault) = self.whole.faults.first() {
            return Err(format!("a mistake of the simulator, please report it: {fault}"));
        }
        match self.whole.tally.missed {
            0 => steady(&self.batches),
            missed => Err(format!(
                "{missed} of {} sessions could not begin, as all clients were busy: let there be \
                 more of them, or ask at a lower rate",
                missed + self.whole.tally.begun
            )),
        }
    }

    fn share(&self, of: fn(&Busy) -> u64) -> f64 {
        let busy = &self.whole.busy;
        let all_ns = self.whole.lasts_ns as f64 * busy.len() as f64;
        100.0 * busy.iter().map(of).sum::<u64>() as f64 / all_ns
    }

    fn each(&self, of: u64) -> f64 {
        of as f64 / self.whole.tally.replied.max(1) as f64
    }

    fn of_asked(&self, of: u64) -> f64 {
        of as f64 / self.whole.tally.asked.max(1) as f64
    }
}

/// See [`Run::judge`].
fn steady(batches: &[f64; BATCHES]) -> Result<(), String> {
    let half = BATCHES / 2;
    let mean = |of: &[f64]| of.iter().sum::<f64>() / half as f64;
    let (first, second) = (mean(&batches[..half]), mean(&batches[half..]));
    if first + second == 0.0 {
        return Err(String::from("nothing was answered: simulate longer"));
    }
    let off = (second - first).abs();
    let squares = batches.windows(2).map(|two| (two[1] - two[0]).powi(2));
    let variance = squares.sum::<f64>() / (2 * (BATCHES - 1)) as f64;
    let error = (2.0 * variance / half as f64).sqrt();
    let is_chance = off <= reach(SPREAD_FREEDOM, CHANCE) * error;
    match is_chance || off <= STEADY_SHARE * first.max(second) {
        true => Ok(()),
        false => Err(format!(
            "no steady state: {first:.1} replies/s in the first half and {second:.1} in the \
             second; let the warm-up be longer"
        )),
    }
}

#[cfg(test)]
mod tests {
    use measure::draw::Stream;

    use super::*;

    /// A trend is no spread, however large it is; and chance is no trend, however it falls.
    #[test]
    fn a_trend_is_told_from_chance() {
        // (what a run gains from its first tenth to its last, how far chance moves each, steady)
        for (trend, chance, expected) in [
            (0.0, 0.0, true),
            (0.0, 0.3, true),
            (0.05, 0.0, true),
            (0.2, 0.0, false),
            (-0.2, 0.01, false),
            (0.2, 0.03, false),
        ] {
            for seed in 0..20 {
                let mut draws = Stream::new(seed, 0);
                let batch = |at: usize| {
                    let of_trend = trend * at as f64 / (BATCHES - 1) as f64;
                    1000.0 * (1.0 + of_trend + chance * (draws.unit() - 0.5))
                };
                let batches: [f64; BATCHES] = std::array::from_fn(batch);
                let told = steady(&batches);
                assert_eq!(told.is_ok(), expected, "{trend} {chance} {seed}: {told:?}");
            }
        }
        assert!(steady(&[0.0; BATCHES]).is_err(), "nothing was answered");
    }
}
