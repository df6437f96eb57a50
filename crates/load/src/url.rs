//! URLs, as far as they name something to ask a server for.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::engine::is_target;

/// An `http` URL (RFC 3986 section 3, RFC 9110 section 4.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// A name or an address, that of IPv6 without its brackets.
    pub host: String,
    /// Where it listens.
    pub port: u16,
    /// Path and query: `/` if there is none.
    pub target: String,
    /// Host and port as requests name them: without a port of 80.
    pub authority: String,
}

const PORT: u16 = 80;

impl FromStr for Url {
    type Err = String;

    /// The error says what is wrong with it, in one line.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |what: &str| format!("{text}: {what}");
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) => return Err(bad(&format!("{scheme} is not spoken here, http is"))),
            None => return Err(bad("a URL begins with http://")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        // What stands behind # is the client's own.
        let target = target.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        if !is_target(&target) {
            return Err(bad("blanks and letters beyond ASCII are written as %XX"));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
            Some((host, _)) if host.parse::<Ipv6Addr>().is_err() => {
                return Err(bad("between brackets stands an address of IPv6"));
            }
            Some((host, "")) => (host, None),
            Some((host, port)) => {
                let port = port.strip_prefix(':');
                (host, Some(port.ok_or_else(|| bad("behind a host stands a colon and a port"))?))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:%~".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_letter) {
            return Err(bad("a host is a name or an address"));
        }
        let port = match port.filter(|port| !port.is_empty()) {
            None => PORT,
            Some(port) => {
                // A sign, too, is parsed.
                let digits = Some(port).filter(|port| port.bytes().all(|b| b.is_ascii_digit()));
                let number = digits.and_then(|port| port.parse().ok()).filter(|port| *port > 0);
                number.ok_or_else(|| bad("a port is a number from 1 to 65535"))?
            }
        };
        let shown = if host.contains(':') { format!("[{host}]") } else { host.into() };
        let authority = if port == PORT { shown } else { format!("{shown}:{port}") };
        Ok(Self { host: host.into(), port, target, authority })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_host_a_port_and_a_target() {
        let rows = [
            ("http://a", "a", 80, "/", "a"),
            ("HTTP://a:8080/b?c#d", "a", 8080, "/b?c", "a:8080"),
            ("http://127.0.0.1:80/", "127.0.0.1", 80, "/", "127.0.0.1"),
            ("http://a?b", "a", 80, "/?b", "a"),
            ("http://[::1]:81/x", "::1", 81, "/x", "[::1]:81"),
            ("http://[::1]", "::1", 80, "/", "[::1]"),
            ("http://a:/", "a", 80, "/", "a"),
        ];
        for (text, host, port, target, authority) in rows {
            let url: Url = text.parse().unwrap();
            let told = (url.host.as_str(), url.port, url.target.as_str(), url.authority.as_str());
            assert_eq!(told, (host, port, target, authority), "{text}");
            assert_eq!(url.to_string().parse::<Url>().unwrap(), url, "{text}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        let texts = [
            "",
            "a",
            "a:80",
            "/a",
            "https://a/",
            "http://",
            "http:///a",
            "http://:80/",
            "http://user@a/",
            "http://a:65536/",
            "http://a:0/",
            "http://a:+1/",
            "http://[a]/",
            "http://[127.0.0.1]/",
            "http://a:b/",
            "http://[::1]a/",
            "http://[::1/",
            "http://a b/",
            "http://a/b c",
            "http://a/\u{e9}",
            "http://a/\r\nX: y",
        ];
        for text in texts {
            text.parse::<Url>().expect_err(text);
        }
    }
}
