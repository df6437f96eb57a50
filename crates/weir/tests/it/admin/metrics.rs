//! What Prometheus reads: well formed, and true.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::admin::{ANYWHERE, ask, ready};
use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::Program;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::asked;
use crate::support::{PATIENCE, await_true};

/// The sum of what there is of each.
pub(super) fn of_all_workers(metrics: &BTreeMap<String, f64>, name: &str) -> f64 {
    let of_each = format!("{name}{{worker=");
    metrics.iter().filter(|(name, _)| name.starts_with(&of_each)).map(|(_, value)| value).sum()
}

#[test]
fn metrics_are_well_formed_and_move() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let read = || metrics(&ask(admin, "/metrics", "").1);
        let before = read();
        let requests = before.get("weir_requests_total{worker=\"0\"}");
        assert_eq!(requests, Some(&0.0), "{combination}");
        let kept = asked(&server);
        for _ in 0..4 {
            server.fetch("/digits.txt").expect("served");
        }
        let moved = || {
            let now = read();
            let value = |name: &str| of_all_workers(&now, name);
            value("weir_requests_total") == 5.0
                && value("weir_accepted_total") == 5.0
                && value("weir_connections") == 1.0
                && value("weir_bytes_total") > 5.0 * DIGITS.len() as f64
        };
        assert!(await_true(PATIENCE, moved), "{combination}: {:?}", read());
        for (name, value) in read() {
            let old = before.get(&name).unwrap_or_else(|| panic!("{name} is new"));
            assert!(!name.contains("_total") || value >= *old, "{name} went back");
        }
        drop(kept);
        server.stop();
    });
}

/// They are sampled once a second, while something is served.
#[test]
fn context_switches_of_each_worker_are_told() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let name = "weir_voluntary_switches_total";
        let grows_beyond = |known: f64| {
            let mut told = known;
            let grows = await_true(PATIENCE, || {
                server.fetch("/digits.txt").expect("served");
                told = of_all_workers(&metrics(&ask(admin, "/metrics", "").1), name);
                told > known
            });
            assert!(grows, "{combination}: stays at {known}");
            told
        };
        let first = grows_beyond(0.0);
        grows_beyond(first);
        server.stop();
    });
}

/// Reads the text format 0.0.4 strictly: each family is told once, before its samples, which stand
/// together.
pub(super) fn metrics(text: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let mut told = Vec::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a name and words");
            assert!(!told.contains(&name) && !words.is_empty(), "{line}");
            told.push(name);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a type");
            assert_eq!(told.last(), Some(&name), "{line}");
            assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let family = name.split('{').next().expect("a family");
            let told = told.last().expect("a family");
            let parts = ["", "_bucket", "_sum", "_count"].map(|part| format!("{told}{part}"));
            assert!(parts.contains(&family.to_owned()), "{line}");
            let is_name = |b: u8| b.is_ascii_lowercase() || b == b'_';
            assert!(family.bytes().all(is_name), "{line}");
            let labels = &name[family.len()..];
            assert!(labels.is_empty() || (labels.ends_with("\"}") && labels.contains("=\"")));
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(all.insert(name.to_owned(), value).is_none(), "{line} twice");
        }
    }
    all
}

/// What a client sends as its host makes no series: only configured names do.
#[test]
fn replies_are_told_by_class_and_configured_host() {
    let site = Fixture::small();
    let root = site.root();
    let config = site.beside("weir.toml");
    let host = |names: &str| format!("[[host]]\nnames = [{names}]\nroot = {root:?}\n");
    let hosts = [r#""A.test", "b.test""#, r#""*.c.test""#].map(host);
    fs::write(&config, hosts.concat()).expect("written");
    let flags = [ANYWHERE, &["--config", config.to_str().expect("UTF-8")]].concat();
    let asked = [
        ("a.test", "/digits.txt"),
        ("b.test:80", "/digits.txt"),
        ("B.TEST", "/missing"),
        ("x.c.test", "/dir"),
        ("unknown.test", "/digits.txt"),
        ("evil\"} 1", "/missing"),
        ("unknown.test", "/missing"),
    ];
    let expected = [
        ("a.test", [2.0, 0.0, 1.0, 0.0]),
        ("*.c.test", [0.0, 1.0, 0.0, 0.0]),
        // The directory of the command line is for all other hosts; one that is none is refused.
        ("other", [1.0, 0.0, 2.0, 0.0]),
    ];
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&root, &flags);
        let admin = ready(&mut server);
        for (host, path) in asked {
            let mut wire = server.connect();
            let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            wire.send(request.as_bytes()).expect("sent");
            wire.reply(false).expect("a reply");
        }
        let told = || metrics(&ask(admin, "/metrics", "").1);
        let replies = |of: &BTreeMap<String, f64>| {
            let of = of.iter().filter(|(name, _)| name.starts_with("weir_replies_total{"));
            of.map(|(name, value)| (name.clone(), *value)).collect::<BTreeMap<_, _>>()
        };
        let rows = expected.iter().flat_map(|(host, counts)| {
            let name =
                move |class| format!("weir_replies_total{{class=\"{class}xx\",host=\"{host}\"}}");
            (2..).zip(counts).map(move |(class, count)| (name(class), *count))
        });
        let rows: BTreeMap<String, f64> = rows.collect();
        let are_told = await_true(PATIENCE, || replies(&told()) == rows);
        assert!(are_told, "{combination}: {:?}", replies(&told()));
        server.stop();
    });
}

/// From the first byte of a request on: one whose body comes late takes at least so long.
#[test]
fn times_of_replies_are_told() {
    const LATE: Duration = Duration::from_millis(70);
    let site = Fixture::small();
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let mut wire = server.connect();
        wire.get("/digits.txt", "Expect: 100-continue\r\nContent-Length: 1\r\n").expect("sent");
        // Its head is read.
        assert_eq!(wire.head().map(|head| head.status), Ok(100), "{combination}");
        thread::sleep(LATE);
        wire.send(b"x").expect("sent");
        assert_eq!(wire.reply(false).map(|(head, _)| head.status), Ok(200), "{combination}");
        let told = || metrics(&ask(admin, "/metrics", "").1);
        let family = "weir_reply_duration_seconds";
        let count = format!("{family}_count");
        let is_told = await_true(PATIENCE, || told()[&count] == 1.0);
        let told = told();
        assert!(is_told, "{combination}: {}", told[&count]);
        let sum = told[&format!("{family}_sum")];
        assert!(sum >= LATE.as_secs_f64(), "{combination}: {sum}");
        // Up to 2^26 ns, and all.
        let buckets = ["0.067108864", "+Inf"];
        let buckets = buckets.map(|end| told[&format!("{family}_bucket{{le=\"{end}\"}}")]);
        assert_eq!(buckets, [0.0, 1.0], "{combination}");
        server.stop();
    });
}

#[test]
fn process_metrics_are_those_of_all_processes() {
    let site = Fixture::small();
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let told = metrics(&ask(admin, "/metrics", "").1);
        let [resident, address, open, max] =
            ["resident_memory_bytes", "virtual_memory_bytes", "open_fds", "max_fds"]
                .map(|name| told[&format!("process_{name}")]);
        assert!(resident > 1e6 && resident < address, "{combination}: {resident} {address}");
        assert!(open > 3.0 && open < max, "{combination}: {open} {max}");
        assert!(told["process_cpu_seconds_total"] >= 0.0, "{combination}");
        assert!(told["process_start_time_seconds"] > 1.7e9, "{combination}");
        server.stop();
    });
}
