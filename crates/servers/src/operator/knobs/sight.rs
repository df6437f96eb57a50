//! Knobs of what the operator sees.

use super::values::{file, named, put, shown};
use super::{Knob, Takes};
use crate::shared::settings::{ADMIN_DEFAULT, AdminAt, Level, LogFormat, LogTo};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "access-log",
        value: "FILE|stdout|stderr|-|off",
        reason: "one line per reply, written by a thread of its own; a file is opened again on \
                 SIGUSR1. -: stdout",
        takes: Takes::All,
        set: |s, v| put(&mut s.access_log, access_log(v)),
        show: |s| s.access_log.as_ref().map_or_else(|| "off".into(), LogTo::to_string),
    },
    Knob {
        name: "log-format",
        value: "common|combined|json",
        reason: "of the access log; combined adds referer and user agent, json has most",
        takes: Takes::All,
        set: |s, v| put(&mut s.log_format, named(v, &LogFormat::ALL, LogFormat::name)),
        show: |s| String::from(s.log_format.name()),
    },
    Knob {
        name: "error-log",
        value: "FILE|stdout|stderr|-",
        reason: "what went wrong and what changed; a file is opened again on SIGUSR1. -: stderr",
        takes: Takes::All,
        set: |s, v| put(&mut s.error_log, error_log(v)),
        show: |s| s.error_log.to_string(),
    },
    Knob {
        name: "log-level",
        value: "error|warn|info|debug",
        reason: "the least urgent that the error log has",
        takes: Takes::All,
        set: |s, v| put(&mut s.log_level, named(v, Level::ALL, Level::name)),
        show: |s| String::from(s.log_level.name()),
    },
    Knob {
        name: "trace",
        value: "FILE|off",
        reason: "one line per reply that says which process and thread did which step; for \
                 learning and for tests, not for speed",
        takes: Takes::All,
        set: |s, v| put(&mut s.trace, file(v)),
        show: |s| shown(s.trace.as_ref()),
    },
    Knob {
        name: "admission-log",
        value: "FILE|off",
        reason: "one line per look at who waits to be accepted, up to 500 a second in a flood: \
                 what was seen and what was set, to be replayed; for learning",
        takes: Takes::All,
        set: |s, v| put(&mut s.admission_log, file(v)),
        show: |s| shown(s.admission_log.as_ref()),
    },
    Knob {
        name: "pid-file",
        value: "FILE|off",
        reason: "where the number of the process is that signals are for; after SIGUSR2 that of \
                 the new program. Removed at the end, or emptied where --user may not remove it. \
                 Nothing serves with a file that another living process has",
        takes: Takes::All,
        set: |s, v| put(&mut s.pid_file, file(v)),
        show: |s| shown(s.pid_file.as_ref()),
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
];

/// Other servers name the format where the file stands here.
fn access_log(text: &str) -> Result<Option<LogTo>, String> {
    match text {
        "off" => Ok(None),
        _ if LogFormat::ALL.iter().any(|format| format.name() == text) => Err(format!(
            "{text} is a format (--log-format {text}), and a file of that name is ./{text}"
        )),
        _ => Ok(Some(log_to(text, LogTo::Stdout))),
    }
}

/// It cannot be left out: what goes wrong has to stand somewhere.
fn error_log(text: &str) -> Result<LogTo, String> {
    match text {
        "off" => {
            Err("a file's name, as ./off is, stderr or stdout; --log-level says how much".into())
        }
        _ => Ok(log_to(text, LogTo::Stderr)),
    }
}

/// `dash`: what a dash stands for.
fn log_to(text: &str, dash: LogTo) -> LogTo {
    match text {
        "-" => dash,
        // By its name a socket, as the journal's, cannot be opened.
        "stdout" | "/dev/stdout" => LogTo::Stdout,
        "stderr" | "/dev/stderr" => LogTo::Stderr,
        path => LogTo::File(path.into()),
    }
}
