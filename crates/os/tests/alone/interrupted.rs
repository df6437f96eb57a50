//! Signals that interrupt: a call is made again, or says that nothing happened.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use os::poller::{Mechanism, Poller};
use os::process::{self, Exit, Fork, Pid};
use os::{
    Address, Blocking, Directory, Listener, Opened, SharedWords, Signal, Signals, Socket, Wake,
};
use rustix::process::{WaitId, WaitIdOptions, getpid, kill_process, waitid};

/// How often the signal was handled.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Runs a test whose calls signals interrupt.
pub(crate) fn with_handler(test: fn()) {
    handle_signals();
    test();
    assert!(HANDLED.load(Ordering::Relaxed) > 0, "nothing was interrupted");
}

/// By a handler that does not ask the kernel to make interrupted calls again.
fn handle_signals() {
    extern "C" fn count(_: libc::c_int) {
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let handler: extern "C" fn(libc::c_int) = count;
    // SAFETY: zeros are an empty set and no flags; the handler does what a handler may.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(done, 0);
}

pub(crate) fn a_receive_goes_on() {
    let (ours, theirs) = pair();
    let child = child(|| {
        interrupt_often();
        rustix::io::write(&theirs, b"abc").unwrap();
    });
    assert_eq!(ours.recv(&mut [0; 8]).unwrap(), 3);
    buried(child);
}

pub(crate) fn a_send_goes_on() {
    let (ours, theirs) = pair();
    sends_on(theirs, &ours, || ours.send(&[0; 1 << 16], false).map(|n| n as u64));
}

pub(crate) fn sending_a_file_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), [0; 1 << 16]).unwrap();
    let opened = Directory::open(directory.path()).unwrap().open_beneath(b"file").unwrap();
    let Opened::File(file, _) = opened else { panic!("{opened:?}") };
    let (ours, theirs) = pair();
    sends_on(theirs, &ours, || ours.send_file(&file, 0, 1 << 16));
}

/// The peer receives only when signals have come for a while, and meanwhile nothing fits. It gets
/// as much as we were told.
fn sends_on(mut theirs: UnixStream, ours: &Socket, send: impl Fn() -> std::io::Result<u64>) {
    const BYTES: u64 = 4 << 20;
    let received = SharedWords::new(1).unwrap();
    let child = child(|| {
        interrupt_often();
        let n = std::io::copy(&mut theirs, &mut std::io::sink()).unwrap();
        received[0].store(n, Ordering::SeqCst);
    });
    let mut sent = 0;
    while sent < BYTES {
        sent += send().unwrap();
    }
    ours.shutdown_write().unwrap();
    buried(child);
    assert_eq!(received[0].load(Ordering::SeqCst), sent);
}

/// Signals come until the wait has ended, and nothing else would end it.
pub(crate) fn waits_say_that_nothing_happened() {
    let wake = Wake::new().unwrap();
    let child = child(|| {
        loop {
            interrupt();
        }
    });
    assert_eq!(os::wait_readable([wake.as_fd()], None).unwrap(), [false]);
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, 1).unwrap();
        poller.add_level(&wake, 1).unwrap();
        assert_eq!(poller.wait(None).unwrap(), [], "{mechanism}");
        assert_eq!(poller.events(), [], "{mechanism}");
    }
    let signals = Signals::take(&[Signal::Usr1]).unwrap();
    assert_eq!(signals.wait(None).unwrap(), None);
    process::kill(child).unwrap();
    assert_eq!(end_of(child), Exit::Killed(libc::SIGKILL));
}

pub(crate) fn what_does_not_wait_is_not_disturbed() {
    let child = child(|| {
        loop {
            interrupt();
        }
    });
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), [0; 1 << 16]).unwrap();
    let root = Directory::open(directory.path()).unwrap();
    let address = Address::Unix(directory.path().join("socket").into());
    for _ in 0..300 {
        let Opened::File(file, _) = root.open_beneath(b"file").unwrap() else { panic!("a file") };
        file.fetch(0, 1 << 16).unwrap();
        assert_eq!(file.read_at(&mut [0; 100], 0).unwrap(), 100);
        assert_eq!(root.stat_beneath(b"file").unwrap().size, 1 << 16);
        assert!(file.is_resident(0, 1 << 16) && file.is_resident_throughout(0, 1 << 16));
        let listener = Listener::bind(&address, 1).unwrap();
        let _peer = UnixStream::connect(directory.path().join("socket")).unwrap();
        listener.accept(Blocking::No).unwrap();
        assert_eq!(process::wait_any_exited().unwrap(), None);
    }
    process::kill(child).unwrap();
    assert_eq!(end_of(child), Exit::Killed(libc::SIGKILL));
}

/// Signals the parent, who is in a call or about to make it, most of the time.
fn interrupt_often() {
    (0..200).for_each(|_| interrupt());
}

fn interrupt() {
    let parent = rustix::process::getppid().unwrap();
    assert_ne!(parent, getpid());
    kill_process(parent, rustix::process::Signal::ALARM).unwrap();
    std::thread::yield_now();
}

fn pair() -> (Socket, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Socket::from(OwnedFd::from(ours)), theirs)
}

/// Forks one that does `live`, and dies with its parent.
fn child(live: impl FnOnce()) -> Pid {
    match process::fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            process::die_with_parent();
            let live = std::panic::AssertUnwindSafe(live);
            process::exit(i32::from(std::panic::catch_unwind(live).is_err()));
        }
    }
}

fn buried(child: Pid) {
    assert_eq!(end_of(child), Exit::Status(0));
}

fn end_of(child: Pid) -> Exit {
    let without_burying = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::All, without_burying)).unwrap();
    let (buried, exit) = process::wait_any_exited().unwrap().unwrap();
    assert!(buried == child, "{buried} is not {child}");
    exit
}
