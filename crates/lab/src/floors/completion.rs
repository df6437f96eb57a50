//! The least that a completion ring can do.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use os::ring::{Done, Handle, Ring, RingSettings, SetUp, Sockets, Takes};
use os::{Listener, is_out_of_buffers};

use super::Served;

/// Whose accepts are; connections have their slots.
const LISTENER: u64 = u64::MAX;
/// As large as a loop of thousands of connections fills them.
const SETTINGS: RingSettings = RingSettings {
    entries: 4096,
    completions: 16_384,
    buffers: 4096,
    buffer_bytes: 1024,
    handles: 0,
    // They are shut by a call: the ring would leave it to a thread of the kernel.
    sockets: Sockets::Ordinary,
    set_up: SetUp::Deferred,
};

struct Connection {
    handle: Handle,
    /// A send is in flight: its handle is not given back.
    sends: bool,
    /// Of the reply in hand.
    sent: usize,
    is_last: bool,
    has_ended: bool,
}

struct Loop {
    ring: Ring,
    listener: Arc<Listener>,
    served: Served,
    replies: [Arc<[u8]>; 2],
    connections: Vec<Option<Connection>>,
}

pub(super) fn run(listener: Listener, served: Served) -> io::Result<Infallible> {
    let mut floor = Loop {
        ring: Ring::new(&SETTINGS)?,
        listener: Arc::new(listener),
        replies: served.replies()?.map(Arc::from),
        served,
        connections: Vec::new(),
    };
    floor.ring.accept(&floor.listener, LISTENER, Takes::Many)?;
    loop {
        floor.ring.submit_and_wait(1, None)?;
        while floor.complete()? {}
    }
}

impl Loop {
    /// Looks at one completion; `false`: there are no more.
    fn complete(&mut self) -> io::Result<bool> {
        let Some(completion) = self.ring.completion() else { return Ok(false) };
        let (token, more) = (completion.token, completion.more);
        match completion.done {
            Done::Accepted(accepted) => {
                if let Ok((handle, _)) = accepted {
                    self.begin(handle)?;
                }
                if !more {
                    self.ring.accept(&self.listener, LISTENER, Takes::Many)?;
                }
            }
            Done::Received(Ok(bytes)) if !bytes.is_empty() => {
                let is_last = self.served.is_last(bytes);
                self.answer(token, is_last, more)?;
            }
            Done::Received(Err(error)) if is_out_of_buffers(&error) => {
                if let Some(connection) = &self.connections[token as usize] {
                    self.ring.recv(connection.handle, token)?;
                }
            }
            Done::Received(_) => self.end(token, true)?,
            Done::Sent(sent) => self.sent(token, sent)?,
            _ => {}
        }
        Ok(true)
    }

    fn begin(&mut self, handle: Handle) -> io::Result<()> {
        let slot = handle.slot() as usize;
        self.connections.resize_with(self.connections.len().max(slot + 1), || None);
        self.connections[slot] =
            Some(Connection { handle, sends: false, sent: 0, is_last: false, has_ended: false });
        self.ring.recv(handle, slot as u64)
    }

    fn answer(&mut self, token: u64, is_last: bool, more: bool) -> io::Result<()> {
        let Some(connection) = &mut self.connections[token as usize] else { return Ok(()) };
        (connection.is_last, connection.sent) = (is_last, 0);
        let (handle, reply) = (connection.handle, self.replies[usize::from(is_last)].clone());
        connection.sends = true;
        let whole = (0, reply.len());
        self.ring.send(handle, reply, whole, false, token)?;
        if more { Ok(()) } else { self.ring.recv(handle, token) }
    }

    /// The rest of a reply goes when its beginning is out.
    fn sent(&mut self, token: u64, sent: io::Result<usize>) -> io::Result<()> {
        let Some(connection) = &mut self.connections[token as usize] else { return Ok(()) };
        connection.sent += sent.as_ref().unwrap_or(&0);
        let reply = &self.replies[usize::from(connection.is_last)];
        let rest = (connection.sent, reply.len());
        // A failed one needs no more: the receive tells the end.
        if sent.is_ok() && rest.0 < rest.1 {
            return self.ring.send(connection.handle, reply.clone(), rest, false, token);
        }
        connection.sends = false;
        if connection.is_last
            && let Some(socket) = self.ring.socket(connection.handle)
        {
            // Both ways, which ends the receive as well.
            let _ = socket.shutdown_both();
        }
        self.end(token, false)
    }

    /// The receive is over, or a send: after both the handle is given back.
    fn end(&mut self, token: u64, has_ended: bool) -> io::Result<()> {
        let Some(connection) = &mut self.connections[token as usize] else { return Ok(()) };
        connection.has_ended |= has_ended;
        if connection.has_ended && !connection.sends {
            self.ring.close(connection.handle)?;
            self.connections[token as usize] = None;
        }
        Ok(())
    }
}
