//! The table of knobs: every limit and every choice, once. Flags, documentation and later the
//! configuration file, the lab and the controllers read this table.

mod host;
mod values;

use std::path::PathBuf;

use measure::Duration;

use self::values::{millis, named, number, on_off, path, put, shown, switch};
use crate::settings::{ACCEPT_INF, ADMIN_DEFAULT, AdminAt, Level, LogFormat, Sendfile, Settings};

/// One knob.
pub struct Knob {
    /// As in `--name`.
    pub name: &'static str,
    /// What a value looks like, with its unit.
    pub value: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
    /// The architectures that take it.
    pub takes: Takes,
    /// Changes the settings, or says what a value has to be.
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
    /// The value in use; of the default settings, the default.
    pub show: fn(&Settings) -> String,
}

/// Which architectures take a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// All of them.
    All,
    /// Those with a readiness loop.
    Loops,
    /// These.
    Only(&'static [&'static str]),
}

impl Knob {
    /// Whether an architecture takes it.
    #[must_use]
    pub fn is_taken_by(&self, architecture: &str) -> bool {
        match self.takes {
            Takes::All => true,
            Takes::Loops => {
                crate::registry::architecture(architecture).is_some_and(|row| row.polls)
            }
            Takes::Only(names) => names.contains(&architecture),
        }
    }

    /// Whether it has several values, each added by `set`.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.name == "listen"
    }
}

/// Finds a knob by its name.
#[must_use]
pub fn knob(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

const LOOPS_AND_RING: Takes = Takes::Only(&["sped", "amped", "proactor"]);

/// The table.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "listen",
        value: "ADDR",
        reason: "host:port, [v6]:port, port, unix:PATH or fd:N; may be given several times. \
                 Port 8080 needs no privilege",
        takes: Takes::All,
        set: |s, v| {
            s.listen.push(v.parse()?);
            Ok(())
        },
        show: |s| match s.listen.as_slice() {
            [] => String::from("0.0.0.0:8080"),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        },
    },
    Knob {
        name: "architecture",
        value: "NAME",
        reason: "who performs which step of a request; see --list-architectures. `sped` has the \
                 least CPU per reply while the files are in memory",
        takes: Takes::All,
        set: |s, v| match crate::registry::architecture(v) {
            Some(row) => put(&mut s.architecture, Ok(String::from(row.name))),
            None => Err(format!("one of {}", crate::registry::names())),
        },
        show: |s| s.architecture.clone(),
    },
    Knob {
        name: "poller",
        value: "select|poll|epoll",
        reason: "how a loop waits for events; epoll costs the same for any number of connections",
        takes: Takes::Loops,
        set: |s, v| {
            let poller = v.parse().map_err(|_| String::from("select, poll or epoll"))?;
            put(&mut s.poller, Ok(poller))
        },
        show: |s| s.poller.to_string(),
    },
    Knob {
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
    },
    Knob {
        name: "work-on-accepted",
        value: "on|off",
        reason: "whether a work phase also tries the connections just accepted. Off as in Brecht04 \
                 4.1: their requests are mostly still on the way",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.work_on_accepted, switch(v)),
        show: |s| on_off(s.work_on_accepted),
    },
    Knob {
        name: "passes",
        value: "1|2",
        reason: "2: receive and find for all ready connections, then send for all, which keeps \
                 the kernel's receive and send paths warm; 1: the paper's loop",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.passes, number(v, 1, 2)),
        show: |s| s.passes.to_string(),
    },
    Knob {
        name: "events-max",
        value: "1..65536 events",
        reason: "events taken per getevents call; bounds the length of a work phase",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.events_max, number(v, 1, 65_536)),
        show: |s| s.events_max.to_string(),
    },
    Knob {
        name: "work-kb-max",
        value: "4..1048576 KiB",
        reason: "sent to one connection before the others' turn, so that one large file does not \
                 hold up the rest; the default is a socket buffer's worth",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.work_bytes_max, Ok(u64::from(number(v, 4, 1 << 20)?) << 10)),
        show: |s| (s.work_bytes_max >> 10).to_string(),
    },
    Knob {
        name: "backlog",
        value: "1..65535 connections",
        reason: "that may wait in the kernel to be accepted; clipped by net.core.somaxconn, whose \
                 default it is",
        takes: Takes::All,
        set: |s, v| put(&mut s.backlog, number(v, 1, 65_535)),
        show: |s| s.backlog.to_string(),
    },
    Knob {
        name: "defer-accept-s",
        value: "0..60 s",
        reason: "hold connections in the kernel until their request is there; saves CPU at one \
                 request per connection, but moves overload into the SYN queue, so it is off",
        takes: Takes::All,
        set: |s, v| put(&mut s.defer_accept_s, number(v, 0, 60)),
        show: |s| s.defer_accept_s.to_string(),
    },
    Knob {
        name: "processes",
        value: "1..1024",
        reason: "copies of the architecture that share the listening sockets (N-copy); one keeps \
                 one processor busy",
        takes: LOOPS_AND_RING,
        set: |s, v| put(&mut s.processes, number(v, 1, 1024)),
        show: |s| s.processes.to_string(),
    },
    Knob {
        name: "threads",
        value: "1..32768",
        reason: "active threads at most, one connection each (JAWS97 3.2.3); an idle keep-alive \
                 connection holds one, so there are many",
        takes: Takes::Only(&["mt"]),
        set: |s, v| {
            s.threads = number(v, 1, 32_768)?;
            s.threads_min = s.threads_min.min(s.threads);
            Ok(())
        },
        show: |s| s.threads.to_string(),
    },
    Knob {
        name: "threads-min",
        value: "1..32768",
        reason: "threads spawned before the first connection and kept; JAWS97 3.2.3 found small \
                 pools as good as large ones, but not fewer than processors",
        takes: Takes::Only(&["mt"]),
        set: |s, v| put(&mut s.threads_min, number(v, 1, 32_768)),
        show: |s| s.threads_min.to_string(),
    },
    Knob {
        name: "helpers",
        value: "1..256",
        reason: "threads that do what may touch the disk (Pai99); each is one request that a disk \
                 may work on",
        takes: Takes::Only(&["amped"]),
        set: |s, v| put(&mut s.helpers, number(v, 1, 256)),
        show: |s| s.helpers.to_string(),
    },
    Knob {
        name: "helper-queue",
        value: "1..65536 loads",
        reason: "that may wait for a helper; beyond it a request is answered 503 at once",
        takes: Takes::Only(&["amped"]),
        set: |s, v| put(&mut s.helper_queue, number(v, 1, 65_536)),
        show: |s| s.helper_queue.to_string(),
    },
    Knob {
        name: "connections-max",
        value: "0..1000000 connections",
        reason: "open at once, over all workers; at that number accepting rests until a ninth of \
                 them have gone, and mt closes who is idle for longest. 0: nine tenths of what \
                 there are descriptors for, and as many as there are threads",
        takes: Takes::All,
        set: |s, v| put(&mut s.connections_max, number(v, 0, 1_000_000)),
        show: |s| s.connections_max.to_string(),
    },
    Knob {
        name: "sendfile",
        value: "nonblocking|blocking|off",
        reason: "how file parts leave: loops take nonblocking or off, mt blocking or off; auto \
                 is the first of these. off copies through memory",
        takes: Takes::Only(&["sped", "amped", "mt"]),
        set: |s, v| {
            s.sendfile = match v {
                "auto" => None,
                "nonblocking" => Some(Sendfile::Nonblocking),
                "blocking" => Some(Sendfile::Blocking),
                "off" => Some(Sendfile::Off),
                _ => return Err(String::from("nonblocking, blocking or off")),
            };
            Ok(())
        },
        show: |s| String::from(s.sendfile.map_or("auto", Sendfile::name)),
    },
    Knob {
        name: "cache-mb",
        value: "0..65536 MiB",
        reason: "memory for heads and small files; the page cache holds the large ones",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_mb, number(v, 0, 65_536)),
        show: |s| s.cache_mb.to_string(),
    },
    Knob {
        name: "cache-files",
        value: "0..1000000 files",
        reason: "kept open; 0: a quarter of the descriptors",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_files, number(v, 0, 1_000_000)),
        show: |s| s.cache_files.to_string(),
    },
    Knob {
        name: "cache-policy",
        value: "lru",
        reason: "which entry leaves first",
        takes: Takes::All,
        set: |s, v| match v {
            "lru" => put(&mut s.cache_policy, Ok(String::from(v))),
            _ => Err(String::from("lru")),
        },
        show: |s| s.cache_policy.clone(),
    },
    Knob {
        name: "small-file-kb",
        value: "0..1024 KiB",
        reason: "files up to this size are kept in memory and leave with their head in one send; \
                 larger ones leave as --sendfile says, or piece by piece through a ring",
        takes: Takes::All,
        set: |s, v| put(&mut s.small_file_kb, number(v, 0, 1024)),
        show: |s| s.small_file_kb.to_string(),
    },
    Knob {
        name: "head-timeout-ms",
        value: "1..3600000 ms",
        reason: "for a whole head, in total: a trickled head must not hold a connection",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.head_timeout, millis(v)),
        show: |s| s.limits.head_timeout.as_millis().to_string(),
    },
    Knob {
        name: "idle-timeout-ms",
        value: "1..3600000 ms",
        reason: "between two requests; browsers reuse a connection within a minute or not at all",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.idle_timeout, millis(v)),
        show: |s| s.limits.idle_timeout.as_millis().to_string(),
    },
    Knob {
        name: "idle-grace-ms",
        value: "1..3600000 ms",
        reason: "between two requests, once a new generation serves: longer than a client takes to \
                 read a reply and ask again, so that none meets the end of its connection",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.idle_grace, millis(v)),
        show: |s| s.limits.idle_grace.as_millis().to_string(),
    },
    Knob {
        name: "stall-timeout-ms",
        value: "1..3600000 ms",
        reason: "without a byte while a body comes or an answer goes",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.stall_timeout, millis(v)),
        show: |s| s.limits.stall_timeout.as_millis().to_string(),
    },
    Knob {
        name: "rate-window-ms",
        value: "1..3600000 ms",
        reason: "how often the rate of a body or an answer is judged",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.rate_window, millis(v)),
        show: |s| s.limits.rate_window.as_millis().to_string(),
    },
    Knob {
        name: "rate-min",
        value: "0..1000000000 bytes/s",
        reason: "that a body or an answer must make on the whole, its first window left out; the \
                 precedent is Apache's MinRate",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.rate_min, Ok(u64::from(number(v, 0, 1_000_000_000)?))),
        show: |s| s.limits.rate_min.to_string(),
    },
    Knob {
        name: "target-bytes-max",
        value: "64..65536 bytes",
        reason: "of a request's target; more is 414. The precedent is 8 KiB (nginx, Apache)",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.target_bytes_max, Ok(number(v, 64, 65_536)? as usize)),
        show: |s| s.limits.target_bytes_max.to_string(),
    },
    Knob {
        name: "head-bytes-max",
        value: "256..65535 bytes",
        reason: "of a whole head; more is 431. The precedent is 16 KiB (Caddy)",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.head_bytes_max, Ok(number(v, 256, 65_535)? as usize)),
        show: |s| s.limits.head_bytes_max.to_string(),
    },
    host::DRAIN_DELAY_MS,
    Knob {
        name: "drain-timeout-ms",
        value: "0..3600000 ms",
        reason: "that requests in flight get after SIGTERM, SIGINT or SIGHUP; the usual grace of \
                 service managers is 30 s or more",
        takes: Takes::All,
        set: |s, v| {
            put(
                &mut s.drain_timeout,
                Ok(Duration::from_millis(u64::from(number(v, 0, 3_600_000)?))),
            )
        },
        show: |s| s.drain_timeout.as_millis().to_string(),
    },
    Knob {
        name: "access-log",
        value: "FILE|off",
        reason: "one line per reply, written by a thread of its own; opened again on SIGUSR1",
        takes: Takes::All,
        set: |s, v| put(&mut s.access_log, Ok(path(v))),
        show: |s| shown(s.access_log.as_ref()),
    },
    Knob {
        name: "log-format",
        value: "common|combined|json",
        reason: "of the access log; combined adds referer and user agent, json tells most",
        takes: Takes::All,
        set: |s, v| put(&mut s.log_format, named(v, &LogFormat::ALL, LogFormat::name)),
        show: |s| String::from(s.log_format.name()),
    },
    Knob {
        name: "error-log",
        value: "FILE|stderr",
        reason: "what went wrong and what changed; opened again on SIGUSR1",
        takes: Takes::All,
        set: |s, v| put(&mut s.error_log, Ok((v != "stderr").then(|| PathBuf::from(v)))),
        show: |s| s.error_log.as_ref().map_or("stderr".into(), |path| path.display().to_string()),
    },
    Knob {
        name: "log-level",
        value: "error|warn|info|debug",
        reason: "the least urgent that the error log tells",
        takes: Takes::All,
        set: |s, v| put(&mut s.log_level, named(v, &Level::ALL, Level::name)),
        show: |s| String::from(s.log_level.name()),
    },
    Knob {
        name: "trace",
        value: "FILE|off",
        reason: "one line per reply that says which process and thread did which step; for \
                 learning and for tests, not for speed",
        takes: Takes::All,
        set: |s, v| put(&mut s.trace, Ok(path(v))),
        show: |s| shown(s.trace.as_ref()),
    },
    Knob {
        name: "admin",
        value: "ADDR|off",
        reason: "where the supervisor shows health, metrics and the live page; anybody who can \
                 connect there may read them, so by default only this machine can. The default \
                 port taken is a warning, a given one an error",
        takes: Takes::All,
        set: |s, v| {
            s.admin = match v {
                "off" => AdminAt::Off,
                _ => AdminAt::At(v.parse().map_err(|e| format!("{e}, or off"))?),
            };
            Ok(())
        },
        show: |s| match &s.admin {
            AdminAt::Off => String::from("off"),
            AdminAt::Default => String::from(ADMIN_DEFAULT),
            AdminAt::At(address) => address.to_string(),
        },
    },
    host::USER,
    host::GROUP,
    host::LANDLOCK,
    host::SECCOMP,
    host::PROXY_PROTOCOL,
    host::ADDRESS_CONNECTIONS_MAX,
    host::ADDRESS_REQUESTS_PER_S,
];

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let defaults = Settings::default();
    let mut text = String::from("| flag | value | default | taken by | what and why |\n");
    text.push_str("|---|---|---|---|---|\n");
    for knob in KNOBS {
        let value = knob.value.replace('|', " or ");
        let taken = crate::registry::ARCHITECTURES
            .iter()
            .map(|row| row.name)
            .filter(|name| knob.is_taken_by(name))
            .collect::<Vec<_>>();
        let all = taken.len() == crate::registry::ARCHITECTURES.len();
        let taken = if all { String::from("all") } else { taken.join(", ") };
        let default = (knob.show)(&defaults);
        text.push_str(&format!(
            "| `--{}` | {value} | {default} | {taken} | {} |\n",
            knob.name, knob.reason
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_its_knob_takes() {
        for knob in KNOBS {
            let shown = (knob.show)(&Settings::default());
            let set = (knob.set)(&mut Settings::default(), &shown);
            assert_eq!(set, Ok(()), "{} = {shown}", knob.name);
        }
    }

    #[test]
    fn a_bad_value_is_told_what_would_do() {
        let check = |name: &str, value: &str, told: &str| {
            let set = knob(name).unwrap().set;
            assert_eq!(set(&mut Settings::default(), value), Err(String::from(told)), "{name}");
        };
        check("accept-limit", "0", "a number from 1, or inf");
        check("passes", "3", "a number from 1 to 2");
        check("poller", "kqueue", "select, poll or epoll");
        check("sendfile", "yes", "nonblocking, blocking or off");
        check("work-on-accepted", "1", "on or off");
        check("log-level", "all", "error, warn, info, debug");
        check("threads", "-1", "a number from 1 to 32768");
    }
}
