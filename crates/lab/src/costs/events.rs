//! Asking for events.

use std::io;
use std::time::Duration;

use os::poller::Mechanism;
use os::{Poller, Wake};

use super::{Place, each, timed};

/// As many as a busy server has ready at once.
const MANY: usize = 256;
const CALLS: usize = 64;

pub(super) fn epoll_call(_: &Place) -> io::Result<f64> {
    call(Mechanism::Epoll, MANY, 0)
}

pub(super) fn epoll_event(_: &Place) -> io::Result<f64> {
    let (few, many) = (call(Mechanism::Epoll, MANY, 1)?, call(Mechanism::Epoll, MANY, MANY)?);
    Ok(each(few, many, MANY - 1))
}

pub(super) fn poll_descriptor(_: &Place) -> io::Result<f64> {
    let (few, many) = (call(Mechanism::Poll, 1, 0)?, call(Mechanism::Poll, MANY, 0)?);
    Ok(each(few, many, MANY - 1))
}

/// A call about so many descriptors of which so many are ready.
fn call(mechanism: Mechanism, descriptors: usize, ready: usize) -> io::Result<f64> {
    let mut poller = Poller::new(mechanism, descriptors)?;
    let wakes: Vec<Wake> = (0..descriptors).map(|_| Wake::new()).collect::<io::Result<_>>()?;
    for (token, wake) in (0..).zip(&wakes) {
        poller.add_level(wake, token)?;
    }
    wakes.iter().take(ready).for_each(Wake::wake);
    timed(
        CALLS,
        || Ok(()),
        |()| (0..CALLS).try_for_each(|_| poller.wait(Some(Duration::ZERO)).map(|_| ())),
    )
}
