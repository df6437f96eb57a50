//! Knobs of the listening sockets.

use super::values::{number, put};
use super::{Knob, Takes};

pub(super) const LISTEN: Knob = Knob {
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
};

pub(super) const BACKLOG: Knob = Knob {
    name: "backlog",
    value: "1..65535 connections",
    reason: "that may wait in the kernel to be accepted; clipped by net.core.somaxconn, whose \
             default it is",
    takes: Takes::All,
    set: |s, v| put(&mut s.backlog, number(v, 1, 65_535)),
    show: |s| s.backlog.to_string(),
};

pub(super) const DEFER_ACCEPT_S: Knob = Knob {
    name: "defer-accept-s",
    value: "0..60 s",
    reason: "hold connections in the kernel until their request is there; saves CPU at one \
             request per connection, but moves overload into the SYN queue, so it is off",
    takes: Takes::All,
    set: |s, v| put(&mut s.defer_accept_s, number(v, 0, 60)),
    show: |s| s.defer_accept_s.to_string(),
};

pub(super) const CONNECTIONS_MAX: Knob = Knob {
    name: "connections-max",
    value: "0..1000000 connections",
    reason: "open at once, over all workers; at that number accepting rests until a ninth of \
             them have gone, and mt closes who is idle for longest. 0: nine tenths of what \
             there are descriptors for, and as many as there are threads",
    takes: Takes::All,
    set: |s, v| put(&mut s.connections_max, number(v, 0, 1_000_000)),
    show: |s| s.connections_max.to_string(),
};
