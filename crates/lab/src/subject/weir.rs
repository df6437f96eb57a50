//! Weir itself: its architectures by the flags of `weir serve`, and what it tells over its admin
//! listener.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use servers::architectures::Architecture;
use servers::counters::COUNTERS;
use servers::knobs;
use servers::settings::Settings;

use super::{Launch, Start, read_back};
use crate::Failure;
use crate::unknown::unknown;

/// Knobs that are the lab's to turn.
const TAKEN: [&str; 3] = ["architecture", "listen", "admin"];

/// How long the supervisor may take to answer: it serves nobody else.
const ADMIN_PATIENCE: Duration = Duration::from_secs(2);
/// Longer than any answer of it.
const ADMIN_BYTES_MAX: u64 = 4 << 20;

pub(super) fn judge(row: &Architecture, chosen: &BTreeMap<String, String>) -> Result<(), Failure> {
    let fault = |what: String| Err(Failure::Operator(format!("{}: {what}", row.name)));
    for (name, value) in chosen {
        if TAKEN.contains(&name.as_str()) {
            return fault(format!("{name}={value}: the lab itself says that"));
        }
        let Some(knob) = knobs::knob(name) else {
            return fault(unknown("knob", name, of(row)));
        };
        if !knob.is_taken_by(row.name) {
            return fault(format!("{name}={value}: only {} take it", knob.taken_by()));
        }
        if let Err(takes) = (knob.set)(&mut Settings::default(), value) {
            return fault(format!("{name}={value} must be {takes}"));
        }
    }
    Ok(())
}

/// What servers of papers did not have: they refused nobody, nor did somebody go for another.
const AS_IN_PAPERS: [(&str, &str); 3] =
    [("make-room", "off"), ("admit-percent", "100"), ("backlog", "4096")];

/// The knobs that an architecture takes and the lab leaves alone.
pub fn of(row: &Architecture) -> impl Iterator<Item = &'static str> {
    let name = row.name;
    let taken = knobs::all().filter(move |knob| knob.is_taken_by(name));
    taken.map(|knob| knob.name).filter(|name| !TAKEN.contains(name))
}

pub(super) fn launch(
    row: &Architecture,
    chosen: &BTreeMap<String, String>,
    start: &Start<'_>,
) -> Launch {
    let mut flags = BTreeMap::from([
        ("architecture", String::from(row.name)),
        ("listen", start.address.to_string()),
        ("admin", format!("unix:{}", admin(start.scratch).display())),
        ("access-log", String::from("off")),
    ]);
    if start.is_as_in_papers {
        flags.extend(AS_IN_PAPERS.map(|(name, value)| (name, String::from(value))));
    }
    flags.extend(chosen.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let flags = flags.into_iter().map(|(name, value)| format!("--{name}={value}"));
    let what = [String::from("serve"), start.site.display().to_string()];
    Launch {
        program: start.executable.into(),
        arguments: what.into_iter().chain(flags).collect(),
        environment: Vec::new(),
    }
}

/// Where it answers its operator.
pub(super) fn admin(scratch: &Path) -> PathBuf {
    scratch.join("admin.sock")
}

/// Whether it serves.
pub(super) fn is_ready(admin: &Path) -> bool {
    ask(admin, "/ready").is_ok()
}

/// All that it counts, each the sum over its workers, by the names of its table and with its units;
/// beside them `workers`, `connections_max`, [`ADMITTED`], of its listening socket `listen_queue`
/// and `listen_drops`, and the kernel's own `kernel_listen_overflows` and `kernel_listen_drops`.
pub(super) fn counters(admin: &Path) -> Result<BTreeMap<String, f64>, Failure> {
    let answer = ask(admin, "/state").map_err(|error| Failure::machine(admin.display(), error))?;
    let state: Value =
        serde_json::from_slice(&answer).map_err(|error| Failure::machine("/state", error))?;
    Ok(figures(&state))
}

/// Of each knob that is not as it was chosen, what it is and what it was to be, by what the server
/// says of itself.
pub(super) fn ignored(admin: &Path, chosen: &BTreeMap<String, String>) -> Vec<String> {
    let list = ask(admin, "/knobs").ok().and_then(|text| serde_json::from_slice(&text).ok());
    let list: Vec<Value> = list.unwrap_or_default();
    let other = |(name, value): (&String, &String)| {
        let knob = knobs::knob(name)?;
        let mut settings = Settings::default();
        (knob.set)(&mut settings, value).ok()?;
        let has = list.iter().find(|row| row["name"] == name.as_str())?["value"].as_str()?;
        read_back::ignored(name, (knob.show)(&settings).as_str(), has)
    };
    chosen.iter().filter_map(other).collect()
}

/// Of those who knock, the share that is admitted now, where least are; what is told of a time is
/// that of its end.
pub const ADMITTED: &str = "admitted";

fn figures(state: &Value) -> BTreeMap<String, f64> {
    let list = |name: &str| state[name].as_array().map_or(&[][..], Vec::as_slice);
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let (workers, queues) = (list("workers"), list("queues"));
    let counters = COUNTERS.iter().enumerate().map(|(at, row)| {
        let sum: f64 = workers.iter().map(|worker| number(&worker["counts"][at])).sum();
        (row.1, sum)
    });
    let of_queues = |name: &str| queues.iter().map(|queue| number(&queue[name])).sum();
    let shares = queues.iter().map(|queue| number(&queue["admission"]["share"]));
    let others = [
        (ADMITTED, shares.fold(1.0, f64::min)),
        ("workers", workers.len() as f64),
        ("connections_max", number(&state["connections_max"])),
        ("listen_queue", of_queues("length")),
        ("listen_drops", of_queues("drops")),
        ("kernel_listen_overflows", number(&state["overflows"])),
        ("kernel_listen_drops", number(&state["drops"])),
    ];
    counters.chain(others).map(|(name, value)| (String::from(name), value)).collect()
}

/// The content of an answer.
fn ask(admin: &Path, target: &str) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(admin)?;
    stream.set_read_timeout(Some(ADMIN_PATIENCE))?;
    stream.set_write_timeout(Some(ADMIN_PATIENCE))?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ADMIN_BYTES_MAX).read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    match end {
        Some(end) if answer.starts_with(b"HTTP/1.1 200 ") => Ok(answer.split_off(end + 4)),
        _ => Err(io::Error::other("no answer that could be used")),
    }
}

/// The one file of a site: all that a floor can serve.
pub(super) fn only_file(floor: &str, site: &Path) -> Result<PathBuf, Failure> {
    /// Directories looked into: the one file may lie deep, a tree of directories is something else.
    const DIRECTORIES_MAX: usize = 64;
    let mut directories = vec![site.to_path_buf()];
    let mut files = Vec::new();
    let mut at = 0;
    while at < directories.len() && at < DIRECTORIES_MAX && files.len() < 2 {
        let fault = |error| Failure::machine(directories[at].display(), error);
        let entries = directories[at].read_dir().map_err(fault)?;
        let mut below = Vec::new();
        for entry in entries.take(DIRECTORIES_MAX) {
            let entry = entry.map_err(fault)?;
            let is_directory = entry.file_type().map_err(fault)?.is_dir();
            (if is_directory { &mut below } else { &mut files }).push(entry.path());
        }
        directories.append(&mut below);
        at += 1;
    }
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => Err(Failure::Operator(format!(
            "{floor} serves one file, and {} has {}: take a workload of one file, as one-packet",
            site.display(),
            if files.is_empty() { "none" } else { "more" }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::resolve;
    use crate::testbed::Host;
    use serde_json::json;
    use std::fs;
    use std::net::Ipv4Addr;

    #[test]
    fn figures_are_sums_over_the_workers() {
        let counts = |by: usize| (0..COUNTERS.len()).map(|at| at * by).collect::<Vec<_>>();
        let figures = figures(&json!({
            "connections_max": 100,
            "workers": [{ "counts": counts(1) }, { "counts": counts(10) }],
            "queues": [{ "length": 3, "max": 9, "drops": 4 }],
            "overflows": 5,
            "drops": null,
        }));
        for (at, row) in COUNTERS.iter().enumerate() {
            assert_eq!(figures[row.1], (at * 11) as f64, "{}", row.1);
        }
        for (name, expected) in [
            ("workers", 2.0),
            ("connections_max", 100.0),
            ("listen_queue", 3.0),
            ("listen_drops", 4.0),
            ("kernel_listen_overflows", 5.0),
            ("kernel_listen_drops", 0.0),
        ] {
            assert_eq!(figures[name], expected, "{name}");
        }
    }

    #[test]
    fn nobody_is_refused_or_goes_for_another_where_a_paper_is_followed() {
        let host = Host { address: Ipv4Addr::LOCALHOST.into(), placement: Default::default() };
        let rows = [
            ("sped", false, vec![]),
            ("sped", true, vec!["--admit-percent=100", "--backlog=4096", "--make-room=off"]),
            (
                "sped:make-room=on,backlog=128",
                true,
                vec!["--admit-percent=100", "--backlog=128", "--make-room=on"],
            ),
        ];
        for (text, is_as_in_papers, expected) in rows {
            let start = Start {
                executable: Path::new("weir"),
                host: &host,
                address: "127.0.0.1:80".parse().unwrap(),
                site: Path::new("/site"),
                scratch: Path::new("/tmp/x"),
                is_as_in_papers,
            };
            let launch = resolve(text).and_then(|of| of.launch(&start)).unwrap();
            let is_of_papers = |flag: &&String| {
                AS_IN_PAPERS.iter().any(|(name, _)| flag.starts_with(&format!("--{name}=")))
            };
            let said = launch.arguments.iter().filter(is_of_papers);
            assert_eq!(said.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_floor_has_one_file() {
        let home = tempfile::tempdir().unwrap();
        let check = |told: Option<&str>| match (only_file("floor", home.path()), told) {
            (Ok(file), None) => assert_eq!(file, home.path().join("a/b/one")),
            (Err(Failure::Operator(what)), Some(told)) => assert!(what.contains(told), "{what}"),
            (other, told) => panic!("{other:?} for {told:?}"),
        };
        check(Some("has none"));
        fs::create_dir_all(home.path().join("a/b")).unwrap();
        fs::create_dir(home.path().join("c")).unwrap();
        check(Some("has none"));
        fs::write(home.path().join("a/b/one"), "1").unwrap();
        check(None);
        fs::write(home.path().join("c/two"), "2").unwrap();
        check(Some("has more"));
    }
}
