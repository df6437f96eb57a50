//! The ring of a worker, and what the knobs say of it.

use std::io;

use os::ring::{Ring, RingSettings, SetUp, Sockets};

use crate::connection::by_address;
use crate::shared::settings::{RingFiles, RingSetup, RingSockets, Settings};

/// Operations queued between two submissions.
const ENTRIES: u32 = 1024;
/// Provided buffers: as many receives as may complete in one round, each one head large.
const BUFFERS: u16 = 4096;
const BUFFER_BYTES: u32 = 2048;
/// The same where one entry into the kernel may fill them all for one connection: together no more
/// than a session takes ahead of what it answers ([`h1::LEFTOVER_BYTES_MAX`]).
const BUFFERS_AT_ONCE: u16 = 128;
/// Slots beyond the maximum of connections. The kernel closes whoever it accepted and has no slot
/// for, so there are some for those that come while accepting is being stopped.
pub(crate) const SLOTS_BEYOND: u64 = 1024;
/// What the kernel takes as the size of a table of sockets (IORING_MAX_FIXED_FILES).
const HANDLES_MAX: u64 = 1 << 20;

/// How file parts leave that are in memory: by `sendfile`, which copies nothing, unless the sockets
/// are to be slots, which it does not take.
pub(crate) fn files(settings: &Settings) -> RingFiles {
    settings.ring_files.unwrap_or(match settings.ring_sockets {
        Some(RingSockets::Direct) => RingFiles::Read,
        _ => RingFiles::Sendfile,
    })
}

/// What its sockets are.
fn sockets(settings: &Settings) -> RingSockets {
    settings.ring_sockets.unwrap_or(match files(settings) {
        RingFiles::Sendfile => RingSockets::Ordinary,
        RingFiles::Read => RingSockets::Direct,
    })
}

/// Whether somebody wants to know who is at the other end, while no socket can be asked.
pub(crate) fn accepts_tell_who(settings: &Settings) -> bool {
    let is_wanted = settings.access_log.is_some() || by_address::is_wanted(settings);
    is_wanted && sockets(settings) == RingSockets::Direct
}

/// As many may come in one round at the maximum, while those that go for them are still being
/// closed.
const BEYOND_MAX: u64 = 64;

/// How many may come in beyond a maximum: the slots that are left have other uses, and most of the
/// descriptors are files. One there is always: connections are nine tenths of what is left beside.
pub(crate) fn beyond(settings: &Settings, connections_max: usize) -> usize {
    let connections = connections_max as u64;
    let left = match sockets(settings) {
        RingSockets::Direct => handles(connections).saturating_sub(connections),
        RingSockets::Ordinary => (os::limits::descriptors() / 2).saturating_sub(connections),
    };
    (left / 4).clamp(1, BEYOND_MAX) as usize
}

/// The ring of a worker for so many connections.
///
/// # Errors
/// The machine refuses it.
pub(crate) fn ring(settings: &Settings, connections: usize) -> io::Result<Ring> {
    ring_of(settings, connections, RingSetup::Deferred)
}

/// The same, whose completions can be looked for without a call.
///
/// # Errors
/// The machine refuses it.
pub(crate) fn ring_in_kernel(settings: &Settings, connections: usize) -> io::Result<Ring> {
    ring_of(settings, connections, RingSetup::Cooperative)
}

fn ring_of(settings: &Settings, connections: usize, own: RingSetup) -> io::Result<Ring> {
    let (set_up, buffers) = match settings.ring_setup.unwrap_or(own) {
        RingSetup::Deferred => (SetUp::Deferred, BUFFERS),
        RingSetup::Cooperative => (SetUp::Cooperative, BUFFERS_AT_ONCE),
        RingSetup::Polled => (SetUp::Polled, BUFFERS_AT_ONCE),
    };
    Ring::new(&RingSettings {
        entries: ENTRIES,
        completions: 16_384,
        buffers,
        buffer_bytes: BUFFER_BYTES,
        // The kernel takes no more of them than a process may have descriptors.
        handles: handles(connections as u64) as u32,
        sockets: match sockets(settings) {
            RingSockets::Direct => Sockets::Direct,
            RingSockets::Ordinary => Sockets::Ordinary,
        },
        set_up,
    })
}

fn handles(connections: u64) -> u64 {
    os::limits::descriptors().min(connections + SLOTS_BEYOND).min(HANDLES_MAX)
}

/// Where the kernel does not poll rings the loop enters it: why, in a line for the operator.
pub(crate) fn settle(settings: &mut Settings) -> Option<String> {
    let is_polled = settings.ring_setup == Some(RingSetup::Polled);
    let why = is_polled.then(|| os::ring::probe_polled().err()).flatten()?;
    settings.ring_setup = Some(RingSetup::Cooperative);
    let (said, instead) = (settings.said("ring-setup", "polled"), RingSetup::Cooperative.name());
    Some(format!("{said}: {why}; {instead} in its place"))
}

/// Whether this machine has rings, and one for so many connections.
///
/// # Errors
/// Why not, in words.
pub(crate) fn probe(settings: &Settings, connections: u64) -> io::Result<()> {
    // The thread of one that is polled would still be there when workers are forked.
    let settings = &Settings { ring_setup: None, ..settings.clone() };
    os::ring::probe().and_then(|()| ring(settings, connections as usize).map(drop))
}
