//! HAProxy with the configuration of `examples/fleet`, and what it says about the replicas.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::{PATIENCE, await_some, await_true};

pub(crate) struct Balancer {
    child: Child,
    home: TempDir,
}

/// How the balancer connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As in the example: each connection begins with a PROXY header and is one client's.
    Private,
    /// Connections stay open and serve whichever client comes next.
    Shared,
}

/// What makes connections private, and its opposite.
const PROXY: (&str, &str) = (" send-proxy-v2", "");

/// A check may take longer than in the example, where it is as long as until the next one begins:
/// too short for a machine that is busy with other tests. And each that fails is told.
const PATIENT: [&str; 3] =
    ["    timeout queue 5s\n", "    timeout check 60s\n", "    option log-health-checks\n"];

/// A replica as the balancer sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: String,
    /// Checks that failed while it was up.
    pub(crate) failed_checks: u64,
    /// Requests that were sent to it.
    pub(crate) requests: u64,
    /// Whatever went wrong with it, by HAProxy's names.
    pub(crate) faults: Vec<(&'static str, u64)>,
}

/// Connections that failed, replies that failed, what was tried again, here or elsewhere, transfers
/// that it broke off, replies by which it or the balancer says that something is wrong.
const FAULTS: [&str; 6] = ["econ", "eresp", "wretr", "wredis", "srv_abrt", "hrsp_5xx"];

/// What the repository shows.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fleet").join(name)
}

impl Balancer {
    /// In the network namespace of this thread.
    pub(crate) fn start(way: Way) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let mut text = fs::read_to_string(example("haproxy.cfg")).expect("the example");
        if way == Way::Shared {
            for (private, shared) in [("http-reuse never", "http-reuse always"), PROXY] {
                assert!(text.contains(private), "the example says no {private:?}");
                text = text.replace(private, shared);
            }
        }
        assert!(text.contains(PATIENT[0]), "the example says no {:?}", PATIENT[0]);
        text = text.replace(PATIENT[0], &PATIENT.concat());
        let file = home.path().join("haproxy.cfg");
        fs::write(&file, text).expect("a configuration");
        let mut command = Command::new(harness::path_of("haproxy").expect("haproxy"));
        command.arg("-f").arg(file).env("FLEET_RUN", home.path());
        let child = command.stdin(Stdio::null()).spawn().expect("haproxy");
        let balancer = Self { child, home };
        let answers = await_true(PATIENCE, || balancer.show_stat().is_some());
        assert!(answers, "haproxy does not answer");
        balancer
    }

    /// The replica of this name.
    pub(crate) fn sees(&self, replica: &str) -> Seen {
        let table = await_some(PATIENCE, || self.show_stat()).expect("haproxy's answer");
        let mut lines = table.lines();
        let names = lines.next().expect("names").trim_start_matches("# ").split(',');
        let names: Vec<_> = names.collect();
        let rows = lines
            .map(|line| -> HashMap<_, _> { names.iter().copied().zip(line.split(',')).collect() });
        let of = |row: &HashMap<_, _>| row.get("svname") == Some(&replica);
        let row = rows.into_iter().find(of).expect("a row for the replica");
        let number = |name: &str| row[name].parse().unwrap_or_default();
        Seen {
            status: row["status"].to_owned(),
            failed_checks: number("chkfail"),
            requests: number("stot"),
            faults: FAULTS.iter().map(|name| (*name, number(name))).collect(),
        }
    }

    /// Waits until it thinks so of a replica.
    pub(crate) fn await_status(&self, replica: &str, status: &str) {
        let is = await_true(PATIENCE, || self.sees(replica).status == status);
        assert!(is, "{replica} is not {status}: {:?}", self.sees(replica));
    }

    /// Waits until it sends requests to a replica.
    pub(crate) fn await_use(&self, replica: &str) {
        let before = self.sees(replica).requests;
        let is_used = await_true(PATIENCE, || self.sees(replica).requests > before);
        assert!(is_used, "{replica} gets no request: {:?}", self.sees(replica));
    }

    fn show_stat(&self) -> Option<String> {
        let mut stream = UnixStream::connect(self.home.path().join("haproxy.sock")).ok()?;
        stream.write_all(b"show stat\n").ok()?;
        let mut table = String::new();
        stream.read_to_string(&mut table).ok()?;
        Some(table)
    }
}

impl Seen {
    pub(crate) fn is_faultless(&self) -> bool {
        self.faults.iter().all(|(_, count)| *count == 0)
    }

    pub(crate) fn fault(&self, name: &str) -> u64 {
        self.faults.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
