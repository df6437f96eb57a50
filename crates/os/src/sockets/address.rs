use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::str::FromStr;

/// What an operator writes for a Unix socket.
const UNIX_FORM: &str = "unix:PATH[,mode=0660][,group=NAME]";

/// Where to listen, as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `127.0.0.1:8080`, `[::1]:8080`.
    Inet(SocketAddr),
    /// `localhost:8080`: looked up when bound, and the first address that can be bound is taken.
    Name(String, u16),
    /// `8080` or `:8080`: all addresses, of IPv6 and IPv4 where both are there.
    Port(u16),
    /// `unix:/run/weir.sock`, `unix:/run/weir.sock,mode=0660,group=www-data`.
    Unix(UnixAddress),
    /// `fd:3`: a listening socket that was handed to this process.
    Fd(RawFd),
}

/// The file of a Unix socket. A process that may write to it may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixAddress {
    /// Where it is.
    pub path: PathBuf,
    /// Its permissions.
    pub mode: u32,
    /// By name or number; none: the one that it gets when it is made, which stays.
    pub group: Option<String>,
}

impl UnixAddress {
    /// All users may connect, as far as the directory lets them reach the file.
    pub const MODE_DEFAULT: u32 = 0o666;

    /// Options stand at the end, so that a path may have commas.
    fn parse(mut text: &str) -> Option<Self> {
        let (mut mode, mut group) = (None, None);
        while let Some((path, option)) = text.rsplit_once(',') {
            // Each at most once.
            match option.split_once('=') {
                Some(("mode", value)) if mode.is_none() => mode = Some(octal(value)?),
                Some(("group", value)) if group.is_none() && !value.is_empty() => {
                    group = Some(value.to_owned());
                }
                Some(("mode" | "group", _)) => return None,
                _ => break,
            }
            text = path;
        }
        // What stands behind an option is one that is misspelt, and not the rest of a path.
        if [",mode=", ",group="].iter().any(|option| text.contains(option)) {
            return None;
        }
        let mode = mode.unwrap_or(Self::MODE_DEFAULT);
        (!text.is_empty()).then(|| Self { path: text.into(), mode, group })
    }
}

/// With the default mode.
impl<P: Into<PathBuf>> From<P> for UnixAddress {
    fn from(path: P) -> Self {
        Self { path: path.into(), mode: Self::MODE_DEFAULT, group: None }
    }
}

impl fmt::Display for UnixAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix:{}", self.path.display())?;
        if self.mode != Self::MODE_DEFAULT {
            write!(f, ",mode={:04o}", self.mode)?;
        }
        self.group.iter().try_for_each(|group| write!(f, ",group={group}"))
    }
}

impl Address {
    /// Every address, IPv6 first: its socket takes IPv4 as well.
    pub(crate) fn all(port: u16) -> [SocketAddr; 2] {
        [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()]
    }

    /// Whether one socket serves both: Unix sockets at one path may differ in who may connect.
    #[must_use]
    pub fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unix(one), Self::Unix(other)) => one.path == other.path,
            _ => self == other,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(file) = text.strip_prefix("unix:") {
            return UnixAddress::parse(file).map(Self::Unix);
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

/// A mode as chmod(1) takes it, for its owner, its group and others.
fn octal(text: &str) -> Option<u32> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let mode = is_octal.then(|| u32::from_str_radix(text, 8).ok())??;
    (mode <= 0o777).then_some(mode)
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
            let is_unix = text.starts_with("unix:");
            let of_mode = if is_unix { " (a mode is octal, at most 0777)" } else { "" };
            format!("host:port, [v6]:port, port, {UNIX_FORM} or fd:N{of_port}{of_mode}")
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
            Self::Port(port) => write!(f, ":{port}"),
            Self::Unix(unix) => unix.fmt(f),
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
        let unix = |path: &str, mode, group: Option<&str>| {
            let (path, group) = (path.into(), group.map(String::from));
            Some(Address::Unix(UnixAddress { path, mode, group }))
        };
        let rows = [
            ("127.0.0.1:8080", inet("127.0.0.1:8080"), "127.0.0.1:8080"),
            ("0.0.0.0:0", inet("0.0.0.0:0"), "0.0.0.0:0"),
            ("[::1]:80", inet("[::1]:80"), "[::1]:80"),
            ("[0:0::1]:80", inet("[::1]:80"), "[::1]:80"),
            ("localhost:80", Some(Address::Name("localhost".into(), 80)), "localhost:80"),
            ("a-b.example:1", Some(Address::Name("a-b.example".into(), 1)), "a-b.example:1"),
            ("8080", Some(Address::Port(8080)), ":8080"),
            (":8080", Some(Address::Port(8080)), ":8080"),
            ("unix:/run/a b", unix("/run/a b", 0o666, None), "unix:/run/a b"),
            ("unix:relative", unix("relative", 0o666, None), "unix:relative"),
            ("unix:/a,mode=600", unix("/a", 0o600, None), "unix:/a,mode=0600"),
            ("unix:/a,mode=0666", unix("/a", 0o666, None), "unix:/a"),
            ("unix:/a,group=33", unix("/a", 0o666, Some("33")), "unix:/a,group=33"),
            (
                "unix:/a,group=www-data,mode=0660",
                unix("/a", 0o660, Some("www-data")),
                "unix:/a,mode=0660,group=www-data",
            ),
            ("unix:/a,b,mode=0660", unix("/a,b", 0o660, None), "unix:/a,b,mode=0660"),
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
            "unix:,mode=0660",
            "unix:/a,mode=",
            "unix:/a,mode=66",
            "unix:/a,mode=0888",
            "unix:/a,mode=1777",
            "unix:/a,mode=+660",
            "unix:/a,mode=rw",
            "unix:/a,group=",
            "unix:/a,mode=0660,b",
            "unix:/a,mode=0660,gruop=a",
            "unix:/a,mode=0660, group=a",
            "unix:/a,mode=0660,mode=0600",
            "unix:/a,group=a,mode=0600,group=a",
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
