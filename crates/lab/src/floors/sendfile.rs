//! The least that a readiness loop can do for a file that it does not copy.

use std::convert::Infallible;
use std::io::{self, ErrorKind};

use os::poller::Event;
use os::{Listener, Socket};

use super::{Served, epoll};

struct Connection {
    socket: Socket,
    state: State,
}

enum State {
    Waits,
    /// The head is out, and so is the content up to a byte.
    Sends {
        at: u64,
        is_last: bool,
    },
}

pub(super) fn run(listener: Listener, served: Served) -> io::Result<Infallible> {
    epoll::serve(
        &listener,
        |socket| Connection { socket, state: State::Waits },
        |connection, event, buffer| connection.work(event, buffer, &served),
    )
}

impl Connection {
    /// Answers what has come; `false`: it is over.
    fn work(&mut self, event: Event, buffer: &mut [u8], served: &Served) -> bool {
        // What came while a reply was stuck is not reported again.
        let was_stuck = matches!(self.state, State::Sends { .. });
        let mut is_readable = event.readable || was_stuck;
        loop {
            match &mut self.state {
                State::Sends { at, .. } if *at < served.bytes => {
                    match self.socket.send_file(&served.file, *at, served.bytes - *at) {
                        // The file has become shorter.
                        Ok(0) => return false,
                        Ok(n) => *at += n,
                        Err(error) => return error.kind() == ErrorKind::WouldBlock,
                    }
                }
                State::Sends { is_last: true, .. } => return false,
                State::Sends { .. } => self.state = State::Waits,
                State::Waits if is_readable => {
                    let is_last = match self.socket.recv(buffer) {
                        Ok(0) => return false,
                        Ok(n) => served.is_last(&buffer[..n]),
                        Err(error) => return error.kind() == ErrorKind::WouldBlock,
                    };
                    // Nothing is on its way before it, so it fits whole.
                    let head = served.heads[usize::from(is_last)].as_bytes();
                    if !self.socket.send(head, true).is_ok_and(|n| n == head.len()) {
                        return false;
                    }
                    self.state = State::Sends { at: 0, is_last };
                    // Nothing is behind it but maybe the end: clients wait for their reply.
                    is_readable = event.ended || was_stuck;
                }
                State::Waits => return true,
            }
        }
    }
}
