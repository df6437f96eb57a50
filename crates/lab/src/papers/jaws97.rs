use super::Here::{Asked, Is, NotYet, Of, Out, Part};
use super::Paper;

pub(super) const PAPER: Paper = Paper {
    short: "JAWS97",
    source: "Hu, Mungee, Schmidt: Techniques for Developing and Measuring High Performance Web \
             Servers over High Speed Networks. 1997",
    systems: &[
        ("3.1", "Event Dispatcher", Is("the shared verbs of crate `servers`")),
        ("3.1", "Concurrency Strategy: single-threaded", Of("sped")),
        ("3.1", "Thread Pool, synchronous", Of("mt")),
        ("3.1", "Thread Pool, reactive", Is("`sped --threads N`")),
        ("3.1", "Thread Pool, asynchronous", Is("`proactor --threads N`")),
        ("3.1", "Thread-per-Request", Of("thread-per-request")),
        ("3.2.3", "the least and the most of active threads", Is("`--threads-min`, `--threads`")),
        (
            "3.1",
            "a strategy chosen while it runs",
            Part("by the operator: a reload changes it without loss; by itself it is not built"),
        ),
        (
            "3.1",
            "I/O Strategy: synchronous, reactive, asynchronous",
            Is("`mt`, `sped`, `proactor`"),
        ),
        (
            "3.1",
            "several of them at the same time",
            Out(
                "a server of two architectures would be compared with nothing; two servers on one \
                 machine are the same for a user",
            ),
        ),
        (
            "3.1",
            "the other pair (requests that are reactive)",
            Out("a thread for each request has nothing to react to but that one"),
        ),
        ("3.1", "Protocol Handler, to be exchanged", Is("`Session` of crate `servers`")),
        ("3.1", "Protocol Pipeline: compression", Part("files that were compressed before")),
        (
            "3.1",
            "Protocol Pipeline: HTML, images, databases",
            Out("a server of files changes none; a proxy in front of an application does"),
        ),
        ("3.1", "Cached Virtual Filesystem", Is("the cache of answers of crate `site`")),
        ("3.1", "LRU", Is("`--cache-policy lru`; `policies` measures it")),
        ("3.1", "LFU", Is("`--cache-policy lfu`, with ageing; `policies` measures it")),
        (
            "3.1",
            "Hinted, Structured: the paper does not say what they are",
            Is("`--cache-policy hinted` and `structured`, as we read their names; `policies` \
                 measures them"),
        ),
        ("3.1", "Tilde Expander", Is("`user-directories`")),
        (
            "3.1",
            "its perfect hash",
            Out("accounts change while it serves: the table is an ordinary one, read again when \
                 /etc/passwd has changed, which a call that looks at that file tells"),
        ),
        ("4", "listen backlog", Is("`--backlog`")),
        ("4", "send buffers", Is("`--send-buffer-kb`")),
        ("4", "Nagle's algorithm off", Is("`--nodelay`")),
        ("4", "gather-write, heads made before, files kept, fewer locks", Asked),
        ("4", "TransmitFile: head and file in one call", Is("`MSG_MORE` and `sendfile`")),
        (
            "4",
            "memory-mapped files",
            Out("a page fault blocks where nobody sees it; contents and descriptors are kept"),
        ),
        ("3.2.4", "a lock for each entry", Is("`--cache-locks entry`; or of up to 256 parts")),
    ],
    method: &[
        ("2.1", "Apache, Zeus", Is("`apache-prefork`, `apache-event`; `nginx` for Zeus")),
        ("2.1", "PHTTPD, Enterprise", Is("`mt` stands for both: threads of one process")),
        ("2.1", "Java Server", Out("nothing of today is like it")),
        ("table 1", "WebStone's files", Is("`--workload webstone`")),
        ("2.2.2", "clients on three hosts, and who starts them", Part("processes of one host")),
        (
            "2.2.1",
            "ATM of 155 Mbit/s, packets of 9,180 bytes; Ethernet of 10",
            Part("a wire without a rate of its own, with `--round-trip-ms`"),
        ),
        ("2.3", "1 to 42 connections, caches filled before", Is("`jaws97-*`")),
        ("2.3", "four metrics of the black box", Is("metrics")),
        ("2.4", "15 connections with 1,000 requests each", Part("15, with one request each")),
        ("table 2", "system calls by seven tasks", Is("`bpftrace`, in `jaws97-whitebox`")),
    ],
    figures: &[
        ("figure 1", "the testbed", Is("a drawing: there is nothing to measure")),
        ("figure 2", "throughput of the server", Asked),
        ("figure 3", "connections/s", Asked),
        ("figure 4", "throughput of a client", Asked),
        ("figure 5", "latency", Asked),
        ("figure 6", "Apache's time", Asked),
        ("figure 7", "the Java Server's time", Out("nothing of today is like it")),
        ("figure 8", "PHTTPD's time", Asked),
        ("figure 9", "Zeus' time", Asked),
        ("figure 10", "Enterprise's time", Asked),
        ("figure 11", "JAWS' classes", Is("a drawing: there is nothing to measure")),
        ("figure 12", "savings in protocol processing", Asked),
        ("figure 13", "sizes of the thread pool", Asked),
        ("figure 14", "a thread for each request", Asked),
        ("figure 15", "locks of the file cache", Asked),
        ("figure 16", "JAWS' time at first", Asked),
        ("figure 17", "JAWS' time, optimised", Asked),
        ("figure 18", "JAWS: throughput of the server", Asked),
        ("figure 19", "JAWS: connections/s", Asked),
        ("figure 20", "JAWS: throughput of a client", Asked),
        ("figure 21", "JAWS: latency", Asked),
    ],
    questions: &[
        (
            "3.2.3",
            "with larger files a larger pool may be better",
            Is("`jaws97-threads-large`: one request in ten is for 5 MB"),
        ),
        (
            "3.1",
            "the Tilde Expander saves reading /etc/passwd",
            Out("the kernel has that file in memory: what is saved is reading its lines, which \
                 no load of files shows"),
        ),
        (
            "5",
            "no strategy is best in all conditions",
            Part("`flood-*`: the same servers, many loads"),
        ),
    ],
    future: &[
        ("5", "smaller requests before larger ones", NotYet),
        ("5", "dynamic protocol pipelines", NotYet),
        ("5", "concurrency, I/O and caching that configure themselves", NotYet),
        ("3.3.2", "how Enterprise is faster under light load", Out("it cannot be had any more")),
    ],
};
