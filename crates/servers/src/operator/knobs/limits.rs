//! Knobs of what a client may ask, and for how long.

use super::values::{millis, number, put};
use super::{Knob, Takes};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "head-timeout-ms",
        value: "1..3600000 ms",
        reason: "for a whole head, in total: a trickled head must not hold a connection",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.head_timeout, millis(v, 1)),
        show: |s| s.limits.head_timeout.as_millis().to_string(),
    },
    Knob {
        name: "idle-timeout-ms",
        value: "1..3600000 ms",
        reason: "between two requests; browsers reuse a connection within a minute or not at all",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.idle_timeout, millis(v, 1)),
        show: |s| s.limits.idle_timeout.as_millis().to_string(),
    },
    Knob {
        name: "idle-grace-ms",
        value: "1..3600000 ms",
        reason: "between two requests, once a new generation serves: longer than a client takes to \
                 read a reply and ask again, so that none meets the end of its connection",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.idle_grace, millis(v, 1)),
        show: |s| s.limits.idle_grace.as_millis().to_string(),
    },
    Knob {
        name: "stall-timeout-ms",
        value: "1..3600000 ms",
        reason: "without a byte while a body comes or an answer goes",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.stall_timeout, millis(v, 1)),
        show: |s| s.limits.stall_timeout.as_millis().to_string(),
    },
    Knob {
        name: "rate-window-ms",
        value: "1..3600000 ms",
        reason: "how often the rate of a body or an answer is judged",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.rate_window, millis(v, 1)),
        show: |s| s.limits.rate_window.as_millis().to_string(),
    },
    Knob {
        name: "rate-min",
        value: "0..1000000000 bytes/s",
        reason: "that a body or an answer must make on the whole, its first window left out; the \
                 precedent is Apache's MinRate",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.rate_min, Ok(u64::from(number(v, 0, 1_000_000_000)?))),
        show: |s| s.limits.rate_min.to_string(),
    },
    Knob {
        name: "crowded-rate-min",
        value: "0..1000000000 bytes/s",
        reason: "while no place is free, with --make-room: of bodies and answers that have been \
                 slower for a second, the slowest is ended for a new connection, if none waits for \
                 a request or for the rest of a head. 0: none is. As many connections as may be \
                 need far more than this together, or the link of the server ends them",
        takes: Takes::All,
        set: |s, v| {
            put(&mut s.limits.crowded_rate_min, Ok(u64::from(number(v, 0, 1_000_000_000)?)))
        },
        show: |s| s.limits.crowded_rate_min.to_string(),
    },
    Knob {
        name: "linger-timeout-ms",
        value: "1..3600000 ms",
        reason: "of silence after the last reply or a refusal, in which the server discards what \
                 still comes, so that no reset overtakes the reply; a few round trips. In a drain \
                 also for a connection that has asked nothing",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.linger_timeout, millis(v, 1)),
        show: |s| s.limits.linger_timeout.as_millis().to_string(),
    },
    Knob {
        name: "linger-max-ms",
        value: "1..3600000 ms",
        reason: "of that in all, however much still comes: enough for a client to finish most \
                 uploads, or to notice the reply",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.linger_max, millis(v, 1)),
        show: |s| s.limits.linger_max.as_millis().to_string(),
    },
    Knob {
        name: "target-bytes-max",
        value: "64..65536 bytes",
        reason: "of a request's target; more is 414. The precedent is 8 KiB (nginx, Apache)",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.target_bytes_max, Ok(number(v, 64, 65_536)? as usize)),
        show: |s| s.limits.target_bytes_max.to_string(),
    },
    Knob {
        name: "head-bytes-max",
        value: "256..65535 bytes",
        reason: "of a whole head; more is 431. The precedent is 16 KiB (Caddy)",
        takes: Takes::All,
        set: |s, v| put(&mut s.limits.head_bytes_max, Ok(number(v, 256, 65_535)? as usize)),
        show: |s| s.limits.head_bytes_max.to_string(),
    },
    Knob {
        name: "drain-delay-ms",
        value: "0..3600000 ms",
        reason: "after SIGTERM or SIGINT, in which balancers see that it is not ready, and it \
                 serves as before but keeps no connection; then the drain. Longer than a balancer \
                 takes to notice. 0: nobody asks",
        takes: Takes::All,
        set: |s, v| put(&mut s.drain_delay, millis(v, 0)),
        show: |s| s.drain_delay.as_millis().to_string(),
    },
    Knob {
        name: "drain-timeout-ms",
        value: "0..3600000 ms",
        reason: "that requests in flight get after SIGTERM, SIGINT or a reload; the usual grace of \
                 service managers is 30 s or more",
        takes: Takes::All,
        set: |s, v| put(&mut s.drain_timeout, millis(v, 0)),
        show: |s| s.drain_timeout.as_millis().to_string(),
    },
];
