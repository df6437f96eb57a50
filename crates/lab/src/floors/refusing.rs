//! The least that can be done to turn everybody away, in each of the ways there are.

use std::convert::Infallible;
use std::io;
use std::thread;

use os::poller::Mechanism;
use os::{Blocking, Listener, Poller};

use super::{Served, epoll};

/// Who waits there fills it: nobody accepts him.
const NO_QUEUE: u32 = 0;

const REPLY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nServer: floor\r\n\
    Content-Length: 0\r\nConnection: close\r\nDate: Fri, 20 Nov 2026 00:00:00 GMT\r\n\r\n";

/// The kernel drops each SYN by the filter that Weir has in a flood.
pub(super) fn by_filter(listener: Listener, _: Served) -> io::Result<Infallible> {
    listener.admit(0, 0)?;
    rest()
}

/// The kernel drops each SYN, as the queue is full.
pub(super) fn by_queue(listener: Listener, _: Served) -> io::Result<Infallible> {
    listener.set_backlog(NO_QUEUE)?;
    rest()
}

/// The kernel answers each SYN, and drops what follows. A queue that is full at that moment and was
/// not when the SYN came would do the same; to have it so each time takes a filter.
pub(super) fn by_handshake(listener: Listener, _: Served) -> io::Result<Infallible> {
    listener.complete_nobody()?;
    rest()
}

/// Accepts and resets at once.
pub(super) fn by_reset(listener: Listener, _: Served) -> io::Result<Infallible> {
    let mut poller = Poller::new(Mechanism::Epoll, 1)?;
    poller.add_level(&listener, 0)?;
    loop {
        poller.wait(None)?;
        while let Ok(socket) = listener.accept(Blocking::No) {
            socket.reset_on_close();
        }
    }
}

/// Accepts, reads the request and says that there is too much to do.
pub(super) fn by_reply(listener: Listener, _: Served) -> io::Result<Infallible> {
    epoll::serve(
        &listener,
        |socket| socket,
        |socket, event, buffer| {
            if !event.readable {
                return !event.ended;
            }
            // Whether it arrives is the client's business: it is over either way.
            let _ = socket.recv(buffer).and_then(|_| socket.send(REPLY, false));
            false
        },
    )
}

/// All is done by the kernel.
fn rest() -> ! {
    loop {
        thread::park();
    }
}
