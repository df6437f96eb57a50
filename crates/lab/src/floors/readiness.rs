//! The least that a readiness loop can do.

use std::convert::Infallible;
use std::io::{self, ErrorKind};

use os::poller::{Event, Interest, Mechanism};
use os::{Blocking, Listener, Poller, Socket};

use super::Served;

/// The listening socket's; those of connections are their descriptors.
const LISTENER: u64 = u64::MAX;
/// Taken from the kernel at a time.
const EVENTS_MAX: usize = 1024;
/// Larger than any request.
const BUFFER_BYTES: usize = 64 << 10;

struct Connection<'r> {
    socket: Socket,
    /// Of the reply in hand; all of it fits at once unless the file is large.
    unsent: &'r [u8],
    is_last: bool,
}

pub(super) fn run(listener: Listener, served: Served) -> io::Result<Infallible> {
    let replies = served.replies()?;
    let mut connections: Vec<Option<Connection<'_>>> = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut poller = Poller::new(Mechanism::Epoll, EVENTS_MAX)?;
    poller.add_level(&listener, LISTENER)?;
    loop {
        poller.wait(None)?;
        for at in 0..poller.events().len() {
            let event = poller.events()[at];
            if event.token == LISTENER {
                while let Ok(socket) = listener.accept(Blocking::No) {
                    let slot = socket.id() as usize;
                    poller.add(&socket, slot as u64, Interest::BOTH)?;
                    connections.resize_with(connections.len().max(slot + 1), || None);
                    connections[slot] = Some(Connection { socket, unsent: &[], is_last: false });
                }
                continue;
            }
            let slot = &mut connections[event.token as usize];
            if let Some(connection) = slot
                && !connection.work(event, &mut buffer, &served, &replies)
            {
                *slot = None;
            }
        }
    }
}

impl<'r> Connection<'r> {
    /// Answers what has come; `false`: it is over.
    fn work(
        &mut self,
        event: Event,
        buffer: &mut [u8],
        served: &Served,
        replies: &'r [Vec<u8>; 2],
    ) -> bool {
        // What came while a reply was stuck is not reported again.
        let was_stuck = !self.unsent.is_empty();
        let mut is_readable = event.readable || was_stuck;
        loop {
            if !self.unsent.is_empty() {
                match self.socket.send(self.unsent, false) {
                    Ok(n) => self.unsent = &self.unsent[n..],
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
            } else if self.is_last {
                return false;
            } else if is_readable {
                match self.socket.recv(buffer) {
                    Ok(0) => return false,
                    Ok(n) => self.is_last = served.is_last(&buffer[..n]),
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
                self.unsent = &replies[usize::from(self.is_last)];
                // Nothing is behind it but maybe the end: clients wait for their reply.
                is_readable = event.ended || was_stuck;
            } else {
                return true;
            }
        }
    }
}
