//! Two ends of a real TCP connection.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use os::{Blocking, Listener, Socket};
use rustix::event::{PollFd, PollFlags, poll};

/// Longer than anything here takes: only a failure waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Connection {
    pub(crate) ours: Socket,
    pub(crate) peer: TcpStream,
}

impl Connection {
    pub(crate) fn new(blocking: Blocking) -> Self {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 1).unwrap();
        let peer = TcpStream::connect(listener.local_address().unwrap()).unwrap();
        assert_eq!(os::wait_readable([listener.as_fd()], Some(PATIENCE)).unwrap(), [true]);
        Self { ours: listener.accept(blocking).unwrap(), peer }
    }

    /// The peer sends, and the bytes arrive.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.peer.write_all(bytes).unwrap();
        arrived(&self.ours, PollFlags::IN);
    }

    /// The peer sends FIN, and it arrives.
    pub(crate) fn hear_fin(&mut self) {
        self.peer.shutdown(Shutdown::Write).unwrap();
        arrived(&self.ours, PollFlags::RDHUP);
    }

    /// The peer resets the connection, and it arrives.
    pub(crate) fn hear_reset(self) -> Socket {
        rustix::net::sockopt::set_socket_linger(&self.peer, Some(Duration::ZERO)).unwrap();
        drop(self.peer);
        arrived(&self.ours, PollFlags::HUP);
        self.ours
    }

    /// Sends until nothing more fits; says how much did.
    pub(crate) fn fill(&self) -> usize {
        let mut sent = 0;
        loop {
            match self.ours.send(&[b'x'; 4096], false) {
                Ok(n) => sent += n,
                Err(e) => {
                    assert_eq!(e.kind(), std::io::ErrorKind::WouldBlock);
                    return sent;
                }
            }
        }
    }

    /// The peer receives so much.
    pub(crate) fn drain(&mut self, bytes: usize) {
        self.peer.set_read_timeout(Some(PATIENCE)).unwrap();
        self.peer.read_exact(&mut vec![0; bytes]).unwrap();
    }
}

fn arrived(socket: &Socket, what: PollFlags) {
    let mut watched = [PollFd::new(socket, what)];
    let patience = PATIENCE.try_into().unwrap();
    assert_eq!(poll(&mut watched, Some(&patience)), Ok(1), "{what:?}");
}

/// Waits for what no descriptor tells.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it never was so");
        std::thread::yield_now();
    }
}
