//! The registry: every architecture, and all that others have to know of it.

mod amped;
mod knot;
mod mp;
mod mt;
mod pipelined;
mod proactor;
mod seda;
mod shared_symped;
mod sped;
mod symped;
mod thread_per_request;
mod tux;
mod watpipe;

use crate::rings::{completions, ways};
pub use crate::shared::architecture::{Holder, Requests, Row, Stalls};
pub use crate::shared::performer::Performer;
pub use crate::shared::server::Architecture;
use crate::shared::server::Run;
use crate::shared::settings::{ACCEPT_INF, Sendfile};

/// The table.
pub const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "sped",
        is: "one process, one loop, three phases: getevents, accept, work; the disk blocks all",
        known_as: "µserver SPED, Zeus, thttpd",
        paper: "Brecht04 4.1",
        accept: Performer::Loop,
        receive: Performer::Loop,
        send: Performer::Loop,
        files: Performer::Loop,
        path: Performer::Loop,
        pages: Performer::Loop,
        stalls: Stalls::All,
        requests: Requests::InTurn,
        knobs: &[PROCESSES, PROCESSES_MIN, QUEUES, "threads", "cache-locks", "sendfile"],
        tuning: &[CONNECTIONS, OF_PROCESSES, BACKLOG],
        run: Run::Calls(sped::sped),
        ..LOOP
    },
    Architecture {
        name: "symped",
        is: "several processes, each the loop of sped: where one waits for the disk another runs",
        known_as: "µserver SYMPED, N-copy",
        paper: "Pariag07 5.1",
        accept: Performer::Loop,
        receive: Performer::Loop,
        send: Performer::Loop,
        files: Performer::Loop,
        path: Performer::Loop,
        pages: Performer::Loop,
        stalls: Stalls::OneOfN,
        requests: Requests::InTurn,
        workers: 4,
        knobs: &[PROCESSES, PROCESSES_MIN, QUEUES, "sendfile"],
        sendfile: &[Sendfile::Nonblocking, Sendfile::Blocking, Sendfile::Off],
        tuning: &[CONNECTIONS, ("processes", &["2", "4", "16"]), BACKLOG],
        run: Run::Calls(symped::symped),
        ..LOOP
    },
    Architecture {
        name: "shared-symped",
        is: "the same processes with one cache in shared memory and one table of descriptors",
        known_as: "µserver shared-SYMPED",
        paper: "Pariag07 5.2",
        accept: Performer::Loop,
        receive: Performer::Loop,
        send: Performer::Loop,
        files: Performer::Loop,
        path: Performer::Loop,
        pages: Performer::Loop,
        stalls: Stalls::OneOfN,
        requests: Requests::InTurn,
        workers: 4,
        kept: true,
        // One queue: a worker cannot be left out of a group by who has no word in it.
        knobs: &[PROCESSES, PROCESSES_MIN, "sendfile"],
        sendfile: &[Sendfile::Nonblocking, Sendfile::Blocking, Sendfile::Off],
        tuning: &[CONNECTIONS, ("processes", &["2", "4", "16"]), BACKLOG],
        run: Run::Calls(shared_symped::shared_symped),
        ..LOOP
    },
    Architecture {
        name: "amped",
        is: "the same loop, with helper threads for what may touch the disk",
        known_as: "Flash, nginx with thread pools",
        paper: "Choi05 2 and 3.1",
        accept: Performer::Loop,
        receive: Performer::Loop,
        send: Performer::Loop,
        files: Performer::Loop,
        path: Performer::Helper,
        pages: Performer::Helper,
        stalls: Stalls::Nobody,
        requests: Requests::Several,
        knobs: &[
            PROCESSES,
            PROCESSES_MIN,
            QUEUES,
            "helpers",
            "helper-queue",
            "load-delay-ms",
            "sendfile",
        ],
        tuning: &[CONNECTIONS, ("helpers", &["2", "8", "32"]), BACKLOG],
        run: Run::Calls(amped::amped),
        ..LOOP
    },
    Architecture {
        name: "mt",
        is: "a pool of kernel threads, one connection each, blocking calls, one shared cache",
        known_as: "JAWS, Apache worker",
        paper: "JAWS97 3.2.3",
        knobs: &["threads", "threads-min", "cache-locks", "sendfile"],
        run: Run::Calls(mt::mt),
        ..THREADS
    },
    Architecture {
        name: "thread-per-request",
        is: "an acceptor makes a kernel thread for each connection; blocking calls, one cache",
        known_as: "JAWS, inetd with threads",
        paper: "JAWS97 3.2.3",
        accept: Performer::Acceptor,
        knobs: &["threads", "cache-locks", "sendfile"],
        run: Run::Calls(thread_per_request::thread_per_request),
        ..THREADS
    },
    Architecture {
        name: "mp",
        is: "a pool of processes, one connection each, a cache of its own each",
        known_as: "Apache prefork",
        paper: "Choi05 2",
        accept: Performer::Process,
        receive: Performer::Process,
        send: Performer::Process,
        files: Performer::Process,
        path: Performer::Process,
        pages: Performer::Process,
        stalls: Stalls::OneOfN,
        requests: Requests::InTurn,
        // Apache's prefork has 256. Fewer will do where who is idle goes for who comes, and 64
        // caches have 1 MiB each of the default one, 32 of the largest files that are kept there.
        workers: 64,
        holder: Holder::Process,
        polls: false,
        // No queue of its own: whoever comes would wait behind a connection while others are free.
        knobs: &[PROCESSES, PROCESSES_MIN, "sendfile"],
        accept_limit: 1,
        sendfile: &[Sendfile::Blocking, Sendfile::Off],
        tuning: &[(PROCESSES, &["16", "64", "256"]), BACKLOG],
        run: Run::Calls(mp::mp),
        ..LOOP
    },
    Architecture {
        name: "knot",
        is: "a fiber for each connection, all on one thread; workers do what needs the disk",
        known_as: "Knot on Capriccio",
        paper: "Pariag07 4",
        accept: Performer::Fiber,
        receive: Performer::Fiber,
        send: Performer::Fiber,
        files: Performer::Fiber,
        path: Performer::Worker,
        pages: Performer::Worker,
        stalls: Stalls::Nobody,
        requests: Requests::InTurn,
        holder: Holder::Fiber,
        knobs: &["acceptor", "helpers", "helper-queue", "load-delay-ms", "sendfile"],
        sendfile: &[
            Sendfile::NonblockingPolled,
            Sendfile::Nonblocking,
            Sendfile::Blocking,
            Sendfile::Off,
        ],
        tuning: &[CONNECTIONS, ("helpers", &["4", "25", "100"]), BACKLOG],
        run: Run::Calls(knot::knot),
        ..LOOP
    },
    Architecture {
        name: "watpipe",
        is: "four stages: accept, read, ask who can be written to, write; the last two alternate",
        known_as: "WatPipe",
        paper: "Pariag07 6",
        path: Performer::Reader,
        stalls: Stalls::All,
        // Pariag07 figure 6: five are too few, fifty no better.
        threads: 25,
        multiplies: false,
        knobs: &["threads", "cache-locks", "sendfile"],
        tuning: &[CONNECTIONS, ("threads", &["5", "25", "50"]), BACKLOG],
        run: Run::Calls(watpipe::watpipe),
        ..STAGES
    },
    Architecture {
        name: "pipelined",
        is: "a thread for each step of a request, with a queue in front, and helpers for the disk",
        known_as: "PIPELINED",
        paper: "Choi05 4",
        files: Performer::Writer,
        send: Performer::Header,
        path: Performer::Helper,
        pages: Performer::Helper,
        stalls: Stalls::Nobody,
        knobs: &[
            "threads",
            "pin",
            "stage-queue",
            "helper-queue",
            "load-delay-ms",
            "cache-locks",
            "sendfile",
        ],
        tuning: &[CONNECTIONS, ("threads", &["1", "2", "4"]), BACKLOG],
        run: Run::Calls(pipelined::pipelined),
        ..STAGES
    },
    Architecture {
        name: "seda",
        is: "stages with bounded queues, pools of threads, and controllers of both",
        known_as: "SEDA, Haboob",
        paper: "Pariag07 2",
        receive: Performer::Receiver,
        send: Performer::Header,
        path: Performer::Helper,
        pages: Performer::Helper,
        stalls: Stalls::Nobody,
        threads: seda::THREADS,
        multiplies: false,
        knobs: &[
            "threads",
            "stage-queue",
            "stage-pools",
            "stage-admission",
            "response-target-ms",
            "pool-control",
            "batch-control",
            "helper-queue",
            "load-delay-ms",
            "cache-locks",
            "sendfile",
        ],
        tuning: &[CONNECTIONS, ("threads", &["1", "4", "20"]), BACKLOG],
        run: Run::Calls(seda::seda),
        ..STAGES
    },
    Architecture {
        name: "proactor",
        is: "one loop on a completion ring: every want is a submission, every event a completion",
        known_as: "JAWS on Windows NT",
        paper: "JAWS97 3.1",
        accept: Performer::Ring,
        receive: Performer::Ring,
        send: Performer::Ring,
        files: Performer::Loop,
        path: Performer::Helper,
        pages: Performer::Ring,
        stalls: Stalls::Nobody,
        requests: Requests::Several,
        polls: false,
        knobs: &[
            PROCESSES,
            PROCESSES_MIN,
            QUEUES,
            "threads",
            "cache-locks",
            "helpers",
            "helper-queue",
            "load-delay-ms",
            RING_SETUP,
            RING_SOCKETS,
            RING_FILES,
        ],
        sendfile: &[],
        window_bytes: Some(completions::READ_BYTES),
        tuning: &[CONNECTIONS, OF_PROCESSES, BACKLOG],
        needs: "io_uring",
        probe: ways::probe,
        run: Run::Ring { make: ways::ring, run: proactor::proactor },
        ..LOOP
    },
    Architecture {
        name: "tux",
        is: "an accept phase, and a work phase of pending work that may grow meanwhile; on a ring",
        known_as: "TUX, in user mode",
        paper: "Brecht04 4.3",
        accept: Performer::Ring,
        receive: Performer::Ring,
        send: Performer::Ring,
        files: Performer::Loop,
        path: Performer::Helper,
        pages: Performer::Ring,
        stalls: Stalls::Nobody,
        requests: Requests::Several,
        polls: false,
        knobs: &[
            PROCESSES,
            PROCESSES_MIN,
            QUEUES,
            "threads",
            "cache-locks",
            "helpers",
            "helper-queue",
            "load-delay-ms",
            "work-pending-max",
            RING_SETUP,
            RING_SOCKETS,
            RING_FILES,
        ],
        sendfile: &[],
        window_bytes: Some(completions::READ_BYTES),
        tuning: &[CONNECTIONS, OF_PROCESSES, BACKLOG],
        needs: "io_uring",
        probe: ways::probe,
        run: Run::Ring { make: ways::ring_in_kernel, run: tux::tux },
        ..LOOP
    },
];

/// What architectures of one loop have in common.
const LOOP: Architecture = Architecture {
    name: "",
    is: "",
    known_as: "",
    paper: "",
    accept: Performer::Loop,
    receive: Performer::Loop,
    send: Performer::Loop,
    files: Performer::Loop,
    path: Performer::Loop,
    pages: Performer::Loop,
    stalls: Stalls::All,
    requests: Requests::InTurn,
    workers: 1,
    holder: Holder::Loop,
    kept: false,
    threads: 1,
    multiplies: true,
    polls: true,
    knobs: &[],
    accept_limit: ACCEPT_INF,
    sendfile: &[Sendfile::Nonblocking, Sendfile::Off],
    window_bytes: None,
    tuning: &[],
    needs: "",
    probe: |_, _| Ok(()),
    run: Run::Calls(sped::sped),
};

/// What pipelines have in common.
const STAGES: Architecture = Architecture {
    accept: Performer::Acceptor,
    receive: Performer::Reader,
    send: Performer::Writer,
    files: Performer::Writer,
    path: Performer::Helper,
    pages: Performer::Writer,
    holder: Holder::Stages,
    ..LOOP
};

/// What architectures of a thread for each connection have in common.
const THREADS: Architecture = Architecture {
    accept: Performer::Thread,
    receive: Performer::Thread,
    send: Performer::Thread,
    files: Performer::Thread,
    path: Performer::Thread,
    pages: Performer::Thread,
    stalls: Stalls::OneOfN,
    holder: Holder::Thread,
    // An idle keep-alive connection holds one.
    threads: 1024,
    multiplies: false,
    polls: false,
    accept_limit: 1,
    sendfile: &[Sendfile::Blocking, Sendfile::Off],
    tuning: &[("threads", &["16", "64", "256", "1024"]), BACKLOG],
    run: Run::Calls(mt::mt),
    ..LOOP
};

const PROCESSES: &str = "processes";
const PROCESSES_MIN: &str = "processes-min";
const QUEUES: &str = "listener-queues";
const RING_SETUP: &str = "ring-setup";
const RING_SOCKETS: &str = "ring-sockets";
const RING_FILES: &str = "ring-files";

// Values small enough for twenty minutes of tuning.
type Tuning = (&'static str, &'static [&'static str]);
const CONNECTIONS: Tuning = ("connections-max", &["1000", "10000"]);
const OF_PROCESSES: Tuning = ("processes", &["1", "2", "4"]);
const BACKLOG: Tuning = ("backlog", &["64", "1024"]);

/// Finds an architecture by its name.
#[must_use]
pub fn architecture(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|row| row.name == name)
}

/// All names, for messages.
#[must_use]
pub fn names() -> String {
    ARCHITECTURES.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let whose = "accept | receive, send | files | path | pages";
    let titles = format!("| name | is | known as | paper | {whose} |\n");
    let mut text = format!("{titles}|---|---|---|---|---|---|---|---|---|\n");
    for row in ARCHITECTURES {
        let who = [row.accept, row.receive, row.send, row.files, row.path, row.pages];
        let [accept, receive, send, files, path, pages] = who.map(Performer::name);
        let transfer = if receive == send { receive.into() } else { format!("{receive}, {send}") };
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {accept} | {transfer} | {files} | {path} | {pages} |\n",
            row.name, row.is, row.known_as, row.paper
        ));
    }
    text
}
