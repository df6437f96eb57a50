//! What happens when no descriptor is left.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use crate::connection::PATIENCE;
use os::poller::{Mechanism, Poller};
use os::{Blocking, Directory, Listener, Signal, Signals, SpareDescriptor, Wake};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(crate) fn everything_says_that_none_is_left() {
    let listener = listener();
    let here = Directory::open("/".as_ref()).unwrap();
    let _waits = TcpStream::connect(listener.local_address().unwrap()).unwrap();
    let fd = os::Address::Fd(listener.as_fd().as_raw_fd());
    type Attempt<'a> = &'a dyn Fn() -> Option<std::io::Error>;
    let rows: [(&str, Attempt<'_>); 9] = [
        ("accept", &|| listener.accept(Blocking::No).err()),
        ("bind", &|| Listener::bind(&"127.0.0.1:0".parse().unwrap(), 1).err()),
        ("inherit", &|| Listener::bind(&fd, 1).err()),
        ("directory", &|| Directory::open("/".as_ref()).err()),
        ("open", &|| here.open_beneath(b"").err()),
        ("stat", &|| here.stat_beneath(b"").err()),
        ("wake", &|| Wake::new().err()),
        ("epoll", &|| Poller::new(Mechanism::Epoll, 1).err()),
        ("spare", &|| SpareDescriptor::new().err()),
    ];
    without_descriptors(|| {
        for (name, attempt) in rows {
            let error = attempt().expect(name);
            assert!(os::is_out_of_descriptors(&error), "{name}: {error}");
        }
        let Err(error) = Signals::take(&[Signal::Usr1]) else { panic!("signals") };
        assert!(os::is_out_of_descriptors(&error), "{error}");
    });
    // It was not lost, and signals were not taken for nothing.
    listener.accept(Blocking::No).unwrap();
}

pub(crate) fn connections_are_refused_one_by_one() {
    let listener = listener();
    let mut spare = SpareDescriptor::new().unwrap();
    // Who has sent something unread is told by a reset, who has not by FIN.
    let mut peers: Vec<(TcpStream, bool)> = Vec::new();
    for sends in [false, true, true, false] {
        let mut peer = TcpStream::connect(listener.local_address().unwrap()).unwrap();
        if sends {
            peer.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        }
        peers.push((peer, sends));
    }
    wait_for(&listener);
    without_descriptors(|| {
        for (n, (peer, sends)) in peers.iter_mut().enumerate() {
            let error = listener.accept(Blocking::No).unwrap_err();
            assert!(os::is_out_of_descriptors(&error), "{error}");
            assert!(spare.refuse(&listener), "peer {n}");
            let told = peer.read(&mut [0]).map_err(|error| error.kind());
            let expected = if *sends { Err(ErrorKind::ConnectionReset) } else { Ok(0) };
            assert_eq!(told, expected, "peer {n}");
        }
    });
    assert_eq!(listener.accept(Blocking::No).unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) fn nobody_is_refused_where_nobody_waits() {
    let listener = listener();
    let mut spare = SpareDescriptor::new().unwrap();
    without_descriptors(|| {
        // The kernel looks for a descriptor first, and only then into the queue.
        let error = listener.accept(Blocking::No).unwrap_err();
        assert!(os::is_out_of_descriptors(&error), "{error}");
        for _ in 0..2 {
            assert!(!spare.refuse(&listener));
        }
    });
}

/// Somebody else took it between: the next time there is none, until one comes free.
pub(crate) fn the_spare_one_comes_back() {
    let listener = listener();
    let mut spare = SpareDescriptor::new().unwrap();
    let connect = || {
        let peer = TcpStream::connect(listener.local_address().unwrap()).unwrap();
        wait_for(&listener);
        peer
    };
    let _peers = [connect(), connect()];
    // Below it, nothing is free and nothing may be taken any more.
    let before = lower_limit(0);
    assert!(!spare.refuse(&listener), "given up, and not to be had again");
    assert!(!spare.refuse(&listener), "there is none");
    raise_limit(before);
    without_descriptors(|| assert!(!spare.refuse(&listener), "still none"));
    assert!(spare.refuse(&listener), "one is free");
    without_descriptors(|| assert!(spare.refuse(&listener), "kept since"));
}

fn listener() -> Listener {
    Listener::bind(&"127.0.0.1:0".parse().unwrap(), 16).unwrap()
}

fn wait_for(listener: &Listener) {
    assert_eq!(os::wait_readable([listener.as_fd()], Some(PATIENCE)).unwrap(), [true]);
}

/// Does something while every descriptor that this process may have is in use.
fn without_descriptors(act: impl FnOnce()) {
    let next = rustix::io::dup(std::io::stdin()).unwrap().as_raw_fd();
    let before = lower_limit(next as u64);
    act();
    raise_limit(before);
}

fn lower_limit(descriptors: u64) -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let lowered = Rlimit { current: Some(descriptors), ..before };
    setrlimit(Resource::Nofile, lowered).unwrap();
    before
}

fn raise_limit(before: Rlimit) {
    setrlimit(Resource::Nofile, before).unwrap();
}
