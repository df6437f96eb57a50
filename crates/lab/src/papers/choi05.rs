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
        ("5.1", "a simulator of five models", NotYet),
        (
            "3",
            "memory for data, and for keeping it",
            Part("of a connection, by hand: docs/performance.md"),
        ),
    ],
    figures: &[
        ("figure 1", "the four models of others", Is("a drawing: there is nothing to measure")),
        ("figure 2", "memory of 1 to 8 Flash servers", NotYet),
        ("table 1", "what a cache costs in each model", NotYet),
        ("figure 3", "what is left for data, by processors and memory", NotYet),
        ("figure 4", "PIPELINED", Is("a drawing: there is nothing to measure")),
        ("table 2", "two disks", NotYet),
        ("table 3", "what steps cost in Flash", Asked),
        ("table 4", "six traces: files, sizes, requests", Is("`choi-*`, in docs/workloads.md")),
        ("table 5", "their locality", Is("`choi-*`, in docs/workloads.md")),
        ("figure 5", "the simulator beside Flash", NotYet),
        ("figure 6", "five models by traces and processors", NotYet),
        ("figure 7", "the same by memory", NotYet),
        ("figure 8", "the same by clients", NotYet),
    ],
    questions: &[
        ("6.1", "PIPELINED is best with all traces but one, by up to 30 %", Of("pipelined")),
        ("6.1", "MP is the worst with all of them", NotYet),
        ("6.1", "MT is as good where files are few and fit in memory", Of("pipelined")),
        ("6.2", "with 4 GB PIPELINED answers 32 % more than MT", Of("pipelined")),
        ("6.3", "with 2,500 clients it answers 26 % more than MT", Of("pipelined")),
        (
            "3.2",
            "a thread takes 25 KB of Apache, 10 KB by itself",
            Part("of `mt`, by hand: docs/performance.md"),
        ),
    ],
    future: &[
        ("7", "PIPELINED on a real machine with several processors", Of("pipelined")),
        ("7", "dynamic content", NotYet),
    ],
};
