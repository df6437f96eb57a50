//! Connections that the kernel drops before anybody accepts them, counted for the whole network
//! namespace: Brecht04's queue drops as Linux tells them today.

use std::io;

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

/// Reads /proc/net/netstat.
///
/// # Errors
/// There is no /proc; `InvalidData` if it says nothing of them.
pub fn queue_drops() -> io::Result<QueueDrops> {
    let text = std::fs::read_to_string("/proc/net/netstat")?;
    parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The file has two lines for each group: names, then values.
fn parse(text: &str) -> Option<QueueDrops> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let value_of = |wanted: &str| {
        let place = names.split_ascii_whitespace().position(|name| name == wanted)?;
        values.split_ascii_whitespace().nth(place)?.parse().ok()
    };
    Some(QueueDrops {
        listen_overflows: value_of("ListenOverflows")?,
        listen_drops: value_of("ListenDrops")?,
        syn_queue_drops: value_of("TCPReqQFullDrop")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_name() {
        let names = "TcpExt: A ListenOverflows ListenDrops B TCPReqQFullDrop";
        let counts = QueueDrops { listen_overflows: 22, listen_drops: 333, syn_queue_drops: 5555 };
        let rows = [
            ("TcpExt: 1 22 333 4 5555\nIpExt: C\nIpExt: 5\n", Some(counts)),
            ("TcpExt: 1 22 333\n", None),
            ("TcpExt: 1 22 x 4 5555\n", None),
            ("", None),
        ];
        for (values, expected) in rows {
            assert_eq!(parse(&format!("{names}\n{values}")), expected, "{values}");
        }
        for text in ["TcpExt: ListenOverflows\nTcpExt: 1\n", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
        queue_drops().unwrap();
    }
}
