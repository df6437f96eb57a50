//! A ring and its peers.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::net::TcpStream;
use std::sync::Arc;

use os::ring::{Done, Handle, Ring, RingSettings, SetUp, Sockets, Takes};
use os::{Directory, File, Listener, Opened};

use crate::connection::PATIENCE;

pub(crate) const LISTENER: u64 = 1 << 40;

/// What a completion said, without what it lent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Accepted,
    Received(Vec<u8>),
    Sent(usize),
    Read(Vec<u8>),
    Ready,
    Writable,
    Shut,
    Installed,
    Failed(Option<i32>),
}

pub(crate) const SETTINGS: RingSettings = RingSettings {
    entries: 64,
    completions: 256,
    buffers: 4,
    buffer_bytes: 16,
    handles: 8,
    sockets: Sockets::Direct,
    set_up: SetUp::Deferred,
};

/// A ring, and where its peers connect.
pub(crate) struct Stage {
    pub(crate) ring: Ring,
    pub(crate) listener: Arc<Listener>,
    pub(crate) address: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(&SETTINGS)
    }

    /// With ordinary descriptors.
    pub(crate) fn ordinary() -> Self {
        Self::with(&RingSettings { sockets: Sockets::Ordinary, ..SETTINGS })
    }

    pub(crate) fn with(settings: &RingSettings) -> Self {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 64).unwrap();
        let address = listener.local_address().unwrap();
        Self { ring: Ring::new(settings).unwrap(), listener: Arc::new(listener), address }
    }

    /// The next completion: its token, whether more follow, what it said.
    pub(crate) fn next(&mut self) -> (u64, bool, Said) {
        let started = std::time::Instant::now();
        loop {
            if let Some(completion) = self.ring.completion() {
                return (completion.token, completion.more, said(completion.done));
            }
            assert!(started.elapsed() < PATIENCE, "nothing was completed");
            self.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
        }
    }

    pub(crate) fn nothing_is_there(&mut self) {
        self.ring.submit_and_wait(0, None).unwrap();
        assert!(self.ring.completion().is_none());
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let peer = TcpStream::connect(&self.address).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer
    }

    /// A connection: the ring's end and the peer's.
    pub(crate) fn pair(&mut self) -> (Handle, TcpStream) {
        let peer = self.connect();
        self.ring.accept(&self.listener, LISTENER, Takes::One).unwrap();
        self.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
        let Some(Done::Accepted(Ok((handle, None)))) = self.ring.completion().map(|c| c.done)
        else {
            panic!("not accepted")
        };
        (handle, peer)
    }
}

pub(crate) fn said(done: Done<'_>) -> Said {
    let said = match done {
        Done::Accepted(it) => it.map(|_| Said::Accepted),
        Done::Received(it) => it.map(|bytes| Said::Received(bytes.to_vec())),
        Done::Sent(it) => it.map(Said::Sent),
        Done::Read(it) => it.map(|bytes| Said::Read(bytes.to_vec())),
        Done::Ready(it) => it.map(|()| Said::Ready),
        Done::Writable(it) => it.map(|()| Said::Writable),
        Done::Shut(it) => it.map(|()| Said::Shut),
        Done::Installed(it) => it.map(|_| Said::Installed),
    };
    said.unwrap_or_else(|error| Said::Failed(error.raw_os_error()))
}

/// Whether a sandbox, a limit or the kernel forbids rings. If so, records that the calling test is
/// skipped.
#[track_caller]
pub(crate) fn lacks_rings() -> bool {
    let refusal = os::ring::probe().err();
    if let Some(error) = &refusal {
        harness::skip(format!("needs io_uring: {error}"));
    }
    refusal.is_some()
}

/// The same, whatever the ring's sockets are and however the kernel works on it.
pub(crate) fn on_each(test: impl Fn(Stage)) {
    for set_up in [SetUp::Deferred, SetUp::Cooperative, SetUp::Polled] {
        for sockets in [Sockets::Direct, Sockets::Ordinary] {
            test(Stage::with(&RingSettings { set_up, sockets, ..SETTINGS }));
        }
    }
}

pub(crate) fn file(content: &[u8]) -> Arc<File> {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), content).unwrap();
    match Directory::open(place.path()).unwrap().open_beneath(b"file").unwrap() {
        Opened::File(file, _) => Arc::new(file),
        other => panic!("{other:?}"),
    }
}
