//! What a service manager wants to hear, and what it hands over (sd_notify(3),
//! sd_listen_fds(3)).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socket_with,
};

use crate::Address;
use crate::process::Pid;

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It serves. Also the end of reloading.
    Ready,
    /// It reads its configuration anew, and will say that it is ready.
    Reloading,
    /// It drains, and then ends.
    Stopping,
    /// Another process serves in its place.
    Replaced(Pid),
}

/// Tells the service manager, if there is one that wants to hear (NOTIFY_SOCKET).
///
/// # Errors
/// It does not listen, or its queue is full: nothing that serving depends on.
pub fn tell(state: State) -> io::Result<()> {
    let Some(place) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    tell_at(&place, state)
}

/// The same, to a socket at a path; `@name` is one of the abstract name space.
///
/// # Errors
/// As [`tell`].
pub fn tell_at(place: &OsStr, state: State) -> io::Result<()> {
    let address = match place.as_bytes() {
        [b'@', name @ ..] => SocketAddrUnix::new_abstract_name(name)?,
        path => SocketAddrUnix::new(path)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    let text = text(state);
    retry_on_intr(|| sendto(&socket, text.as_bytes(), SendFlags::NOSIGNAL, &address))?;
    Ok(())
}

fn text(state: State) -> String {
    match state {
        State::Ready => String::from("READY=1"),
        // By the time the manager tells this reload from one before.
        State::Reloading => {
            format!("RELOADING=1\nMONOTONIC_USEC={}", crate::clock::monotonic().ns / 1000)
        }
        State::Stopping => String::from("STOPPING=1"),
        State::Replaced(by) => format!("MAINPID={by}"),
    }
}

/// The sockets that a service manager has opened for this process: LISTEN_FDS of them, if
/// LISTEN_PID is this one.
#[must_use]
pub fn handed_over() -> Vec<Address> {
    let variable = |name| env::var(name).unwrap_or_default();
    handed_over_to(std::process::id(), &variable("LISTEN_PID"), &variable("LISTEN_FDS"))
}

/// The same with what the variables say.
#[must_use]
pub fn handed_over_to(process: u32, listen_pid: &str, listen_fds: &str) -> Vec<Address> {
    if listen_pid.parse() != Ok(process) {
        return Vec::new();
    }
    let count = listen_fds.parse().unwrap_or(0).min(HANDED_OVER_MAX);
    (FIRST..FIRST + count).map(Address::Fd).collect()
}

/// SD_LISTEN_FDS_START.
const FIRST: RawFd = 3;
/// A bound for a number that anybody may have written into the environment.
const HANDED_OVER_MAX: RawFd = 1024;
