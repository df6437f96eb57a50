//! Seccomp: what a worker does goes on, what it never does is refused, and what only somebody else
//! would do ends it.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;

use os::poller::{Mechanism, Poller};
use os::process::{self, Exit, Fork};
use os::ring::{Ring, RingSettings, SetUp, Sockets};
use os::seccomp::{self, Kind};
use os::{Directory, Signal, Signals, Wake};

const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGSYS: i32 = 31;
// Of fcntl.h and sockios.h, which the crate has not.
const F_SETSIG: i64 = 10;
const F_SETOWN_EX: i64 = 15;
const FIOSETOWN: i64 = 0x8901;
const SIOCSPGRP: i64 = 0x8902;

/// How a child ends that is confined and then acts; a panic there is status 1.
fn ends(kind: Kind, act: impl FnOnce()) -> Exit {
    ends_prepared(kind, || (), |()| act())
}

/// The same of one that has prepared something before.
fn ends_prepared<P>(kind: Kind, prepare: impl FnOnce() -> P, act: impl FnOnce(P)) -> Exit {
    let pid = match process::fork().unwrap() {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let prepared = prepare();
                seccomp::confine(kind).expect("this kernel has it");
                act(prepared);
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

pub(crate) fn what_a_worker_does_goes_on() {
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
            let file = fs::File::open(place.path().join("file")).expect("still there");
            let twice = file.try_clone().expect("a second descriptor of it");
            let flags = rustix::fs::fcntl_getfl(&twice).expect("its flags");
            rustix::fs::fcntl_setfl(&twice, flags | rustix::fs::OFlags::APPEND).expect("set");
            let flags = rustix::io::fcntl_getfd(&twice).expect("its own flags");
            rustix::io::fcntl_setfd(&twice, flags).expect("set");
            os::thread::set_name("confined");
            os::thread::give_way(10).expect("its own thread does");
            assert!(os::limits::descriptors() > 0);
        });
        assert_eq!(exit, Exit::Status(0), "{kind:?}");
    }
    assert_eq!(ends(Kind::Calls, || drop(listener.accept().expect("a client"))), Exit::Status(0));
    drop(client);
}

pub(crate) fn what_it_never_does_is_refused() {
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

pub(crate) fn what_only_others_would_do_ends_it() {
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
pub(crate) fn its_signals_are_for_itself() {
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

/// Ways to have the kernel send others a signal, at once or later.
pub(crate) fn no_descriptor_of_its_signals_others() {
    let supervisor = i64::from(process::id());
    let kill = i64::from(SIGKILL);
    let id = (&raw const supervisor).expose_provenance() as i64;
    let asynchronous = i64::from(libc::O_ASYNC);
    let rows: [(&str, i64, [i64; 4]); 16] = [
        ("F_SETOWN", libc::SYS_fcntl, [0, libc::F_SETOWN.into(), supervisor, 0]),
        ("F_SETOWN_EX", libc::SYS_fcntl, [0, F_SETOWN_EX, id, 0]),
        ("F_SETSIG", libc::SYS_fcntl, [0, F_SETSIG, kill, 0]),
        ("F_SETFL", libc::SYS_fcntl, [0, libc::F_SETFL.into(), asynchronous, 0]),
        ("F_NOTIFY", libc::SYS_fcntl, [0, libc::F_NOTIFY.into(), 1, 0]),
        ("F_SETLEASE", libc::SYS_fcntl, [0, libc::F_SETLEASE.into(), 0, 0]),
        ("FIOASYNC", libc::SYS_ioctl, [0, libc::FIOASYNC as i64, id, 0]),
        ("FIOSETOWN", libc::SYS_ioctl, [0, FIOSETOWN, id, 0]),
        ("SIOCSPGRP", libc::SYS_ioctl, [0, SIOCSPGRP, id, 0]),
        ("PR_SET_PDEATHSIG", libc::SYS_prctl, [libc::PR_SET_PDEATHSIG.into(), kill, 0, 0]),
        ("timer_create", libc::SYS_timer_create, [0, 0, id, 0]),
        ("mq_notify", libc::SYS_mq_notify, [0, 0, 0, 0]),
        ("kill", libc::SYS_kill, [supervisor, 0, 0, 0]),
        ("tkill", libc::SYS_tkill, [supervisor, 0, 0, 0]),
        ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo, [supervisor, 0, id, 0]),
        ("pidfd_open", libc::SYS_pidfd_open, [supervisor, 0, 0, 0]),
    ];
    for kind in [Kind::Calls, Kind::Ring] {
        let exit = ends(kind, || {
            for (name, call, [a, b, c, d]) in rows {
                // SAFETY: what is pointed to outlives the call; none of them touches other memory.
                let done = unsafe { libc::syscall(call, a, b, c, d) };
                let refused = std::io::Error::last_os_error();
                assert_eq!((done, refused.raw_os_error()), (-1, Some(libc::EPERM)), "{name}");
            }
        });
        assert_eq!(exit, Exit::Status(0), "{kind:?}");
    }
}

/// Nobody else of the same user gives way because it wants so.
pub(crate) fn others_do_not_give_way_to_it() {
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

/// Of one that was made before, which does what it could do; none is made any more.
pub(crate) fn rings_are_for_those_who_have_one() {
    let make = || {
        Ring::new(&RingSettings {
            entries: 8,
            completions: 16,
            buffers: 8,
            buffer_bytes: 64,
            handles: 8,
            sockets: Sockets::Direct,
            set_up: SetUp::Deferred,
        })
    };
    if let Err(e) = make() {
        harness::skip(format!("needs io_uring: {e}"));
        return;
    }
    for (kind, expected) in [(Kind::Ring, None), (Kind::Calls, Some(ErrorKind::PermissionDenied))] {
        let exit = ends_prepared(
            kind,
            || make().expect("not confined yet"),
            |mut ring| {
                let wake = Arc::new(Wake::new().expect("a wake"));
                wake.wake();
                ring.poll(&wake, 7).expect("there is room");
                let entered = ring.submit_and_wait(1, None);
                assert_eq!(entered.err().map(|e| e.kind()), expected, "enters");
                let told = ring.completion().map(|completion| completion.token);
                assert_eq!(told, expected.is_none().then_some(7), "is told");
                let another = make().err().expect("another ring").kind();
                assert_eq!(another, ErrorKind::PermissionDenied);
                // Where it may not be entered its end would wait in vain, for a second.
                std::mem::forget(ring);
            },
        );
        assert_eq!(exit, Exit::Status(0), "{kind:?}");
    }
}
