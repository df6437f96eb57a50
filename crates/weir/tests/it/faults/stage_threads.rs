//! Each stage has its threads.

use std::fs;

use super::stages::on_pipelines;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::processes::{threads, workers_of};
use crate::support::{PATIENCE, await_true};

/// By architecture and flags, who works there, each so often.
type Team = (&'static str, &'static [&'static str], &'static [(&'static str, usize)]);

const TEAMS: [Team; 5] = [
    (
        "watpipe",
        &["--threads", "3"],
        &[("acceptor", 1), ("reader", 1), ("selector", 1), ("writer", 3)],
    ),
    (
        "pipelined",
        &["--threads", "1"],
        &[
            ("acceptor", 1),
            ("reader", 1),
            ("finder", 1),
            ("helper", 2),
            ("header", 1),
            ("writer", 1),
        ],
    ),
    (
        "pipelined",
        &["--threads", "2", "--pin", "on"],
        &[
            ("acceptor", 2),
            ("reader", 2),
            ("finder", 2),
            ("helper", 4),
            ("header", 2),
            ("writer", 2),
        ],
    ),
    (
        "seda",
        &["--stage-pools", "private"],
        &[
            ("acceptor", 1),
            ("reader", 1),
            ("receiver", 1),
            ("finder", 1),
            ("helper", 1),
            ("header", 1),
            ("writer", 1),
        ],
    ),
    (
        "seda",
        &["--stage-pools", "shared"],
        &[("acceptor", 1), ("reader", 1), ("pool", 1), ("helper", 1), ("writer", 1)],
    ),
];

/// One process has as many threads as its stages say, and a pipeline that is pinned has all of its
/// own on one processor.
#[test]
fn each_stage_has_its_threads() {
    let site = Fixture::new();
    on_pipelines(|combination| {
        for (name, flags, team) in
            TEAMS.iter().filter(|(name, ..)| combination.row["name"] == *name)
        {
            let server = combination.start(&site.root(), flags);
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
            let workers = workers_of(server.pid());
            let [worker] = workers[..] else { panic!("{combination}: {workers:?}") };
            let count = |by: &str| {
                let all = threads(worker).into_iter();
                all.filter(|(_, thread)| *thread == format!("weir-{by}")).count()
            };
            let counts = || team.iter().map(|(by, _)| (*by, count(by))).collect::<Vec<_>>();
            let are_all = || counts() == *team;
            assert!(await_true(PATIENCE, are_all), "{name} {flags:?}: {:?}", counts());
            if flags.contains(&"--pin") {
                let processors = os::thread::processors().expect("processors");
                let pipelines = 2.min(processors.len());
                let are_apart = || {
                    let places = |(by, _): &(&str, usize)| places_of(worker, by).len() == pipelines;
                    team.iter().all(places)
                };
                assert!(await_true(PATIENCE, are_apart), "{name}: on {processors:?}");
            }
            server.stop();
        }
    });
}

/// The processors on which threads of that name stay, each thread on one; empty: one of them may
/// go to several.
fn places_of(worker: u32, by: &str) -> Vec<String> {
    let status = |(tid, _): (u32, String)| {
        let text = fs::read_to_string(format!("/proc/{worker}/task/{tid}/status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(String::from(line.trim()))
    };
    let all = threads(worker).into_iter().filter(|(_, name)| *name == format!("weir-{by}"));
    let mut places: Vec<String> = all.filter_map(status).collect();
    if places.iter().any(|place| place.contains(['-', ','])) {
        return Vec::new();
    }
    places.sort();
    places.dedup();
    places
}
