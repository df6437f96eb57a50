//! The loop of the floors that wait for readiness.

use std::convert::Infallible;
use std::io;

use os::poller::{Event, Interest, Mechanism};
use os::{Blocking, Listener, Poller, Socket};

/// The listening socket's; those of connections are their descriptors.
const LISTENER: u64 = u64::MAX;
/// Taken from the kernel at a time.
const EVENTS_MAX: usize = 1024;
/// Larger than any request.
const BUFFER_BYTES: usize = 64 << 10;

/// Serves for ever. `begin` makes a connection of a socket; `work` answers what has come, with room
/// for a request, and says whether the connection goes on.
pub(super) fn serve<C>(
    listener: &Listener,
    begin: impl Fn(Socket) -> C,
    work: impl Fn(&mut C, Event, &mut [u8]) -> bool,
) -> io::Result<Infallible> {
    let mut connections: Vec<Option<C>> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut poller = Poller::new(Mechanism::Epoll, EVENTS_MAX)?;
    poller.add_level(listener, LISTENER)?;
    loop {
        poller.wait(None)?;
        for at in 0..poller.events().len() {
            let event = poller.events()[at];
            if event.token == LISTENER {
                while let Ok(socket) = listener.accept(Blocking::No) {
                    let slot = socket.id() as usize;
                    poller.add(&socket, slot as u64, Interest::BOTH)?;
                    connections.resize_with(connections.len().max(slot + 1), || None);
                    connections[slot] = Some(begin(socket));
                }
                continue;
            }
            let slot = &mut connections[event.token as usize];
            if slot.as_mut().is_some_and(|connection| !work(connection, event, &mut buffer)) {
                *slot = None;
            }
        }
    }
}
