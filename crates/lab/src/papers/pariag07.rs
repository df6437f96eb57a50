use super::Here::{Asked, Is, NotYet, Of, Out, Part};
use super::Paper;

pub(super) const PAPER: Paper = Paper {
    short: "Pariag07",
    source: "Pariag, Brecht, Harji, Buhr, Shukla: Comparing the Performance of Web Server \
             Architectures. EuroSys 2007",
    systems: &[
        ("2", "SPED: one process, one loop", Of("sped")),
        ("2", "MT: a thread for each connection", Of("mt")),
        ("2", "MP: a process for each connection", Of("mp")),
        ("2", "AMPED, Flash: helpers for the disk", Of("amped")),
        (
            "2",
            "helpers that are processes",
            Out("threads do the same work, and share the memory that the processes would map"),
        ),
        ("2", "SEDA, Haboob: stages, queues, controllers", Of("seda")),
        (
            "2",
            "Haboob switches between threads more than 30,000 times a second",
            Is("a column of `flood-stages`"),
        ),
        ("2", "asynchronous input and output", Of("proactor")),
        (
            "2, 10",
            "Lazy Asynchronous I/O",
            Out("a ring is its heir: a call is done at once where it can be, and reported later \
                 only where it would block; `proactor` is built on that"),
        ),
        ("4.1", "Capriccio: threads in user mode, workers for the disk", Of("knot")),
        ("4.2", "knot-c: contents in memory of its own", Of("knot")),
        (
            "4.3",
            "knot-nb, in two ways, and knot-b",
            Part("of the way that polls first, a worker has only what is not in memory"),
        ),
        ("4.2", "one hash function for all, heads and descriptors kept", Is("crate `site`")),
        ("5.1", "SYMPED: copies of one loop, one listening socket", Of("symped")),
        (
            "5.1",
            "N-copy: a port for each",
            Part("`--listener-queues own`: a queue for each, of one port"),
        ),
        ("5.2", "shared-SYMPED: one cache and one table of descriptors", Of("shared-symped")),
        ("5.3", "`sendfile` that blocks in a loop", Of("symped")),
        ("6", "WatPipe: four stages, merged sets, select", Of("watpipe")),
        ("7", "poll in all, and how each accepts", Is("`--poller`, `--accept-limit`")),
    ],
    method: &[
        ("3.1", "four clients, a gigabit", Part("one host; several are not built yet")),
        ("3.2", "24,480 files, 3.2 GB, of 36 sizes", Is("`--workload specweb99 --dirs 680`")),
        ("3.2", "pauses of users and of browsers", Is("`--think`")),
        ("3.2", "a partly open loop, 15 s for each request", Is("`weir load --rate --patience`")),
        ("3.2", "memory of 2 GB", Is("the server's control group, in the same ratio")),
        ("3.3", "a matrix of connections and workers, then a finer one", Asked),
        ("3.4", "every size has about as many timeouts", Is("a gate of every run")),
        ("3.4", "who fails at one rate counts at none", Is("every page")),
        ("7", "shares of the processor's time, by OProfile", Is("`perf`, by the same parts")),
        ("4.4", "time in poll over the rates", Part("at one rate, in `pariag07-profile`")),
        ("7", "context switches, page cache, waiting for the disk", Is("metrics")),
        (
            "7",
            "switches between threads of a server's own making",
            Is("the counter `user_switches`"),
        ),
        ("8", "connections that are open", Is("a metric")),
    ],
    figures: &[
        ("figure 1", "knot-c: sizes of the cache", Asked),
        ("figure 2", "knot-nb: threads and workers", Asked),
        ("figure 3", "knot-b: threads and workers", Asked),
        ("figure 4", "SYMPED: connections and processes", Asked),
        ("figure 5", "SYMPED with `sendfile` that blocks", Asked),
        ("figure 6", "WatPipe: connections and writers", Asked),
        ("figure 7", "throughput of eight servers", Asked),
        ("figure 8", "response times of the same", Asked),
        ("table 1", "where the processor's time goes", Asked),
    ],
    questions: &[
        (
            "5.3",
            "waiting of 33, 8, 5 and 4 % with 1 to 4 processes",
            Is("a table of `pariag07-processes`"),
        ),
        (
            "5.3",
            "few connections over more processes: more calls of poll for fewer descriptors",
            Is("claims of `pariag07-processes`, by Weir's own counters"),
        ),
        (
            "7",
            "`sendfile` that blocks: half of the overhead of poll",
            Is("a claim of `pariag07-blocking`, by how many descriptors a call asks about"),
        ),
        (
            "4.4",
            "descriptors in poll's set: 100 to 609 as workers run short",
            Is("a claim of `pariag07-knot`, by how many connections a call asks about"),
        ),
        ("5.2", "5,000,000 descriptors for 200 processes, shared or not", Of("shared-symped")),
        (
            "6.1",
            "5 writers wait for the disk 14 % of the time, 25 for 1 %",
            Is("a claim of `pariag07-watpipe`"),
        ),
        (
            "7",
            "does epoll help?",
            Is("claims of `pariag07-in-memory`, of `sped` and `knot`; and of `pariag07-profile`"),
        ),
        (
            "8",
            "20,000 connections in place of 30,000: lower response times, slightly less",
            Part("`pariag07-processes` has 10,000 and 30,000 and their response times"),
        ),
        ("9", "threads may be equal with short connections and files in memory", Asked),
        (
            "9",
            "with more connections the gap may grow",
            Part(
                "`pariag07-in-memory` has a gap beside 1,000 idle ones; whether it grows it does \
                 not judge. `idle`: what open ones cost",
            ),
        ),
        (
            "9",
            "Knot on several processors",
            Out("its library runs on one, and its authors have not written another"),
        ),
        (
            "10",
            "knot-nb gives 7 to 9 % more than knot-c, knot-b 11 to 18 %",
            Is("claims of `pariag07-knot`"),
        ),
    ],
    future: &[
        ("5.1", "as many processes as are needed, by itself", NotYet),
        ("10", "less and more work for the disk", NotYet),
        (
            "10",
            "servers that tune themselves",
            Part("who is let in and how many; workers, cache and architecture are not built yet"),
        ),
        ("10", "Lazy Asynchronous I/O", Out("a ring is its heir, as said of 2")),
        ("10", "dynamic content", NotYet),
        ("10", "several processors", Part("`--processes`; no experiment has them as its axis")),
    ],
};
