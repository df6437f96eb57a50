//! Seccomp: what a worker does goes on, what it never does is refused, and what only somebody else
//! would do ends it.

mod alone;

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use os::poller::{Mechanism, Poller};
use os::process::{self, Exit, Fork};
use os::ring::{Ring, RingSettings};
use os::seccomp::{self, Kind};
use os::{Directory, Signal, Signals, Wake};

const SIGABRT: i32 = 6;
const SIGSYS: i32 = 31;

fn main() {
    if let Err(e) = seccomp::probe() {
        println!("skipped: this kernel has no seccomp: {e}");
        return;
    }
    alone::run(&[
        ("what_a_worker_does_goes_on", what_a_worker_does_goes_on),
        ("what_it_never_does_is_refused", what_it_never_does_is_refused),
        ("what_only_others_would_do_ends_it", what_only_others_would_do_ends_it),
        ("its_signals_are_for_itself", its_signals_are_for_itself),
        ("others_do_not_give_way_to_it", others_do_not_give_way_to_it),
        ("rings_are_for_those_who_have_one", rings_are_for_those_who_have_one),
    ]);
}

/// How a child ends that is confined and then acts; a panic there is status 1.
fn ends(kind: Kind, act: impl FnOnce()) -> Exit {
    let pid = match process::fork().unwrap() {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                seccomp::confine(kind).expect("this kernel has it");
                act();
            }));
            process::exit(i32::from(done.is_err()))
        }
    };
    loop {
        if let Some((ended, exit)) = process::wait_any_exited().unwrap() {
            assert_eq!(ended, pid);
            return exit;
        }
        std::thread::yield_now();
    }
}

fn what_a_worker_does_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpStream::connect(address).unwrap();
    let place = tempfile::tempdir().unwrap();
    for kind in [Kind::Calls, Kind::Ring] {
        let exit = ends(kind, || {
            fs::write(place.path().join("file"), "written").expect("a file");
            assert_eq!(fs::read(place.path().join("file")).unwrap(), b"written");
            let directory = Directory::open_cached(place.path()).expect("it was just used");
            assert_eq!(directory.stat_beneath_cached(b"file").expect("so was this").size, 7);
            std::thread::scope(|scope| {
                let large = scope.spawn(|| vec![1_u8; 64 << 20].len());
                assert_eq!(large.join().unwrap(), 64 << 20);
            });
            for mechanism in [Mechanism::Select, Mechanism::Poll, Mechanism::Epoll] {
                let mut poller = Poller::new(mechanism, 8).expect("a poller");
                let wake = Wake::new().expect("a wake");
                wake.wake();
                poller.add_level(&wake, 1).expect("added");
                assert_eq!(poller.wait(None).expect("waited").len(), 1);
            }
            os::thread::set_name("confined");
            os::thread::give_way(10).expect("its own thread does");
            assert!(os::limits::descriptors() > 0);
        });
        assert_eq!(exit, Exit::Status(0), "{kind:?}");
    }
    assert_eq!(ends(Kind::Calls, || drop(listener.accept().expect("a client"))), Exit::Status(0));
    drop(client);
}

fn what_it_never_does_is_refused() {
    let parent = process::id();
    let exit = ends(Kind::Calls, || {
        let refused = TcpListener::bind("127.0.0.1:0").expect_err("a socket");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let refused = process::fork().expect_err("another process");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let place = std::env::temp_dir().join("weir-no-such-directory");
        let refused = fs::create_dir(place).expect_err("a directory");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        Signals::take(&[Signal::Usr2]).err().expect("a signal descriptor");
        assert_eq!(process::parent(), parent);
    });
    assert_eq!(exit, Exit::Status(0));
}

fn what_only_others_would_do_ends_it() {
    let rows: [(&str, fn()); 3] = [
        ("becoming another", || drop(os::users::become_user(1, 1))),
        ("chroot", || drop(std::os::unix::fs::chroot("/tmp"))),
        ("running a program", || {
            use std::os::unix::process::CommandExt;
            let _ = Command::new("/bin/true").exec();
        }),
    ];
    for (name, act) in rows {
        assert_eq!(ends(Kind::Calls, act), Exit::Killed(SIGSYS), "{name}");
    }
}

/// The same user is no reason: supervisor and workers are the same.
fn its_signals_are_for_itself() {
    let supervisor = process::id() as i32;
    let exit = ends(Kind::Calls, || {
        // SAFETY: numbers go in, and no memory is touched. Signal 0 only asks whether it may.
        let done = unsafe { libc::syscall(libc::SYS_tgkill, supervisor, supervisor, 0) };
        let refused = std::io::Error::last_os_error();
        assert_eq!((done, refused.kind()), (-1, ErrorKind::PermissionDenied));
        assert!(process::switches().0 < u64::MAX, "what it has used");
    });
    assert_eq!(exit, Exit::Status(0));
    assert_eq!(ends(Kind::Calls, || std::process::abort()), Exit::Killed(SIGABRT));
}

/// Nobody else of the same user gives way because it wants so.
fn others_do_not_give_way_to_it() {
    let parent = i64::from(process::id());
    let exit = ends(Kind::Calls, || {
        let rows = [
            (i64::from(libc::PRIO_PROCESS), parent),
            (i64::from(libc::PRIO_PGRP), 0),
            (i64::from(libc::PRIO_USER), 0),
        ];
        for (which, who) in rows {
            // SAFETY: it takes numbers.
            let done = unsafe { libc::syscall(libc::SYS_setpriority, which, who, 19_i64) };
            let refused = std::io::Error::last_os_error();
            assert_eq!((done, refused.raw_os_error()), (-1, Some(libc::EPERM)), "{which} {who}");
        }
    });
    assert_eq!(exit, Exit::Status(0));
}

fn rings_are_for_those_who_have_one() {
    let make = || {
        let settings =
            RingSettings { entries: 8, completions: 16, buffers: 8, buffer_bytes: 64, handles: 8 };
        Ring::new(&settings).map(drop)
    };
    if let Err(e) = make() {
        println!("skipped: no ring: {e}");
        return;
    }
    assert_eq!(ends(Kind::Ring, || make().expect("allowed")), Exit::Status(0));
    assert_eq!(ends(Kind::Calls, || drop(make().expect_err("not allowed"))), Exit::Status(0));
}
