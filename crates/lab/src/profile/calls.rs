//! JAWS97's white box (section 2.4): which system calls a server makes, how often, and for how
//! long.
//!
//! The kernel counts, in tables of its own that are read once at the end (bpftrace), so there are
//! no events on the way that could be lost. What can fail is that a table is full, or that a
//! program of ours was called while another ran; the kernel tells both, and the profile does not
//! count then. A call costs about a microsecond more while this runs.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool::{self, Running, Scratch};
use super::{Profile, Seen, Target, Task};
use crate::Failure;
use crate::program::Program;
use crate::vitals;

/// What a server's processes did, all together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Calls {
    /// By what they are for; every task is there.
    pub by_task: BTreeMap<Task, Call>,
    /// By name, those that were made.
    pub by_name: BTreeMap<String, Call>,
    /// Processor time between calls: the server's own code, and what interrupted it.
    pub user_us: u64,
    /// A thread stopped to run, in a call or between two.
    pub context_switches: u64,
    /// Of calls that accept one connection each; a ring's are not seen.
    #[serde(default)]
    pub accepts: Accepts,
}

/// How connections were accepted (Brecht04 equation 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accepts {
    /// Accepted.
    pub connections: u64,
    /// Times at which a thread accepted at least one, after it had asked for events or had waited
    /// for a connection.
    pub phases: u64,
}

/// Some calls, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Call {
    /// How often they were made.
    pub count: u64,
    /// For how long they ran on a processor.
    pub busy_us: u64,
    /// For how long they did not: what was wanted was not there yet, or others ran. Of
    /// [`Task::Events`] it is the waiting for events. A call that has not ended is not in it.
    pub waiting_us: u64,
}

/// bpftrace at work.
#[derive(Debug)]
pub(super) struct Tracer {
    running: Running,
    /// Read at the start, but a file of the tool's all along.
    _script: Scratch,
    since: measure::Instant,
}

/// Entries of each of the kernel's tables: threads, of which a server of 10,000 connections may
/// have one each, and half as many again. When they do not suffice, the profile says so.
const TABLE_ENTRIES: &str = "16384";

pub(super) const BPFTRACE: Program =
    Program { name: "bpftrace", file: "bpftrace", package: "bpftrace", version: "--version" };

/// Where the kernel's trace points are listed, where that is mounted.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Tracer {
    pub(super) fn start(target: &Target) -> Result<Self, Failure> {
        BPFTRACE.found()?;
        let pids = vitals::family(&target.pids)?;
        let file = Scratch::new(&target.directory, "calls.bt");
        let path = file.path();
        fs::write(path, script(&pids)).map_err(|e| Failure::machine(path.display(), e))?;
        let is_mounted = TRACING.iter().any(|at| Path::new(at).join("events").is_dir());
        let mut command = if is_mounted {
            tool::command(target, "bpftrace")?
        } else {
            // For itself alone: nothing stays mounted. Each program here becomes the next one, so
            // that the last is the child.
            let mut command = tool::command(target, "unshare")?;
            command.args(["--mount", "sh", "-c", MOUNT, "bpftrace"]);
            command
        };
        // -k: when a table is full, it is said.
        command.args(["-k", "-f", "json"]).arg(path);
        command.env("BPFTRACE_MAP_KEYS_MAX", TABLE_ENTRIES);
        let mut running = Running::start("bpftrace", command, &target.directory)?;
        running.wait_for(READY, None::<&mut fs::File>)?;
        Ok(Self { running, _script: file, since: os::clock::monotonic() })
    }

    pub(super) fn finish(self) -> Result<Profile, Failure> {
        let window_us = os::clock::monotonic().since(self.since).as_micros() as u64;
        let missed = missed(self.running.pid());
        let text = self.running.interrupt()?;
        let (calls, span_us, mut faults) =
            parse(&text).map_err(|e| Failure::machine("bpftrace", e))?;
        if missed > 0 {
            faults.push(format!("{missed} events came while another was being counted"));
        }
        // It takes a tenth of a second to stop, and counts until then.
        Ok(Profile { window_us: window_us.max(span_us), faults, seen: Seen::Calls(calls) })
    }
}

const MOUNT: &str = "mount -t tracefs tracefs /sys/kernel/tracing && exec bpftrace \"$@\"";

/// What the script says when it sees.
const READY: &str = "ready";

/// What the kernel runs. A thread's time since its last step into or out of the kernel, without
/// that in which it did not run, belongs to what it has left. Its accept phase is 2 from a first
/// connection on until it asks for events again. The last probe is attached last, so
/// that all are at work when it speaks. It goes on to speak: bpftrace looks whether it was told to
/// end when it hears something, and would miss a signal that comes while it is not waiting.
fn script(pids: &[u32]) -> String {
    let mut text = String::from("BEGIN {");
    for pid in pids {
        // Writing to memory does not fail.
        let _ = write!(text, " @ours[{pid}] = 1;");
    }
    let mut mark = |table: &str, is_wanted: &dyn Fn(&str) -> bool| {
        let wanted = (0..NUMBERS).filter(|call| os::calls::name(*call).is_some_and(is_wanted));
        wanted.for_each(|call| {
            let _ = write!(text, " @{table}[{call}] = 1;");
        });
    };
    mark("asks", &|name| Task::of(name) == Task::Events);
    mark("accepts", &|name| ["accept", "accept4"].contains(&name));
    text.push_str(" }\n");
    text.push_str(PROBES);
    text
}

/// The kernel's calls have smaller ones.
const NUMBERS: c_long = 1024;

const PROBES: &str = r#"
tracepoint:sched:sched_process_fork /@ours[pid]/ { @ours[args->child_pid] = 1; }
tracepoint:raw_syscalls:sys_enter /@ours[pid]/ {
  @count[args->id] = count();
  if (!@first) { @first = nsecs; }
  @last = max(nsecs);
  if (@since[tid]) { @user = sum(nsecs - @since[tid] - @out[tid]); }
  @since[tid] = nsecs;
  @out[tid] = (uint64)0;
  if (@asks[args->id]) { @phase[tid] = (uint64)1; }
}
tracepoint:raw_syscalls:sys_exit /@ours[pid]/ {
  if (@accepts[args->id] && args->ret >= 0) {
    @accepted = count();
    if (@phase[tid] != 2 || @out[tid]) { @phases = count(); }
    @phase[tid] = (uint64)2;
  }
  if (@since[tid]) {
    @busy[args->id] = sum(nsecs - @since[tid] - @out[tid]);
    @waiting[args->id] = sum(@out[tid]);
  }
  @since[tid] = nsecs;
  @out[tid] = (uint64)0;
}
tracepoint:sched:sched_switch /@since[tid]/ { @left[tid] = nsecs; @switches = count(); }
tracepoint:sched:sched_switch /@left[args->next_pid]/ {
  @out[args->next_pid] = @out[args->next_pid] + nsecs - @left[args->next_pid];
  delete(@left[args->next_pid]);
}
tracepoint:sched:sched_process_exit /@ours[pid]/ {
  if (@since[tid]) { delete(@since[tid]); delete(@out[tid]); }
  if (@phase[tid]) { delete(@phase[tid]); }
  if (tid != pid && @ours[tid]) { delete(@ours[tid]); }
}
interval:ms:100 { printf("ready\n"); }
END { clear(@ours); clear(@since); clear(@out); clear(@left); clear(@phase);
  clear(@asks); clear(@accepts); }
"#;

/// Events for which a program of `pid` was not run, because one was running there.
fn missed(pid: u32) -> u64 {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.filter_map(|text| vitals::line(&text, "recursion_misses")).sum()
}

/// bpftrace's output: one JSON value in each line. Gives the time between the first call and the
/// last, too.
fn parse(text: &str) -> Result<(Calls, u64, Vec<String>), String> {
    let mut maps = serde_json::Map::new();
    let mut faults = BTreeMap::<String, u64>::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("{line}: {e}"))?;
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, value.get("data").and_then(Value::as_object)) {
            ("map" | "stats" | "hist", Some(data)) => maps.extend(data.clone()),
            ("lost_events", Some(data)) => {
                let lost = data.get("events").and_then(Value::as_u64).unwrap_or(1);
                *faults.entry("messages of the kernel were lost".into()).or_default() += lost;
            }
            ("helper_error", _) => {
                let helper = value.get("helper").and_then(Value::as_str).unwrap_or("something");
                let what =
                    format!("{helper} failed in the kernel: more than {TABLE_ENTRIES} threads");
                *faults.entry(what).or_default() += 1;
            }
            _ => {}
        }
    }
    let faults = faults.into_iter().map(|(what, times)| format!("{what} ({times} times)"));
    let number = |name: &str| maps.get(name).and_then(Value::as_u64).unwrap_or(0);
    let span_us = number("@last").saturating_sub(number("@first")) / 1000;
    Ok((calls(&maps), span_us, faults.collect()))
}

/// Of the script's tables; one that has nothing in it is not told.
fn calls(maps: &serde_json::Map<String, Value>) -> Calls {
    let mut calls = Calls::default();
    calls.by_task.extend(Task::ALL.map(|task| (task, Call::default())));
    let table = |name: &str| maps.get(name).and_then(Value::as_object).into_iter().flatten();
    let number = |name: &str| maps.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut by_number = BTreeMap::<c_long, [u64; 3]>::new();
    for (place, name) in ["@count", "@busy", "@waiting"].into_iter().enumerate() {
        for (key, value) in table(name) {
            let (Ok(key), Some(value)) = (key.parse(), value.as_u64()) else { continue };
            by_number.entry(key).or_default()[place] = value;
        }
    }
    for (number, [count, busy_ns, waiting_ns]) in by_number {
        let call = Call { count, busy_us: busy_ns / 1000, waiting_us: waiting_ns / 1000 };
        let name = os::calls::name(number).map_or_else(|| format!("call {number}"), String::from);
        calls.by_task.entry(Task::of(&name)).or_default().add(call);
        calls.by_name.insert(name, call);
    }
    calls.user_us = number("@user") / 1000;
    calls.context_switches = number("@switches");
    calls.accepts = Accepts { connections: number("@accepted"), phases: number("@phases") };
    calls
}

impl Call {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.busy_us += other.busy_us;
        self.waiting_us += other.waiting_us;
    }
}

impl Calls {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> Call {
        let mut total = Call::default();
        self.by_task.values().for_each(|call| total.add(*call));
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_sorted() {
        let text = r#"{"type": "attached_probes", "data": {"probes": 9}}
{"type": "printf", "data": "ready\n"}

{"type": "map", "data": {"@first": 1000000}}
{"type": "map", "data": {"@last": 3500000}}
{"type": "map", "data": {"@busy": {"0": 7000, "1": 2000, "232": 900}}}
{"type": "map", "data": {"@waiting": {"0": 5000, "232": 8000000}}}
{"type": "map", "data": {"@count": {"0": 3, "1": 4, "232": 5, "100000": 6}}}
{"type": "map", "data": {"@switches": 12}}
{"type": "map", "data": {"@user": 44000}}
{"type": "map", "data": {"@accepted": 9}}
{"type": "map", "data": {"@phases": 3}}
"#;
        let (calls, span_us, faults) = parse(text).unwrap();
        assert_eq!((span_us, faults), (2500, Vec::new()));
        assert_eq!((calls.user_us, calls.context_switches), (44, 12));
        assert_eq!(calls.accepts, Accepts { connections: 9, phases: 3 });
        let unknown = calls.by_name["call 100000"];
        assert_eq!(unknown, Call { count: 6, ..Call::default() });
        assert_eq!(calls.by_task[&Task::Miscellaneous], unknown);
        assert_eq!(calls.by_task[&Task::Signals], Call::default());
        assert_eq!(calls.total().count, 18);
        if cfg!(target_arch = "x86_64") {
            let call = |count, busy_us, waiting_us| Call { count, busy_us, waiting_us };
            assert_eq!(calls.by_task[&Task::Reading], call(3, 7, 5));
            assert_eq!(calls.by_task[&Task::Writing], call(4, 2, 0));
            assert_eq!(calls.by_task[&Task::Events], call(5, 0, 8000));
        }
    }

    #[test]
    fn what_is_lost_is_told() {
        let lost = r#"{"type": "lost_events", "data": {"events": 15}}"#;
        let failed = r#"{"type": "helper_error", "helper": "map_update_elem", "retcode": -7}"#;
        let full = "map_update_elem failed in the kernel: more than 16384 threads (2 times)";
        let rows: [(String, &[&str]); 3] = [
            (String::new(), &[]),
            (format!("{lost}\n{lost}\n"), &["messages of the kernel were lost (30 times)"]),
            (format!("{failed}\n{failed}\n"), &[full]),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(&text).unwrap().2, expected, "{text}");
        }
        parse("Segmentation fault").unwrap_err();
    }

    #[test]
    fn the_script_names_each_process() {
        assert!(script(&[7, 8]).starts_with("BEGIN { @ours[7] = 1; @ours[8] = 1;"));
        assert!(script(&[]).contains(READY));
        assert_eq!(missed(u32::MAX), 0);
    }
}
