//! Whose a request is that a proxy passes on: `X-Forwarded-For`, behind whose values each proxy on
//! the way puts the address that it was asked from. No RFC has it; RFC 7239, which was to take its
//! place, few proxies write.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::Asked;

/// Entries that are looked at, the last ones. A request passes two or three proxies, each of which
/// adds one, and seldom more than ten; what stands farther to the left the client has written, and
/// a head has room for thousands.
pub const ENTRIES_MAX: usize = 32;

/// The client of a request that came through `proxy`, whose word is taken; `None`: it has no
/// address.
///
/// All values of the field count, in order, and are walked from the right: whom a trusted proxy
/// names is the client, or the next proxy, if that is trusted as well. What is no address ends the
/// walk, because nobody can tell who has written what stands before it. The client is then whoever
/// was named last, or the proxy itself. Entries may have a port; empty ones say nothing.
#[must_use]
pub fn client(
    asked: Asked<'_>,
    proxy: Option<IpAddr>,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    let values: Vec<_> = asked.values("x-forwarded-for").collect();
    let entries = values.iter().rev().flat_map(|value| value.rsplit(|&byte| byte == b','));
    let mut client = proxy;
    for entry in entries.take(ENTRIES_MAX).map(<[u8]>::trim_ascii) {
        if entry.is_empty() {
            continue;
        }
        let Some(address) = address(entry) else { break };
        client = Some(address);
        if !is_trusted(address) {
            break;
        }
    }
    client
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(entry: &[u8]) -> Option<IpAddr> {
    // A zone (`fe80::1%2`) says something to one host alone.
    let text = str::from_utf8(entry).ok().filter(|text| !text.contains('%'))?;
    let bare = || text.parse::<IpAddr>().ok();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let in_brackets = || {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    };
    bare().or_else(with_port).or_else(in_brackets).map(|address| address.to_canonical())
}
