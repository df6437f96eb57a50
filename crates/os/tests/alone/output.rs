//! Output: what a disk that is full in the middle of a line costs.

use os::process::{self, Exit, Fork};
use os::{Output, Signals};
use rustix::process::{Resource, Rlimit, setrlimit};

/// A limit on the size of files ends a write where a full disk does.
pub(crate) fn half_a_line_does_not_take_the_next() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let limit = |bytes| setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum: None });
    let pid = match process::fork().unwrap() {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            // Who is beyond the limit gets a signal, which would end the process.
            let _signals = Signals::take(&[]).unwrap();
            let mut log = Output::append(&path).unwrap();
            log.write(b"first\n").unwrap();
            limit(Some(10)).unwrap();
            log.write(b"second\n").expect_err("a part of it");
            log.write(b"third\n").expect_err("nothing of it");
            limit(None).unwrap();
            log.write(b"fourth\n").unwrap();
            log.write(b"fifth\n").unwrap();
            process::exit(0)
        }
    };
    let exit = loop {
        if let Some(exit) = process::wait_any_exited().unwrap() {
            break exit;
        }
        std::thread::yield_now();
    };
    assert_eq!(exit, (pid, Exit::Status(0)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "first\nseco\nfourth\nfifth\n");
}
