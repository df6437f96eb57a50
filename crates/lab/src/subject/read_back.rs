//! What the kernel says of a server's knobs: a server may not know one, or know better.

use std::fs;

use os::socket_diag::Listening;

use super::{Kind, Subject};
use crate::testbed::Host;

/// Whether sockets have another backlog than the subject was to have: then what they have, and what
/// it was to be. Nothing where no number was asked for, or the kernel does not tell.
pub(super) fn backlog(subject: &Subject, host: &Host, sockets: &[Listening]) -> Option<String> {
    let asked: u32 = asked(subject)?.parse().ok()?;
    let most = host.within(|| fs::read_to_string(MOST)).ok()?;
    let has = sockets.iter().map(|socket| socket.backlog).max()?;
    ignored("backlog", asked.min(most.trim().parse().ok()?), has)
}

/// More the kernel gives nobody.
const MOST: &str = "/proc/sys/net/core/somaxconn";

/// By whoever chose it, else by its peer's table.
fn asked(subject: &Subject) -> Option<&str> {
    let chosen = subject.knobs.get("backlog").map(String::as_str);
    let own = || match subject.kind() {
        Ok(Kind::Peer(peer)) => peer.knobs.iter().find(|knob| knob.name == "backlog"),
        _ => None,
    };
    chosen.or_else(|| Some(own()?.default))
}

/// In words, where a knob is another than was asked for.
pub(super) fn ignored<T: PartialEq + std::fmt::Display>(
    knob: &str,
    asked: T,
    has: T,
) -> Option<String> {
    (asked != has).then(|| format!("{knob} is {has} and not {asked}"))
}
