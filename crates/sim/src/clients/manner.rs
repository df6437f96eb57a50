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
    /// Nanoseconds to the server and back.
    pub round_trip_ns: u64,
    /// What the network does of them on the server's processors.
    pub interrupts: Interrupts,
    /// Of all draws.
    pub seed: u64,
}

/// Processor time that the network's soft interrupts take: for a SYN or a request that comes in,
/// and for a SYN that is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Nanoseconds.
    pub taken_ns: u64,
    /// The same.
    pub dropped_ns: u64,
}
