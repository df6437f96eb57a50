//! Nothing that is opened here is inherited by a program that is started later.

use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use os::poller::{Mechanism, Poller};
use os::{Address, Blocking, Directory, Listener, Opened, Signals, SpareDescriptor, Wake};

/// ls(1) is started before anything is open and afterwards, and sees the same descriptors.
pub(crate) fn programs_inherit_nothing() {
    let before = inherited_by_a_program();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let unix = Listener::bind(&Address::Unix(directory.path().join("socket").into()), 1).unwrap();
    let inherited = Listener::bind(&Address::Fd(listener.as_fd().as_raw_fd()), 1).unwrap();
    let _peer = TcpStream::connect(listener.local_address().unwrap()).unwrap();
    os::wait_readable([listener.as_fd()], None).unwrap();
    let accepted = listener.accept(Blocking::Yes).unwrap();
    let root = Directory::open(directory.path()).unwrap();
    let Opened::File(file, _) = root.open_beneath(b"file").unwrap() else { panic!("a file") };
    let (wake, signals) = (Wake::new().unwrap(), Signals::take(&[]).unwrap());
    let pollers = Mechanism::ALL.map(|mechanism| Poller::new(mechanism, 1).unwrap());
    let spare = SpareDescriptor::new().unwrap();

    assert_eq!(inherited_by_a_program(), before);
    drop((unix, inherited, accepted, file, wake, signals, pollers, spare));
}

fn inherited_by_a_program() -> String {
    let output = std::process::Command::new("ls").arg("/proc/self/fd").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
