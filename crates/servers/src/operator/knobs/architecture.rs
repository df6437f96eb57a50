//! Knobs of the architecture: who does the work, in which portions.

use super::values::{number, on_off, put, switch};
use super::{Knob, Takes};
use crate::architectures;
use crate::shared::settings::ACCEPT_INF;

pub(super) const ARCHITECTURE: Knob = Knob {
    name: "architecture",
    value: "NAME",
    reason: "who performs which step of a request; see --list-architectures. `sped` has the \
             least CPU per reply while the files are in memory",
    takes: Takes::All,
    set: |s, v| match architectures::architecture(v) {
        Some(row) => put(&mut s.architecture, Ok(String::from(row.name))),
        None => Err(format!("one of {}", architectures::names())),
    },
    show: |s| s.architecture.clone(),
};

pub(super) const POLLER: Knob = Knob {
    name: "poller",
    value: "select|poll|epoll",
    reason: "how a loop waits for events; epoll costs the same for any number of connections",
    takes: Takes::Loops,
    set: |s, v| {
        let poller = v.parse().map_err(|_| String::from("select, poll or epoll"))?;
        put(&mut s.poller, Ok(poller))
    },
    show: |s| s.poller.to_string(),
};

pub(super) const ACCEPT_LIMIT: Knob = Knob {
    name: "accept-limit",
    value: "1..inf connections",
    reason: "connections taken consecutively before other work (Brecht04 4.1). auto: inf, \
             which drains the queue; 1 where each thread accepts for itself",
    takes: Takes::All,
    set: |s, v| {
        s.accept_limit = match v {
            "auto" => None,
            "inf" => Some(ACCEPT_INF),
            _ => match v.parse() {
                Ok(n) if n > 0 => Some(n),
                _ => return Err(String::from("a number from 1, or inf")),
            },
        };
        Ok(())
    },
    show: |s| match s.accept_limit {
        None => String::from("auto"),
        Some(ACCEPT_INF) => String::from("inf"),
        Some(n) => n.to_string(),
    },
};

pub(super) const WORK_ON_ACCEPTED: Knob = Knob {
    name: "work-on-accepted",
    value: "on|off",
    reason: "whether a work phase also tries the connections just accepted. Off as in Brecht04 \
             4.1: their requests are mostly still on the way",
    takes: Takes::Loops,
    set: |s, v| put(&mut s.work_on_accepted, switch(v)),
    show: |s| on_off(s.work_on_accepted),
};

pub(super) const PASSES: Knob = Knob {
    name: "passes",
    value: "1|2",
    reason: "2: receive and find for all ready connections, then send for all, which keeps \
             the kernel's receive and send paths warm; 1: the paper's loop",
    takes: Takes::Loops,
    set: |s, v| put(&mut s.passes, number(v, 1, 2)),
    show: |s| s.passes.to_string(),
};

pub(super) const EVENTS_MAX: Knob = Knob {
    name: "events-max",
    value: "1..65536 events",
    reason: "events taken per getevents call; bounds the length of a work phase",
    takes: Takes::Loops,
    set: |s, v| put(&mut s.events_max, number(v, 1, 65_536)),
    show: |s| s.events_max.to_string(),
};

pub(super) const WORK_KB_MAX: Knob = Knob {
    name: "work-kb-max",
    value: "4..1048576 KiB",
    reason: "sent to one connection before the others' turn, so that one large file does not \
             hold up the rest; the default is a socket buffer's worth",
    takes: Takes::Loops,
    set: |s, v| put(&mut s.work_bytes_max, Ok(u64::from(number(v, 4, 1 << 20)?) << 10)),
    show: |s| (s.work_bytes_max >> 10).to_string(),
};

pub(super) const PROCESSES: Knob = Knob {
    name: "processes",
    value: "1..1024",
    reason: "copies of the architecture that share the listening sockets (N-copy); one keeps \
             one processor busy",
    takes: Takes::Named,
    set: |s, v| put(&mut s.processes, number(v, 1, 1024)),
    show: |s| s.processes.to_string(),
};

pub(super) const THREADS: Knob = Knob {
    name: "threads",
    value: "1..32768",
    reason: "active threads at most, one connection each (JAWS97 3.2.3); an idle keep-alive \
             connection holds one, so there are many",
    takes: Takes::Named,
    set: |s, v| {
        s.threads = number(v, 1, 32_768)?;
        s.threads_min = s.threads_min.min(s.threads);
        Ok(())
    },
    show: |s| s.threads.to_string(),
};

pub(super) const THREADS_MIN: Knob = Knob {
    name: "threads-min",
    value: "1..32768",
    reason: "threads spawned before the first connection and kept; JAWS97 3.2.3 found small \
             pools as good as large ones, but not fewer than processors",
    takes: Takes::Named,
    set: |s, v| put(&mut s.threads_min, number(v, 1, 32_768)),
    show: |s| s.threads_min.to_string(),
};

pub(super) const HELPERS: Knob = Knob {
    name: "helpers",
    value: "1..256",
    reason: "threads that do what may touch the disk (Pai99); each is one request that a disk \
             may work on",
    takes: Takes::Named,
    set: |s, v| put(&mut s.helpers, number(v, 1, 256)),
    show: |s| s.helpers.to_string(),
};

pub(super) const HELPER_QUEUE: Knob = Knob {
    name: "helper-queue",
    value: "1..65536 loads",
    reason: "that may wait for a helper; beyond it a request is answered 503 at once",
    takes: Takes::Named,
    set: |s, v| put(&mut s.helper_queue, number(v, 1, 65_536)),
    show: |s| s.helper_queue.to_string(),
};
