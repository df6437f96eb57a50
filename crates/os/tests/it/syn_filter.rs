//! A listening socket that admits a share of those who knock.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Instant;

use os::{Address, Blocking, Listener};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send,
    socket_with, sockopt,
};

use crate::connection::PATIENCE;

const BACKLOG: u32 = 4096;
const SALT: u32 = 7;

/// Whether only root may attach a filter to a socket here. If so, records that the calling test is
/// skipped.
#[track_caller]
fn lacks_filters() -> bool {
    match listener("127.0.0.1:0").admit(u16::MAX, SALT) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            harness::skip(format!("needs root, to attach a filter to a socket: {error}"));
            true
        }
        _ => false,
    }
}

#[test]
fn a_share_of_those_who_knock_is_admitted() {
    if lacks_filters() {
        return;
    }
    let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    for (listens_at, from) in [("127.0.0.1:0", v4), ("[::1]:0", v6), ("[::]:0", v6), ("0", v4)] {
        if listens_at.contains(':') && from.is_ipv6() && !has_ipv6() {
            harness::skip("needs IPv6");
            continue;
        }
        let listener = listener(listens_at);
        let knock = |n| knocks(&listener, from, n);
        assert_eq!(admitted(&knock(100)), 100, "{listens_at}: without a filter");
        for share in [0.1_f64, 0.5, 0.9] {
            listener.admit((share * 65_536.0) as u16, SALT).unwrap();
            let clients = knock(400);
            let (mean, deviation) = (400.0 * share, (400.0 * share * (1.0 - share)).sqrt());
            let off = (admitted(&clients) as f64 - mean).abs();
            assert!(off < 5.0 * deviation, "{listens_at}: {off} off {mean}");
        }
        listener.admit(0, SALT).unwrap();
        assert_eq!(admitted(&knock(100)), 0, "{listens_at}");
        listener.admit_all().unwrap();
        listener.admit_all().unwrap();
        assert_eq!(admitted(&knock(100)), 100, "{listens_at}: without it again");
    }
}

/// What is answered and then dropped looks to its client like a connection.
#[test]
fn a_handshake_that_nobody_ends_is_never_accepted() {
    if lacks_filters() {
        return;
    }
    let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = listener("127.0.0.1:0");
    listener.complete_nobody().unwrap();
    let clients = knocks(&listener, from, 20);
    assert_eq!(admitted(&clients), 20);
    assert!(listener.accept(Blocking::No).is_err());
    listener.admit_all().unwrap();
    assert_eq!(admitted(&knocks(&listener, from, 20)), 20);
    assert!(listener.accept(Blocking::No).is_ok());
}

/// One that a server which was killed has left is none of its owner's.
#[test]
fn a_filter_of_whoever_lent_the_socket_stays() {
    if lacks_filters() {
        return;
    }
    for is_ours in [true, false] {
        let lent = listener("127.0.0.1:0");
        match is_ours {
            true => lent.admit(1 << 10, SALT).unwrap(),
            false => refuse_everybody(lent.number()),
        }
        let taken = Listener::bind(&Address::Fd(lent.number()), BACKLOG).unwrap();
        let knock = || admitted(&knocks(&taken, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), 50));
        assert_eq!(knock(), if is_ours { 50 } else { 0 }, "ours: {is_ours}");
        assert_eq!(taken.admit(1 << 10, SALT).is_ok(), is_ours);
        taken.admit_all().unwrap();
        assert_eq!(knock(), if is_ours { 50 } else { 0 }, "ours: {is_ours}");
    }
}

/// By a filter of one instruction.
fn refuse_everybody(listener: std::os::fd::RawFd) {
    let mut program =
        [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 }];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program before the call returns.
    let done = unsafe {
        libc::setsockopt(
            listener,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            std::ptr::from_ref(&filter).cast(),
            size_of_val(&filter) as libc::socklen_t,
        )
    };
    assert_eq!(done, 0);
}

/// And another salt refuses others.
#[test]
fn who_is_refused_is_refused_again() {
    if lacks_filters() {
        return;
    }
    let listener = listener("127.0.0.1:0");
    listener.admit(1 << 15, SALT).unwrap();
    let places: Vec<SocketAddr> =
        knocks(&listener, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), 200)
            .iter()
            .map(|client| rustix::net::getsockname(client).unwrap().try_into().unwrap())
            .collect();
    let who = || {
        let clients = places.iter().flat_map(|place| knocks(&listener, *place, 1));
        are_admitted(&clients.collect::<Vec<_>>())
    };
    let first = who();
    assert_eq!(first, who());
    listener.admit(1 << 15, SALT + 1).unwrap();
    assert_ne!(first, who());
    // Whoever a share admits a greater one admits, too.
    listener.admit(3 << 14, SALT).unwrap();
    let more = who();
    assert!(first.iter().zip(&more).all(|(before, now)| !before || *now));
}

#[test]
fn who_was_admitted_goes_on() {
    if lacks_filters() {
        return;
    }
    let listener = listener("127.0.0.1:0");
    listener.admit(1 << 15, SALT).unwrap();
    let clients = knocks(&listener, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), 20);
    listener.admit(0, SALT).unwrap();
    for client in clients.iter().filter(|client| is_admitted(client)) {
        let socket = listener.accept(Blocking::Yes).unwrap();
        send(client, b"ping", SendFlags::empty()).unwrap();
        let mut bytes = [0; 4];
        recv(&socket, &mut bytes, RecvFlags::WAITALL).unwrap();
        send(&socket, b"pong", SendFlags::empty()).unwrap();
        let mut fds = [PollFd::new(client, PollFlags::IN)];
        poll(&mut fds, None).unwrap();
        assert_eq!(recv(client, &mut bytes, RecvFlags::empty()).unwrap().0, 4);
    }
}

fn listener(at: &str) -> Listener {
    Listener::bind(&at.parse::<Address>().unwrap(), BACKLOG).unwrap()
}

/// So many who connect from there, one behind the other. On loopback that is done, or the SYN was
/// dropped, when the call returns.
fn knocks(listener: &Listener, from: SocketAddr, n: usize) -> Vec<OwnedFd> {
    let address: SocketAddr = listener.local_address().unwrap().parse().unwrap();
    let to = SocketAddr::new(from.ip(), address.port());
    (0..n).map(|_| knock(from, to)).collect()
}

/// Dropping the connection resets it, which frees the port, unless another test just starts a
/// process: until that executes its program, it holds a copy of each socket of this one.
fn knock(from: SocketAddr, to: SocketAddr) -> OwnedFd {
    let started = Instant::now();
    loop {
        match connecting(from, to) {
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) if started.elapsed() < PATIENCE => {
                std::thread::yield_now();
            }
            begun => return begun.unwrap(),
        }
    }
}

fn connecting(from: SocketAddr, to: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if to.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let client = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO))?;
    sockopt::set_socket_reuseaddr(&client, true)?;
    bind(&client, &from)?;
    match connect(&client, &to) {
        Err(Errno::INPROGRESS) => Ok(client),
        done => done.map(|()| client),
    }
}

fn admitted(clients: &[OwnedFd]) -> usize {
    are_admitted(clients).into_iter().filter(|is_admitted| *is_admitted).count()
}

/// Which of these clients are connected. On loopback most are when `connect` returns, but a busy
/// kernel connects some later, so this looks until two looks agree.
fn are_admitted(clients: &[OwnedFd]) -> Vec<bool> {
    let mut before = None;
    loop {
        let now = clients.iter().map(is_admitted).collect();
        if before.as_ref() == Some(&now) {
            return now;
        }
        before = Some(now);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn is_admitted(client: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(client, PollFlags::OUT)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
}

fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}
