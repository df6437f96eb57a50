//! What else a server has to do while a load is measured: connections that are idle, and a second
//! load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Instant;

use measure::Duration;

use super::client::{self, Client, Ran};
use super::sites;
use crate::Failure;
use crate::setup::WarmUp;
use crate::spec::{Beside, Load};
use crate::testbed::Host;
use crate::vitals::{self, Side};

/// A load that runs until it is dropped.
pub(super) struct Held(Option<Child>);

/// A load beside another one.
pub(super) struct Second {
    running: Held,
    /// As it was called.
    command: String,
    /// Where it tells its results.
    told: PathBuf,
    /// It is over by then.
    ends: Instant,
}

/// So long is waited for idle connections to be there: a server that takes a thousand in a second
/// has ten thousand.
const HELD_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks whether they are.
const HELD_LOOK: Duration = Duration::from_millis(20);

/// By so much a second load outlasts the first one, in seconds: when the connections are counted at
/// the end of what is measured, its own are still there.
const OUTLASTS_S: f64 = 0.2;

/// Of idle connections, of which all are alike.
const SEED: u64 = 1;

/// Longer than any point.
const DAY_S: f64 = 86_400.0;

impl Client<'_> {
    /// Opens connections that are idle from then on.
    pub(super) fn hold_idle(&self, load: &Load) -> Result<Held, Failure> {
        if load.idle_connections == 0 {
            return Ok(Held(None));
        }
        let namespace = |host: &Host| host.placement.namespace.clone();
        let side = Side { namespace: namespace(&self.testbed.client), ..Side::default() };
        // Where both ends are in one place, each is a connection of its own.
        let is_shared = side.namespace == namespace(&self.testbed.server);
        let more = u64::from(load.idle_connections) * if is_shared { 2 } else { 1 };
        let count = vitals::open_connections(&side)? + more;
        let log = self.scratch.join("idle.wsesslog");
        std::fs::write(&log, session(&sites::target(load)?))
            .map_err(|error| Failure::machine(log.display(), error))?;
        let arguments = self.arguments(&idle(load, &log), (0.0, SEED), DAY_S);
        let held = Held(Some(self.start(&arguments, &self.scratch.join("idle"))?));
        let end = Instant::now() + HELD_WITHIN;
        // How many there were is told by the point: a server may have its reasons to refuse some.
        while vitals::open_connections(&side)? < count && Instant::now() < end {
            self.rest(HELD_LOOK)?;
        }
        Ok(held)
    }

    /// Begins the load beside another one that has so long a warm-up, and waits until its clients
    /// are there.
    pub(super) fn begin_beside(
        &self,
        load: &Load,
        (warm_up_s, seed): (f64, u64),
    ) -> Result<Option<Second>, Failure> {
        let Some(beside) = &load.beside else { return Ok(None) };
        let second = self.second(load, beside)?;
        let warm_up_s = beside.begins_s + warm_up_s + OUTLASTS_S;
        let arguments = self.arguments(&second, (warm_up_s, seed), load.seconds);
        let told = self.scratch.join("beside.json");
        let running = Held(Some(self.start(&arguments, &told)?));
        let lasts_s = warm_up_s + load.seconds + client::patience_s(&second.flags);
        let ends = Instant::now() + Duration::from_secs_f64(lasts_s) + client::LATE;
        let there = Instant::now() + Duration::from_secs_f64(beside.begins_s);
        while let Some(left) = there.checked_duration_since(Instant::now()) {
            self.rest(left)?;
        }
        Ok(Some(Second { running, command: self.shown(&arguments), told, ends }))
    }

    /// Waits for its end.
    pub(super) fn end_beside(&self, mut second: Second) -> Result<Ran, Failure> {
        let left = second.ends.saturating_duration_since(Instant::now());
        let is_over = match second.running.0.take() {
            Some(child) => self.wait(child, left, &[], &mut |_| ())?,
            None => true,
        };
        let results = client::results(&second.told, is_over)?;
        Ok(Ran { command: second.command, results })
    }

    fn second(&self, load: &Load, beside: &Beside) -> Result<Load, Failure> {
        let workload = match &beside.target {
            None => beside.workload.clone(),
            Some(target) => {
                let log = self.scratch.join("beside.wsesslog");
                std::fs::write(&log, format!("{target}\n"))
                    .map_err(|error| Failure::machine(log.display(), error))?;
                format!("wsesslog:{}", log.display())
            }
        };
        let (flags, warm_up) = (beside.flags.clone(), WarmUp::Fixed(0.0));
        let seconds = load.seconds;
        Ok(Load { workload, seconds, warm_up, flags, idle_connections: 0, beside: None })
    }

    /// A while, unless somebody wants it to end.
    fn rest(&self, lasts: Duration) -> Result<(), Failure> {
        let failed = |error| Failure::machine("signals", error);
        let signal = self.signals.wait(Some(lasts)).map_err(failed)?;
        if signal.is_some_and(super::is_stop) { Err(Failure::Stopped) } else { Ok(()) }
    }
}

/// What opens the idle connections of a load: sessions that ask for one of its files, and for
/// nothing more that day. Clients who rest so long would begin in the middle of their rests.
fn idle(load: &Load, session: &Path) -> Load {
    let (beside, flags) = (None, BTreeMap::new());
    let alone = Load { idle_connections: 0, beside, flags, ..load.clone() };
    let workload = format!("wsesslog:{}", session.display());
    Load { workload, ..alone }
        .with("clients", load.idle_connections)
        .with("keeps", "session")
        .with("patience", "none")
}

/// As httperf's sessions are written.
fn session(target: &str) -> String {
    format!("{target} think={DAY_S}\n{target}\n")
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            client::end_now(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_ask_for_files_that_are_there() {
        let rows = [
            ("one-packet", &[][..], "/one-packet.html"),
            (
                "specweb99",
                &[("dirs", "1"), ("rate", "900")],
                "/specweb99/file_set/dir00000/class0_0",
            ),
        ];
        for (workload, flags, target) in rows {
            let flags = flags.iter().map(|(name, value)| (String::from(*name), (*value).into()));
            let load = Load {
                workload: workload.into(),
                seconds: 1.0,
                warm_up: WarmUp::Fixed(0.5),
                flags: flags.collect(),
                idle_connections: 250,
                beside: None,
            };
            assert_eq!(sites::target(&load).unwrap(), target);
            let idle = idle(&load, Path::new("/tmp/session"));
            let flags: Vec<_> =
                idle.flags.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(flags, [("clients", "250"), ("keeps", "session"), ("patience", "none")]);
            assert_eq!(idle.workload, "wsesslog:/tmp/session");
        }
        assert_eq!(session("/a"), "/a think=86400\n/a\n");
    }
}
