//! Knobs of what the operator sees.

use std::path::PathBuf;

use super::values::{named, path, put, shown};
use super::{Knob, Takes};
use crate::shared::settings::{ADMIN_DEFAULT, AdminAt, Level, LogFormat};

pub(super) const KNOBS: &[Knob] = &[
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
        set: |s, v| put(&mut s.log_level, named(v, Level::ALL, Level::name)),
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
        name: "admission-log",
        value: "FILE|off",
        reason: "one line per look at who waits to be accepted, up to 500 a second in a flood: \
                 what was seen and what was set, to be replayed; for learning",
        takes: Takes::All,
        set: |s, v| put(&mut s.admission_log, Ok(path(v))),
        show: |s| shown(s.admission_log.as_ref()),
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
