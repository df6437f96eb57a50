//! The least that a readiness loop can do.

use std::convert::Infallible;
use std::io::{self, ErrorKind};

use os::poller::Event;
use os::{Listener, Socket};

use super::{Served, epoll};

struct Connection<'r> {
    socket: Socket,
    /// Of the reply in hand; all of it fits at once unless the file is large.
    unsent: &'r [u8],
    is_last: bool,
}

pub(super) fn run(listener: Listener, served: Served) -> io::Result<Infallible> {
    let replies = served.replies()?;
    epoll::serve(
        &listener,
        |socket| Connection { socket, unsent: &[], is_last: false },
        |connection, event, buffer| connection.work(event, buffer, &served, &replies),
    )
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
