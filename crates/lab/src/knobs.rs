//! What can be chosen of a run, as a table: flags and documents are made from it.

use std::path::Path;

use load::knob::Knob;

use crate::known::ATTEMPTS_MAX;
use crate::setup::{OnDisk, Setup, WarmUp};
use crate::subject::{self, Kind, PROGRAM};
use crate::testbed;
use crate::tuned::Tuned;

/// The table.
pub const KNOBS: &[Knob<Setup>] = &[
    Knob {
        name: "subject",
        group: "What is measured",
        value: "NAME[:KNOB=VALUE,...]",
        reason: "an architecture, a peer or a floor, with knobs of its own; once for each; by \
                 default the experiment's own",
        set: |setup, value| {
            let subject = subject::resolve(value).map_err(|failure| failure.to_string())?;
            setup.subjects.push(subject);
            Ok(())
        },
        show: |setup| match setup.subjects.as_slice() {
            [] => String::from("its own"),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        },
    },
    Knob {
        name: "workload",
        group: "What is measured",
        value: "NAME",
        reason: "what clients ask for, as in weir load; by default the experiment's own",
        set: |setup, value| {
            let name = value.split(':').next().unwrap_or(value);
            load::workload::named(name).ok_or_else(|| {
                format!("has to be one of {}", load::workload::spellings().join(", "))
            })?;
            setup.workload = Some(value.into());
            Ok(())
        },
        show: |setup| shown(setup.workload.as_ref()),
    },
    Knob {
        name: "tuning",
        group: "What is measured",
        value: "FILE",
        reason: "what weir lab tune --all has found: each server is asked untuned and tuned; for \
                 best it is weir-lab/tuning/tuning.json, where that is there",
        set: |setup, value| {
            setup.tuned = Some(Tuned::read(Path::new(value))?);
            Ok(())
        },
        show: |setup| {
            let tuned = setup.tuned.as_ref();
            tuned.map_or_else(
                || String::from("its own"),
                |tuned| format!("{} servers", tuned.servers.len()),
            )
        },
    },
    Knob {
        name: "peer",
        group: "What is measured",
        value: "NAME=PROGRAM",
        reason: "where another version of a peer is than the one that is installed, from the root \
                 on; once for each",
        set: |setup, value| {
            let wanted = || String::from("has to be NAME=PROGRAM, as in nginx=/opt/nginx");
            let (name, program) = value.split_once('=').ok_or_else(wanted)?;
            let of = subject::resolve(name).map_err(|failure| failure.to_string())?;
            if !matches!(of.kind(), Ok(Kind::Peer(_))) {
                return Err(format!("{name} is no peer"));
            }
            let subject = subject::resolve(&format!("{name}:{PROGRAM}={program}"));
            let subject = subject.map_err(|failure| failure.to_string())?;
            setup.programs.insert(subject.name, program.into());
            Ok(())
        },
        show: |setup| match setup.programs.is_empty() {
            true => String::from("as installed"),
            false => {
                let all = setup.programs.iter().map(|(name, program)| format!("{name}={program}"));
                all.collect::<Vec<_>>().join(" ")
            }
        },
    },
    Knob {
        name: "seconds",
        group: "How long",
        value: "S",
        reason: "how long each point is measured; the experiment's own is short: more seconds \
                 give less spread",
        set: |setup, value| {
            setup.seconds = Some(positive(value)?);
            Ok(())
        },
        show: |setup| shown(setup.seconds.as_ref()),
    },
    Knob {
        name: "warm-up",
        group: "How long",
        value: "S|steady|steady:S",
        reason: "before that: so many seconds of the same load, or until two seconds in a row \
                 differ by less than 5 % in replies, at most S seconds",
        set: |setup, value| {
            setup.warm_up = Some(match value.strip_prefix("steady") {
                None => WarmUp::Fixed(seconds(value)?),
                Some("") => WarmUp::Steady(STEADY_MAX_S),
                Some(most) => {
                    let most = most.strip_prefix(':').and_then(|most| most.parse().ok());
                    WarmUp::Steady(most.filter(|most| *most > 0).ok_or(WARM_UPS)?)
                }
            });
            Ok(())
        },
        show: |setup| match setup.warm_up {
            None => String::from("its own"),
            Some(WarmUp::Fixed(seconds)) => seconds.to_string(),
            Some(WarmUp::Steady(most)) => format!("steady:{most}"),
        },
    },
    Knob {
        name: "repeats",
        group: "How long",
        value: "N",
        reason: "how often each point is measured, in rounds over all of them; pages show the \
                 median, the lowest and the highest",
        set: |setup, value| {
            let repeats = value.parse().ok().filter(|repeats| (1..=1000).contains(repeats));
            setup.repeats = Some(repeats.ok_or("has to be a number from 1 to 1000")?);
            Ok(())
        },
        show: |setup| shown(setup.repeats.as_ref()),
    },
    Knob {
        name: "attempts",
        group: "How long",
        value: "N",
        reason: "how often a point is tried at most, where other work disturbs it; by default 3 \
                 times",
        set: |setup, value| {
            let attempts = value.parse().ok().filter(|attempts| (1..=1000).contains(attempts));
            setup.attempts = Some(attempts.ok_or("has to be a number from 1 to 1000")?);
            Ok(())
        },
        show: |setup| setup.attempts.unwrap_or(ATTEMPTS_MAX).to_string(),
    },
    Knob {
        name: "paper",
        group: "How long",
        value: "on|off",
        reason: "points of 120 s as in Brecht04 5 and Pariag07 3.2, and the papers' think times: \
                 takes hours",
        set: |setup, value| {
            setup.is_paper = switch(value)?;
            Ok(())
        },
        show: |setup| on_off(setup.is_paper),
    },
    Knob {
        name: "anyway",
        group: "The machines",
        value: "on|off",
        reason: "measure although other programs run; each page says that it is not to be quoted",
        set: |setup, value| {
            setup.is_anyway = switch(value)?;
            Ok(())
        },
        show: |setup| on_off(setup.is_anyway),
    },
    Knob {
        name: "loopback",
        group: "The machines",
        value: "on|off",
        reason: "server and client on this machine as it is: needs no root, has no limits, and \
                 the client pays for the server's network work",
        set: |setup, value| {
            setup.is_loopback = switch(value)?;
            Ok(())
        },
        show: |setup| on_off(setup.is_loopback),
    },
    Knob {
        name: "quota",
        group: "The machines",
        value: "PERCENT",
        reason: "share of one processor that the server's processes may use, without the \
                 kernel's network work",
        set: |setup, value| {
            let percent = value.parse().ok().filter(|percent| (1..=100_000).contains(percent));
            setup.quota_percent = Some(percent.ok_or("has to be a number from 1")?);
            Ok(())
        },
        show: |setup| shown(setup.quota_percent.as_ref()),
    },
    Knob {
        name: "round-trip-ms",
        group: "The machines",
        value: "MS",
        reason: "how long a packet takes there and back; none by default, as it costs the \
                 client's processor time",
        set: |setup, value| {
            let ms = value.parse().ok().filter(|ms| (1..=10_000).contains(ms));
            setup.round_trip_ms = Some(ms.ok_or("has to be a number from 1 to 10000")?);
            Ok(())
        },
        show: |setup| shown(setup.round_trip_ms.as_ref()),
    },
    Knob {
        name: "wire-mbit",
        group: "The machines",
        value: "MBIT",
        reason: "what the wire carries in a second, in each direction; by default the \
                 experiment's own, which is mostly no limit: the processors are one",
        set: |setup, value| {
            let range = 1..=testbed::MBIT_MAX;
            let mbit = value.parse().ok().filter(|mbit| range.contains(mbit));
            setup.wire_mbit = Some(mbit.ok_or("has to be a number from 1 to 10000")?);
            Ok(())
        },
        show: |setup| shown(setup.wire_mbit.as_ref()),
    },
    Knob {
        name: "wire-mtu",
        group: "The machines",
        value: "BYTES",
        reason: "how long a packet is at most; by default the experiment's own, which is mostly \
                 Ethernet's 1500",
        set: |setup, value| {
            let range = testbed::MTU_BYTES_MIN..=testbed::MTU_BYTES_MAX;
            let bytes = value.parse().ok().filter(|bytes| range.contains(bytes));
            setup.wire_mtu_bytes = Some(bytes.ok_or("has to be a number from 576 to 65000")?);
            Ok(())
        },
        show: |setup| shown(setup.wire_mtu_bytes.as_ref()),
    },
    Knob {
        name: "disk",
        group: "The machines",
        value: "itself|delay-us=US[,seek-us=US,turn-us=US,mb-per-s=N]",
        reason: "of experiments with a disk: how late each read is answered, and how one arm \
                 moves, if reads share one; or the disk on which --sites is, as it is. By default \
                 pariag07-* find a delay at which one loop waits for 33 % of the time, and \
                 choi05-* have the fast one of Choi05 table 2",
        set: |setup, value| {
            setup.disk = Some(match value {
                "itself" => OnDisk::Itself,
                _ => OnDisk::Slow(value.parse().map_err(|why| format!("{why}, or itself"))?),
            });
            Ok(())
        },
        show: |setup| match setup.disk {
            None => String::from("its own"),
            Some(OnDisk::Itself) => String::from("itself"),
            Some(OnDisk::Slow(disk)) => disk.to_string(),
        },
    },
    Knob {
        name: "memory-percent",
        group: "The machines",
        value: "PERCENT",
        reason: "of experiments with a disk: how much memory the server has, of the bytes of all \
                 files; by default five eighths, as in Pariag07 3.2, and with Choi05's traces what \
                 that has for each. Where it is said, pariag07-architectures asks the paper's \
                 servers, at the capacity alone",
        set: |setup, value| {
            let percent = value.parse().ok().filter(|percent| (10..=200).contains(percent));
            setup.memory_percent = Some(percent.ok_or("has to be a number from 10 to 200")?);
            Ok(())
        },
        show: |setup| shown(setup.memory_percent.as_ref()),
    },
];

/// So long is waited for a steady server where nothing is said: caches of some thousand files fill
/// in less.
const STEADY_MAX_S: u32 = 20;

const WARM_UPS: &str = "has to be seconds, steady, or steady:S";

/// The table for the documents.
#[must_use]
pub fn markdown() -> String {
    load::knob::markdown(KNOBS, &Setup::default())
}

fn seconds(value: &str) -> Result<f64, String> {
    let seconds = value.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| WARM_UPS.into())
}

fn positive(value: &str) -> Result<f64, String> {
    let seconds = value.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| String::from("has to be seconds, from 0.1 to 86400"))
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(String::from("has to be on or off")),
    }
}

fn on_off(is_on: bool) -> String {
    String::from(if is_on { "on" } else { "off" })
}

fn shown(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| String::from("its own"), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_or_told_what_they_have_to_be() {
        let rows = [
            ("subject", "sped:backlog=64", Ok("sped:backlog=64")),
            ("subject", "sped:backlog", Err("sped:backlog: backlog has to be KNOB=VALUE")),
            ("workload", "urls:/tmp/x", Ok("urls:/tmp/x")),
            ("peer", "nginx=/opt/nginx", Ok("nginx=/opt/nginx")),
            ("peer", "nginx", Err("has to be NAME=PROGRAM, as in nginx=/opt/nginx")),
            ("peer", "ngnix=/x", Err("ngnix: no such subject; did you mean nginx?")),
            ("peer", "sped=/x", Err("sped is no peer")),
            (
                "peer",
                "h2o=h2o",
                Err("h2o: program=h2o must be where a program is, as in /opt/name"),
            ),
            ("seconds", "2.5", Ok("2.5")),
            ("seconds", "0", Err("has to be seconds, from 0.1 to 86400")),
            ("warm-up", "0", Ok("0")),
            ("warm-up", "steady", Ok("steady:20")),
            ("warm-up", "steady:5", Ok("steady:5")),
            ("warm-up", "steady:0", Err(WARM_UPS)),
            ("warm-up", "soon", Err(WARM_UPS)),
            ("repeats", "0", Err("has to be a number from 1 to 1000")),
            ("attempts", "1", Ok("1")),
            ("attempts", "0", Err("has to be a number from 1 to 1000")),
            ("quota", "25", Ok("25")),
            ("loopback", "yes", Err("has to be on or off")),
            ("disk", "itself", Ok("itself")),
            ("disk", "delay-us=3000", Ok("delay-us=3000")),
            (
                "disk",
                "slow",
                Err("has to be delay-us=US, or with an arm delay-us=US,seek-us=US,turn-us=US,\
                     mb-per-s=N, or itself"),
            ),
            ("round-trip-ms", "0", Err("has to be a number from 1 to 10000")),
            ("wire-mbit", "155", Ok("155")),
            ("wire-mbit", "0", Err("has to be a number from 1 to 10000")),
            ("wire-mtu", "9180", Ok("9180")),
            ("wire-mtu", "575", Err("has to be a number from 576 to 65000")),
            ("memory-percent", "40", Ok("40")),
            ("memory-percent", "9", Err("has to be a number from 10 to 200")),
        ];
        for (name, value, expected) in rows {
            let knob = KNOBS.iter().find(|knob| knob.name == name).expect("a knob");
            let mut setup = Setup::default();
            let set = (knob.set)(&mut setup, value).map(|()| (knob.show)(&setup));
            let expected = expected.map(String::from).map_err(String::from);
            assert_eq!(set, expected, "{name} {value}");
        }
    }
}
