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
        let shown = if text.is_empty() { "\"\"" } else { text };
        let bad = |what: &str| format!("{shown}: {what}");
        let rest = of_http(text).map_err(|why| bad(&why))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        // What stands behind # is the client's own.
        let target = target.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.into() } else { format!("/{target}") };
        if !is_target(&target) {
            return Err(bad("blanks and letters beyond ASCII are written as %XX"));
        }
        if authority.contains('@') {
            let instead = "a name and its password are sent by --header 'Authorization: Basic ...'";
            return Err(bad(instead));
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
        // The system would take it for an address of IPv4: 8080 is 0.0.31.144.
        if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(bad(&format!(
                "a number alone is no host; port {host} of this machine is \
                                     localhost:{host}"
            )));
        }
        if host.is_empty() {
            return Err(bad("the host is missing, as in http://localhost:8080/"));
        }
        if !host.bytes().all(is_letter) {
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

/// What stands behind `http://`, which may be left out; or why it is another protocol.
fn of_http(text: &str) -> Result<&str, String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let rest = text.get(scheme.len() + 1..).unwrap_or_default();
    // `localhost:8080/` has a host before its colon.
    let has_scheme = scheme.bytes().all(is_letter) && rest.starts_with("//");
    let is_named = |name: &str| scheme.eq_ignore_ascii_case(name);
    match rest.strip_prefix("//") {
        _ if is_named("https") => Err(String::from(
            "TLS is not spoken here: ask the server behind the proxy by http://, or use oha or k6",
        )),
        Some(rest) if is_named("http") => Ok(rest),
        None if is_named("http") => Err(String::from("a URL is http://HOST[:PORT][/PATH]")),
        _ if has_scheme => Err(format!("{scheme} is not spoken here, http is")),
        _ => Ok(text),
    }
}

/// Whether requests can name it as their host: a name or an address, and a port if there is one.
#[must_use]
pub fn is_authority(text: &str) -> bool {
    let is_alone = !text.contains(['/', '?', '#']);
    is_alone && format!("http://{text}/").parse::<Url>().is_ok()
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
            ("localhost", "localhost", 80, "/", "localhost"),
            ("localhost:8080/x", "localhost", 8080, "/x", "localhost:8080"),
            ("127.0.0.1:9400", "127.0.0.1", 9400, "/", "127.0.0.1:9400"),
            ("[::1]:81/x", "::1", 81, "/x", "[::1]:81"),
            ("a/go?to=http://other/", "a", 80, "/go?to=http://other/", "a"),
            ("a?to=https://other/", "a", 80, "/?to=https://other/", "a"),
        ];
        for (text, host, port, target, authority) in rows {
            let url: Url = text.parse().unwrap();
            let told = (url.host.as_str(), url.port, url.target.as_str(), url.authority.as_str());
            assert_eq!(told, (host, port, target, authority), "{text}");
            assert_eq!(url.to_string().parse::<Url>().unwrap(), url, "{text}");
        }
    }

    #[test]
    fn hosts_of_requests_are_judged() {
        for good in ["a", "a.example:8080", "[::1]:80", "127.0.0.1"] {
            assert!(is_authority(good), "{good}");
        }
        for bad in ["", "a/b", "a b", "a:0", "a?b", "a#b", "http://a", "a\r\nX: y", ":80", "u@a"] {
            assert!(!is_authority(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        const PORT: &str = "a port is a number from 1 to 65535";
        const HOST: &str = "a host is a name or an address";
        const MISSING: &str = "the host is missing";
        const BYTES: &str = "blanks and letters beyond ASCII are written as %XX";
        let rows = [
            ("", "\"\": the host is missing, as in http://localhost:8080/"),
            ("/a", MISSING),
            (":80", MISSING),
            ("https://a/", "TLS is not spoken here: ask the server behind the proxy by http://"),
            ("HTTPS:a", "TLS is not spoken here"),
            ("ftp://a/", "ftp is not spoken here, http is"),
            ("http:/a", "a URL is http://HOST[:PORT][/PATH]"),
            ("http:", "a URL is http://HOST[:PORT][/PATH]"),
            ("http://", MISSING),
            ("http:///a", MISSING),
            (
                "8080",
                "8080: a number alone is no host; port 8080 of this machine is localhost:8080",
            ),
            ("http://8080/a", "a number alone is no host"),
            ("http://:80/", MISSING),
            ("http://user@a/", "are sent by --header 'Authorization: Basic ...'"),
            ("http://user:secret@a/", "are sent by --header 'Authorization: Basic ...'"),
            ("http://a:65536/", PORT),
            ("http://a:0/", PORT),
            ("http://a:+1/", PORT),
            ("a:b", PORT),
            ("http://[a]/", "between brackets stands an address of IPv6"),
            ("http://[127.0.0.1]/", "between brackets stands an address of IPv6"),
            ("http://a:b/", PORT),
            ("http://[::1]a/", "behind a host stands a colon and a port"),
            ("http://[::1/", HOST),
            ("http://a b/", HOST),
            ("http://a/b c", BYTES),
            ("http://a/\u{e9}", BYTES),
            ("http://a/\r\nX: y", BYTES),
        ];
        for (text, expected) in rows {
            let told = text.parse::<Url>().expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
