//! Knobs of admission: who is taken in a flood, and how many at once.

use measure::Duration;

use super::values::{auto, number, or_auto, put};
use super::{Knob, Takes};
use crate::shared::settings::ACCEPT_INF;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "accept-limit",
        value: "1..inf|auto connections",
        reason: "taken consecutively before other work (Brecht04 4.1). auto: as many as are \
                 worked on within --queue-delay-ms, in a flood within --phase-ms; where backlog \
                 and admit-percent are numbers inf, which drains the queue; 1 where each thread \
                 accepts for itself",
        takes: Takes::All,
        set: |s, v| {
            s.accept_limit = match v {
                "inf" => Some(ACCEPT_INF),
                _ => auto(v, 1, ACCEPT_INF - 1)
                    .map_err(|_| String::from("a number from 1, or inf"))?,
            };
            Ok(())
        },
        show: |s| match s.accept_limit {
            Some(ACCEPT_INF) => String::from("inf"),
            limit => or_auto(limit),
        },
    },
    Knob {
        name: "backlog",
        value: "1..65535|auto connections",
        reason: "that may wait in the kernel to be accepted; clipped by net.core.somaxconn. auto: \
                 what is served in 200 ms, so that bursts wait and are not lost, from 256 to 4096; \
                 in a flood what is served within three times --queue-delay-ms",
        takes: Takes::All,
        set: |s, v| put(&mut s.backlog, auto(v, 1, 65_535)),
        show: |s| or_auto(s.backlog),
    },
    Knob {
        name: "admit-percent",
        value: "1..100|auto %",
        reason: "of those who knock, how many are admitted: the SYNs of the others are dropped, \
                 which costs least. auto: all, and in a flood as many as are served soon",
        takes: Takes::All,
        set: |s, v| put(&mut s.admit_percent, auto(v, 1, 100)),
        show: |s| or_auto(s.admit_percent),
    },
    Knob {
        name: "queue-delay-ms",
        value: "1..1000 ms",
        reason: "the wait to be accepted that is aimed at in a flood, and that begins one when \
                 nobody has waited for less in 100 ms; 20 as in DAGOR",
        takes: Takes::All,
        set: |s, v| put(&mut s.queue_delay, to_a_second(v)),
        show: |s| s.queue_delay.as_millis().to_string(),
    },
    Knob {
        name: "phase-ms",
        value: "1..1000 ms",
        reason: "in a flood a round takes no more connections than it can work on in this time; \
                 the others wait where the wait is seen (Brecht04 8)",
        takes: Takes::All,
        set: |s, v| put(&mut s.phase, to_a_second(v)),
        show: |s| s.phase.as_millis().to_string(),
    },
];

fn to_a_second(text: &str) -> Result<Duration, String> {
    Ok(Duration::from_millis(u64::from(number(text, 1, 1000)?)))
}
