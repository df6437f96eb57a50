//! How clients behave, whatever they ask.

use load::arrivals::Gaps;
use load::behaviour::Keeps;

/// See the head of this file.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    /// So many; of an open loop, at most at a time.
    pub count: u32,
    /// When sessions begin; `None`: closed loop.
    pub gaps: Option<Gaps>,
    /// How long they keep a connection.
    pub keeps: Keeps,
    /// How long they wait for a reply, in nanoseconds; `None`: as long as it takes.
    pub patience_ns: Option<u64>,
    /// Nanoseconds to the server and back.
    pub round_trip_ns: u64,
    /// To whole such are half of that, and the times of a link, rounded.
    pub grain_ns: u64,
    /// Before something is sent again.
    pub timeouts: Timeouts,
    /// Handshakes that may be half open (`tcp_max_syn_backlog`); 0: any number, as cookies are
    /// sent.
    pub half_open_max: u64,
    /// How replies come to them.
    pub sending: Sending,
    /// What the network does of them on the server's processors.
    pub interrupts: Interrupts,
    /// Of all draws.
    pub seed: u64,
}

/// What is between a server's send and its clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sending {
    /// Of the link to clients; 0: there is none, and replies are there at once.
    pub link_bytes_per_s: f64,
    /// Whether each client has one of his own.
    pub has_own_links: bool,
    /// Of each connection; 0: as large as anything that is sent.
    pub buffer_bytes: u64,
}

/// How long a client's kernel waits for an answer before it sends something again, for the first
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Nanoseconds, of a SYN.
    pub syn_ns: u64,
    /// The same of what comes with the end of a handshake.
    pub data_ns: u64,
}

/// Processor time that the network's soft interrupts take: for a SYN, a request or a reset that
/// comes in, and for what is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Nanoseconds.
    pub taken_ns: u64,
    /// The same.
    pub dropped_ns: u64,
}
