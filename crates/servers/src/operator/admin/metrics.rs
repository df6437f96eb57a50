//! The counters as Prometheus reads them: text format 0.0.4.

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{limits, usage};
use site::UNCOUNTED;

use super::View;
use crate::shared::admissions::Admitted;
use crate::shared::counters::{CLASSES, COUNTERS, Counter, Counters, SPANS, span_end_ns};

/// Workers that are told of one by one: of a thousand nobody would look at forty lines each, and
/// every scrape would have them.
const APART_MAX: usize = 64;

/// Counters that are told of by class and host instead of by worker: see [`replies`].
const BY_HOST: [Counter; 2] = [Counter::Replies, Counter::Refusals];

/// All metrics.
pub(super) fn text(view: &View<'_>) -> String {
    let mut text = Text(String::new());
    let by_worker = |of: &&(Counter, &str, &str, &str)| !BY_HOST.contains(&of.0);
    for &(counter, name, unit, meaning) in COUNTERS.iter().filter(by_worker) {
        let (name, scale) = match unit {
            "ns" => (format!("{}_seconds", name.trim_end_matches("_ns")), Scale::Nanoseconds),
            _ => (String::from(name), Scale::One),
        };
        let family = format!("weir_{name}_total");
        text.family(&family, "counter", meaning);
        for (worker, those) in told(&view.server.counters) {
            let counted: u64 = those.map(|worker| view.server.counters.of(worker, counter)).sum();
            text.sample(&family, &[("worker", worker)], scale.of(counted));
        }
    }
    replies(&mut text, view);
    workers(&mut text, view);
    processes(&mut text);
    generation(&mut text, view);
    queues(&mut text, view);
    text.0
}

/// What is told of replies, of all workers together.
fn replies(text: &mut Text, view: &View<'_>) {
    let counters = &view.server.counters;
    let hosts = view.server.site.counted_hosts().iter().map(String::as_str).enumerate();
    let hosts = hosts.map(|(at, name)| (at + 1, name)).chain([(0, UNCOUNTED)]);
    let family = "weir_replies_total";
    text.family(family, "counter", "Replies sent whole, by class of status and configured host");
    for (number, host) in hosts {
        for class in 0..CLASSES {
            let labels = [("class", format!("{}xx", class + 2)), ("host", String::from(host))];
            text.sample(family, &labels, counters.replies(number, class));
        }
    }
    let family = "weir_reply_duration_seconds";
    let meaning = "Time from the first byte of a request to the last of its reply in the socket";
    text.family(family, "histogram", meaning);
    let mut sum = 0;
    for span in 0..SPANS {
        sum += counters.took(span);
        let is_last = span + 1 == SPANS;
        let end = if is_last { "+Inf".into() } else { Scale::Nanoseconds.of(span_end_ns(span)) };
        text.sample(&format!("{family}_bucket"), &[("le", end)], sum);
    }
    let took = Scale::Nanoseconds.of(counters.took_ns());
    text.sample(&format!("{family}_sum"), &[], took);
    text.sample(&format!("{family}_count"), &[], sum);
}

/// What this program uses, under the names that Prometheus's own clients have for it; nothing
/// without /proc.
fn processes(text: &mut Text) {
    let Ok(usage) = usage::of_family() else { return };
    // A process that ends during the look may be left out, and a counter must not go back.
    static TOLD_MS: AtomicU64 = AtomicU64::new(0);
    let ms = usage.cpu.as_millis() as u64;
    let ms = ms.max(TOLD_MS.fetch_max(ms, Relaxed));
    let cpu = format!("{}.{:03}", ms / 1000, ms % 1000);
    let max = limits::descriptors() * usage.processes;
    let families = [
        ("process_cpu_seconds_total", "counter", "Processor time, of ended processes too", cpu),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Memory that is there; what processes share counts in each",
            usage.resident_bytes.to_string(),
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Memory that can be addressed; what processes share counts in each",
            usage.virtual_bytes.to_string(),
        ),
        ("process_open_fds", "gauge", "Open descriptors", usage.descriptors.to_string()),
        ("process_max_fds", "gauge", "Descriptors that may be open", max.to_string()),
    ];
    for (name, kind, help, value) in families {
        text.family(name, kind, &format!("{help}; of all processes of the server together"));
        text.sample(name, &[], value);
    }
    let Some(begun) = usage::begun() else { return };
    let name = "process_start_time_seconds";
    text.family(name, "gauge", "When the supervisor began, since 1970");
    text.sample(name, &[], format!("{:.2}", begun.as_secs_f64()));
}

/// By which name workers are told of, and which of them have that name.
fn told(counters: &Counters) -> Vec<(String, Range<usize>)> {
    match counters.workers() {
        all if all > APART_MAX => vec![(String::from("all"), 0..all)],
        all => (0..all).map(|worker| (worker.to_string(), worker..worker + 1)).collect(),
    }
}

fn workers(text: &mut Text, view: &View<'_>) {
    let counters = &view.server.counters;
    let open = |worker| counters.connections(worker);
    let ready = |worker| u64::from(counters.is_ready(worker));
    let again = |worker| counters.of(worker, Counter::Started).saturating_sub(1);
    type Of<'o> = (&'static str, &'static str, &'static str, &'o dyn Fn(usize) -> u64);
    let families: [Of<'_>; 3] = [
        ("weir_connections", "gauge", "Open connections: accepted minus closed", &open),
        ("weir_ready", "gauge", "1 while the worker serves", &ready),
        ("weir_restarts_total", "counter", "Times a worker was ready again", &again),
    ];
    for (name, kind, help, of) in families {
        text.family(name, kind, help);
        for (worker, those) in told(counters) {
            let sum: u64 = those.map(of).sum();
            text.sample(name, &[("worker", worker)], sum);
        }
    }
    let max = view.server.connections_max_of_all();
    text.one("weir_connections_max", "Connections that may be open, of all workers", max as u64);
}

fn generation(text: &mut Text, view: &View<'_>) {
    let settings = &view.server.settings;
    let draining = u64::from(view.server.orders.all().is_ending());
    text.one("weir_draining", "1 from the signal to end on", draining);
    text.one("weir_generation", "Which generation of workers serves", view.generation.into());
    text.family("weir_info", "gauge", "What serves");
    let labels = [
        ("version", String::from(env!("CARGO_PKG_VERSION"))),
        ("architecture", settings.architecture.clone()),
    ];
    text.sample("weir_info", &labels, 1);
}

fn queues(text: &mut Text, view: &View<'_>) {
    let queues: Vec<_> = super::state::queues(view.server).collect();
    let families = [
        ("weir_listen_queue", "gauge", "Connections that wait to be accepted"),
        ("weir_listen_queue_max", "gauge", "Connections that may wait to be accepted"),
        ("weir_listen_drops_total", "counter", "Connections dropped because too many waited"),
    ];
    for (at, (name, kind, help)) in families.into_iter().enumerate() {
        text.family(name, kind, help);
        for (place, address, queue) in &queues {
            let value = [queue.length, queue.max, queue.drops][at];
            text.sample(name, &of_queue(view, *place, address), value);
        }
    }
    let families = [
        ("weir_admitted_ratio", "gauge", "Of those who knock, the share that is admitted"),
        ("weir_flood", "gauge", "1 while more come than can be served soon"),
        ("weir_floods_total", "counter", "Floods that have begun"),
        ("weir_listen_wait_seconds", "gauge", "How long who comes waits to be accepted"),
    ];
    for (at, (name, kind, help)) in families.into_iter().enumerate() {
        text.family(name, kind, help);
        for (place, address, _) in &queues {
            let Admitted { share, told, floods, .. } = view.server.admissions.of(*place);
            let flood = u64::from(told.is_flood) as f64;
            let value = [share, flood, floods as f64, told.wait.as_secs_f64()][at];
            text.sample(name, &of_queue(view, *place, address), value);
        }
    }
    // Without /proc nothing is told rather than zeros.
    let Ok(drops) = os::queue_drops::queue_drops() else { return };
    let families = [
        ("weir_kernel_listen_overflows_total", "Full accept queues met", drops.listen_overflows),
        ("weir_kernel_listen_drops_total", "Attempts dropped, the above too", drops.listen_drops),
        (
            "weir_kernel_syn_queue_drops_total",
            "First packets that met a full SYN queue",
            drops.syn_queue_drops,
        ),
    ];
    for (name, help, value) in families {
        let help = format!("{help}; of the whole network namespace");
        text.family(name, "counter", &help);
        text.sample(name, &[], value);
    }
}

/// Labels of a listening socket: several may have one address.
fn of_queue(view: &View<'_>, place: usize, address: &str) -> Vec<(&'static str, String)> {
    let listeners = &view.server.listeners;
    let owner = listeners.owner(place).map(|owner| ("worker", owner.to_string()));
    // Of those that are left over, and everybody's.
    let is_first = listeners.firsts().any(|first| Arc::ptr_eq(first, &listeners[place]));
    let over = (owner.is_none() && !is_first).then(|| ("place", place.to_string()));
    [("address", String::from(address))].into_iter().chain(owner).chain(over).collect()
}

/// How a counter's unit becomes a base unit of Prometheus.
#[derive(Clone, Copy)]
enum Scale {
    One,
    Nanoseconds,
}

impl Scale {
    fn of(self, count: u64) -> String {
        match self {
            Self::One => count.to_string(),
            Self::Nanoseconds => format!("{}.{:09}", count / 1_000_000_000, count % 1_000_000_000),
        }
    }
}

/// The text so far. Writing to a string does not fail.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, String)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn one(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workers_are_told_of_as_one() {
        let named = |workers| {
            let told = told(&Counters::new(workers).unwrap());
            (told.len(), told.iter().map(|(_, those)| those.len()).sum::<usize>())
        };
        for workers in [1, 2, APART_MAX] {
            assert_eq!(named(workers), (workers, workers));
        }
        assert_eq!([APART_MAX + 1, 1024].map(named), [(1, APART_MAX + 1), (1, 1024)]);
    }

    #[test]
    fn labels_are_escaped_and_nanoseconds_exact() {
        let mut text = Text(String::new());
        text.sample("a", &[("b", String::from("c\"d\\e\nf")), ("g", String::new())], 1);
        text.sample("h", &[], Scale::Nanoseconds.of(12_000_000_034));
        assert_eq!(text.0, "a{b=\"c\\\"d\\\\e\\nf\",g=\"\"} 1\nh 12.000000034\n");
    }
}
