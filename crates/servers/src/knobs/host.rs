//! Knobs of the host: what a worker may do there, and whom it believes.

use super::{Knob, Takes, put};
use crate::settings::Confinement;

pub(super) const USER: Knob = Knob {
    name: "user",
    value: "NAME|off",
    reason: "whom the server becomes once it listens, name or number: root is needed for a port \
             below 1024 and for nothing after",
    takes: Takes::All,
    set: |s, v| put(&mut s.user, Ok(name(v))),
    show: |s| s.user.clone().unwrap_or_else(|| String::from("off")),
};

pub(super) const GROUP: Knob = Knob {
    name: "group",
    value: "NAME|off",
    reason: "which group it then has, name or number, and no other; off: the user's own",
    takes: Takes::All,
    set: |s, v| put(&mut s.group, Ok(name(v))),
    show: |s| s.group.clone().unwrap_or_else(|| String::from("off")),
};

pub(super) const LANDLOCK: Knob = Knob {
    name: "landlock",
    value: "on|off|auto",
    reason: "workers read what is served, write to the directories of the logs and reach no other \
             file, no port and no process. auto: where the kernel has it",
    takes: Takes::All,
    set: |s, v| put(&mut s.landlock, confinement(v)),
    show: |s| String::from(s.landlock.name()),
};

pub(super) const SECCOMP: Knob = Knob {
    name: "seccomp",
    value: "on|off|auto",
    reason: "workers make the system calls that serving needs and no other. auto: where the kernel \
             has it",
    takes: Takes::All,
    set: |s, v| put(&mut s.seccomp, confinement(v)),
    show: |s| String::from(s.seccomp.name()),
};

fn name(text: &str) -> Option<String> {
    (text != "off").then(|| String::from(text))
}

fn confinement(text: &str) -> Result<Confinement, String> {
    let all = [Confinement::On, Confinement::Off, Confinement::Auto];
    let found = all.into_iter().find(|way| way.name() == text);
    found.ok_or_else(|| String::from("on, off or auto"))
}
