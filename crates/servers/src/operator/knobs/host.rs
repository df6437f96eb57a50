//! Knobs of the host: what a worker may do there, and whom it believes.

use std::fmt::Display;
use std::str::FromStr;

use super::values::{named, number, put};
use super::{Knob, Takes};
use crate::shared::settings::Confinement;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "user",
        value: "NAME|off",
        reason: "the user that the server runs as once it listens, name or number: root is needed \
                 for a port below 1024 and for nothing after",
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
        set: |s, v| extend(&mut s.proxy_protocol, v),
        show: |s| listed(&s.proxy_protocol),
    },
    Knob {
        name: "trusted-proxies",
        value: "ADDR[/BITS]|unix|off",
        reason: "proxies that say in each request whose it is: X-Forwarded-For, walked from the \
                 right, of which the first address that is no such proxy's counts in the log, for \
                 limits and for rules. unix: whoever connects through a Unix socket. Everybody \
                 else's is ignored. Several with commas, or given several times",
        takes: Takes::All,
        set: |s, v| extend(&mut s.trusted_proxies, v),
        show: |s| listed(&s.trusted_proxies),
    },
    Knob {
        name: "address-connections-max",
        value: "0..1000000 connections",
        reason: "of one address (IPv6: of one /64) in each process, in mp in all of them; more are \
                 closed at once. Those of --trusted-proxies are not counted. 0, off: many people \
                 may share an address",
        takes: Takes::All,
        set: |s, v| put(&mut s.quota.connections_max, number(v, 0, 1_000_000)),
        show: |s| s.quota.connections_max.to_string(),
    },
    Knob {
        name: "address-requests-per-s",
        value: "0..1000000 requests/s",
        reason: "of one address (IPv6: of one /64) in each process, in mp in all of them, a \
                 second's worth of them at once; more are answered 429. 0, off: as above",
        takes: Takes::All,
        set: |s, v| put(&mut s.quota.requests_per_s, number(v, 0, 1_000_000)),
        show: |s| s.quota.requests_per_s.to_string(),
    },
    Knob {
        name: "auth-failures-per-min",
        value: "0..1000000 passwords/min",
        reason: "that one address (IPv6: one /64) may get wrong in each process, in mp in all of \
                 them, a minute's worth of them at once; more are answered 429 before they are \
                 verified. Who mistypes needs a few, and a day's 28,800 guesses are a short list \
                 of words. 0, off: for a server behind a proxy that does not say whose its \
                 requests are, whose clients all have one address",
        takes: Takes::All,
        set: |s, v| put(&mut s.auth_failures_per_min, number(v, 0, 1_000_000)),
        show: |s| s.auth_failures_per_min.to_string(),
    },
];

/// Adds what stands between commas; `off` takes all away.
fn extend<T: FromStr<Err = String>>(list: &mut Vec<T>, text: &str) -> Result<(), String> {
    if text == "off" {
        return put(list, Ok(Vec::new()));
    }
    list.extend(text.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

fn listed<T: Display>(list: &[T]) -> String {
    match list {
        [] => String::from("off"),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

fn name(text: &str) -> Option<String> {
    (text != "off").then(|| String::from(text))
}

fn confinement(text: &str) -> Result<Confinement, String> {
    let named = named(text, Confinement::ALL, Confinement::name);
    named.map_err(|_| String::from("on, off or auto"))
}
