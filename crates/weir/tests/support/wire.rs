//! A raw client: bytes out, replies in. It shares no line of code with the server, so a mistake in
//! the server's reading of the RFC is not excused by the same mistake here.

use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net;

use super::PATIENCE;

/// Larger than any head that the server sends.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A connection, every byte of which is combined with `key` in both directions (0: plain).
pub(crate) struct Wire {
    stream: TcpStream,
    key: u8,
    /// Received and not yet taken.
    kept: Vec<u8>,
}

/// The head of a reply. Names of fields are in lower case, in the order they came.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
}

impl Wire {
    pub(crate) fn connect(to: SocketAddr, key: u8) -> io::Result<Self> {
        Self::new(TcpStream::connect_timeout(&to, PATIENCE)?, key)
    }

    /// Over IPv4, as a client that has room for few bytes at a time: the server sees at once
    /// whether they are taken.
    pub(crate) fn narrow(to: SocketAddr, key: u8, bytes: usize) -> io::Result<Self> {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None)?;
        // Before it connects: what was offered once is not taken back.
        net::sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
        net::connect(&socket, &to)?;
        Self::new(TcpStream::from(socket), key)
    }

    /// Over IPv4, as a client of this address.
    pub(crate) fn connect_from(from: Ipv4Addr, to: SocketAddr, key: u8) -> io::Result<Self> {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None)?;
        net::bind(&socket, &SocketAddr::from((from, 0)))?;
        net::connect(&socket, &to)?;
        Self::new(TcpStream::from(socket), key)
    }

    /// Over a Unix socket, which reads and writes as one of TCP does.
    pub(crate) fn connect_unix(to: &Path) -> io::Result<Self> {
        Self::patient(TcpStream::from(OwnedFd::from(UnixStream::connect(to)?)), 0)
    }

    fn new(stream: TcpStream, key: u8) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Self::patient(stream, key)
    }

    fn patient(stream: TcpStream, key: u8) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, key, kept: Vec::new() })
    }

    /// The same connection, so that one thread may send while another receives.
    pub(crate) fn twin(&self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.try_clone()?, key: self.key, kept: Vec::new() })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = match self.key {
            0 => self.stream.write_all(bytes),
            key => self.stream.write_all(&bytes.iter().map(|byte| byte ^ key).collect::<Vec<_>>()),
        };
        sent.map_err(|error| format!("sending failed: {error}"))
    }

    /// A whole GET over HTTP/1.1, with further `fields`, each ended by CRLF.
    pub(crate) fn get(&mut self, target: &str, fields: &str) -> Result<(), String> {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: weir.test\r\n{fields}\r\n").as_bytes())
    }

    /// Half a close: nothing more will be sent.
    pub(crate) fn fin(&self) -> Result<(), String> {
        self.stream.shutdown(Shutdown::Write).map_err(|error| format!("no FIN sent: {error}"))
    }

    /// Breaks off: what was sent may have come by then, and a reset follows it.
    pub(crate) fn reset(self) {
        let now = Some(std::time::Duration::ZERO);
        net::sockopt::set_socket_linger(&self.stream, now).expect("a socket");
    }

    /// Whether something came that was not taken.
    pub(crate) fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    pub(crate) fn local_address(&self) -> SocketAddr {
        self.stream.local_addr().expect("a socket")
    }

    pub(crate) fn set_patience(&self, patience: std::time::Duration) {
        self.stream.set_read_timeout(Some(patience)).expect("a timeout that is not zero");
    }

    /// The next head, read strictly by RFC 9112 sections 2 to 5.
    pub(crate) fn head(&mut self) -> Result<Head, String> {
        loop {
            if let Some(end) = self.kept.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.kept.drain(..end + 4).collect();
                return Head::parse(&head[..end + 2])
                    .map_err(|fault| format!("{fault}, in {}", head.escape_ascii()));
            }
            if self.kept.len() > HEAD_BYTES_MAX {
                return Err(format!("a head without end: {}", shown(&self.kept)));
            }
            if self.receive()? == 0 {
                return Err(format!("FIN where a reply was due, after {}", shown(&self.kept)));
            }
        }
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<Vec<u8>, String> {
        while self.kept.len() < count {
            if self.receive()? == 0 {
                return Err(format!("FIN after {} of {count} bytes", self.kept.len()));
            }
        }
        let rest = self.kept.split_off(count);
        Ok(mem::replace(&mut self.kept, rest))
    }

    /// What comes until FIN. An error tells how many bytes came before a reset.
    pub(crate) fn rest(&mut self) -> Result<usize, String> {
        let mut count = self.kept.len();
        loop {
            self.kept.clear();
            match self.receive() {
                Ok(0) => return Ok(count),
                Ok(more) => count += more,
                Err(fault) => return Err(format!("{fault} after {count} bytes")),
            }
        }
    }

    /// The end, by FIN and without a further byte.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        if self.kept.is_empty() && self.receive()? == 0 {
            return Ok(());
        }
        Err(format!("bytes where FIN was due: {}", shown(&self.kept)))
    }

    /// A reply that is framed by Content-Length, or has no content (`bodiless`).
    pub(crate) fn reply(&mut self, bodiless: bool) -> Result<(Head, Vec<u8>), String> {
        let head = self.head()?;
        if bodiless || head.status / 100 == 1 || head.status == 204 || head.status == 304 {
            return Ok((head, Vec::new()));
        }
        let length = head.length()?;
        let body = self.bytes(length)?;
        Ok((head, body))
    }

    fn receive(&mut self) -> Result<usize, String> {
        let mut buffer = [0; 64 << 10];
        let mut read = self.stream.read(&mut buffer);
        while read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
            read = self.stream.read(&mut buffer);
        }
        match read {
            Ok(count) => {
                let coded_at = self.kept.len();
                self.kept.extend_from_slice(&buffer[..count]);
                // Most connections are plain, and the tests receive gigabytes.
                if self.key != 0 {
                    self.kept[coded_at..].iter_mut().for_each(|byte| *byte ^= self.key);
                }
                Ok(count)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(format!("nothing came, after {}", shown(&self.kept)))
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                Err(format!("a reset, after {}", shown(&self.kept)))
            }
            Err(error) => Err(format!("receiving failed: {error}")),
        }
    }
}

impl Head {
    /// `text` ends with the CRLF of the last field line.
    fn parse(text: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(text).map_err(|_| "a head that is not ASCII")?;
        let mut lines = text.strip_suffix("\r\n").ok_or("no CRLF")?.split("\r\n");
        let line = lines.next().ok_or("no status line")?;
        // RFC 9112 4: the space after the status code is there also without a phrase.
        let code = line.strip_prefix("HTTP/1.1 ").ok_or("the version is not HTTP/1.1")?;
        let (code, _phrase) = code.split_once(' ').ok_or("no space after the status code")?;
        let is_code = code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit());
        let status = is_code.then(|| code.parse().ok()).flatten().ok_or("no status code")?;
        let fields = lines.map(field).collect::<Result<_, _>>()?;
        let head = Self { status, fields };
        head.judge()?;
        Ok(head)
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(this, _)| this == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn length(&self) -> Result<usize, String> {
        let value = self.field("content-length").ok_or("no Content-Length")?;
        value.parse().map_err(|_| format!("Content-Length {value:?}"))
    }

    pub(crate) fn closes(&self) -> bool {
        self.field("connection").is_some_and(|options| options.eq_ignore_ascii_case("close"))
    }

    /// What holds for every reply of an origin server, whatever was asked.
    fn judge(&self) -> Result<(), String> {
        for (at, (name, _)) in self.fields.iter().enumerate() {
            if self.fields[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(format!("{name} twice"));
            }
        }
        if self.field("transfer-encoding").is_some() {
            return Err("a file needs no Transfer-Encoding".into());
        }
        // RFC 9110 8.6.
        if (self.status / 100 == 1 || self.status == 204) && self.field("content-length").is_some()
        {
            return Err("Content-Length where no content can be".into());
        }
        // RFC 9110 6.6.1: an origin server with a clock sends Date in 2xx, 3xx and 4xx.
        if self.status >= 200 {
            let date = self.field("date").ok_or("no Date")?;
            if date.len() != 29 || !date.ends_with(" GMT") {
                return Err(format!("Date {date:?}"));
            }
        }
        // RFC 9110 15.5.6 and 15.3.7.
        if self.status == 405 && self.field("allow").is_none() {
            return Err("405 without Allow".into());
        }
        let several = self.field("content-type").is_some_and(|t| t.starts_with("multipart/byter"));
        if self.status == 206 && several == self.field("content-range").is_some() {
            return Err("206 with one part has Content-Range, with several has none".into());
        }
        Ok(())
    }
}

/// Where nobody listens, for as long as the socket is kept: it holds the port, so that nobody else
/// takes it and no connection is made from it.
pub(crate) fn nobody() -> (OwnedFd, SocketAddr) {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let address = net::getsockname(&socket).expect("its address").try_into();
    (socket, address.expect("one of IPv4"))
}

/// `name: value` without whitespace in the name, folding, or control characters.
fn field(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or_else(|| format!("no colon in {line:?}"))?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(format!("not a field name: {name:?}"));
    }
    if value.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(format!("a control character in {line:?}"));
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// The first bytes of what came, readable.
fn shown(bytes: &[u8]) -> String {
    let first = &bytes[..bytes.len().min(300)];
    format!("{} bytes \"{}\"", bytes.len(), first.escape_ascii())
}
