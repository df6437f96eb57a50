//! Testbeds of this machine, and work within one of their hosts.

use std::io;

use lab::testbed::{Host, Layout, Need, Testbed};

use crate::machine::{HOSTS, has};

/// Makes a testbed. `None` if the machine lacks what it needs, which is recorded as a skip.
#[track_caller]
pub(crate) fn up(layout: &Layout, needs: &[Need]) -> Option<Testbed> {
    (has(&HOSTS) && has(needs)).then(|| Testbed::up(layout).unwrap())
}

/// Does something within a host's namespace, on a thread of its own.
pub(crate) fn within<T: Send>(host: &Host, work: impl FnOnce() -> io::Result<T> + Send) -> T {
    os::namespace::within(host.placement.namespace.as_deref().unwrap(), work).unwrap()
}
