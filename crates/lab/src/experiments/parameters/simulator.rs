//! The same as a set of parameters for the simulator: what it needs and this experiment does not
//! measure is assumed, and says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sim::models::MODELS;
use sim::parameters::{DEFINITIONS, Definition};

use super::Parameter;
use super::toml::quoted;
use crate::known::Spread;

/// The file.
pub(super) const NAME: &str = "weir.toml";

/// A value with its range, in a unit, and where it is from.
struct Row {
    value: f64,
    range: (f64, f64),
    unit: &'static str,
    source: String,
}

/// What stands in front of a set of these.
pub(super) fn head(facts: &BTreeMap<String, String>) -> String {
    let fact = |name: &str| facts.get(name).map_or("unknown", String::as_str);
    let processor = fact("processor");
    let machine = format!("{} processors {processor}, {}", fact("processors"), fact("kernel"));
    format!(
        "# Made by weir lab run parameters: what Weir's steps cost on its machine.\n\n\
         name = \"weir\"\nmachine = {}\nprocessor = {}\n",
        quoted(&machine),
        quoted(processor)
    )
}

/// All that the simulator asks for; `None`: a step was not measured.
pub(super) fn text(measured: &[Parameter]) -> Option<String> {
    let mut text = String::new();
    for definition in DEFINITIONS {
        let assumed = ASSUMED.iter().find(|(name, ..)| *name == definition.name);
        match (row(measured, BASE, definition), assumed) {
            (Some(row), _) => row.write(&mut text, definition.name),
            (None, Some((name, value, unit, range, why))) => {
                let unit =
                    if unit.is_empty() { String::new() } else { format!("unit = {unit:?}\n") };
                // Writing to memory does not fail.
                let _ = write!(
                    text,
                    "\n[{name}]\nvalue = {value}\n{unit}range = [{range}]\nsource = {}\n",
                    quoted(&format!("assumed: {why}"))
                );
            }
            (None, None) => return None,
        }
    }
    for model in MODELS.iter().filter(|model| model.name != BASE) {
        for name in OF_MODELS {
            let definition = DEFINITIONS.iter().find(|of| of.name == name)?;
            if let Some(row) = row(measured, model.name, definition) {
                row.write(&mut text, &format!("{}.{name}", model.name));
            }
        }
    }
    Some(text)
}

/// What a request and a connection take of a model, in the units of a set, and what is assumed
/// beside it; `None`: a step was not measured.
pub(super) fn steps(measured: &[Parameter], model: &str) -> Option<Vec<(&'static str, f64)>> {
    let value = |name: &&'static str| {
        let definition = DEFINITIONS.iter().find(|of| of.name == *name)?;
        let assumed = || {
            let (_, value, ..) = ASSUMED.iter().find(|(of, ..)| of == name)?;
            value.parse().ok()
        };
        let own = row(measured, model, definition).map(|row| row.value);
        // One that was to be measured is not assumed instead.
        let is_measured = MEASURED_STEPS.contains(name);
        Some((*name, own.or_else(|| assumed().filter(|_| !is_measured))?))
    };
    MEASURED_STEPS.iter().chain(&ASSUMED_STEPS).map(value).collect()
}

/// Of a request, as it goes.
const MEASURED_STEPS: [&str; 12] = [
    "round-trip",
    "accept",
    "close",
    "receive",
    "transmit",
    "disk-read",
    "events-call",
    "event",
    "wake",
    "thread-switch",
    "hand-over",
    "lock-transfer",
];

/// The same.
const ASSUMED_STEPS: [&str; 5] =
    ["interrupt", "interrupt-dropped", "header", "path-lookup", "cache-lookup"];

/// Whose values stand for all who have none of their own.
const BASE: &str = "sped";

/// What differs from one architecture to another.
const OF_MODELS: [&str; 8] = [
    "accept",
    "receive",
    "transmit",
    "path-miss",
    "wake",
    "entry-bytes",
    "connection-bytes",
    "disk-read",
];

/// What was measured of a parameter, of that architecture's where it has its own.
fn row(measured: &[Parameter], model: &str, definition: &Definition) -> Option<Row> {
    let of = |name: &str| Of::named(measured, name);
    let own = |name: &str| of(&format!("{model}.{name}"));
    let switch = of("switch-thread");
    let row = match definition.name {
        "round-trip" => own("round-trip")?.in_unit("us", 1.0),
        "accept" => {
            let switches_us = own("connection-switches")?.median * switch?.us();
            let others_us = of("close")?.us() + switches_us;
            own("connection")?.less(others_us, "less its close and its switches").in_unit("us", 1.0)
        }
        "close" => of("close")?.in_unit("us", 1e3),
        "receive" => {
            let switches_us = own("switches")?.median * switch?.us();
            let event_us = if is_loop(model) { of("epoll-event")?.us() } else { 0.0 };
            let (hand_overs, _) = hand_overs(model);
            let handed_us = hand_overs * hand_over_us(&of)?;
            let taken_us = switches_us + handed_us + event_us;
            let others_us = own("transmit-kb")?.median + taken_us + LOOKS_US;
            let why = "less its KiB, its switches, its hand-overs, its event and its looks";
            own("request")?.less(others_us, why).in_unit("us", 1.0)
        }
        "transmit" => own("transmit-kb")?.in_unit("us", 1.0),
        "path-miss" => own("path-translation")?.in_unit("us", 1.0),
        "disk-read" => {
            let switches_us = own("miss-switches")?.median * switch?.us();
            let (_, hand_overs) = hand_overs(model);
            let others_us = switches_us + hand_overs * hand_over_us(&of)?;
            own("miss")?.less(others_us, "less its switches and hand-overs").in_unit("us", 1.0)
        }
        // A busy loop asks for many events with one call, one that sleeps for each.
        "wake" if is_loop(model) => {
            let call_us = of("epoll-call")?.us();
            own("wake")?.less(call_us, "less its call for events").in_unit("us", 1.0)
        }
        "wake" => own("wake")?.in_unit("us", 1.0),
        "events-call" => of("epoll-call")?.in_unit("us", 1e3),
        "event" => of("epoll-event")?.in_unit("us", 1e3),
        "hand-over" => of("hand-over")?.less(switch?.median, "less the switch").in_unit("us", 1e3),
        "lock-transfer" => of("cache-line")?.in_unit("us", 1e3),
        "thread-switch" => switch?.in_unit("us", 1e3),
        "process-switch" => of("switch-process")?.in_unit("us", 1e3),
        "thread-bytes" | "helper-bytes" => of("thread-bytes")?.in_unit("B", 1.0),
        "process-bytes" => of("process-bytes")?.in_unit("B", 1.0),
        "entry-bytes" => own("entry-bytes")?.in_unit("B", 1.0),
        "connection-bytes" => {
            let socket_bytes = of("socket-bytes")?.median;
            own("connection-bytes")?.less(-socket_bytes, "with its socket").in_unit("B", 1.0)
        }
        _ => return None,
    };
    Some(row)
}

/// Whose model asks for events.
fn is_loop(model: &str) -> bool {
    ["sped", "amped"].contains(&model)
}

/// How often a request goes from one thread to another in its model, and how often one more whose
/// file has to be opened: to a helper, and back.
fn hand_overs(model: &str) -> (f64, f64) {
    match model {
        "amped" => (0.0, 2.0),
        "pipelined" => (3.0, 2.0),
        _ => (0.0, 0.0),
    }
}

/// Without the switch, which the simulator adds by itself.
fn hand_over_us(of: &dyn Fn(&str) -> Option<Of>) -> Option<f64> {
    Some((of("hand-over")?.us() - of("switch-thread")?.us()).max(0.0))
}

/// A parameter as it was measured, in its own unit.
struct Of {
    median: f64,
    range: (f64, f64),
    unit: &'static str,
    command: String,
}

impl Of {
    fn named(measured: &[Parameter], name: &str) -> Option<Self> {
        let of = measured.iter().find(|of| of.name == name)?;
        let Spread { median, range, .. } = *of.value.as_ref().ok()?;
        let command = format!("weir lab run parameters: {name}");
        Some(Self { median, range, unit: of.unit, command })
    }

    fn us(&self) -> f64 {
        if self.unit == "ns" { self.median / 1e3 } else { self.median }
    }

    fn less(mut self, by: f64, why: &str) -> Self {
        self.median -= by;
        self.range = (self.range.0 - by, self.range.1 - by);
        self.command = format!("{}, {why}", self.command);
        self
    }

    /// So many of its units are one of that.
    fn in_unit(self, unit: &'static str, each: f64) -> Row {
        let value = |of: f64| (of / each * 1e3).round().max(0.0) / 1e3;
        let (value, range) = (value(self.median), (value(self.range.0), value(self.range.1)));
        Row { value, range, unit, source: format!("command: {}", self.command) }
    }
}

impl Row {
    fn write(&self, text: &mut String, name: &str) {
        let Self { value, range: (low, high), unit, source } = self;
        // Writing to memory does not fail.
        let _ = write!(
            text,
            "\n[{name}]\nvalue = {value}\nunit = {unit:?}\nrange = [{low}, {high}]\nsource = {}\n",
            quoted(source)
        );
    }
}

/// Of a path and of a file, as they are assumed below.
const LOOKS_US: f64 = 0.4;

type Assumed = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Value, unit, range, and why. Where there is a measured one as well, that counts.
const ASSUMED: &[Assumed] = &[
    ("file-sizes", "\"drawn\"", "", "\"drawn\", \"mean\"", "as the workload has them"),
    ("warmth", "\"drawn\"", "", "\"drawn\", \"pass\"", "a server that has run for long"),
    ("backlog", "4096", "", "128, 65536", "net.core.somaxconn, as Linux has it"),
    ("half-open", "0", "", "0, 65536", "net.ipv4.tcp_syncookies=1, as Linux has it"),
    ("grain", "1", "ns", "1, 2", "as fine as all times"),
    ("syn-timeout", "1", "s", "1, 1", "Linux's TCP_TIMEOUT_INIT"),
    ("data-timeout", "200", "ms", "200, 200", "Linux's TCP_RTO_MIN"),
    (
        "link-rate",
        "0",
        "Mbit/s",
        "0, 100000",
        "clients beside the server, whose link is the kernel's memory",
    ),
    ("link-is", "\"shared\"", "", "\"shared\", \"own\"", "there is none"),
    (
        "send-buffer",
        "0",
        "B",
        "0, 4194304",
        "there is no link; across one net.ipv4.tcp_wmem lets it grow up to 4 MiB",
    ),
    ("interrupt", "0", "us", "0, 20", "among what a request and a connection take"),
    ("interrupt-dropped", "2", "us", "0, 20", "a small part of what a connection takes"),
    ("header", "0", "us", "0, 10", "among what a request takes"),
    ("transmit-block", "1", "KiB", "1, 1", "what it is measured by"),
    ("events-batch", "0", "", "0, 512", "a loop takes all that is ready"),
    (
        "stage-takes",
        "\"all\"",
        "",
        "\"all\", \"one\"",
        "a stage works off what stands in its queue",
    ),
    ("path-lookup", "0.2", "us", "0, 2", "a look into a table, of what a request takes"),
    ("path-entries", "1000000", "", "1000, 10000000", "as many as files are kept"),
    ("path-miss-reads", "0", "B", "0, 4096", "directories stay in memory"),
    ("cache-lookup", "0.2", "us", "0, 2", "a look into a table, of what a request takes"),
    ("lookup-bytes", "0", "B", "0, 65536", "one look for each file"),
    ("cache-locks", "1", "", "1, 64", "one lock for the cache of a process"),
    ("lock-covers", "\"look\"", "", "\"look\", \"read\", \"send\"", "for a look"),
    ("lock-spin", "0", "us", "0, 10", "who waits gives up the processor"),
    (
        "wake",
        "10",
        "us",
        "0, 30",
        "less than hand-over-far, which is a wait for the most part; \
         weir lab run validation-kept measures it",
    ),
    ("slice", "3", "ms", "0.75, 10", "Linux's base slice on few processors"),
    (
        "task-rows",
        "\"one\"",
        "",
        "\"one\", \"each\"",
        "Linux moves tasks to a processor that is idle",
    ),
    ("pinned", "\"yes\"", "", "\"yes\", \"no\"", "a loop that is busy stays where it is"),
    ("memory-is", "\"all\"", "", "\"all\", \"contents\"", "memory is what a machine has"),
    ("entry-file", "0", "B", "0, 65536", "entries are of the files themselves"),
    ("contents", "\"private\"", "", "\"shared\", \"private\"", "each process keeps its own files"),
    ("disk-latency", "0.1", "ms", "0.02, 10", "a solid-state disk; no disk is measured"),
    ("disk-rate", "1000", "MB/s", "100, 5000", "the same"),
    ("disk-channels", "32", "", "1, 128", "the same"),
];

#[cfg(test)]
mod tests {
    use sim::parameters::Parameters;

    use super::*;

    /// Whatever is measured, the simulator can read it; and what a model has of its own is its own.
    #[test]
    fn the_simulator_reads_what_is_written() {
        let of = |name: &str, unit, value: f64| Parameter {
            name: name.into(),
            unit,
            is: "a step",
            value: Ok(Spread::of(vec![value * 0.9, value, value * 1.2]).expect("three")),
            command: String::from("weir lab cost \"x\""),
        };
        let steps = ["close", "switch-thread", "epoll-call", "epoll-event", "hand-over"];
        let steps = steps.into_iter().chain(["cache-line", "switch-process"]);
        let mut all: Vec<Parameter> = steps.map(|name| of(name, "ns", 2_000.0)).collect();
        let sizes = ["thread-bytes", "process-bytes", "socket-bytes"];
        all.extend(sizes.map(|name| of(name, "bytes", 4_096.0)));
        for (model, times) in [("sped", 1.0), ("mt", 2.0)] {
            for row in super::super::cases::FROM_LOADS {
                let value = if row.unit == "us" { 20.0 * times } else { 1.0 };
                let more = if row.name == "transmit-kb" { 0.0 } else { value };
                all.push(of(&format!("{model}.{}", row.name), row.unit, more));
            }
        }
        let facts = [("processor", "One \"1\""), ("processors", "2"), ("kernel", "Linux 6")];
        let facts = facts.map(|(name, fact)| (name.into(), fact.into())).into();
        let written = text(&all).expect("all was measured");
        let read = Parameters::read(&format!("{}{written}", head(&facts)), "weir.toml");
        let read = read.expect("a set");
        assert_eq!(read.processor.as_deref(), Some("One \"1\""));
        let receive = |model| read.of_model(model).whole("receive");
        // 20 and 40 us, less a switch of 2 each, two looks, and a loop's event of 2.
        assert_eq!([receive("sped"), receive("mt"), receive("amped")], [15_600, 37_600, 15_600]);
        assert_eq!(read.whole("connection-bytes"), 4_097);
        assert!(text(&all[1..]).is_none(), "what closing costs is not known");
    }

    /// A step is not paid twice: what the simulator takes by itself is in no difference of loads.
    #[test]
    fn steps_of_a_model_come_to_what_its_requests_take() {
        let of = |name: &str, unit, value: f64| Parameter {
            name: name.into(),
            unit,
            is: "a step",
            value: Ok(Spread::of(vec![value]).expect("one")),
            command: String::new(),
        };
        let timed = [("close", 8_000.0), ("switch-thread", 1_000.0), ("hand-over", 3_000.0)];
        let others = ["epoll-call", "epoll-event", "cache-line", "switch-process"];
        let mut all: Vec<Parameter> = timed.map(|(name, ns)| of(name, "ns", ns)).into();
        all.extend(others.map(|name| of(name, "ns", 100.0)));
        let of_loads = [
            ("request", 12.0),
            ("connection", 40.0),
            ("wake", 15.0),
            ("transmit-kb", 0.25),
            ("miss", 30.0),
            ("switches", 1.0),
            ("connection-switches", 2.0),
            ("miss-switches", 0.5),
            ("round-trip", 17.0),
        ];
        for model in ["sped", "amped", "pipelined"] {
            all.extend(of_loads.map(|(name, value)| of(&format!("{model}.{name}"), "us", value)));
        }
        let step = |model, name| {
            let steps = steps(&all, model).expect("all was measured");
            steps.into_iter().find(|(of, _)| *of == name).map(|(_, value)| value)
        };
        let rows = [
            // Less a KiB, a switch, two looks and an event; and less three hand-overs of 2 us.
            ("sped", "receive", 10.25),
            ("pipelined", "receive", 4.35),
            // Less a call for events, which a thread that waits for its connection does not make.
            ("sped", "wake", 14.9),
            ("pipelined", "wake", 15.0),
            ("sped", "accept", 30.0),
            ("sped", "disk-read", 29.5),
            // Less two hand-overs of 2 us as well.
            ("amped", "disk-read", 25.5),
            ("pipelined", "disk-read", 25.5),
            ("amped", "hand-over", 2.0),
            ("amped", "round-trip", 17.0),
            ("amped", "path-lookup", 0.2),
        ];
        for (model, name, expected) in rows {
            assert_eq!(step(model, name), Some(expected), "{model} {name}");
        }
        assert_eq!(steps(&all, "mt"), None);
        all.retain(|of| of.name != "amped.wake");
        assert_eq!(steps(&all, "amped"), None, "what is to be measured is not assumed instead");
        assert!(steps(&all, "sped").is_some());
    }
}
