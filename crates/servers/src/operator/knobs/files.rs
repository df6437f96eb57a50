//! Knobs of files: what is kept of them, and how they are sent.

use cache::PolicyKind;

use super::values::{auto_or_named, file, millis, named, number, put, shown, word_or_auto};
use super::{Knob, Takes};
use crate::shared::settings::{CacheLocks, RingFiles, Sendfile};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "sendfile",
        value: "nonblocking|nonblocking-polled|blocking|off",
        reason: "how file parts leave: loops take nonblocking or off, symped and \
                 shared-symped blocking, too, mt blocking or off; auto is the first of these. \
                 blocking: called once, and whoever calls waits for disk and client. off copies \
                 through memory. knot takes all four; auto is nonblocking-polled: when the client \
                 takes bytes a fiber sends what is in memory, a worker the rest. nonblocking: a \
                 worker sends all, and waits for a client up to a second. Its cache of contents \
                 (Pariag07's knot-c) is off with --small-file-kb 1024",
        takes: Takes::Named,
        set: |s, v| {
            s.sendfile = match v {
                "auto" => None,
                _ => {
                    let way = named(v, Sendfile::ALL, Sendfile::name);
                    Some(way.map_err(|_| {
                        String::from("nonblocking, nonblocking-polled, blocking or off")
                    })?)
                }
            };
            Ok(())
        },
        show: |s| String::from(s.sendfile.map_or("auto", Sendfile::name)),
    },
    Knob {
        name: "ring-files",
        value: "read|sendfile|auto",
        reason: "how parts of large files leave where there is a ring. read: the ring reads them \
                 into memory and sends them from there, as in JAWS97 3.1. sendfile: what is in the \
                 page cache is sent by the loop, without a copy, for half of the CPU at 100 KB; \
                 the ring reads the rest. auto: sendfile, unless --ring-sockets direct is said",
        takes: Takes::Named,
        set: |s, v| put(&mut s.ring_files, auto_or_named(v, RingFiles::ALL, RingFiles::name)),
        show: |s| word_or_auto(s.ring_files.map(RingFiles::name)),
    },
    Knob {
        name: "cache-mb",
        value: "0..65536 MiB",
        reason: "memory for heads and small files; the page cache holds the large ones. mp's \
                 processes have an equal part of it each. 0: nothing is kept, and each request \
                 opens its file anew (JAWS97 3.2.4)",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_mb, number(v, 0, 65_536)),
        show: |s| s.cache_mb.to_string(),
    },
    Knob {
        name: "cache-files",
        value: "0..1000000 files",
        reason: "kept open; 0: a quarter of the descriptors",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_files, number(v, 0, 1_000_000)),
        show: |s| s.cache_files.to_string(),
    },
    Knob {
        name: "answer-age-ms",
        value: "0..3600000 ms",
        reason: "how long an answer is given without asking the disk again: a change shows within \
                 a second by 900, where open_file_cache of nginx looks after 60 s. While one \
                 looks, others get the old answer, for at most ten times as long; where helpers \
                 look, all get it. 0: each request looks",
        takes: Takes::All,
        set: |s, v| put(&mut s.answer_age, millis(v, 0)),
        show: |s| s.answer_age.as_millis().to_string(),
    },
    Knob {
        name: "cache-policy",
        value: "lru|lfu|hinted|structured|w-tinylfu|s3-fifo|sieve|none",
        reason: "which entry of the cache leaves first. sieve, for all who do not know better: \
                 on nine traces, with room for a tenth to six tenths of the files, 93.6 % of \
                 the requests are hits, of lru 92.5 %, and to tell it of one costs half \
                 (docs/results/policies). s3-fifo: as many hits; for files that come back after \
                 a while. w-tinylfu: 93.9 %, each of which costs three times what lru's does to \
                 tell; for small caches before a slow disk. lfu: where what is hot never \
                 changes. hinted: where you know what is, with --cache-hints; lru without. \
                 structured: where directories are hot as a whole. lru: where what is hot \
                 changes by the minute. none: nothing is kept, to see what a cache is worth",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_policy, named(v, PolicyKind::ALL, PolicyKind::name)),
        show: |s| String::from(s.cache_policy.name()),
    },
    Knob {
        name: "cache-hints",
        value: "FILE|off",
        reason: "paths that will be asked for, one in a line, for --cache-policy hinted; \
                 weir load describe --hints makes such a file of a log. Read at the start and at a \
                 reload",
        takes: Takes::All,
        set: |s, v| put(&mut s.cache_hints, file(v)),
        show: |s| shown(s.cache_hints.as_ref()),
    },
    Knob {
        name: "small-file-kb",
        value: "0..1024 KiB",
        reason: "files up to this size are kept in memory and leave with their head in one send; \
                 larger ones leave as --sendfile says, or piece by piece through a ring",
        takes: Takes::All,
        set: |s, v| put(&mut s.small_file_kb, number(v, 0, 1024)),
        show: |s| s.small_file_kb.to_string(),
    },
    Knob {
        name: "cache-locks",
        value: "1..256 locks|entry",
        reason: "of the cache that threads share, where there are several, rounded up to a power \
                 of two; each guards its share of --cache-mb and --cache-files. 1: one for the \
                 whole cache, as JAWS had at first; entry: one for each entry (JAWS97 3.2.4), with \
                 sieve, s3-fifo or none, whose hits change nothing else; the default is so many \
                 that two threads seldom meet",
        takes: Takes::Named,
        set: |s, v| {
            s.cache_locks = match v {
                "entry" => CacheLocks::Entry,
                _ => {
                    CacheLocks::Parts(number(v, 1, 256).map_err(|why| format!("{why}, or entry"))?)
                }
            };
            Ok(())
        },
        show: |s| s.cache_locks.to_string(),
    },
];
