use core::fmt;
use core::str::FromStr;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::RawFd;
use std::path::PathBuf;

/// Where to listen: `host:port`, `[v6]:port`, `:port`, `unix:PATH`, or `fd:N`, a listening socket
/// that was inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Inet(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
    /// An inherited descriptor.
    Fd(RawFd),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(String::from("unix:PATH with a path")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        if let Some(fd) = text.strip_prefix("fd:") {
            let fd = fd.parse().ok().filter(|&fd: &RawFd| fd >= 0);
            return fd.map(Self::Fd).ok_or_else(|| String::from("fd:N with a descriptor's number"));
        }
        let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.into() };
        let mut found = whole.to_socket_addrs().map_err(|_| {
            String::from(
                "host:port, [v6]:port, unix:PATH or fd:N, of a host that this machine knows",
            )
        })?;
        found.next().map(Self::Inet).ok_or_else(|| String::from("a host with an address"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Fd(fd) => write!(f, "fd:{fd}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_written() {
        let check = |text: &str, shown: &str| {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        };
        check("127.0.0.1:80", "127.0.0.1:80");
        check(":8080", "0.0.0.0:8080");
        check("[::1]:443", "[::1]:443");
        check("unix:/run/weir.sock", "unix:/run/weir.sock");
        check("fd:3", "fd:3");
        for bad in ["", "80", "127.0.0.1", "127.0.0.1:70000", "unix:", "fd:x", "fd:-1"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }
}
