//! Listening sockets: where they listen, what they refuse, and what waits in their queues.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use crate::connection::{PATIENCE, until};
use os::{Address, Blocking, Listener, Queue};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, FdFlags, fcntl_getfd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

const BACKLOG: u32 = 16;

/// Where to listen, where that turns out to be, and who gets through.
#[test]
fn every_form_of_address_is_bound() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("127.0.0.1:0", "127.0.0.1:", &["127.0.0.1"]),
        ("127.1.2.3:0", "127.1.2.3:", &["127.1.2.3"]),
        ("0.0.0.0:0", "0.0.0.0:", &["127.0.0.1", "127.1.2.3"]),
        ("[::1]:0", "[::1]:", &["[::1]"]),
        ("[::]:0", "[::]:", &["[::1]"]),
        (":0", "[::]:", &["[::1]", "127.0.0.1"]),
        ("0", "[::]:", &["[::1]", "127.0.0.1"]),
        ("localhost:0", "", &["localhost"]),
    ];
    for (text, place, hosts) in rows {
        if place.contains("::") && !has_ipv6() {
            harness::skip("needs IPv6");
            continue;
        }
        if text.starts_with("localhost") && lacks_localhost() {
            continue;
        }
        let listener = bind(text);
        let told = listener.local_address().unwrap();
        let (_, port) = told.rsplit_once(':').unwrap();
        assert!(told.starts_with(place), "{text}: {told}");
        assert_ne!(port, "0", "{text}");
        for host in *hosts {
            let mut peer = TcpStream::connect(format!("{host}:{port}")).expect(text);
            wait_for(&listener);
            greets(&listener, &mut peer);
        }
    }
}

/// So that both can be given side by side.
#[test]
fn all_of_ipv6_leaves_ipv4_alone() {
    if !has_ipv6() {
        return harness::skip("needs IPv6");
    }
    // A port that is free for the one may be taken for the other.
    let pair = || {
        let v6 = bind("[::]:0");
        let port = v6.local_address().unwrap().parse::<SocketAddr>().unwrap().port();
        let v4 = Listener::bind(&format!("0.0.0.0:{port}").parse().unwrap(), BACKLOG).ok()?;
        Some((v6, v4, port))
    };
    let (v6, v4, port) = std::iter::repeat_with(pair).take(100).find_map(|pair| pair).unwrap();
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    wait_for(&v4);
    assert_eq!(refusal(&v6), ErrorKind::WouldBlock);
    greets(&v4, &mut peer);
}

#[test]
fn unix_sockets_are_bound() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b.sock");
    let text = format!("unix:{}", path.display());
    // The first leaves its file, and nobody listens there when the second comes.
    for _ in 0..2 {
        let listener = bind(&text);
        assert_eq!(listener.local_address().unwrap(), text);
        let mut peer = UnixStream::connect(&path).unwrap();
        wait_for(&listener);
        greets(&listener, &mut peer);
        assert!(listener.listens());
        listener.stop().unwrap();
        assert!(!listener.listens());
    }
    assert!(path.exists());
}

#[test]
fn unix_sockets_replace_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let _live = UnixListener::bind(place("live")).unwrap();
    std::fs::write(place("file"), "precious").unwrap();
    std::fs::create_dir(place("directory")).unwrap();
    drop(UnixListener::bind(place("stale")).unwrap());
    std::os::unix::fs::symlink(place("stale"), place("link")).unwrap();
    std::os::unix::fs::symlink(place("nowhere"), place("dangling")).unwrap();
    let rows = [
        ("live", Errno::ADDRINUSE),
        ("file", Errno::ADDRINUSE),
        ("directory", Errno::ADDRINUSE),
        ("link", Errno::ADDRINUSE),
        ("dangling", Errno::ADDRINUSE),
        ("missing/a", Errno::NOENT),
        ("file/a", Errno::NOTDIR),
    ];
    let listing = || {
        let mut names: Vec<_> = place("").read_dir().unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        names
    };
    let before = listing();
    for (name, expected) in rows {
        let error = Listener::bind(&Address::Unix(place(name).into()), BACKLOG).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(expected), "{name}: {error}");
    }
    assert_eq!(listing(), before);
    assert_eq!(std::fs::read(place("file")).unwrap(), b"precious");
    let too_long = Address::Unix(Path::new("/").join("x".repeat(108)).into());
    Listener::bind(&too_long, BACKLOG).unwrap_err();
}

#[test]
fn the_file_of_a_unix_socket_is_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let [path, moved] = ["site", "moved"].map(|name| directory.path().join(name));
    let at = |options: &str| format!("unix:{}{options}", path.display());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let listener = bind(&at(",mode=0600"));
    assert_eq!(mode(&path), 0o600);
    listener.set_access(&at("").parse().unwrap()).unwrap();
    assert_eq!(mode(&path), 0o666);
    // Another has its name.
    std::fs::rename(&path, &moved).unwrap();
    let _another = UnixListener::bind(&path).unwrap();
    let before = mode(&path);
    listener.set_access(&at(",mode=0600").parse().unwrap()).unwrap_err();
    listener.remove_file();
    assert_eq!((mode(&path), mode(&moved)), (before, 0o666));
    std::fs::rename(&moved, &path).unwrap();
    listener.remove_file();
    assert!(!path.exists());
    let missing = at(",group=no such");
    for judged in [Listener::bind(&missing.parse().unwrap(), BACKLOG).map(drop), {
        Listener::probe(&missing.parse().unwrap())
    }] {
        let said = judged.unwrap_err();
        assert!(said.to_string().contains("no such"), "{said}");
    }
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_bound_is_told() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let rows = [
        (taken.as_str(), Errno::ADDRINUSE),
        // An address that documents use (RFC 5737).
        ("192.0.2.1:0", Errno::ADDRNOTAVAIL),
    ];
    for (text, expected) in rows {
        let error = Listener::bind(&text.parse().unwrap(), BACKLOG).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(expected), "{text}: {error}");
    }
    // Whoever asks for all addresses gets all of them or none.
    let port = taken.rsplit_once(':').unwrap().1;
    let error = Listener::bind(&port.parse().unwrap(), BACKLOG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    if has_ipv6() {
        // That IPv4 alone would be free is no reason to take it.
        let v6 = bind("[::]:0");
        let port = v6.local_address().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        let error = Listener::bind(&port, BACKLOG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    }
}

#[test]
fn a_listener_is_handed_over() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
    let inherited = inherit(tcp.as_raw_fd()).unwrap();
    assert_eq!(inherited.local_address().unwrap(), tcp.local_addr().unwrap().to_string());
    assert_ne!(inherited.as_fd().as_raw_fd(), tcp.as_raw_fd());
    // What was made blocking and for others to inherit is neither any more.
    for fd in [inherited.as_fd(), tcp.as_fd()] {
        assert!(fcntl_getfd(fd).unwrap().contains(FdFlags::CLOEXEC));
        assert!(fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK));
    }
    wait_for(&inherited);
    greets(&inherited, &mut peer);
    // The queue goes on where it was, and ends with the last who has it.
    drop(tcp);
    let mut peer = TcpStream::connect(inherited.local_address().unwrap()).unwrap();
    wait_for(&inherited);
    greets(&inherited, &mut peer);

    let directory = tempfile::tempdir().unwrap();
    let unix = UnixListener::bind(directory.path().join("a")).unwrap();
    let mut peer = UnixStream::connect(directory.path().join("a")).unwrap();
    greets(&inherit(unix.as_raw_fd()).unwrap(), &mut peer);
}

#[test]
fn who_comes_after_the_end_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    let unix = format!("unix:{}", path.display());
    let (tcp, unix) = (bind("127.0.0.1:0"), bind(&unix));
    let address = tcp.local_address().unwrap();
    for listener in [&tcp, &unix] {
        listener.stop().unwrap();
        assert_eq!(refusal(listener), ErrorKind::WouldBlock);
    }
    let refused = [TcpStream::connect(address).err(), UnixStream::connect(path).err()];
    for error in refused {
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::ConnectionRefused));
    }
    // One that others have, too, goes on.
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let lent = inherit(tcp.as_raw_fd()).unwrap();
    lent.queue_nobody().unwrap();
    lent.stop().unwrap();
    let peers = [(); 3].map(|()| TcpStream::connect(tcp.local_addr().unwrap()).unwrap());
    for mut peer in peers {
        greets(&lent, &mut peer);
    }
}

#[test]
fn what_is_no_listener_is_not_taken_over() {
    let connection = crate::connection::Connection::new(Blocking::Yes);
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let flags = SocketFlags::CLOEXEC;
    let fresh = |kind| rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None).unwrap();
    let (stream, packets) = (fresh(SocketType::STREAM), fresh(SocketType::SEQPACKET));
    let directory = tempfile::tempdir().unwrap();
    let address = SocketAddrUnix::new(directory.path().join("packets")).unwrap();
    rustix::net::bind(&packets, &address).unwrap();
    rustix::net::listen(&packets, 1).unwrap();
    let rows = [
        ("not a descriptor", -1),
        ("not open", RawFd::MAX),
        ("closed", fresh(SocketType::STREAM).as_raw_fd() + 100_000),
        ("a file", file.as_raw_fd()),
        ("datagrams", datagrams.as_raw_fd()),
        ("connected", connection.ours.as_fd().as_raw_fd()),
        ("not listening", stream.as_raw_fd()),
        ("listens for packets", packets.as_raw_fd()),
    ];
    for (name, fd) in rows {
        let error = inherit(fd).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
    }
    assert!(!fcntl_getfl(&connection.peer).unwrap().contains(OFlags::NONBLOCK), "left alone");
}

/// In the order they came, with calls that wait or do not, and packets sent without delay.
#[test]
fn connections_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let path = format!("unix:{}", directory.path().join("a").display());
    for text in ["127.0.0.1:0", path.as_str()] {
        let listener = bind(text);
        assert_eq!(refusal(&listener), ErrorKind::WouldBlock);
        let rows = [Blocking::No, Blocking::Yes, Blocking::Yes, Blocking::No];
        let mut peers: Vec<OwnedFd> = Vec::new();
        for n in 0..rows.len() {
            let peer = connect(&listener);
            rustix::io::write(&peer, &[n as u8]).unwrap();
            peers.push(peer);
        }
        for (n, blocking) in rows.into_iter().enumerate() {
            wait_for(&listener);
            let socket = listener.accept(blocking).unwrap();
            wait_for(&socket);
            let mut received = [0; 2];
            assert_eq!(socket.recv(&mut received).unwrap(), 1);
            assert_eq!(usize::from(received[0]), n, "{text}");
            let waits = !fcntl_getfl(&socket).unwrap().contains(OFlags::NONBLOCK);
            assert_eq!(waits, blocking == Blocking::Yes, "{text}");
            assert!(fcntl_getfd(&socket).unwrap().contains(FdFlags::CLOEXEC), "{text}");
            assert_eq!(sockopt::tcp_nodelay(&socket).ok(), is_tcp(text).then_some(true));
        }
        assert_eq!(refusal(&listener), ErrorKind::WouldBlock);
    }
}

#[test]
fn connections_inherit_how_they_send() {
    const KB: usize = 1 << 10;
    let directory = tempfile::tempdir().unwrap();
    let path = format!("unix:{}", directory.path().join("a").display());
    for text in ["127.0.0.1:0", path.as_str()] {
        let listener = bind(text);
        let accepted = || {
            let _peer = connect(&listener);
            wait_for(&listener);
            let socket = listener.accept(Blocking::No).unwrap();
            let bytes = sockopt::socket_send_buffer_size(&socket).unwrap();
            (sockopt::tcp_nodelay(&socket).ok(), bytes)
        };
        let (_, auto) = accepted();
        for (nodelay, kb) in [(false, Some(16)), (true, Some(100)), (false, None), (true, None)] {
            listener.set_nodelay(nodelay).unwrap();
            listener.set_send_buffer(kb.map(|kb| kb << 10)).unwrap();
            let expected = match kb {
                Some(kb) if is_tcp(text) => 2 * kb as usize * KB,
                _ => auto,
            };
            assert_eq!(accepted(), (is_tcp(text).then_some(nodelay), expected), "{text} {kb:?}");
        }
    }
}

/// Linux hands it over all the same; its first call tells.
#[test]
fn a_connection_reset_while_it_waited_is_told_gone() {
    let listener = bind("127.0.0.1:0");
    let reset = TcpStream::connect(listener.local_address().unwrap()).unwrap();
    wait_for(&listener);
    sockopt::set_socket_linger(&reset, Some(std::time::Duration::ZERO)).unwrap();
    drop(reset);
    let mut next = TcpStream::connect(listener.local_address().unwrap()).unwrap();
    let socket = listener.accept(Blocking::No).unwrap();
    wait_for(&socket);
    let error = socket.recv(&mut [0]).unwrap_err();
    assert!(os::is_peer_gone(&error), "{error}");
    greets(&listener, &mut next);
}

#[test]
fn a_queue_tells_its_length() {
    let listener = bind("127.0.0.1:0");
    let queue = |length, max| Queue { length, max, drops: 0 };
    assert_eq!(listener.queue().unwrap(), queue(0, BACKLOG));
    let _peers: Vec<OwnedFd> = (1..=5)
        .map(|length| {
            let peer = connect(&listener);
            until(|| listener.queue().unwrap() == queue(length, BACKLOG));
            peer
        })
        .collect();
    for length in (0..5).rev() {
        listener.accept(Blocking::No).unwrap();
        assert_eq!(listener.queue().unwrap(), queue(length, BACKLOG));
    }
    for (asked, told) in [(1, 1), (7, 7), (u32::MAX, os::limits::somaxconn())] {
        listener.set_backlog(asked).unwrap();
        assert_eq!(listener.queue().unwrap().max, told);
    }
    let directory = tempfile::tempdir().unwrap();
    let unix = bind(&format!("unix:{}", directory.path().join("a").display()));
    let _peer = connect(&unix);
    assert_eq!(unix.queue().unwrap(), Queue::default());
}

/// The queue takes one more than its bound, and the next attempt is dropped, which the listener
/// and the machine count.
#[test]
fn a_full_queue_drops() {
    let listener = bind("127.0.0.1:0");
    listener.set_backlog(1).unwrap();
    let before = os::queue_drops::queue_drops().unwrap();
    let _peers = [connect(&listener), connect(&listener)];
    until(|| listener.queue().unwrap() == Queue { length: 2, max: 1, drops: 0 });
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let third =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    let address: SocketAddr = listener.local_address().unwrap().parse().unwrap();
    assert_eq!(rustix::net::connect(&third, &address), Err(Errno::INPROGRESS));
    until(|| listener.queue().unwrap().drops > 0);
    let after = os::queue_drops::queue_drops().unwrap();
    assert!(after.listen_overflows > before.listen_overflows, "{before:?}, {after:?}");
    assert!(after.listen_drops > before.listen_drops, "{before:?}, {after:?}");
}

/// Who sends first comes first, though the other was there before.
#[test]
fn the_silent_are_kept_in_the_kernel() {
    let listener = bind("127.0.0.1:0");
    listener.defer_accept(60).unwrap();
    let mut silent = TcpStream::connect(listener.local_address().unwrap()).unwrap();
    for _ in 0..2 {
        let mut talker = TcpStream::connect(listener.local_address().unwrap()).unwrap();
        talker.write_all(b"a").unwrap();
        wait_for(&listener);
        let accepted = listener.accept(Blocking::No).unwrap();
        assert_eq!(accepted.peer(), Some(talker.local_addr().unwrap()));
        assert_eq!(accepted.recv(&mut [0; 2]).unwrap(), 1, "the bytes are there already");
    }
    silent.write_all(b"b").unwrap();
    wait_for(&listener);
    greets(&listener, &mut silent);

    let directory = tempfile::tempdir().unwrap();
    let unix = bind(&format!("unix:{}", directory.path().join("a").display()));
    unix.defer_accept(60).unwrap();
    unix.defer_accept(u32::MAX).unwrap();
    let _peer = connect(&unix);
    wait_for(&unix);
}

/// Also by those that inherit nothing; without a timeout a receive would wait for ever.
#[test]
fn connections_have_their_timeout_from_their_listener() {
    let directory = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}", directory.path().join("a").display());
    for text in ["127.0.0.1:0", &unix] {
        let listener = bind(text);
        let soon = Duration::from_millis(1);
        listener.set_timeouts(soon, soon).unwrap();
        let _peer = connect(&listener);
        wait_for(&listener);
        let accepted = listener.accept(Blocking::Yes).unwrap();
        assert_eq!(accepted.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "{text}");
        let full = std::iter::repeat_with(|| accepted.send(&[0; 1 << 16], false));
        let error = { full }.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{text}");
    }
}

fn bind(text: &str) -> Listener {
    Listener::bind(&text.parse().unwrap(), BACKLOG).unwrap()
}

fn inherit(fd: RawFd) -> std::io::Result<Listener> {
    Listener::bind(&Address::Fd(fd), BACKLOG)
}

fn connect(listener: &Listener) -> OwnedFd {
    let address = listener.local_address().unwrap();
    match address.strip_prefix("unix:") {
        Some(path) => UnixStream::connect(path).unwrap().into(),
        None => TcpStream::connect(address).unwrap().into(),
    }
}

/// Accepts, and lets the other end hear of it.
fn greets(listener: &Listener, peer: &mut impl Read) {
    let socket = listener.accept(Blocking::No).unwrap();
    assert_eq!(socket.send(b"hello", false).unwrap(), 5);
    drop(socket);
    let mut heard = [0; 5];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
}

fn refusal(listener: &Listener) -> ErrorKind {
    listener.accept(Blocking::No).unwrap_err().kind()
}

fn wait_for(fd: &impl AsFd) {
    assert_eq!(os::wait_readable([fd.as_fd()], Some(PATIENCE)).unwrap(), [true]);
}

fn is_tcp(text: &str) -> bool {
    !text.starts_with("unix:")
}

fn has_ipv6() -> bool {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// Whether `localhost` cannot be resolved, as without /etc/hosts. If so, records that the calling
/// test is skipped.
#[track_caller]
pub(crate) fn lacks_localhost() -> bool {
    let lacks = ("localhost", 0).to_socket_addrs().is_err();
    if lacks {
        harness::skip("needs the name localhost (/etc/hosts)");
    }
    lacks
}
