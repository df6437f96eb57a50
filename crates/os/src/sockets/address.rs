use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::str::FromStr;

/// Where to listen, as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `127.0.0.1:8080`, `[::1]:8080`.
    Inet(SocketAddr),
    /// `localhost:8080`: looked up when bound, and the first address that can be bound is taken.
    Name(String, u16),
    /// `8080` or `:8080`: all addresses, of IPv6 and IPv4 where both are there.
    Port(u16),
    /// `unix:/run/weir.sock`.
    Unix(PathBuf),
    /// `fd:3`: a listening socket that was handed to this process.
    Fd(RawFd),
}

impl Address {
    /// Every address, IPv6 first: its socket takes IPv4 as well.
    pub(crate) fn all(port: u16) -> [SocketAddr; 2] {
        [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()]
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return (!path.is_empty()).then(|| Self::Unix(path.into()));
        }
        if let Some(fd) = text.strip_prefix("fd:") {
            return number(fd).map(Self::Fd);
        }
        if let Some(port) = number(text.strip_prefix(':').unwrap_or(text)) {
            return Some(Self::Port(port));
        }
        if let Ok(address) = text.parse() {
            return Some(Self::Inet(address));
        }
        let (name, port) = text.rsplit_once(':')?;
        let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
            // All digits and dots is a mistyped IPv4 address, which a resolver may complete oddly.
            && name.bytes().any(|b| b.is_ascii_alphabetic());
        is_name.then_some(())?;
        Some(Self::Name(name.to_owned(), number(port)?))
    }
}

/// Digits alone: `parse` would take a sign, too.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

impl FromStr for Address {
    type Err = String;

    /// The error says what would be an address.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| {
            let (before, port) = text.rsplit_once(':').unwrap_or(("", text));
            let is_large = number::<u32>(port).is_some_and(|port| port > u16::MAX.into());
            let is_large = is_large && before != "fd";
            let of_port = if is_large { "; no port is above 65535" } else { "" };
            format!("host:port, [v6]:port, port, unix:PATH or fd:N{of_port}")
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Port(port) => write!(f, ":{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Fd(fd) => write!(f, "fd:{fd}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let inet = |text: &str| Some(Address::Inet(text.parse().unwrap()));
        let rows = [
            ("127.0.0.1:8080", inet("127.0.0.1:8080"), "127.0.0.1:8080"),
            ("0.0.0.0:0", inet("0.0.0.0:0"), "0.0.0.0:0"),
            ("[::1]:80", inet("[::1]:80"), "[::1]:80"),
            ("[0:0::1]:80", inet("[::1]:80"), "[::1]:80"),
            ("localhost:80", Some(Address::Name("localhost".into(), 80)), "localhost:80"),
            ("a-b.example:1", Some(Address::Name("a-b.example".into(), 1)), "a-b.example:1"),
            ("8080", Some(Address::Port(8080)), ":8080"),
            (":8080", Some(Address::Port(8080)), ":8080"),
            ("unix:/run/a b", Some(Address::Unix("/run/a b".into())), "unix:/run/a b"),
            ("unix:relative", Some(Address::Unix("relative".into())), "unix:relative"),
            ("fd:3", Some(Address::Fd(3)), "fd:3"),
        ];
        for (text, expected, written) in rows {
            let address = text.parse::<Address>().ok();
            assert_eq!(address, expected, "{text}");
            assert_eq!(address.unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let texts = [
            "",
            ":",
            "localhost",
            "127.0.0.1",
            "::1",
            "::1:80",
            "[::1]",
            "[::1]:",
            "[localhost]:80",
            "localhost:",
            "localhost:65536",
            "localhost:-1",
            "localhost:+1",
            "65536",
            "+80",
            "-80",
            " 80",
            "http://localhost:80",
            "user@localhost:80",
            "-a:80",
            "1.2.3:80",
            "256.0.0.1:80",
            "unix:",
            "fd:",
            "fd:-1",
            "fd:x",
            "fd:2147483648",
            "a b:80",
            "caf\u{e9}:80",
        ];
        for text in texts {
            let said = text.parse::<Address>().expect_err(text);
            assert_eq!(said.contains("65535"), text.ends_with("65536"), "{text}: {said}");
        }
    }
}
