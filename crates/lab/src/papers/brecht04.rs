use super::Here::{Asked, Is, NotYet, Of, Out, Part};
use super::Paper;

pub(super) const PAPER: Paper = Paper {
    short: "Brecht04",
    source: "Brecht, Pariag, Gammo: accept()able Strategies for Improving Web Server Performance. \
             USENIX Annual Technical Conference 2004; with the slides of their talk",
    systems: &[
        ("figure 1", "seven steps of a request", Is("the states of crate `h1`")),
        ("figure 1, step 5", "dynamic requests", NotYet),
        ("4.1", "µserver: one process, three phases", Of("sped")),
        ("4.1", "select, poll or epoll", Is("`--poller`")),
        ("4.1", "the work phase leaves new connections out", Is("`--work-on-accepted off`")),
        ("4.1", "accept-limit, 1 to Inf", Is("`--accept-limit`, of every architecture")),
        ("4.3", "accept-limit turned while it serves", Is("the admin page's knobs")),
        ("4.2", "Knot: a thread of its own library for each connection", Of("knot")),
        ("4.2", "Knot-C, with threads made before; Knot-A, with an acceptor", Of("knot")),
        (
            "4.2",
            "Capriccio's resource-aware scheduler",
            Out("the paper measures nothing of it, and requests for files differ too little in \
                 what they need"),
        ),
        ("4.3", "TUX: an accept queue, pending work, no getevents phase", Of("tux")),
        (
            "4.3",
            "TUX in the kernel",
            Out("Linux has no such server any more; `tux` is its loop in user mode, on a \
                 ring"),
        ),
        ("2.4", "multi-accept: take all that wait", Is("`--accept-limit inf`")),
        ("5.2", "backlog of 128", Is("`--backlog`; 128 in `brecht04-*`")),
        ("5.2", "15,000 connections at most", Is("`--connections-max`; 15,000 in `brecht04-*`")),
        ("5.2", "no log", Is("`--access-log off`, the default")),
        ("6.3", "zero-copy `sendfile`", Is("`--sendfile`")),
        ("6.3", "dropped connections that cost less", Is("`--admit-percent`: a SYN is left")),
    ],
    method: &[
        ("5", "two minutes a point, and two without load", Is("`--paper`, on fresh machines")),
        (
            "5.1",
            "eight clients, two cards, one processor",
            Part("one host with many addresses; clients on several hosts are not built yet"),
        ),
        ("6.1", "sessions like SPECweb99's, files in memory", Is("`--workload specweb99`")),
        ("6.1", "httperf: an open loop that gives up", Is("`weir load --rate --patience`")),
        ("6.1", "its logs of sessions", Is("`--workload wsesslog:FILE`")),
        (
            "6.1",
            "who gave up tries again",
            Out("the rate that is asked for would be another one than the figure says; SYNs come \
                 again, as they did there"),
        ),
        ("6.1", "queue drops by netstat", Is("a metric")),
        ("6.2", "one packet for each connection", Is("`--workload one-packet`")),
        ("2.4", "one byte, or 6 KB, for each connection", Is("`--workload one-packet --bytes N`")),
        ("6.2", "open connections; accepts and phases", Is("metrics, and `/state`")),
        ("6.3", "how long phases are", Part("counted and on the live page; no experiment has it")),
        ("6.3", "drops by four classes", Is("metrics; two of them do not occur with SYN cookies")),
        (
            "6.3",
            "the same without SYN cookies",
            Out("nobody serves so today: a flood of forged SYNs would keep all clients out"),
        ),
        (
            "6.3",
            "SPECweb96 over HTTP/1.0",
            Out("it is the workload of another paper, and this one does not describe it"),
        ),
        ("7", "what browsers do, by two other papers", Is("`--workload browser`")),
        ("slides", "pseudo-code of the three loops", Is("`sped.rs`, `tux.rs`, `knot.rs`")),
    ],
    figures: &[
        ("figure 2", "µserver, sessions: replies", Asked),
        ("figure 3", "µserver, sessions: queue drops", Asked),
        ("figure 4", "Knot, sessions: replies", Of("knot")),
        ("figure 5", "Knot, sessions: queue drops", Of("knot")),
        ("figure 6", "TUX, sessions: replies", Of("tux")),
        ("figure 7", "TUX, sessions: queue drops", Of("tux")),
        ("equation 1", "accept rate by phases", Is("a table on the pages of `brecht04-*`")),
        ("figure 8", "µserver, one packet: replies", Asked),
        ("figure 9", "µserver, one packet: queue drops", Asked),
        ("figure 10", "TUX, one packet: replies", Of("tux")),
        ("figure 11", "TUX, one packet: queue drops", Of("tux")),
        ("figure 12", "Knot, one packet: replies", Of("knot")),
        ("figure 13", "Knot, one packet: queue drops", Of("knot")),
        ("figure 14", "µserver beside TUX, sessions", Of("tux")),
        ("figure 15", "µserver beside TUX, one packet", Of("tux")),
        ("figure 16", "queue drops by class", Asked),
        ("figure 17", "mean response times", Asked),
    ],
    questions: &[
        (
            "4.2",
            "Knot-C is far better than Knot-A in overload",
            Part(
                "both are in [`flood-fibers`](results/flood-fibers/index.md), where Knot-A has a \
                 bound that the paper's had not; a claim of `pariag07-in-memory`, not in overload",
            ),
        ),
        (
            "6.1",
            "in TUX phases go up by more than connections for each go down; not in the µserver",
            Is("claims of `brecht04-specweb99`, by both sides of equation 1"),
        ),
        (
            "6.2",
            "drops and replies together are more than was asked for (31,890 of 20,000)",
            Part("both are metrics, and the results count SYNs that came again; no claim has them"),
        ),
        (
            "7",
            "clients like browsers, with few requests on a connection, need accept-limits more \
             than SPECweb99's",
            Asked,
        ),
        (
            "slides",
            "at 26,000 requests/s a work phase of the µserver has 22 connections with 1, 886 with \
             Inf; an accept phase 1 and 112",
            Is("claims of `brecht04-one-packet`, and columns of its table for each policy"),
        ),
        (
            "slides",
            "getevents calls: 184,322 with 1, 5,201 with Inf",
            Is("a claim of `brecht04-one-packet`"),
        ),
        (
            "slides",
            "TUX at 26,000 requests/s: 48 and 10,740 for a work phase, 1 and 407 for an accept \
             phase",
            Is("claims of `brecht04-one-packet`"),
        ),
    ],
    future: &[
        ("6.2, 7", "an accept-limit that tunes itself", Is("`--accept-limit auto`, the default")),
        ("6.2", "the queues' lengths decide which phase is next", Is("`--queue-delay-ms`")),
        ("6.2, 8", "phases that are limited by time", Is("`--phase-ms`")),
        (
            "6.2",
            "fewer than one accept for each phase",
            Out("in a flood a share of the SYNs is refused (`--admit-percent`), which does the \
                 same before the connection costs anything"),
        ),
        (
            "8",
            "work scheduled by what is known of it",
            Part("who is let in; what is done first among those is not built yet"),
        ),
    ],
};
