//! Connected sockets: what goes through, and how they end.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::connection::{Connection, PATIENCE};
use os::{Blocking, Directory, File, Listener, Opened, Socket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    Tcp,
    Unix,
}
const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Unix];

#[test]
fn bytes_arrive_in_order() {
    let rows: &[&[(&[u8], bool)]] = &[
        &[(b"abc", false)],
        &[(b"abc", true), (b"def", false)],
        &[(b"a", true), (b"b", true), (b"c", true)],
        &[(b"", false), (b"abc", false)],
        &[(&[7; 100_000], true), (&[8; 50_000], false)],
    ];
    for transport in TRANSPORTS {
        for (n, parts) in rows.iter().enumerate() {
            let (ours, theirs) = pair(transport, Blocking::Yes);
            let expected: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.to_vec()).collect();
            let reader = std::thread::spawn(move || read_all(theirs));
            for &(mut bytes, more) in *parts {
                while !bytes.is_empty() {
                    let sent = ours.send(bytes, more).unwrap();
                    bytes = &bytes[sent..];
                }
            }
            // What was held back goes out before FIN.
            ours.shutdown_write().unwrap();
            assert_eq!(reader.join().unwrap(), expected, "{transport:?}, row {n}");
        }
    }
}

#[test]
fn it_is_known_how_long_ago_bytes_came() {
    let (ours, theirs) = pair(Transport::Tcp, Blocking::Yes);
    let theirs = Socket::from(theirs);
    let age = || ours.since_received().expect("TCP tells");
    let old = Duration::from_millis(20);
    crate::connection::until(|| age() > old);
    crate::connection::until(|| {
        theirs.send(b"x", false).unwrap();
        age() < old
    });
    let (ours, _theirs) = pair(Transport::Unix, Blocking::Yes);
    assert_eq!(ours.since_received(), None);
}

/// A socket that does not wait takes what fits, says how much that was, and then nothing more.
#[test]
fn a_send_may_be_short() {
    let bytes: Vec<u8> = (0..64 << 20).map(|n: u32| (n / 251) as u8).collect();
    let (_directory, file) = file_of(&bytes);
    type Send<'a> = &'a dyn Fn(&Socket, usize) -> std::io::Result<usize>;
    let sends: [Send<'_>; 2] = [&|socket, at| socket.send(&bytes[at..], false), &|socket, at| {
        Ok(socket.send_file(&file, at as u64, u64::MAX)? as usize)
    }];
    for transport in TRANSPORTS {
        for (way, send) in sends.into_iter().enumerate() {
            let (ours, theirs) = pair(transport, Blocking::No);
            let mut sent = 0;
            let refused = loop {
                match send(&ours, sent) {
                    Ok(n) => sent += n,
                    Err(error) => break error,
                }
                assert!(sent < bytes.len(), "{transport:?}, way {way}: a queue without a bound");
            };
            assert_eq!(refused.kind(), ErrorKind::WouldBlock, "{transport:?}, way {way}");
            assert!(sent > 0);
            drop(ours);
            assert!(read_all(theirs) == bytes[..sent], "{transport:?}, way {way}");
        }
    }
}

/// Size of the file, from where, how much, and what goes.
#[test]
fn files_are_sent_from_anywhere() {
    const KB: u64 = 1 << 10;
    let rows = [
        (10, 0, 10, Ok(10)),
        (10, 0, u64::MAX, Ok(10)),
        (10, 0, 3, Ok(3)),
        (10, 3, 4, Ok(4)),
        (10, 3, 400, Ok(7)),
        (10, 9, 1, Ok(1)),
        (10, 10, 1, Ok(0)),
        (10, 11, 1, Ok(0)),
        (10, 1 << 40, 1, Ok(0)),
        (10, i64::MAX as u64, 1, Err(Errno::INVAL)),
        (10, u64::MAX, 1, Err(Errno::INVAL)),
        (0, 0, 10, Ok(0)),
        (10, 0, 0, Ok(0)),
        (40 * KB, 4095, 4098, Ok(4098)),
        (40 * KB, 4096, 8192, Ok(8192)),
        (40 * KB, 1, 40 * KB, Ok(40 * KB - 1)),
    ];
    for transport in TRANSPORTS {
        for (size, at, n, expected) in rows {
            let bytes: Vec<u8> = (0..size).map(|n| (n / 7) as u8).collect();
            let (_directory, file) = file_of(&bytes);
            let (ours, theirs) = pair(transport, Blocking::Yes);
            let sent = ours.send_file(&file, at, n);
            let sent = sent.map_err(|error| Errno::from_io_error(&error).unwrap());
            assert_eq!(sent, expected, "{transport:?}: {n} bytes at {at} of {size}");
            drop(ours);
            let end = at.saturating_add(sent.unwrap_or(0)).min(size) as usize;
            assert_eq!(read_all(theirs), bytes[end.min(at as usize)..end]);
        }
    }
}

/// A file that becomes shorter while it is sent ends where it ends now: no error, no wait, and no
/// bytes that never were in it.
#[test]
fn a_file_may_change_while_it_is_sent() {
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Send(u64, u64),
        Resize(u64),
    }
    use Step::{Resize, Send};
    let rows: &[&[Step]] = &[
        &[Send(6000, 6000), Resize(8000), Send(4000, 2000), Send(2000, 0)],
        &[Send(6000, 6000), Resize(6000), Send(4000, 0)],
        &[Send(6000, 6000), Resize(0), Send(4000, 0), Send(4000, 0)],
        &[Send(6000, 6000), Resize(0), Resize(10_000), Send(5000, 4000), Send(1, 0)],
        &[Resize(12_000), Send(12_000, 12_000)],
    ];
    for transport in TRANSPORTS {
        for steps in rows {
            let (directory, file) = file_of(&[b'x'; 10_000]);
            let writer = std::fs::File::options().write(true).open(directory.path().join("file"));
            let writer = writer.unwrap();
            let (ours, theirs) = pair(transport, Blocking::Yes);
            let mut sent = 0;
            for step in *steps {
                match *step {
                    Send(n, expected) => {
                        let now = ours.send_file(&file, sent, n).unwrap();
                        assert_eq!(now, expected, "{transport:?}, {steps:?}, {step:?}");
                        sent += now;
                    }
                    Resize(size) => writer.set_len(size).unwrap(),
                }
            }
            drop(ours);
            // Pages go by reference, so what was cut off after it was sent may have become zeros.
            let received = read_all(theirs);
            assert_eq!(received.len() as u64, sent, "{transport:?}, {steps:?}");
            assert!(received.iter().all(|&b| b == b'x' || b == 0), "{transport:?}, {steps:?}");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    Went(u64),
    Gone(Errno),
}

/// What the peer does, and what our calls say then, one after the other.
#[test]
fn a_peer_that_is_gone_is_told() {
    type Call = fn(&Socket, &File) -> std::io::Result<u64>;
    let recv: Call = |socket, _| socket.recv(&mut [0; 8]).map(|n| n as u64);
    let send: Call = |socket, _| socket.send(b"abc", false).map(|n| n as u64);
    let send_file: Call = |socket, file| socket.send_file(file, 0, 5);
    let shut: Call = |socket, _| socket.shutdown_write().map(|()| 0);
    let (went, gone) = (Told::Went, Told::Gone);
    let (reset, pipe) = (Errno::CONNRESET, Errno::PIPE);
    type Row<'a> = (&'a str, fn(Connection) -> (Socket, Option<TcpStream>), &'a [(Call, Told)]);
    let rows: [Row<'_>; 7] = [
        ("says FIN", fin, &[(recv, went(0)), (recv, went(0)), (send, went(3)), (shut, went(0))]),
        ("resets, receive", gone_by_reset, &[(recv, gone(reset)), (recv, went(0))]),
        ("resets, send", gone_by_reset, &[(send, gone(reset)), (send, gone(pipe))]),
        ("resets, file", gone_by_reset, &[(send_file, gone(reset)), (send_file, gone(pipe))]),
        ("resets, FIN", gone_by_reset, &[(shut, gone(Errno::NOTCONN))]),
        ("closed, and is sent something", closed, &[(send_file, gone(pipe)), (recv, went(0))]),
        ("listens, but we are done", finished, &[(send, gone(pipe)), (send_file, gone(pipe))]),
    ];
    let (_directory, file) = file_of(b"hello");
    for (name, depart, calls) in rows {
        let (ours, _theirs) = depart(Connection::new(Blocking::No));
        for (n, (call, expected)) in calls.iter().enumerate() {
            let told = match call(&ours, &file) {
                Ok(n) => Told::Went(n),
                Err(error) => {
                    assert!(os::is_peer_gone(&error), "{name}, call {n}: {error}");
                    Told::Gone(Errno::from_io_error(&error).unwrap())
                }
            };
            assert_eq!(told, *expected, "{name}, call {n}");
        }
    }
}

fn fin(mut connection: Connection) -> (Socket, Option<TcpStream>) {
    connection.hear_fin();
    (connection.ours, Some(connection.peer))
}

fn gone_by_reset(connection: Connection) -> (Socket, Option<TcpStream>) {
    (connection.hear_reset(), None)
}

/// It closed in good order, and answers what comes later by a reset.
fn closed(mut connection: Connection) -> (Socket, Option<TcpStream>) {
    connection.hear_fin();
    let Connection { ours, peer } = connection;
    drop(peer);
    ours.send(b"abc", false).unwrap();
    let mut watched = [PollFd::new(&ours, PollFlags::empty())];
    assert_eq!(poll(&mut watched, Some(&PATIENCE.try_into().unwrap())), Ok(1));
    (ours, None)
}

fn finished(connection: Connection) -> (Socket, Option<TcpStream>) {
    connection.ours.shutdown_write().unwrap();
    (connection.ours, Some(connection.peer))
}

#[test]
fn a_close_says_fin_or_reset() {
    for resets in [false, true] {
        let Connection { ours, mut peer } = Connection::new(Blocking::No);
        ours.send(b"abc", false).unwrap();
        if resets {
            ours.reset_on_close();
        }
        drop(ours);
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut received = Vec::new();
        let ended = peer.read_to_end(&mut received).map_err(|error| error.kind());
        if resets {
            assert_eq!(ended, Err(ErrorKind::ConnectionReset));
        } else {
            assert_eq!((ended, received.as_slice()), (Ok(3), b"abc".as_slice()));
        }
    }
}

/// Whether it waits already or is about to.
#[test]
fn another_thread_ends_a_receive() {
    let ends: [fn(&Socket); 2] =
        [|socket| socket.shutdown_read().unwrap(), |socket| socket.shutdown_both().unwrap()];
    for transport in TRANSPORTS {
        for end in ends {
            let (ours, theirs) = pair(transport, Blocking::Yes);
            std::thread::scope(|scope| {
                let receiver = scope.spawn(|| ours.recv(&mut [0]));
                end(&ours);
                assert_eq!(receiver.join().unwrap().unwrap(), 0, "{transport:?}");
            });
            drop(theirs);
        }
    }
}

/// Who has shut one direction still has the other.
#[test]
fn directions_are_shut_apart() {
    for transport in TRANSPORTS {
        let (ours, theirs) = pair(transport, Blocking::Yes);
        let mut theirs = std::fs::File::from(theirs);
        ours.shutdown_write().unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0, "{transport:?}");
        theirs.write_all(b"abc").unwrap();
        assert_eq!(ours.recv(&mut [0; 8]).unwrap(), 3, "{transport:?}");
        ours.send(b"abc", false).unwrap_err();
    }
}

/// The shortest there are, so that waiting for them costs nothing.
#[test]
fn blocking_calls_give_up() {
    let soon = Duration::from_nanos(1);
    for transport in TRANSPORTS {
        let (ours, theirs) = pair(transport, Blocking::Yes);
        for timeout in [soon, Duration::ZERO] {
            ours.set_receive_timeout(timeout).unwrap();
            let error = ours.recv(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{transport:?}");
        }
        let error =
            std::iter::repeat_with(|| ours.send_now(&[0; 1 << 16], false)).find_map(Result::err);
        assert_eq!(error.unwrap().kind(), ErrorKind::WouldBlock, "{transport:?}");
        assert!(!ours.is_readable_first(true, Some(soon)).unwrap(), "{transport:?}");
        ours.set_receive_timeout(Duration::MAX).unwrap();
        // Taken off again, the next receive waits until there is something.
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| ours.recv(&mut [0; 8]));
            rustix::io::write(&theirs, b"abc").unwrap();
            assert_eq!(receiver.join().unwrap().unwrap(), 3, "{transport:?}");
            rustix::io::write(&theirs, b"abc").unwrap();
            assert!(ours.is_readable_first(true, None).unwrap(), "{transport:?}");
        });
    }
}

/// Where to listen, whom the peer calls, and as whom it is seen.
#[test]
fn peers_have_addresses() {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let rows = [
        ("127.0.0.1:0", v4, v4),
        ("[::1]:0", v6, v6),
        (":0", v6, v6),
        // It comes as ::ffff:127.0.0.1.
        (":0", v4, v4),
    ];
    let has_ipv6 = TcpListener::bind((v6, 0)).is_ok();
    for (text, called, seen) in rows {
        if !has_ipv6 && text != "127.0.0.1:0" {
            harness::skip("needs IPv6");
            continue;
        }
        let listener = Listener::bind(&text.parse().unwrap(), 1).unwrap();
        let address = listener.local_address().unwrap();
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let peer = TcpStream::connect((called, port)).unwrap();
        assert_eq!(os::wait_readable([listener.as_fd()], Some(PATIENCE)).unwrap(), [true]);
        let socket = listener.accept(Blocking::No).unwrap();
        assert_eq!(socket.peer_ip(), Some(seen), "{text}");
        assert_eq!(socket.peer_user(), Some(os::users::effective().0), "{text}");
        let told = socket.peer().unwrap();
        assert_eq!(
            (told.ip().to_canonical(), told.port()),
            (seen, peer.local_addr().unwrap().port())
        );
        assert_eq!(socket.id(), socket.as_fd().as_raw_fd() as u32);
    }
    let (unix, _theirs) = pair(Transport::Unix, Blocking::No);
    assert_eq!((unix.peer(), unix.peer_ip()), (None, None));
    assert_eq!(unix.peer_user(), Some(os::users::effective().0));
    let gone = Connection::new(Blocking::No).hear_reset();
    assert_eq!((gone.peer(), gone.peer_ip()), (None, None));
}

fn pair(transport: Transport, blocking: Blocking) -> (Socket, OwnedFd) {
    match transport {
        Transport::Tcp => {
            let Connection { ours, peer } = Connection::new(blocking);
            (ours, peer.into())
        }
        Transport::Unix => {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(blocking == Blocking::No).unwrap();
            (Socket::from(OwnedFd::from(ours)), theirs.into())
        }
    }
}

fn read_all(fd: OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::fs::File::from(fd).read_to_end(&mut bytes).unwrap();
    bytes
}

fn file_of(bytes: &[u8]) -> (tempfile::TempDir, File) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), bytes).unwrap();
    let Opened::File(file, _) = open(directory.path()) else { panic!("it is a file") };
    (directory, file)
}

fn open(directory: &Path) -> Opened {
    Directory::open(directory).unwrap().open_beneath(b"file").unwrap()
}
