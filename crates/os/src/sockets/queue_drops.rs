//! Connections that the kernel drops before anybody accepts them, counted for the whole network
//! namespace: Brecht04's queue drops as Linux tells them today.

use std::io;

use crate::NetCounts;

/// Counts since the namespace was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueDrops {
    /// A connection or an attempt met a full accept queue (TcpExt ListenOverflows).
    pub listen_overflows: u64,
    /// Every attempt that a listening socket dropped, the above among them (TcpExt ListenDrops).
    pub listen_drops: u64,
    /// A first packet met a full SYN queue, and no cookies are sent (TcpExt TCPReqQFullDrop).
    pub syn_queue_drops: u64,
}

/// Those of the calling thread's namespace.
///
/// # Errors
/// There is no /proc; `InvalidData` if it says nothing of them.
pub fn queue_drops() -> io::Result<QueueDrops> {
    let counts = NetCounts::read()?;
    let of = |name| counts.of("TcpExt", name).ok_or(io::ErrorKind::InvalidData);
    Ok(QueueDrops {
        listen_overflows: of("ListenOverflows")?,
        listen_drops: of("ListenDrops")?,
        syn_queue_drops: of("TCPReqQFullDrop")?,
    })
}
