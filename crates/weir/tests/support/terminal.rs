//! A terminal, and what is seen on it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use rustix::pty;

use super::PATIENCE;

/// What is written to a terminal.
pub(crate) struct Shown(Receiver<String>);

impl Shown {
    /// A terminal, and what will be written to it.
    pub(crate) fn new() -> (File, Self) {
        // Nobody else who is started meanwhile has it.
        let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY | pty::OpenptFlags::CLOEXEC;
        let master = pty::openpt(flags).expect("a terminal");
        pty::grantpt(&master).expect("it is ours");
        pty::unlockpt(&master).expect("it is open");
        let name = pty::ptsname(&master, Vec::new()).expect("its name");
        let name = name.to_str().expect("text");
        let terminal = OpenOptions::new().read(true).write(true).open(name).expect(name);
        let (told, shown) = mpsc::channel();
        let mut master = File::from(master);
        thread::spawn(move || {
            let mut bytes = [0; 1024];
            // Ends: with the last who has it open.
            while let Ok(count @ 1..) = master.read(&mut bytes) {
                if told.send(String::from_utf8_lossy(&bytes[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        (terminal, Self(shown))
    }

    /// Waits until that is so of what has been written since this was asked for last.
    pub(crate) fn until(&self, what: &str, is: impl Fn(&str) -> bool) {
        let mut all = String::new();
        while !is(&all) {
            let more = self.0.recv_timeout(PATIENCE);
            all += &more.unwrap_or_else(|_| panic!("no {what:?} in {all:?}"));
        }
    }

    /// All that is written up to its end, when nobody has it open any more.
    pub(crate) fn rest(self) -> String {
        let mut all = String::new();
        loop {
            match self.0.recv_timeout(PATIENCE) {
                Ok(more) => all += &more,
                Err(RecvTimeoutError::Disconnected) => return all,
                Err(RecvTimeoutError::Timeout) => panic!("it is still open: {all:?}"),
            }
        }
    }
}
