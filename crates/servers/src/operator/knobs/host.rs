//! Knobs of the host: what a worker may do there, and whom it believes.

use os::Network;

use super::values::{named, number, put};
use super::{Knob, Takes};
use crate::shared::settings::Confinement;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "user",
        value: "NAME|off",
        reason: "whom the server becomes once it listens, name or number: root is needed for a \
                 port below 1024 and for nothing after",
        takes: Takes::All,
        set: |s, v| put(&mut s.user, Ok(name(v))),
        show: |s| s.user.clone().unwrap_or_else(|| String::from("off")),
    },
    Knob {
        name: "group",
        value: "NAME|off",
        reason: "which group it then has, name or number, and no other; off: the user's own",
        takes: Takes::All,
        set: |s, v| put(&mut s.group, Ok(name(v))),
        show: |s| s.group.clone().unwrap_or_else(|| String::from("off")),
    },
    Knob {
        name: "landlock",
        value: "on|off|auto",
        reason: "workers read what is served, write to the directories of the logs and reach no \
                 other file, no port and no process. auto: where the kernel has it",
        takes: Takes::All,
        set: |s, v| put(&mut s.landlock, confinement(v)),
        show: |s| String::from(s.landlock.name()),
    },
    Knob {
        name: "seccomp",
        value: "on|off|auto",
        reason: "workers make the system calls that serving needs and no other. auto: where the \
                 kernel has it",
        takes: Takes::All,
        set: |s, v| put(&mut s.seccomp, confinement(v)),
        show: |s| String::from(s.seccomp.name()),
    },
    Knob {
        name: "proxy-protocol",
        value: "ADDR[/BITS]|off",
        reason: "balancers that begin each connection with a PROXY header (version 1 or 2), whose \
                 address then stands in the log; everybody else is turned away. Several with \
                 commas, or given several times",
        takes: Takes::All,
        set: |s, v| {
            if v == "off" {
                return put(&mut s.proxy_protocol, Ok(Vec::new()));
            }
            let networks =
                v.split(',').map(str::parse::<Network>).collect::<Result<Vec<_>, _>>()?;
            s.proxy_protocol.extend(networks);
            Ok(())
        },
        show: |s| match s.proxy_protocol.as_slice() {
            [] => String::from("off"),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        },
    },
    Knob {
        name: "address-connections-max",
        value: "0..1000000 connections",
        reason: "of one address (IPv6: of one /64) in each process; more are closed at once. 0, \
                 off: many people may share an address",
        takes: Takes::All,
        set: |s, v| put(&mut s.quota.connections_max, number(v, 0, 1_000_000)),
        show: |s| s.quota.connections_max.to_string(),
    },
    Knob {
        name: "address-requests-per-s",
        value: "0..1000000 requests/s",
        reason: "of one address (IPv6: of one /64) in each process, a second's worth of them at \
                 once; more are answered 429. 0, off: as above",
        takes: Takes::All,
        set: |s, v| put(&mut s.quota.requests_per_s, number(v, 0, 1_000_000)),
        show: |s| s.quota.requests_per_s.to_string(),
    },
    Knob {
        name: "auth-failures-per-min",
        value: "0..1000000 passwords/min",
        reason: "that one address (IPv6: one /64) may get wrong in each process, a minute's worth \
                 of them at once; more are answered 429 before they are verified. Who mistypes \
                 needs a few, and a day's 28,800 guesses are a short list of words. 0, off: for a \
                 server behind a proxy that says no PROXY header, whose clients all have one \
                 address",
        takes: Takes::All,
        set: |s, v| put(&mut s.auth_failures_per_min, number(v, 0, 1_000_000)),
        show: |s| s.auth_failures_per_min.to_string(),
    },
];

fn name(text: &str) -> Option<String> {
    (text != "off").then(|| String::from(text))
}

fn confinement(text: &str) -> Result<Confinement, String> {
    let named = named(text, Confinement::ALL, Confinement::name);
    named.map_err(|_| String::from("on, off or auto"))
}
