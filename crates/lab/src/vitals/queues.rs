//! Connections that the kernel dropped before anybody accepted them, in Brecht04's classes
//! (section 6.4 and figure 16) as far as Linux tells them today.

use std::collections::BTreeMap;
use std::io;

use os::NetCounts;
use os::socket_diag::Listening;
use serde::{Deserialize, Serialize};

use super::{Side, Watch};
use crate::Failure;

/// Of the server's network namespace, between two readings. Where both sides are in one, as on a
/// loopback, all but the listeners' own counts are of both sides together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queues {
    /// By the four reasons of the paper; or why they cannot be told apart.
    pub classes: Result<Classes, String>,
    /// As the paper counts: failed connection attempts and overflows of listen queues. Its kernel
    /// counted each dropped SYN among the failed attempts; today's counts it among `listen_drops`,
    /// with the overflows. So it is `failed_attempts` and `listen_drops` today.
    pub drops: u64,
    /// The same, in a second.
    pub drops_per_s: f64,
    /// Connections that ended before they were established (Tcp AttemptFails).
    pub failed_attempts: u64,
    /// Something met a full accept queue: a SYN or the packet that ends the handshake (TcpExt
    /// ListenOverflows).
    pub listen_overflows: u64,
    /// All that listening sockets dropped, those above among them (TcpExt ListenDrops).
    pub listen_drops: u64,
    /// A SYN met a full SYN queue and was answered with a cookie: no drop (TcpExt
    /// TCPReqQFullDoCookies).
    pub cookies_sent: u64,
    /// Connections that came back with one (TcpExt SyncookiesRecv).
    pub cookies_received: u64,
    /// Handshakes that were not believed until data came (TcpExt TCPDeferAcceptDrop).
    pub deferred: u64,
    /// What clients sent again because nobody answered (TcpExt TCPSynRetrans of their namespace).
    pub client_syn_retransmissions: u64,
    /// Connections that wait to be accepted at the end, of all listening sockets; `None`: this
    /// kernel does not tell of sockets (INET_DIAG).
    pub waiting: Option<u64>,
    /// Connections that came about, as the kernel counts them: whether or not somebody accepted
    /// them yet (Tcp PassiveOpens).
    #[serde(default)]
    pub established: u64,
    /// Connections that were open at the begin and at the end, the lesser of both: those that were
    /// open all along are no more (Tcp CurrEstab).
    #[serde(default)]
    pub open: u64,
    /// The same at any time between, as far as somebody looked; `None`: nobody did.
    #[serde(default)]
    pub open_most: Option<u64>,
}

/// Why connections were dropped. What is sent again while its first copy is being answered is
/// dropped too, and is in `listen_overflow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Classes {
    /// A SYN met a full SYN queue. 0 where cookies are sent instead (net.ipv4.tcp_syncookies).
    pub syn_queue_full: u64,
    /// A SYN met a full accept queue.
    pub accept_queue_full: u64,
    /// A SYN met a SYN queue that is three quarters full. 0 where cookies are sent.
    pub drop_request: u64,
    /// The packet that ends a handshake, or data after it, met a full accept queue: the client
    /// believes to be connected, and each packet that it sends again counts once more.
    pub listen_overflow: u64,
}

/// Since the namespaces were made.
#[derive(Debug, Clone)]
pub(super) struct Counters {
    named: [u64; NAMES.len()],
    /// Now.
    open: u64,
    client_syn_retransmissions: u64,
    /// By inode; or why they are not known.
    listening: Result<BTreeMap<u32, Listening>, String>,
}

/// Group and name of what is counted, in the order of [`Counters::since`].
const NAMES: [(&str, &str); 8] = [
    ("Tcp", "AttemptFails"),
    ("TcpExt", "ListenOverflows"),
    ("TcpExt", "ListenDrops"),
    ("TcpExt", "TCPReqQFullDrop"),
    ("TcpExt", "TCPReqQFullDoCookies"),
    ("TcpExt", "SyncookiesRecv"),
    ("TcpExt", "TCPDeferAcceptDrop"),
    ("Tcp", "PassiveOpens"),
];

impl Counters {
    pub(super) fn read(watch: &Watch) -> Result<Self, Failure> {
        let (counts, listening) = look(&watch.server, || {
            let listening = os::socket_diag::listening();
            Ok((NetCounts::read()?, listening.map_err(|e| e.to_string())))
        })?;
        let client = look(&watch.client, NetCounts::read)?;
        Ok(Self {
            named: NAMES.map(|(group, name)| count(&counts, group, name)),
            open: count(&counts, "Tcp", "CurrEstab"),
            client_syn_retransmissions: count(&client, "TcpExt", "TCPSynRetrans"),
            listening: listening
                .map(|all| all.into_iter().map(|one| (one.inode, one)).collect())
                .map_err(|e| format!("the kernel does not tell of listening sockets: {e}")),
        })
    }

    pub(super) fn since(&self, earlier: &Self, elapsed_us: u64) -> Queues {
        let mut counts = [0; NAMES.len()];
        for (count, (now, then)) in counts.iter_mut().zip(self.named.iter().zip(&earlier.named)) {
            *count = now.saturating_sub(*then);
        }
        let [attempts, overflows, drops, queue_full, ..] = counts;
        let [.., cookies_sent, cookies_received, deferred, established] = counts;
        let of_paper = attempts + drops;
        let seconds = elapsed_us as f64 / 1e6;
        let sockets = self.socket_drops_since(earlier);
        Queues {
            classes: sockets
                .and_then(|sockets| classes(sockets, [overflows, drops, queue_full], deferred)),
            drops: of_paper,
            drops_per_s: if elapsed_us == 0 { 0.0 } else { of_paper as f64 / seconds },
            failed_attempts: attempts,
            listen_overflows: overflows,
            listen_drops: drops,
            cookies_sent,
            cookies_received,
            deferred,
            established,
            open: self.open.min(earlier.open),
            open_most: None,
            client_syn_retransmissions: self
                .client_syn_retransmissions
                .saturating_sub(earlier.client_syn_retransmissions),
            waiting: self
                .listening
                .as_ref()
                .ok()
                .map(|all| all.values().map(|one| u64::from(one.waiting)).sum()),
        }
    }

    /// Packets that all listening sockets of the namespace dropped.
    fn socket_drops_since(&self, earlier: &Self) -> Result<u64, String> {
        let (now, then) = (self.listening.as_ref()?, earlier.listening.as_ref()?);
        if !now.keys().eq(then.keys()) {
            return Err("listening sockets came or went, and their counts with them".into());
        }
        let pairs = now.values().zip(then.values());
        // It is a counter of 32 bits.
        Ok(pairs.map(|(now, then)| u64::from(now.drops.wrapping_sub(then.drops))).sum())
    }
}

/// The kernel counts a dropped SYN once at the socket and once in ListenDrops, and a handshake that
/// ends at a full accept queue twice at the socket. What sockets dropped beyond ListenDrops
/// therefore is the latter.
fn classes(sockets: u64, counts: [u64; 3], deferred: u64) -> Result<Classes, String> {
    let [overflows, drops, syn_queue_full] = counts;
    if deferred > 0 {
        return Err("TCP_DEFER_ACCEPT drops at the same sockets for reasons of its own".into());
    }
    let listen_overflow = sockets.saturating_sub(drops);
    Ok(Classes {
        syn_queue_full,
        accept_queue_full: overflows.saturating_sub(listen_overflow),
        drop_request: drops.saturating_sub(overflows + syn_queue_full),
        listen_overflow,
    })
}

/// Connections that are open now on a side's machine (Tcp CurrEstab).
pub(super) fn open(side: &Side) -> Result<u64, Failure> {
    look(side, || Ok(count(&NetCounts::read()?, "Tcp", "CurrEstab")))
}

/// What is seen in a side's network namespace.
pub(super) fn look<T: Send>(
    side: &Side,
    at: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, Failure> {
    let Some(namespace) = &side.namespace else {
        return at().map_err(|error| Failure::machine("/proc/net", error));
    };
    os::namespace::within(namespace, at).map_err(|error| {
        Failure::machine(format_args!("{}: its counters", namespace.display()), error)
    })
}

/// 0 for what this kernel does not count.
pub(super) fn count(counts: &NetCounts, group: &str, name: &str) -> u64 {
    counts.of(group, name).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters_of(named: [u64; NAMES.len()], drops: &[(u32, u32)]) -> Counters {
        let at = "127.0.0.1:80".parse().unwrap();
        let one = |&(inode, drops): &(u32, u32)| {
            (inode, Listening { inode, at, waiting: 2, backlog: 8, drops })
        };
        let listening = Ok(drops.iter().map(one).collect());
        Counters { named, open: named[7] + 1, client_syn_retransmissions: named[0], listening }
    }

    type Row<'r> = ([u64; 4], &'r [(u32, u32)], Result<Classes, String>);

    #[test]
    fn drops_are_told_by_class() {
        let classes = |syn_queue_full, accept_queue_full, drop_request, listen_overflow| {
            Ok(Classes { syn_queue_full, accept_queue_full, drop_request, listen_overflow })
        };
        let came = "listening sockets came or went, and their counts with them";
        let defers = "TCP_DEFER_ACCEPT drops at the same sockets for reasons of its own";
        // Overflows, drops, full SYN queues, deferred; what sockets dropped; the classes.
        let rows: [Row; 8] = [
            ([0; 4], &[(7, 100)], classes(0, 0, 0, 0)),
            ([0, 3, 3, 0], &[(7, 103)], classes(3, 0, 0, 0)),
            ([4, 4, 0, 0], &[(7, 104)], classes(0, 4, 0, 0)),
            ([0, 5, 0, 0], &[(7, 105)], classes(0, 0, 5, 0)),
            ([4, 4, 0, 0], &[(7, 108)], classes(0, 0, 0, 4)),
            ([6, 12, 2, 0], &[(7, 113)], classes(2, 5, 4, 1)),
            ([0, 0, 0, 1], &[(7, 101)], Err(defers.into())),
            ([0; 4], &[(8, 100)], Err(came.into())),
        ];
        for ([overflows, drops, full, deferred], sockets, expected) in rows {
            let before = counters_of([1; 8], &[(7, 100)]);
            let named = [1, overflows + 1, drops + 1, full + 1, 1, 1, deferred + 1, 1];
            let told = counters_of(named, sockets).since(&before, 1_000_000);
            assert_eq!(told.classes, expected, "{overflows} {drops} {full}");
            assert_eq!((told.listen_overflows, told.listen_drops), (overflows, drops));
        }
    }

    #[test]
    fn the_total_is_the_papers() {
        let before = counters_of([10; 8], &[(7, u32::MAX), (8, 0)]);
        let after = counters_of([15, 11, 16, 10, 12, 13, 10, 17], &[(7, 5), (8, 1)]);
        let told = after.since(&before, 2_000_000);
        assert_eq!((told.drops, told.failed_attempts, told.listen_drops), (11, 5, 6));
        assert!((told.drops_per_s - 5.5).abs() < 1e-9);
        assert_eq!((told.cookies_sent, told.cookies_received), (2, 3));
        assert_eq!((told.client_syn_retransmissions, told.waiting), (5, Some(4)));
        // One is a sum since the namespace was made, the other what was open at a time.
        assert_eq!((told.established, told.open), (7, 11));
        // Of 32 bits, and run over.
        let expected = Classes { drop_request: 5, listen_overflow: 1, ..Classes::default() };
        assert_eq!(told.classes, Ok(expected));
        let unknown = Counters { listening: Err("no".into()), ..after.clone() };
        let told = after.since(&unknown, 0);
        assert_eq!((told.classes, told.drops_per_s), (Err("no".into()), 0.0));
        assert_eq!(unknown.since(&after, 1).waiting, None);
    }
}
