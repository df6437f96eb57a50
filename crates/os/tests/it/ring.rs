//! The ring against real sockets and files: what is submitted comes back once, with the bytes, in
//! whatever order things are closed, cancelled and dropped.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use crate::connection::PATIENCE;
use crate::stage::{LISTENER, SETTINGS, Said, Stage, file, lacks_rings, on_each};
use os::Wake;
use os::ring::{Done, How, RingSettings, SetUp, Takes};

#[test]
fn one_accept_takes_one_connection_and_many_take_all() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let peers = [stage.connect(), stage.connect(), stage.connect()];
        stage.ring.accept(&stage.listener, LISTENER, Takes::One).unwrap();
        assert_eq!(stage.next(), (LISTENER, false, Said::Accepted));
        stage.nothing_is_there();
        stage.ring.accept(&stage.listener, LISTENER, Takes::Many).unwrap();
        assert_eq!(stage.next(), (LISTENER, true, Said::Accepted));
        assert_eq!(stage.next(), (LISTENER, true, Said::Accepted));
        stage.nothing_is_there();
        stage.ring.cancel(LISTENER).unwrap();
        assert_eq!(stage.next(), (LISTENER, false, Said::Failed(Some(libc::ECANCELED))));
        drop(peers);
    });
}

#[test]
fn an_accept_that_waits_first_takes_who_is_there_and_who_comes() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        for takes in [Takes::One, Takes::OneAndWho] {
            let there = stage.connect();
            stage.ring.await_accept(&stage.listener, LISTENER, takes).unwrap();
            assert_eq!(stage.next(), (LISTENER, false, Said::Accepted));
            stage.ring.await_accept(&stage.listener, LISTENER, takes).unwrap();
            stage.nothing_is_there();
            let comes = stage.connect();
            assert_eq!(stage.next(), (LISTENER, false, Said::Accepted));
            drop((there, comes));
        }
        stage.ring.await_accept(&stage.listener, LISTENER, Takes::One).unwrap();
        stage.nothing_is_there();
        stage.ring.cancel(LISTENER).unwrap();
        assert_eq!(stage.next(), (LISTENER, false, Said::Failed(Some(libc::ECANCELED))));
    });
}

#[test]
fn a_receive_goes_on_until_fin() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        stage.ring.recv(handle, 7).unwrap();
        // More often than there are buffers: each comes back.
        for n in 0..20_u8 {
            peer.write_all(&[n; 5]).unwrap();
            assert_eq!(stage.next(), (7, true, Said::Received(vec![n; 5])));
        }
        peer.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stage.next(), (7, false, Said::Received(Vec::new())));
    });
}

#[test]
fn what_no_buffer_was_free_for_comes_with_the_next_receive() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        let bytes: Vec<u8> = (0..200).collect();
        peer.write_all(&bytes).unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        stage.ring.recv(handle, 7).unwrap();
        let mut received = Vec::new();
        let mut ran_out = 0;
        loop {
            match stage.next() {
                (7, _, Said::Received(end)) if end.is_empty() => break,
                (7, more, Said::Received(some)) => {
                    assert!(some.len() <= 16);
                    received.extend(some);
                    if !more {
                        stage.ring.recv(handle, 7).unwrap();
                    }
                }
                (7, false, Said::Failed(Some(libc::ENOBUFS))) => {
                    ran_out += 1;
                    stage.ring.recv(handle, 7).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(received, bytes);
        assert!(ran_out > 0, "200 bytes fitted into 4 buffers of 16");
    });
}

#[test]
fn bytes_are_sent_from_where_to_where_it_says_also_when_their_owner_is_gone() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        let bytes: Arc<[u8]> = Arc::from(*b"0123456789");
        stage.ring.send(handle, bytes.clone(), (2, 5), true, 7).unwrap();
        stage.ring.send(handle, bytes, (5, 10), false, 8).unwrap();
        assert_eq!(stage.next(), (7, false, Said::Sent(3)));
        assert_eq!(stage.next(), (8, false, Said::Sent(5)));
        let mut heard = [0; 8];
        peer.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"23456789");
    });
}

#[test]
fn fin_follows_the_last_byte() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        // More than the socket's buffers take at once, so that the first send must wait.
        let bytes: Arc<[u8]> = vec![b'x'; 8 << 20].into();
        let length = bytes.len();
        stage.ring.send_then_shut(handle, bytes, (0, length), 7).unwrap();
        let reader = std::thread::spawn(move || {
            let mut heard = Vec::new();
            peer.read_to_end(&mut heard).unwrap();
            heard.len()
        });
        assert_eq!(stage.next(), (7, false, Said::Sent(length)));
        assert_eq!(stage.next(), (7, false, Said::Shut));
        assert_eq!(reader.join().unwrap(), length);
    });
}

#[test]
fn no_fin_follows_a_send_that_failed() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, _peer) = stage.pair();
        stage.ring.shutdown(handle, How::Write, 6).unwrap();
        assert_eq!(stage.next(), (6, false, Said::Shut));
        stage.ring.send_then_shut(handle, Arc::from(*b"late"), (0, 4), 7).unwrap();
        assert_eq!(stage.next(), (7, false, Said::Failed(Some(libc::EPIPE))));
        assert_eq!(stage.next(), (7, false, Said::Failed(Some(libc::ECANCELED))));
    });
}

#[test]
fn a_shutdown_of_both_directions_ends_what_is_received() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        stage.ring.recv(handle, 7).unwrap();
        stage.nothing_is_there();
        stage.ring.shutdown(handle, How::Both, 8).unwrap();
        let mut ends = [stage.next(), stage.next()];
        ends.sort_by_key(|end| end.0);
        let expected = [(7, false, Said::Received(Vec::new())), (8, false, Said::Shut)];
        assert_eq!(ends, expected);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_file_is_read_as_far_as_it_goes() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let file = file(b"0123456789");
        let rows: [(u64, usize, &[u8]); 5] =
            [(0, 10, b"0123456789"), (3, 4, b"3456"), (8, 10, b"89"), (10, 4, b""), (0, 0, b"")];
        for (at, bytes, expected) in rows {
            stage.ring.read(&file, at, bytes, 7).unwrap();
            assert_eq!(stage.next(), (7, false, Said::Read(expected.to_vec())), "{at} {bytes}");
        }
        stage.ring.read(&file, 2, 4, 8).unwrap();
        drop(file);
        assert_eq!(stage.next(), (8, false, Said::Read(b"2345".to_vec())), "its owner is gone");
    });
}

#[test]
fn a_wake_is_reported_once() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let wake = Arc::new(Wake::new().unwrap());
        stage.ring.poll(&wake, 7).unwrap();
        stage.nothing_is_there();
        wake.wake();
        assert_eq!(stage.next(), (7, false, Said::Ready));
        stage.nothing_is_there();
    });
}

#[test]
fn cancelling_ends_what_has_the_token_and_nothing_else() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (first, _first_peer) = stage.pair();
        let (second, mut second_peer) = stage.pair();
        stage.ring.recv(first, 7).unwrap();
        stage.ring.recv(second, 8).unwrap();
        stage.nothing_is_there();
        stage.ring.cancel(7).unwrap();
        stage.ring.cancel(99).unwrap();
        assert_eq!(stage.next(), (7, false, Said::Failed(Some(libc::ECANCELED))));
        second_peer.write_all(b"x").unwrap();
        assert_eq!(stage.next(), (8, true, Said::Received(b"x".to_vec())));
    });
}

#[test]
fn more_may_be_begun_at_once_than_the_queue_holds() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let file = file(b"0123456789");
        for token in 0..1000 {
            stage.ring.read(&file, token % 10, 1, token).unwrap();
        }
        let mut seen = vec![false; 1000];
        for _ in 0..1000 {
            let (token, more, said) = stage.next();
            assert_eq!((more, said), (false, Said::Read(vec![b'0' + (token % 10) as u8])));
            assert!(!std::mem::replace(&mut seen[token as usize], true), "{token} came twice");
        }
        stage.nothing_is_there();
    });
}

#[test]
fn a_ring_may_be_dropped_with_all_sorts_in_flight() {
    if lacks_rings() {
        return;
    }
    for submitted in [false, true] {
        on_each(|mut stage| {
            let (first, mut first_peer) = stage.pair();
            let (second, mut second_peer) = stage.pair();
            let wake = Arc::new(Wake::new().unwrap());
            stage.ring.accept(&stage.listener, LISTENER, Takes::Many).unwrap();
            stage.ring.recv(first, 1).unwrap();
            stage.ring.poll(&wake, 2).unwrap();
            stage.ring.read(&file(&[b'x'; 100_000]), 0, 100_000, 3).unwrap();
            // Never received: it waits for room.
            let bytes: Arc<[u8]> = vec![b'x'; 16 << 20].into();
            stage.ring.send_then_shut(second, bytes.clone(), (0, 16 << 20), 4).unwrap();
            if submitted {
                stage.ring.submit_and_wait(0, None).unwrap();
            }
            drop(stage);
            assert_eq!(Arc::strong_count(&bytes), 1, "given back");
            assert_eq!(Arc::strong_count(&wake), 1, "given back");
            assert_eq!(first_peer.read(&mut [0]).unwrap_or(0), 0);
            second_peer.read_to_end(&mut Vec::new()).unwrap_or(0);
        });
    }
}

#[test]
fn a_lent_buffer_may_be_in_hand_when_the_ring_is_dropped() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let (handle, mut peer) = stage.pair();
        peer.write_all(b"x").unwrap();
        stage.ring.recv(handle, 7).unwrap();
        stage.ring.submit_and_wait(1, Some(PATIENCE)).unwrap();
        let completion = stage.ring.completion().unwrap();
        assert!(matches!(completion.done, Done::Received(Ok(b"x"))));
    });
}

#[test]
fn what_is_performed_at_once_is_there_without_a_wait() {
    if lacks_rings() {
        return;
    }
    let mut stage = Stage::with(&RingSettings { set_up: SetUp::Cooperative, ..SETTINGS });
    stage.ring.submit().unwrap();
    stage.nothing_is_there();
    let (handle, _client) = stage.pair();
    stage.ring.send(handle, Arc::from(*b"abc"), (0, 3), false, 7).unwrap();
    stage.ring.submit().unwrap();
    stage.ring.take_entered();
    let completion = stage.ring.completion().expect("sent in that call");
    assert!(matches!(completion.done, Done::Sent(Ok(3))), "{completion:?}");
    assert_eq!(stage.ring.take_entered(), 0);
    stage.ring.submit_and_wait(0, None).unwrap();
    assert_eq!(stage.ring.take_entered(), 1);
}

/// A queue of completions that is too small loses none: the kernel keeps them, which is counted.
#[test]
fn completions_that_find_no_room_come_later() {
    if lacks_rings() {
        return;
    }
    const MANY: u64 = 20;
    let set_up = SetUp::Cooperative;
    let settings = RingSettings { entries: 4, completions: 4, set_up, ..SETTINGS };
    let mut stage = Stage::with(&settings);
    let wake = Arc::new(Wake::new().unwrap());
    wake.wake();
    for token in 0..MANY {
        stage.ring.poll(&wake, token).unwrap();
        stage.ring.submit().unwrap();
    }
    assert!(stage.ring.take_overflowed() > 0, "20 have room where there is room for 4");
    let mut seen: Vec<_> = (0..MANY).map(|_| stage.next().0).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..MANY));
}

#[test]
fn a_wait_ends_with_its_time() {
    if lacks_rings() {
        return;
    }
    on_each(|mut stage| {
        let wake = Arc::new(Wake::new().unwrap());
        stage.ring.poll(&wake, 7).unwrap();
        stage.ring.submit_and_wait(1, Some(std::time::Duration::from_millis(1))).unwrap();
        assert!(stage.ring.completion().is_none());
    });
}
