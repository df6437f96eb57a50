use super::Here::{Asked, Is, NotYet, Of, Out, Part};
use super::Paper;

pub(super) const PAPER: Paper = Paper {
    short: "Choi05",
    source: "Choi, Kim, Ersoz, Das: A Multi-Threaded PIPELINED Web Server Architecture for \
             SMP/SoC Machines. WWW 2005",
    systems: &[
        ("2", "six steps; the last two again for large files", Is("the states of crate `h1`")),
        ("2", "MP: a pool of processes", Of("mp")),
        ("2", "MT: a pool of threads, one cache", Of("mt")),
        ("2", "SPED, two for each processor as Zeus advises", Is("`sped --processes N`")),
        ("2", "AMPED: helpers that read and that translate paths", Of("amped")),
        (
            "2",
            "helpers that are processes, with memory in common",
            Out("threads do the same work without copying; 3 MB for each server are not measured"),
        ),
        ("1", "Co-AMPED: several AMPED servers", Is("`amped --processes N`")),
        ("4", "PIPELINED: pools of five threads and two helpers", Of("pipelined")),
        ("3.1", "a cache of 6,000 translated paths", Part("in the cache of answers")),
    ],
    method: &[
        ("5.2", "six traces", Is("`--workload choi-*`, synthesised from tables 4 and 5")),
        ("5.1", "a client asks again as soon as it is answered", Is("`weir load --clients N`")),
        ("5.1", "a simulator of five models", Is("`weir sim`: docs/sim.md")),
        (
            "3",
            "memory for data, and for keeping it",
            Is("`choi05-processes`; of a connection, by hand: docs/performance.md"),
        ),
        (
            "6",
            "warm-up of 5,000 s",
            Part("memory is filled before; caches of paths in `weir sim` alone"),
        ),
        ("6.1", "memory of 70 to 75 % of the set, 1,000 clients", Is("`choi05-architectures`")),
    ],
    figures: &[
        ("figure 1", "the four models of others", Is("a drawing: there is nothing to measure")),
        ("figure 2", "memory of 1 to 8 Flash servers", Asked),
        (
            "table 1",
            "what a cache costs in each model",
            Is("the memory of `weir sim`, and its tests"),
        ),
        ("figure 3", "what is left for data, by processors and memory", Asked),
        ("figure 4", "PIPELINED", Is("a drawing: there is nothing to measure")),
        (
            "table 2",
            "two disks",
            Is("the fast one in `choi05-*`; the slow one is \
                 `--disk delay-us=0,seek-us=0,turn-us=10700,mb-per-s=74`"),
        ),
        ("table 3", "what steps cost in Flash", Asked),
        ("table 4", "six traces: files, sizes, requests", Is("`choi-*`, in docs/workloads.md")),
        ("table 5", "their locality", Is("`choi-*`, in docs/workloads.md")),
        ("figure 5", "the simulator beside Flash", Asked),
        ("figure 6", "five models by traces and processors", Asked),
        ("figure 7", "the same by memory", Asked),
        ("figure 8", "the same by clients", Asked),
    ],
    questions: &[
        (
            "6.1",
            "the more processors, the greater PIPELINED's advantage; UC Berkeley's and Penn \
             State's traces tell it from others beyond 3 and 8",
            Is("`choi05`"),
        ),
        (
            "6.1",
            "AMPED takes 8 times what PIPELINED does, with 16 processors",
            Is("`choi05`, by table 1"),
        ),
        (
            "6.2",
            "with 1 GB AMPED and SPED have most with 5 processors; with 3 GB the disk is their \
             limit beyond 12",
            Is("`choi05`"),
        ),
        (
            "6.3",
            "with 2,500 clients MT's threads wait 20 % longer for locks than with 500",
            Is("`choi05`"),
        ),
        (
            "3.2",
            "a thread takes 25 KB of Apache, 10 KB by itself",
            Is("of `mt` in `choi05-processes`, by itself in `parameters`"),
        ),
    ],
    future: &[
        (
            "7",
            "PIPELINED on a real machine with several processors",
            Part("`choi05-*`, as for one processor and as for two"),
        ),
        ("7", "dynamic content", NotYet),
    ],
};
