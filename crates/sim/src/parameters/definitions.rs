//! The parameters that there are.

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// What it is called.
    pub name: &'static str,
    /// What it can be.
    pub takes: Takes,
    /// What it is.
    pub about: &'static str,
}

/// What a parameter can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// ns, us, ms, s.
    Time,
    /// B, KiB, MiB, GiB.
    Bytes,
    /// B/s, MB/s, Mbit/s.
    Rate,
    /// Without a unit.
    Count,
    /// One of these.
    Word(&'static [&'static str]),
}

const fn is(name: &'static str, takes: Takes, about: &'static str) -> Definition {
    Definition { name, takes, about }
}

/// In the order in which a request meets them.
pub const DEFINITIONS: &[Definition] = &[
    is(
        "file-sizes",
        Takes::Word(&["drawn", "mean"]),
        "files of the workload's sizes, or all of the mean",
    ),
    is(
        "warmth",
        Takes::Word(&["drawn", "pass"]),
        "what memory holds at the start: what it would after any time, or after one pass",
    ),
    is("backlog", Takes::Count, "as listen is told it: one more waits to be accepted at most"),
    is(
        "half-open",
        Takes::Count,
        "handshakes that may be half open; 0: any number, as cookies are sent",
    ),
    is("grain", Takes::Time, "to what times of bytes, and half a round trip, are rounded"),
    is("syn-timeout", Takes::Time, "how long a client waits for the answer to a SYN, at first"),
    is(
        "data-timeout",
        Takes::Time,
        "how long one waits for the answer to a request behind a handshake, at first",
    ),
    is("link-rate", Takes::Rate, "of the link that replies go over; 0: they take no time"),
    is(
        "link-is",
        Takes::Word(&["shared", "own"]),
        "whether all replies share it, or each client has one of his own",
    ),
    is("send-buffer", Takes::Bytes, "of a connection; 0: as large as anything that is sent"),
    is("round-trip", Takes::Time, "from a client to the server and back, without either's work"),
    is("interrupt", Takes::Time, "soft interrupt of a SYN that is taken, a request or a reset"),
    is("interrupt-dropped", Takes::Time, "soft interrupt of what finds the queue full"),
    is("accept", Takes::Time, "processor time of accepting a connection"),
    is("close", Takes::Time, "processor time of ending a connection"),
    is("receive", Takes::Time, "processor time of reading and parsing a request"),
    is("header", Takes::Time, "processor time of making and sending the head of a reply"),
    is("transmit", Takes::Time, "processor time of sending a block of a file"),
    is("transmit-block", Takes::Bytes, "the size of such a block"),
    is("events-call", Takes::Time, "processor time of a call that asks for events"),
    is("event", Takes::Time, "processor time of each event that it returns"),
    is("events-batch", Takes::Count, "events that it returns, at most; 0: all that there are"),
    is("hand-over", Takes::Time, "processor time of putting work into another task's queue"),
    is(
        "stage-takes",
        Takes::Word(&["all", "one"]),
        "what a stage takes from its queue before it gives its processor up",
    ),
    is("path-lookup", Takes::Time, "looking a name up in the cache of translated paths"),
    is("path-entries", Takes::Count, "translated paths that are kept"),
    is("path-miss", Takes::Time, "translating a path that is not kept, without the disk"),
    is("path-miss-reads", Takes::Bytes, "what translating it reads from the disk; 0: nothing"),
    is("cache-lookup", Takes::Time, "looking whether a file is in memory"),
    is("lookup-bytes", Takes::Bytes, "a look for each so much of a file; 0: one for all"),
    is("cache-locks", Takes::Count, "locks that the entries of a shared cache are divided among"),
    is(
        "lock-covers",
        Takes::Word(&["look", "read", "send"]),
        "what such a lock is held for: a look; a look and a read; or a look and a send",
    ),
    is("lock-spin", Takes::Time, "how long who waits for a lock keeps the processor"),
    is("lock-transfer", Takes::Time, "taking over what another processor had under its lock"),
    is(
        "wake",
        Takes::Time,
        "what a processor that has nothing to do takes to begin with something",
    ),
    is("slice", Takes::Time, "how long a task runs while others wait for its processor"),
    is(
        "task-rows",
        Takes::Word(&["one", "each"]),
        "whether tasks that are ready wait for any processor, or each for one that it has for good",
    ),
    is("thread-switch", Takes::Time, "from one thread to another of the same process"),
    is("process-switch", Takes::Time, "from one process to another"),
    is("pinned", Takes::Word(&["yes", "no"]), "whether what is one per processor stays on it"),
    is(
        "memory-is",
        Takes::Word(&["all", "contents"]),
        "whether memory is for all that a server takes, or for the contents of files alone",
    ),
    is("entry-bytes", Takes::Bytes, "what is remembered of a file that is kept"),
    is(
        "entry-file",
        Takes::Bytes,
        "the size of a file by which entries are counted; 0: by the files themselves",
    ),
    is(
        "contents",
        Takes::Word(&["shared", "private"]),
        "whether processes share the contents of files",
    ),
    is("thread-bytes", Takes::Bytes, "memory of a thread"),
    is("helper-bytes", Takes::Bytes, "memory of a helper process of AMPED's"),
    is("process-bytes", Takes::Bytes, "memory of a process beside what is remembered of files"),
    is("connection-bytes", Takes::Bytes, "memory of an open connection"),
    is("disk-latency", Takes::Time, "from a request of the disk to its first byte"),
    is("disk-rate", Takes::Rate, "of the bytes that come then"),
    is("disk-channels", Takes::Count, "requests that disks serve at a time: 1 is one arm"),
    is("disk-read", Takes::Time, "processor time of a request of the disk"),
];
