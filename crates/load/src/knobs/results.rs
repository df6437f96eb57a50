//! Who makes the load, and where its results go.

use std::path::{Path, PathBuf};

use crate::choices::Choices;
use crate::expectation::Expectation;
use crate::knob::Knob;
use crate::knob::values;

const GROUP: &str = "The run and its results";

/// More share no processor fairly.
const PROCESSES_MAX: u32 = 256;

pub(super) const PROCESSES: Knob<Choices> = Knob {
    name: "processes",
    group: GROUP,
    value: "N",
    reason: "that make the load together, with one start and one result: the sessions are those \
             of one process, dealt out; for more than a processor can do, or one process's \
             descriptors allow",
    set: |choices, value| {
        choices.processes = values::whole(value, 1, PROCESSES_MAX)?;
        Ok(())
    },
    show: |choices| choices.processes.to_string(),
};

pub(super) const PROBE: Knob<Choices> = Knob {
    name: "probe",
    group: GROUP,
    value: "on|off",
    reason: "connects once before the run, without a request: where nobody listens there is one \
             line in place of a run; off for a server that counts connections",
    set: |choices, value| {
        choices.probes = values::word(value, &values::ON_OFF)?;
        Ok(())
    },
    show: |choices| values::shown_word(&choices.probes, &values::ON_OFF),
};

pub(super) const SPINS: Knob<Choices> = Knob {
    name: "spins",
    group: GROUP,
    value: "on|off",
    reason: "never sleeps, so that the time a machine takes to wake a process up, some 50 us on a \
             virtual one, is not counted as the server's; takes a whole processor for each \
             process, which the server must not need",
    set: |choices, value| {
        choices.spins = values::word(value, &values::ON_OFF)?;
        Ok(())
    },
    show: |choices| values::shown_word(&choices.spins, &values::ON_OFF),
};

pub(super) const SEED: Knob<Choices> = Knob {
    name: "seed",
    group: GROUP,
    value: "N",
    reason: "of all random numbers: the same seed asks the same at the same times",
    set: |choices, value| {
        choices.seed = values::whole(value, 0, u64::MAX)?;
        Ok(())
    },
    show: |choices| choices.seed.to_string(),
};

pub(super) const INTERVAL: Knob<Choices> = Knob {
    name: "interval",
    group: GROUP,
    value: "S",
    reason: "results are also reported for each such time",
    set: |choices, value| {
        choices.interval = values::some_seconds(value)?;
        Ok(())
    },
    show: |choices| values::shown(choices.interval),
};

pub(super) const LAG_MAX: Knob<Choices> = Knob {
    name: "lag-max",
    group: GROUP,
    value: "S",
    reason: "how late the generator may be, by its schedule, or the run is invalid: a lag makes \
             the times longer that are told of the server; more than 1ms is for a machine that \
             has other work",
    set: |choices, value| {
        choices.lag_max = values::some_seconds(value)?;
        Ok(())
    },
    show: |choices| values::shown(choices.lag_max),
};

pub(super) const EXPECT: Knob<Choices> = Knob {
    name: "expect",
    group: GROUP,
    value: "EXPECTATION",
    reason: "what the run has to come to, else the exit status is 1, or 4 where an invalid run \
             does not tell; once for each, in quotes: \
             'p99<50ms', 'good>5000/s', 'failed<0.1%' (docs/load.md)",
    set: |choices, value| {
        choices.expectations.push(Expectation::read(value)?);
        Ok(())
    },
    show: |choices| shown_all(&choices.expectations),
};

pub(super) const FIND: Knob<Choices> = Knob {
    name: "find",
    group: GROUP,
    value: "EXPECTATION",
    reason: "looks for the highest rate at which this holds, by runs of --duration each, 24 at \
             most; --rate is where it begins, 100 by default, and what is reported is a run at the \
             rate that was found",
    set: |choices, value| {
        choices.sought.push(Expectation::read(value)?);
        Ok(())
    },
    show: |choices| shown_all(&choices.sought),
};

fn shown_all(all: &[Expectation]) -> String {
    let all: Vec<&str> = all.iter().map(Expectation::text).collect();
    if all.is_empty() { String::from(values::NONE) } else { all.join(" ") }
}

pub(super) const JSON: Knob<Choices> = Knob {
    name: "json",
    group: GROUP,
    value: "FILE",
    reason: "the report with whole histograms, for programs; - is the standard output",
    set: |choices, value| {
        choices.json = Some(path(value)?);
        Ok(())
    },
    show: |choices| shown(choices.json.as_deref()),
};

pub(super) const HGRM: Knob<Choices> = Knob {
    name: "hgrm",
    group: GROUP,
    value: "PREFIX",
    reason: "histograms for HdrHistogram's plotters: PREFIX.connect.hgrm, PREFIX.first-byte.hgrm, \
             PREFIX.whole.hgrm and PREFIX.lag.hgrm",
    set: |choices, value| {
        choices.hgrm = Some(file(value)?);
        Ok(())
    },
    show: |choices| shown(choices.hgrm.as_deref()),
};

pub(super) const RECORDS: Knob<Choices> = Knob {
    name: "records",
    group: GROUP,
    value: "FILE",
    reason: "a line of comma-separated values for each request; with several processes FILE.0, \
             FILE.1 and so on",
    set: |choices, value| {
        choices.records = Some(file(value)?);
        Ok(())
    },
    show: |choices| shown(choices.records.as_deref()),
};

pub(super) const BEGINS: Knob<Choices> = Knob {
    name: "begins",
    group: GROUP,
    value: "FILE",
    reason: "for programs that measure beside it: a line with the time at which the run begins, in \
             ns of CLOCK_MONOTONIC, written some 100 ms before",
    set: |choices, value| {
        choices.begins = Some(file(value)?);
        Ok(())
    },
    show: |choices| shown(choices.begins.as_deref()),
};

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err(String::from("has to be a file")) } else { Ok(text.into()) }
}

/// Where `-` would be a file of that name.
fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err(String::from("has to be a file; it is --json that knows the standard output")),
        _ => path(text),
    }
}

fn shown(path: Option<&Path>) -> String {
    path.map_or(values::NONE.into(), |path| path.display().to_string())
}
