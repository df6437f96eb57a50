//! What a ring can be told.

/// How large a ring is.
#[derive(Debug, Clone, Copy)]
pub struct RingSettings {
    /// Operations queued between two submissions; more submit in between.
    pub entries: u32,
    /// Completions that wait to be looked at; more are kept by the kernel, at some cost.
    pub completions: u32,
    /// Buffers for receiving, rounded up to a power of two.
    pub buffers: u16,
    /// Bytes of each.
    pub buffer_bytes: u32,
    /// Slots of a table of sockets; without one there are as many as the process has descriptors.
    pub handles: u32,
    /// What its sockets are.
    pub sockets: Sockets,
    /// How the kernel works on it.
    pub set_up: SetUp,
}

/// What the sockets of a ring are; either way they are closed with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sockets {
    /// Direct descriptors: slots of a table of the ring's, outside the process's table of
    /// descriptors. No call can name one.
    Direct,
    /// Ordinary descriptors, that the ring owns and lends for calls ([`super::Ring::socket`]).
    Ordinary,
}

/// How the kernel works on a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUp {
    /// What makes a completion of an operation (task work) runs only when the ring's thread waits
    /// for completions (IORING_SETUP_DEFER_TASKRUN, Linux 6.1; as below where there is none).
    Deferred,
    /// It runs whenever the thread is in the kernel for any reason: completions can be looked for
    /// without a call (IORING_SETUP_COOP_TASKRUN, Linux 5.19).
    Cooperative,
    /// A thread of the kernel looks for what is begun, and performs it (IORING_SETUP_SQPOLL): there
    /// are no calls but to wait, and to wake it when it has found nothing for a while.
    Polled,
}

/// How many connections an accept takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One.
    One,
    /// One, and it is told who is at the other end.
    OneAndWho,
    /// One after the other until that fails. All have one place for an address, so that it cannot
    /// be told.
    Many,
}

/// Which directions of a connection are shut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// FIN goes out.
    Write,
    /// That, and what is being received ends at once.
    Both,
}
