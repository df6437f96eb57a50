use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use h1::forwarded::{ENTRIES_MAX, client};
use h1::{Connection, Date, Now, Shared};
use measure::Instant;

const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// The values of `X-Forwarded-For`, each ended by LF: whoever they say is the client is the one
/// whom a naive reader finds, and no zone or spelling makes him another.
///
/// # Panics
/// Where that does not hold.
pub fn forwarded(data: &[u8]) {
    let values: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    let mut head = b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec();
    for value in &values {
        head.extend([b"X-Forwarded-For:", *value, b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    let now = Now { at: Instant::ORIGIN, date: Date::new(0) };
    let mut connection = Connection::<()>::new(Shared::default(), now.at);
    connection.received(&head, &now);
    // Refused, perhaps, and then logged all the same.
    let Some(asked) = connection.asked() else { return };
    assert_eq!(client(asked, Some(PROXY), is_trusted), Some(read(&values)), "another client");
}

fn is_trusted(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.octets()[0] == 0xfd,
    }
}

/// From left to right: who is no proxy counts until another comes.
fn read(values: &[&[u8]]) -> IpAddr {
    // An empty line ends the head.
    let entries = values.iter().flat_map(|value| value.split(|&byte| byte == b','));
    let entries: Vec<_> = entries.map(<[u8]>::trim_ascii).collect();
    let mut client = None;
    for entry in &entries[entries.len().saturating_sub(ENTRIES_MAX)..] {
        match address(entry) {
            _ if entry.is_empty() => {}
            None => client = None,
            Some(address) if !is_trusted(address) => client = Some(address),
            Some(address) => client = client.or(Some(address)),
        }
    }
    client.unwrap_or(PROXY)
}

fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(entry).ok()?;
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None if text.matches(':').count() == 1 => text.split_at(text.find(':')?),
        None => (text, ""),
    };
    let digits = port.strip_prefix(':');
    let is_port = digits.is_some_and(|digits| {
        digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.parse::<u16>().is_ok()
    });
    if !port.is_empty() && !is_port {
        return None;
    }
    let v6 = || host.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical());
    match host.parse::<Ipv4Addr>() {
        Ok(address) if !text.starts_with('[') => Some(IpAddr::V4(address)),
        Ok(_) => None,
        Err(_) => v6(),
    }
}
