//! Signals, read one after the other.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use os::poller::{Mechanism, Poller};
use os::process::{self, Exit, Fork, Pid};
use os::{Directory, Opened, Signal, Signals, Socket};
use rustix::process::{WaitId, WaitIdOptions, getpid, kill_process, waitid};

const ALL: [Signal; 6] =
    [Signal::Term, Signal::Int, Signal::Hup, Signal::Usr1, Signal::Usr2, Signal::Child];

/// What is sent, in this order, and what is read: each sort once, the lower number first.
pub(crate) fn signals_are_read() {
    use Signal::{Child, Hup, Int, Term, Usr1, Usr2};
    let rows: &[(&[Signal], &[Signal])] = &[
        (&[], &[]),
        (&[Term], &[Term]),
        (&[Int], &[Int]),
        (&[Hup], &[Hup]),
        (&[Usr1], &[Usr1]),
        (&[Usr2], &[Usr2]),
        (&[Child], &[Child]),
        (&[Term, Term], &[Term]),
        (&[Term, Int], &[Int, Term]),
        (&[Usr2, Usr1, Usr2], &[Usr1, Usr2]),
        (&[Child, Hup], &[Hup, Child]),
        (&[Child, Usr2, Term, Usr1, Int, Hup], &[Hup, Int, Usr1, Usr2, Term, Child]),
    ];
    for (sent, read) in rows {
        let signals = Signals::take(&ALL).unwrap();
        for &signal in *sent {
            send(getpid(), signal);
        }
        let seen: Vec<Signal> = std::iter::from_fn(|| signals.next().unwrap()).collect();
        assert_eq!(&seen, read, "{sent:?}");
        assert_eq!(signals.wait(Some(Duration::ZERO)).unwrap(), None);
        signals.release().unwrap();
    }
}

/// A signal that others have taken waits for them.
pub(crate) fn what_was_not_taken_is_not_read() {
    let all = Signals::take(&ALL).unwrap();
    let one = Signals::take(&[Signal::Usr1]).unwrap();
    send(getpid(), Signal::Usr2);
    assert_eq!(one.next().unwrap(), None);
    assert_eq!(one.wait(Some(Duration::ZERO)).unwrap(), None);
    assert_eq!(all.next().unwrap(), Some(Signal::Usr2));
    send(getpid(), Signal::Usr1);
    assert_eq!(one.next().unwrap(), Some(Signal::Usr1));
    assert_eq!(all.next().unwrap(), None, "read already");
    all.release().unwrap();
}

pub(crate) fn a_wait_ends_with_a_signal() {
    let signals = Signals::take(&ALL).unwrap();
    let ours = getpid();
    let child = child(|| {
        send(ours, Signal::Hup);
        process::exit(0);
    });
    assert_eq!(signals.wait(None).unwrap(), Some(Signal::Hup));
    assert_eq!(end_of(child), Exit::Status(0));
    assert_eq!(signals.wait(None).unwrap(), Some(Signal::Child));
    signals.release().unwrap();
}

pub(crate) fn pollers_see_signals() {
    let signals = Signals::take(&ALL).unwrap();
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, 4).unwrap();
        poller.add_level(&signals, 1).unwrap();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), [], "{mechanism}");
        send(getpid(), Signal::Term);
        let events = poller.wait(None).unwrap();
        assert!(events.len() == 1 && events[0].readable, "{mechanism}: {events:?}");
        assert_eq!(signals.next().unwrap(), Some(Signal::Term));
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap(), [], "{mechanism}");
    }
    signals.release().unwrap();
}

/// However many end before it is read, it is one.
pub(crate) fn a_child_that_ends_is_a_signal() {
    let signals = Signals::take(&[Signal::Child]).unwrap();
    for count in 1..=3 {
        let children: Vec<Pid> = (0..count).map(|_| child(|| process::exit(0))).collect();
        for child in children {
            assert_eq!(end_of(child), Exit::Status(0));
        }
        assert_eq!(signals.wait(None).unwrap(), Some(Signal::Child));
        assert_eq!(signals.next().unwrap(), None, "{count}");
    }
    signals.release().unwrap();
}

/// What a child does with its signals before one of them comes, and how that ends it.
pub(crate) fn released_signals_have_their_effect() {
    let rows: [(&[Signal], Signal, Exit); 4] = [
        (&[Signal::Term], Signal::Term, Exit::Killed(15)),
        (&ALL, Signal::Usr1, Exit::Killed(10)),
        (&[Signal::Term], Signal::Usr1, Exit::Status(0)),
        (&[], Signal::Usr1, Exit::Status(0)),
    ];
    for (released, sent, expected) in rows {
        let signals = Signals::take(&ALL).unwrap();
        let child = child(|| {
            Signals::take(released).unwrap().release().unwrap();
            send(getpid(), sent);
            process::exit(0);
        });
        assert_eq!(end_of(child), expected, "{released:?}, {sent:?}");
        assert_eq!(signals.wait(None).unwrap(), Some(Signal::Child));
        signals.release().unwrap();
    }
}

/// Each process reads what was sent to it, from the same descriptor.
pub(crate) fn children_go_on_taking_signals() {
    let signals = Signals::take(&[Signal::Term, Signal::Hup]).unwrap();
    let ours = getpid();
    let child = child(|| {
        send(ours, Signal::Term);
        let seen = signals.wait(None).unwrap();
        process::exit(i32::from(seen != Some(Signal::Hup)));
    });
    process::signal(child, Signal::Hup).unwrap();
    assert_eq!(signals.wait(None).unwrap(), Some(Signal::Term));
    assert_eq!(end_of(child), Exit::Status(0));
    assert_eq!(signals.next().unwrap(), None);
    let watched = os::wait_readable([signals.as_fd()], Some(Duration::ZERO)).unwrap();
    assert_eq!(watched, [false]);
    signals.release().unwrap();
}

/// By SIGPIPE, which the library ignores before main() and programs may let through again: a send
/// never raises it, and sending a file does not once signals were taken.
pub(crate) fn nobody_dies_of_a_peer_that_left() {
    const DIED: Exit = Exit::Killed(13);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "hello").unwrap();
    let opened = Directory::open(directory.path()).unwrap().open_beneath(b"file").unwrap();
    let Opened::File(file, _) = opened else { panic!("{opened:?}") };
    type Call<'a> = &'a dyn Fn(&Socket) -> std::io::Result<u64>;
    let send: Call<'_> = &|socket| socket.send(b"abc", false).map(|n| n as u64);
    let send_file: Call<'_> = &|socket| socket.send_file(&file, 0, 5);
    let rows = [
        (send, false, Exit::Status(0)),
        (send, true, Exit::Status(0)),
        (send_file, false, DIED),
        (send_file, true, Exit::Status(0)),
    ];
    for (n, (call, takes, expected)) in rows.into_iter().enumerate() {
        let child = child(|| {
            // SAFETY: the default effect runs no code of ours.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            let _signals = takes.then(|| Signals::take(&[]).unwrap());
            let (ours, theirs) = UnixStream::pair().unwrap();
            drop(theirs);
            let error = call(&Socket::from(OwnedFd::from(ours))).unwrap_err();
            process::exit(i32::from(!os::is_peer_gone(&error)));
        });
        assert_eq!(end_of(child), expected, "row {n}");
    }
}

/// Forks one that does `live`, and ends badly if it comes back or panics.
fn child(live: impl FnOnce()) -> Pid {
    match process::fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(live));
            process::exit(99)
        }
    }
}

/// By the system's names, to a process that is no child.
fn send(to: rustix::process::Pid, signal: Signal) {
    use rustix::process::Signal as System;
    let signal = match signal {
        Signal::Term => System::TERM,
        Signal::Int => System::INT,
        Signal::Hup => System::HUP,
        Signal::Usr1 => System::USR1,
        Signal::Usr2 => System::USR2,
        Signal::Child => System::CHILD,
    };
    kill_process(to, signal).unwrap();
}

fn end_of(child: Pid) -> Exit {
    let without_burying = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let pid = rustix::process::Pid::from_raw(child.to_string().parse().unwrap()).unwrap();
    waitid(WaitId::Pid(pid), without_burying).unwrap();
    let (buried, exit) = process::wait_any_exited().unwrap().unwrap();
    assert!(buried == child, "{buried} is not {child}");
    exit
}
