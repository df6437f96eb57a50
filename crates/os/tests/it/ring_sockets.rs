//! What the sockets of a ring are: slots of its own, or descriptors that it owns and lends.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::connection::PATIENCE;
use crate::stage::{LISTENER, Said, Stage, file, lacks_rings, on_each};
use os::ring::{Done, How, Takes};
use os::{Address, Listener};

#[test]
fn without_a_free_slot_nothing_is_accepted() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::new();
    let _peers: Vec<_> = (0..9).map(|_| stage.connect()).collect();
    stage.ring.accept(&stage.listener, LISTENER, Takes::Many).unwrap();
    for _ in 0..8 {
        assert_eq!(stage.next(), (LISTENER, true, Said::Accepted));
    }
    assert_eq!(stage.next(), (LISTENER, false, Said::Failed(Some(libc::ENFILE))));
    assert!(os::is_out_of_descriptors(&std::io::Error::from_raw_os_error(libc::ENFILE)));
}

#[test]
fn an_installed_socket_is_the_same_connection() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::new();
    let (handle, mut peer) = stage.pair();
    stage.ring.install(handle, 7).unwrap();
    stage.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
    let Some(Done::Installed(Ok(socket))) = stage.ring.completion().map(|c| c.done) else {
        panic!("not installed")
    };
    assert_eq!(socket.send(b"x", false).unwrap(), 1);
    peer.read_exact(&mut [0]).unwrap();
    let flags = rustix::io::fcntl_getfd(socket.as_fd()).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
}

#[test]
fn a_closed_handle_ends_its_connection_and_serves_again() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::new();
    for _ in 0..20 {
        let (handle, mut peer) = stage.pair();
        assert_eq!(handle.slot(), 0);
        stage.ring.close(handle).unwrap();
        stage.nothing_is_there();
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn ordinary_descriptors_are_lent_for_calls_and_closed_by_the_ring() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::ordinary();
    let (handle, mut peer) = stage.pair();
    let socket = stage.ring.socket(handle).expect("an ordinary one");
    let flags = rustix::io::fcntl_getfd(socket.as_fd()).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    assert_eq!(socket.peer(), Some(peer.local_addr().unwrap()));
    let received = socket.recv(&mut [0]).map_err(|e| e.kind());
    assert_eq!(received, Err(std::io::ErrorKind::WouldBlock), "calls do not wait");
    assert_eq!(socket.send_file(&file(b"0123456789"), 2, 3).unwrap(), 3);
    let mut heard = [0; 3];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"234");
    // And its operations wait, whatever calls do.
    stage.ring.recv(handle, 7).unwrap();
    stage.nothing_is_there();
    peer.write_all(b"x").unwrap();
    assert_eq!(stage.next(), (7, true, Said::Received(b"x".to_vec())));
    stage.ring.cancel(7).unwrap();
    assert_eq!(stage.next(), (7, false, Said::Failed(Some(libc::ECANCELED))));
    stage.ring.close(handle).unwrap();
    assert!(stage.ring.socket(handle).is_none());
    stage.ring.close(handle).unwrap();
    stage.nothing_is_there();
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "closed");
}

#[test]
fn operations_on_a_closed_handle_name_nothing_of_the_process() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::ordinary();
    let (handle, _peer) = stage.pair();
    stage.ring.close(handle).unwrap();
    stage.ring.submit_and_wait(0, None).unwrap();
    // Its number is somebody else's by now.
    let other = TcpStream::connect(&stage.address).unwrap();
    stage.ring.send(handle, Arc::from(*b"x"), (0, 1), false, 7).unwrap();
    assert_eq!(stage.next(), (7, false, Said::Failed(Some(libc::EBADF))));
    stage.ring.recv(handle, 8).unwrap();
    assert_eq!(stage.next(), (8, false, Said::Failed(Some(libc::EBADF))));
    drop(other);
}

#[test]
fn a_ring_that_is_dropped_closes_its_descriptors() {
    if lacks_rings() {
        return;
    }
    // Some are accepted and looked at, some are not, and some were to be closed just now.
    let mut stage = Stage::ordinary();
    let (_open, mut first) = stage.pair();
    let (closing, mut second) = stage.pair();
    let mut third = stage.connect();
    stage.ring.accept(&stage.listener, LISTENER, Takes::Many).unwrap();
    stage.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
    stage.ring.close(closing).unwrap();
    let Stage { ring, listener, .. } = stage;
    drop(ring);
    for peer in [&mut first, &mut second, &mut third] {
        assert_eq!(peer.read(&mut [0]).unwrap_or(0), 0, "closed");
    }
    assert_eq!(Arc::strong_count(&listener), 1, "given back");
}

#[test]
fn an_accept_of_one_tells_who_it_is() {
    if lacks_rings() {
        return;
    }
    for at in ["127.0.0.1:0", "0"] {
        on_each(|mut stage| {
            let listener = Listener::bind(&at.parse::<Address>().unwrap(), 4).unwrap();
            let address = listener.local_address().unwrap().replace("[::]", "127.0.0.1");
            let listener = Arc::new(listener);
            for takes in [Takes::OneAndWho, Takes::One] {
                let _peer = TcpStream::connect(&address).unwrap();
                stage.ring.accept(&listener, LISTENER, takes).unwrap();
                stage.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
                let Some(Done::Accepted(Ok((_, ip)))) = stage.ring.completion().map(|c| c.done)
                else {
                    panic!("not accepted")
                };
                let is_told = takes == Takes::OneAndWho;
                assert_eq!(ip, is_told.then_some(Ipv4Addr::LOCALHOST.into()), "{at}");
            }
        });
    }
}

#[test]
fn room_for_bytes_is_told_once_they_have_been_taken() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::ordinary();
    let (handle, mut peer) = stage.pair();
    stage.ring.poll_writable(handle, 7).unwrap();
    assert_eq!(stage.next(), (7, false, Said::Writable));
    let bytes = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while let Ok(n) = stage.ring.socket(handle).expect("open").send(&bytes, false) {
        sent += n;
    }
    stage.ring.poll_writable(handle, 8).unwrap();
    stage.nothing_is_there();
    let mut heard = vec![0; sent];
    peer.read_exact(&mut heard).unwrap();
    assert_eq!(stage.next(), (8, false, Said::Writable));
}

#[test]
fn who_waits_for_room_hears_of_a_shutdown() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, _peer) = stage.pair();
        let bytes: Arc<[u8]> = vec![b'x'; 16 << 20].into();
        let length = bytes.len();
        stage.ring.send(handle, bytes, (0, length), false, 6).unwrap();
        assert!(matches!(stage.next(), (6, false, Said::Sent(_))));
        stage.ring.poll_writable(handle, 7).unwrap();
        stage.nothing_is_there();
        stage.ring.shutdown(handle, How::Both, 8).unwrap();
        let mut ends = [stage.next(), stage.next()];
        ends.sort_by_key(|end| end.0);
        assert_eq!(ends, [(7, false, Said::Writable), (8, false, Said::Shut)]);
    });
}
