//! Knobs of replies: what is saved on each. All are on by default; without one it can be measured
//! what it brings, as JAWS97 3.2 and 4 did.

use super::values::{number, on_off, put, switch};
use super::{Knob, Takes};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "head-cache",
        value: "on|off",
        reason: "the reply to a plain GET on a connection that stays is kept with its head, as \
                 long as its file is in the cache (JAWS97 3.2.2 and 4). off: each head is composed \
                 anew, and content over 16 KiB leaves by a send of its own",
        takes: Takes::All,
        set: |s, v| put(&mut s.head_cache, switch(v)),
        show: |s| on_off(s.head_cache),
    },
    Knob {
        name: "date-cache",
        value: "on|off",
        reason: "`Date` is formatted once a second (JAWS97 3.2.2). off: for each reply; one that \
                 was kept with its head is copied to be given its date",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.date_cache, switch(v)),
        show: |s| on_off(s.limits.date_cache),
    },
    Knob {
        name: "gather",
        value: "on|off",
        reason: "head and content leave together: in one send, or the head by MSG_MORE before a \
                 file's first part (JAWS97 3.2.2 and 4: gather-write). off: by sends of their own",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.gather, switch(v)),
        show: |s| on_off(s.limits.gather),
    },
    Knob {
        name: "nodelay",
        value: "on|off",
        reason: "TCP sends what it has at once (JAWS97 4). off: Nagle's algorithm holds a packet \
                 that is not full back while another is on its way: 40 ms where the client delays \
                 its word",
        takes: Takes::All,
        set: |s, v| put(&mut s.nodelay, switch(v)),
        show: |s| on_off(s.nodelay),
    },
    Knob {
        name: "send-buffer-kb",
        value: "4..1048576|auto KiB",
        reason: "that a TCP connection has sent and its client not acknowledged (JAWS97 4); the \
                 kernel takes net.core.wmem_max at most, and as much again for its own. auto: the \
                 kernel lets it grow as the connection needs, within net.ipv4.tcp_wmem",
        takes: Takes::All,
        set: |s, v| {
            s.send_buffer_kb = match v {
                "auto" => None,
                _ => Some(number(v, 4, 1 << 20).map_err(|told| format!("{told}, or auto"))?),
            };
            Ok(())
        },
        show: |s| s.send_buffer_kb.map_or_else(|| String::from("auto"), |kb| kb.to_string()),
    },
];
