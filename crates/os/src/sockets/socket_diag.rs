//! What the kernel tells of others' sockets (sock_diag(7)): the one place outside of the owner's
//! process that has the drops of a listening socket, and the user of a connection's other end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::retry_on_intr;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// A listening TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// What tells it from every other while the machine runs.
    pub inode: u32,
    /// Where it listens.
    pub at: SocketAddr,
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// How many may.
    pub backlog: u32,
    /// Packets that it dropped (sk_drops), since it listens.
    pub drops: u32,
}

/// The listening TCP sockets of the calling thread's network namespace, IPv4 and IPv6.
///
/// # Errors
/// A kernel without INET_DIAG (`NotFound`), or without netlink.
pub fn listening() -> io::Result<Vec<Listening>> {
    let mut all = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let socket = ask(REQUEST_DUMP, family, (1 << LISTENING, 1 << (MEMORY - 1)), &[0; ID])?;
        answers(&socket, &mut all)?;
    }
    Ok(all)
}

/// One end of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// As in /proc/PID/fd; 0 once its owner has closed it.
    pub inode: u32,
    /// Who made it; 0 also where the owner has closed it.
    user: u32,
    is_established: bool,
}

/// The user who made the TCP socket that is bound to `own` and connected to `peer`, in the network
/// namespace of the calling thread.
///
/// # Errors
/// As [`end_of`]; its owner has closed it (`NotFound`).
pub(super) fn user_of(own: SocketAddr, peer: SocketAddr) -> io::Result<u32> {
    match end_of(own, peer)? {
        End { inode: 1.., user, is_established: true } => Ok(user),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The TCP socket that is bound to `own` and connected to `peer`, in the network namespace of the
/// calling thread.
///
/// # Errors
/// As [`listening`]; there is no such socket (`NotFound`).
pub fn end_of(own: SocketAddr, peer: SocketAddr) -> io::Result<End> {
    let (own_ip, peer_ip) = (own.ip().to_canonical(), peer.ip().to_canonical());
    let family = if own_ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut id = [0; ID];
    for (place, port) in [(0, own.port()), (2, peer.port())] {
        id[place..place + 2].copy_from_slice(&port.to_be_bytes());
    }
    for (place, ip) in [(4, own_ip), (20, peer_ip)] {
        match ip {
            IpAddr::V4(ip) => id[place..place + 4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => id[place..place + 16].copy_from_slice(&ip.octets()),
        }
    }
    // On any interface; with any cookie (INET_DIAG_NOCOOKIE).
    id[40..].fill(0xff);
    let socket = ask(REQUEST, family, (u32::MAX, 0), &id)?;
    let mut buffer = vec![0; MESSAGE_BYTES];
    let (_, length) = retry_on_intr(|| recv(&socket, &mut buffer[..], RecvFlags::empty()))?;
    end(buffer.get(..length).unwrap_or_default())
}

/// Asks for sockets in these states, with extensions; returns where the answer comes.
fn ask(
    flags: u16,
    family: AddressFamily,
    (states, extensions): (u32, u8),
    id: &[u8],
) -> io::Result<OwnedFd> {
    let own = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, own, Some(SOCK_DIAG))?;
    let request = request(flags, family.as_raw() as u8, (states, extensions), id);
    let kernel = SocketAddrNetlink::new(0, 0);
    retry_on_intr(|| sendto(&socket, &request, SendFlags::empty(), &kernel))?;
    Ok(socket)
}

/// Messages of one answer: a listener takes about 130 bytes, so that this is far more than a
/// machine has.
const MESSAGES_MAX: usize = 4096;

/// The kernel fills at most this much at once (NLMSG_GOODSIZE is a page, a dump up to 32 KiB).
const MESSAGE_BYTES: usize = 32 << 10;

fn answers(socket: &OwnedFd, all: &mut Vec<Listening>) -> io::Result<()> {
    let mut buffer = vec![0; MESSAGE_BYTES];
    for _ in 0..MESSAGES_MAX {
        let (_, length) = retry_on_intr(|| recv(socket, &mut buffer[..], RecvFlags::empty()))?;
        if parse(buffer.get(..length).unwrap_or_default(), all)? == Dump::Ended {
            return Ok(());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// SOCK_DIAG_BY_FAMILY, from linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// NLMSG_ERROR and NLMSG_DONE, from linux/netlink.h.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Of linux/netlink.h: NLM_F_REQUEST, and with NLM_F_DUMP.
const REQUEST: u16 = 0x1;
const REQUEST_DUMP: u16 = 0x301;
/// INET_DIAG_SKMEMINFO, from linux/inet_diag.h; place 8 of it is SK_MEMINFO_DROPS.
const MEMORY: u16 = 7;
const MEMORY_DROPS: usize = 8;
const TCP: u8 = 6;
/// Of linux/tcp_states.h.
const ESTABLISHED: u8 = 1;
const LISTENING: u8 = 10;

const HEADER: usize = 16;
/// struct inet_diag_msg.
const BODY: usize = 72;

/// struct inet_diag_sockid.
const ID: usize = 48;
/// Places in struct inet_diag_msg.
const STATE_AT: usize = 1;
const USER_AT: usize = 64;
const INODE_AT: usize = 68;

/// nlmsghdr and inet_diag_req_v2.
fn request(flags: u16, family: u8, (states, extensions): (u32, u8), id: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&72_u32.to_ne_bytes());
    bytes.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[family, TCP, extensions, 0]);
    bytes.extend_from_slice(&states.to_ne_bytes());
    bytes.extend_from_slice(id);
    bytes
}

/// The one socket that an answer tells of.
fn end(bytes: &[u8]) -> io::Result<End> {
    let length = u32_at(bytes, 0)? as usize;
    let message = bytes.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
    match u16_at(bytes, 4)? {
        // Where there is no such connection, the kernel tells of the socket that listens there.
        BY_FAMILY if message.get(STATE_AT) == Some(&LISTENING) => {
            Err(io::ErrorKind::NotFound.into())
        }
        BY_FAMILY => Ok(End {
            inode: u32_at(message, INODE_AT)?,
            user: u32_at(message, USER_AT)?,
            is_established: message.get(STATE_AT) == Some(&ESTABLISHED),
        }),
        ERROR => Err(refusal(message)?),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Of an NLMSG_ERROR.
fn refusal(message: &[u8]) -> io::Result<io::Error> {
    let code = u32_at(message, 0)?.cast_signed();
    Ok(io::Error::from_raw_os_error(code.saturating_neg()))
}

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dump {
    GoesOn,
    Ended,
}

fn parse(mut bytes: &[u8], all: &mut Vec<Listening>) -> io::Result<Dump> {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0)? as usize;
        let message = bytes.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
        match u16_at(bytes, 4)? {
            DONE => return Ok(Dump::Ended),
            ERROR => return Err(refusal(message)?),
            BY_FAMILY => all.push(listener(message)?),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(Dump::GoesOn)
}

/// struct inet_diag_msg and the attributes after it.
fn listener(message: &[u8]) -> io::Result<Listening> {
    let mut listening = Listening {
        inode: u32_at(message, INODE_AT)?,
        at: own_address(message).ok_or(io::ErrorKind::InvalidData)?,
        waiting: u32_at(message, 56)?,
        backlog: u32_at(message, 60)?,
        drops: 0,
    };
    let mut attributes = message.get(BODY..).unwrap_or_default();
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0)?);
        let value = attributes.get(4..length).ok_or(io::ErrorKind::InvalidData)?;
        if u16_at(attributes, 2)? == MEMORY {
            listening.drops = u32_at(value, MEMORY_DROPS * 4)?;
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(listening)
}

fn own_address(message: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    let ip = if u16::from(*message.first()?) == AddressFamily::INET6.as_raw() {
        IpAddr::from(<[u8; 16]>::try_from(message.get(8..24)?).ok()?)
    } else {
        IpAddr::from(<[u8; 4]>::try_from(message.get(8..12)?).ok()?)
    };
    Some(SocketAddr::new(ip, port))
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map(u32::from_ne_bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map(u16::from_ne_bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = (HEADER + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn answers_are_read_and_nothing_else_is_believed() {
        let mut body = vec![0; BODY];
        body[0] = AddressFamily::INET.as_raw() as u8;
        body[8] = 127;
        body[11] = 1;
        body[4..6].copy_from_slice(&8080_u16.to_be_bytes());
        body[56] = 3;
        body[60] = 128;
        body[68] = 77;
        let mut memory = [40_u16.to_ne_bytes(), MEMORY.to_ne_bytes()].concat();
        memory.resize(40, 0);
        memory[4 + 32] = 9;
        let other = [6_u16.to_ne_bytes(), 1_u16.to_ne_bytes(), [1, 2], [0, 0]].concat();
        let full = [body.clone(), other, memory].concat();
        let at = "127.0.0.1:8080".parse().unwrap();
        let expected = Listening { inode: 77, at, waiting: 3, backlog: 128, drops: 9 };
        let plain = Listening { drops: 0, ..expected };
        let endless = [body.clone(), vec![0; 8]].concat();
        let error = message(ERROR, &(-2_i32).to_ne_bytes());
        let rows = [
            (message(BY_FAMILY, &full), Ok((Dump::GoesOn, vec![expected]))),
            (message(BY_FAMILY, &body), Ok((Dump::GoesOn, vec![plain]))),
            (
                [message(BY_FAMILY, &full), message(DONE, &[0; 4])].concat(),
                Ok((Dump::Ended, vec![expected])),
            ),
            (error, Err(io::ErrorKind::NotFound)),
            (message(BY_FAMILY, &endless), Err(io::ErrorKind::InvalidData)),
            (message(BY_FAMILY, &body[..40]), Err(io::ErrorKind::InvalidData)),
            (vec![0; HEADER], Err(io::ErrorKind::InvalidData)),
            (vec![255; HEADER], Err(io::ErrorKind::InvalidData)),
            (vec![1, 2, 3], Ok((Dump::GoesOn, vec![]))),
        ];
        for (bytes, expected) in rows {
            let mut all = Vec::new();
            let told = parse(&bytes, &mut all).map(|dump| (dump, all)).map_err(|e| e.kind());
            assert_eq!(told, expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_user_of_the_other_end_is_known() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            let to = if address == "[::1]:0" {
                format!("[::1]:{port}")
            } else {
                format!("127.0.0.1:{port}")
            };
            let client = TcpStream::connect(to).unwrap();
            let (served, _) = listener.accept().unwrap();
            let (own, peer) = (served.peer_addr().unwrap(), served.local_addr().unwrap());
            assert_eq!(user_of(own, peer).unwrap(), crate::users::effective().0, "{address}");
            assert_ne!(end_of(own, peer).unwrap().inode, 0, "{address}");
            // The same without an owner.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(user_of(own, peer).unwrap_err().kind(), io::ErrorKind::NotFound);
            // There is none; the kernel would tell of the listening socket instead.
            let other = SocketAddr::new(own.ip(), 1);
            for (own, peer) in [(other, peer), (peer, other)] {
                assert_eq!(end_of(own, peer).unwrap_err().kind(), io::ErrorKind::NotFound);
            }
        }
        let error = message(ERROR, &(-1_i32).to_ne_bytes());
        assert_eq!(end(&error).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        for bytes in [&[][..], &[0; HEADER], &[255; HEADER], &message(BY_FAMILY, &[0; 20])] {
            assert_eq!(end(bytes).unwrap_err().kind(), io::ErrorKind::InvalidData, "{bytes:?}");
        }
    }

    #[test]
    fn a_listener_and_who_waits_for_it_are_seen() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let at = listener.local_addr().unwrap();
            let _waits = TcpStream::connect(at).unwrap();
            let all = listening().unwrap();
            let ours: Vec<_> = all.iter().filter(|one| one.at == at).collect();
            assert_eq!(ours.len(), 1, "{all:?}");
            assert_eq!((ours[0].waiting, ours[0].drops), (1, 0), "{address}");
        }
    }
}
