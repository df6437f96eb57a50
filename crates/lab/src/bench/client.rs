//! The client's side: `weir load`, as anybody could call it, on the client's machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use load::collector::results::Results;
use load::report::json;
use measure::Duration;
use os::Signals;
use os::process::{self, Pid};

use crate::Failure;
use crate::profile::Target;
use crate::setup::{STEADY_SHARE, WarmUp};
use crate::spec::Load;
use crate::subject::Running;
use crate::testbed::Testbed;

/// Whoever asks.
#[derive(Clone, Copy)]
pub(super) struct Client<'c> {
    pub(super) executable: &'c Path,
    pub(super) testbed: &'c Testbed,
    /// The server's.
    pub(super) address: SocketAddr,
    pub(super) scratch: &'c Path,
    pub(super) signals: &'c Signals,
}

/// What came of a load.
#[derive(Debug)]
pub struct Ran {
    /// As it was called.
    pub command: String,
    /// What it told, or why it told nothing.
    pub results: Result<Results, String>,
}

/// When something is to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The load begins soon; it is measured until so long from now.
    Starts(Duration),
    /// The measured time begins.
    Begins,
    /// It goes on.
    Goes,
    /// It is over; replies may still come.
    Ends,
}

/// What is left to do of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WarmedUp {
    /// At the begin of the load itself, in seconds.
    pub(super) within_s: f64,
}

/// Between two looks whether a load says when it begins, which it does 100 ms before.
const BEGINS_LOOK: Duration = Duration::from_millis(5);

/// Between two looks within the measured time: fewer than a thousandth of it are spent on them.
const GOES_EACH: Duration = Duration::from_millis(100);

/// A load that is not over so long after it should be has failed.
pub(super) const LATE: Duration = Duration::from_secs(30);

/// The least that tells whether a server is steady.
const STEADY_S: f64 = 1.0;

/// Each piece of a warm-up asks for something else: from one to the next, by more than there are
/// repeats.
const PIECE_SEEDS: u64 = 1 << 20;

impl Client<'_> {
    /// Performs a load, drawn by this seed; `look` is called when its measured time begins and when
    /// it ends, by the load's own word.
    pub(super) fn run(
        &self,
        load: &Load,
        (warm_up_s, seed): (f64, u64),
        look: &mut dyn FnMut(Moment),
    ) -> Result<Ran, Failure> {
        let mut arguments = self.arguments(load, (warm_up_s, seed), load.seconds);
        let command = self.shown(&arguments);
        let (told, says) = (self.scratch.join("load.json"), self.scratch.join("begins"));
        arguments.extend([String::from("--begins"), says.display().to_string()]);
        // What an earlier load said is no word of this one.
        let _ = std::fs::remove_file(&says);
        let mut child = self.start(&arguments, &told)?;
        let mut moments = Vec::new();
        if let Some(begins) = self.begins(&mut child, &says)? {
            let begins = begins + Duration::from_secs_f64(warm_up_s);
            let ends = begins + Duration::from_secs_f64(load.seconds);
            look(Moment::Starts(ends.saturating_duration_since(Instant::now())));
            let looks = (1..(load.seconds / GOES_EACH.as_secs_f64()).ceil() as u32)
                .map(|place| (begins + GOES_EACH * place, Moment::Goes));
            moments.push((begins, Moment::Begins));
            moments.extend(looks.chain([(ends, Moment::Ends)]));
        }
        let lasts_s = warm_up_s + load.seconds + load.cool_down_s() + patience_s(&load.flags);
        let lasts = Duration::from_secs(lasts_s as u64) + LATE;
        let is_over = self.wait(child, lasts, &moments, look)?;
        Ok(Ran { command, results: results(&told, is_over)? })
    }

    /// When a load's schedule begins, as it says itself; none: it has ended, or says nothing.
    fn begins(&self, child: &mut Child, says: &Path) -> Result<Option<Instant>, Failure> {
        let failed = |error| Failure::machine("weir load", error);
        let end = Instant::now() + LATE;
        while Instant::now() < end {
            let said = std::fs::read_to_string(says).unwrap_or_default();
            if let Some(ns) = said.strip_suffix('\n').and_then(|ns| ns.parse().ok()) {
                let left = measure::Instant { ns } - os::clock::monotonic();
                return Ok(Some(Instant::now() + left));
            }
            if child.try_wait().map_err(failed)?.is_some() {
                return Ok(None);
            }
            let signal = self.signals.wait(Some(BEGINS_LOOK)).map_err(failed)?;
            if signal.is_some_and(super::is_stop) {
                end_now(child);
                return Err(Failure::Stopped);
            }
        }
        Ok(None)
    }

    /// What the load needs before it is measured, as far as it is not a part of the load.
    pub(super) fn warm_up(&self, load: &Load, seed: u64) -> Result<WarmedUp, Failure> {
        let most = match load.warm_up {
            WarmUp::Fixed(within_s) => return Ok(WarmedUp { within_s }),
            WarmUp::Steady(most) => most,
        };
        let piece = Load { seconds: STEADY_S, ..load.clone() };
        let mut before = None;
        let mut within_s = 0.0;
        for piece_seed in (1..).map(|piece| seed + piece * PIECE_SEEDS).take(most as usize) {
            let ran = self.run(&piece, (0.0, piece_seed), &mut |_| ())?;
            let Ok(results) = ran.results else { break };
            within_s += STEADY_S;
            let (now, was) = (results.flow.goodput as f64, before.replace(results.flow.goodput));
            let is_steady = |was: u64| (now - was as f64).abs() <= STEADY_SHARE * now;
            if was.is_some_and(is_steady) {
                break;
            }
        }
        // What is the load's own, its connections and who waits, is gone between two of them.
        Ok(WarmedUp { within_s })
    }

    /// Who is looked at, from this side.
    pub(super) fn target(&self, running: &Running) -> Target {
        Target {
            pids: running.pids(),
            processors: self.testbed.server.placement.processors.clone(),
            own_processors: self.testbed.client.placement.processors.clone(),
            directory: self.scratch.into(),
        }
    }

    pub(super) fn arguments(
        &self,
        load: &Load,
        (warm_up_s, seed): (f64, u64),
        seconds: f64,
    ) -> Vec<String> {
        let mut arguments = vec![String::from("load"), format!("http://{}/", self.address)];
        let mut flag = |name: &str, value: String| {
            arguments.push(format!("--{name}"));
            arguments.push(value);
        };
        flag("workload", load.workload.clone());
        for (name, value) in &load.flags {
            flag(name, value.clone());
        }
        flag("sources", sources(&self.testbed.client_addresses));
        let processors = self.testbed.client.placement.processors.len();
        if let Some(processes) = processes(load, processors) {
            flag("processes", processes.to_string());
        }
        if warm_up_s > 0.0 {
            flag("warm-up", warm_up_s.to_string());
        }
        flag("duration", seconds.to_string());
        flag("seed", seed.to_string());
        // It answers already, and each of its connections counts.
        flag("probe", String::from("off"));
        flag("json", String::from("-"));
        arguments
    }

    pub(super) fn start(&self, arguments: &[String], told: &Path) -> Result<Child, Failure> {
        let failed = |error| Failure::machine(told.display(), error);
        let out = File::create(told).map_err(failed)?;
        let words = File::create(told.with_extension("err")).map_err(failed)?;
        let command = self.testbed.client.placement.command(self.executable);
        let spawned = command.and_then(|mut command| {
            command.args(arguments).stdin(Stdio::null()).stdout(out).stderr(words).spawn()
        });
        spawned.map_err(|error| Failure::machine("weir load", error))
    }

    /// Until it has ended; `false`: it had to be ended.
    pub(super) fn wait(
        &self,
        mut child: Child,
        lasts: Duration,
        moments: &[(Instant, Moment)],
        look: &mut dyn FnMut(Moment),
    ) -> Result<bool, Failure> {
        let end = Instant::now() + lasts;
        let mut moments = moments.iter().peekable();
        loop {
            let failed = |error| Failure::machine("weir load", error);
            let now = Instant::now();
            while let Some((_, moment)) = moments.next_if(|(at, _)| *at <= now) {
                look(*moment);
            }
            if child.try_wait().map_err(failed)?.is_some() {
                // It may be over some milliseconds before that was to be expected.
                let left = moments.filter(|(_, moment)| *moment == Moment::Ends);
                left.for_each(|(_, moment)| look(*moment));
                return Ok(true);
            }
            let next = moments.peek().map_or(end, |(at, _)| *at);
            let left = next.saturating_duration_since(now);
            let signal = self.signals.wait(Some(left)).map_err(failed)?;
            let is_stopped = signal.is_some_and(super::is_stop);
            if is_stopped || now >= end {
                end_now(&mut child);
                return if is_stopped { Err(Failure::Stopped) } else { Ok(false) };
            }
        }
    }

    /// As a reader calls it, without what is this run's alone.
    pub(super) fn shown(&self, arguments: &[String]) -> String {
        let text = format!("weir {}", arguments.join(" "));
        text.replace(&self.scratch.display().to_string(), "SCRATCH")
    }
}

/// For how long replies may still come.
pub(super) fn patience_s(flags: &BTreeMap<String, String>) -> f64 {
    flags.get("patience").and_then(|text| text.parse().ok()).unwrap_or(15.0)
}

/// What a load told, or why it told nothing.
pub(super) fn results(told: &Path, is_over: bool) -> Result<Result<Results, String>, Failure> {
    let text = std::fs::read_to_string(told);
    let text = text.map_err(|error| Failure::machine(told.display(), error))?;
    Ok(match json::read(&text) {
        Ok(results) => Ok(results),
        Err(_) if !is_over => Err(String::from("the load did not end in time")),
        Err(_) => Err(last_words(told)),
    })
}

/// What a load that told nothing said of it.
fn last_words(told: &Path) -> String {
    let words = std::fs::read_to_string(told.with_extension("err")).unwrap_or_default();
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    last.unwrap_or("the load ended without a word").into()
}

/// Ends a load with all its processes. Those that take longer than the first one to end are left
/// for the end of the point, when whoever is there still is ended and buried.
pub(super) fn end_now(child: &mut Child) {
    let group = Pid::new(child.id());
    // It has ended meanwhile, if not.
    let _ = group.map(process::kill_group);
    let _ = child.wait();
    let _ = group.map(process::wait_group_exited);
}

/// In how many processes a load is made that has so many processors: in one on each, as far as
/// there is a client for each. `None`: in one, or as the load says itself.
fn processes(load: &Load, processors: usize) -> Option<usize> {
    let clients = load.flags.get("clients").and_then(|text| text.parse().ok());
    let processes = processors.min(clients.unwrap_or(processors));
    (processes > 1 && !load.flags.contains_key("processes")).then_some(processes)
}

/// As short as `weir load` takes them.
fn sources(addresses: &[IpAddr]) -> String {
    let number = |address: &IpAddr| match address {
        IpAddr::V4(address) => Some(address.to_bits()),
        IpAddr::V6(_) => None,
    };
    let is_next = |pair: &[IpAddr]| match (number(&pair[0]), number(&pair[1])) {
        (Some(a), Some(b)) => a.checked_add(1) == Some(b),
        _ => false,
    };
    match addresses {
        [first, .., last] if addresses.windows(2).all(is_next) => format!("{first}-{last}"),
        _ => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_a_process_for_each_processor() {
        let rows = [
            (1, &[("rate", "1000")][..], None),
            (2, &[("rate", "1000")], Some(2)),
            (8, &[("rate", "1000")], Some(8)),
            (8, &[("clients", "64")], Some(8)),
            (8, &[("clients", "6")], Some(6)),
            (8, &[("clients", "1")], None),
            (1, &[("clients", "42")], None),
            // A workload's own times, or the clients of weir load.
            (8, &[], Some(8)),
            (8, &[("rate", "1000"), ("processes", "2")], None),
        ];
        for (processors, flags, expected) in rows {
            let flags = flags.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let load = Load {
                workload: String::from("one-packet"),
                seconds: 1.0,
                warm_up: WarmUp::Fixed(0.0),
                flags: flags.collect(),
                idle_connections: 0,
                beside: None,
            };
            assert_eq!(processes(&load, processors), expected, "{processors} {:?}", load.flags);
        }
    }

    #[test]
    fn sources_are_told_in_short() {
        let rows = [
            ("10.0.0.2", "10.0.0.2"),
            ("10.0.0.2 10.0.0.3 10.0.0.4", "10.0.0.2-10.0.0.4"),
            ("10.0.0.2 10.0.0.4", "10.0.0.2,10.0.0.4"),
            ("::1 ::2", "::1,::2"),
        ];
        for (addresses, expected) in rows {
            let addresses: Vec<IpAddr> =
                addresses.split(' ').map(|text| text.parse().expect("an address")).collect();
            assert_eq!(sources(&addresses), expected);
        }
    }
}
