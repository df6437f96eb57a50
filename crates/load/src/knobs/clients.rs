//! How clients behave.

use std::num::NonZeroU32;

use crate::behaviour::{GivesUpBy, Keeps};
use crate::choices::{self, Choices};
use crate::knob::Knob;
use crate::knob::values;

const GROUP: &str = "How clients behave";

/// Who has more connections is no browser, but several clients.
const PARALLEL_MAX: u16 = 64;

/// Who asks again more often makes a flood of his own.
const RETRIES_MAX: u16 = 100;

/// A gibibyte: no slow reader.
const READS_MAX_KB: NonZeroU32 = NonZeroU32::new(1 << 20).unwrap();

/// No kernel allows a process more descriptors (fs.nr_open is at most 2^30).
const CONNECTIONS_MAX_MOST: usize = 1 << 30;

pub(super) const PATIENCE: Knob<Choices> = Knob {
    name: "patience",
    group: GROUP,
    value: "S|none",
    reason: "seconds from when a request was to be made until its client gives up; 15 are those \
             of Pariag07 3.2, and of its verification",
    set: |choices, value| {
        choices.behaviour.patience = values::limit(value)?;
        Ok(())
    },
    show: |choices| values::shown_limit(choices.behaviour.patience),
};

pub(super) const CONNECT_MAX: Knob<Choices> = Knob {
    name: "connect-max",
    group: GROUP,
    value: "S|none",
    reason: "the same for a connection to come about (httperf's watchdogs, as the three below)",
    set: |choices, value| {
        choices.behaviour.connect_max = values::limit(value)?;
        Ok(())
    },
    show: |choices| values::shown_limit(choices.behaviour.connect_max),
};

pub(super) const SEND_MAX: Knob<Choices> = Knob {
    name: "send-max",
    group: GROUP,
    value: "S|none",
    reason: "the same without a byte of the request sent",
    set: |choices, value| {
        choices.behaviour.send_max = values::limit(value)?;
        Ok(())
    },
    show: |choices| values::shown_limit(choices.behaviour.send_max),
};

pub(super) const FIRST_BYTE_MAX: Knob<Choices> = Knob {
    name: "first-byte-max",
    group: GROUP,
    value: "S|none",
    reason: "the same from the request to the first byte of its reply",
    set: |choices, value| {
        choices.behaviour.first_byte_max = values::limit(value)?;
        Ok(())
    },
    show: |choices| values::shown_limit(choices.behaviour.first_byte_max),
};

pub(super) const PROGRESS_MAX: Knob<Choices> = Knob {
    name: "progress-max",
    group: GROUP,
    value: "S|none",
    reason: "the same without a further byte of the reply",
    set: |choices, value| {
        choices.behaviour.progress_max = values::limit(value)?;
        Ok(())
    },
    show: |choices| values::shown_limit(choices.behaviour.progress_max),
};

pub(super) const READS_KB_PER_S: Knob<Choices> = Knob {
    name: "reads-kb-per-s",
    group: GROUP,
    value: "N|none",
    reason: "slow readers: KiB that a client takes in a second on each connection, steadily, with \
             a receive buffer for a tenth of them, at least 4 KiB; its patience counts on",
    set: |choices, value| {
        choices.behaviour.reads_kb_per_s = match value {
            values::NONE => None,
            _ => Some(
                values::whole(value, NonZeroU32::MIN, READS_MAX_KB)
                    .map_err(|wanted| format!("{wanted}, or {}", values::NONE))?,
            ),
        };
        Ok(())
    },
    show: |choices| {
        let rate = choices.behaviour.reads_kb_per_s;
        rate.map_or_else(|| values::NONE.into(), |rate| rate.to_string())
    },
};

pub(super) const GIVES_UP_BY: Knob<Choices> = Knob {
    name: "gives-up-by",
    group: GROUP,
    value: "reset|fin",
    reason: "how a client that gives up ends its connection: so that the server hears of it at \
             once, or only behind all that it has sent",
    set: |choices, value| {
        choices.behaviour.gives_up_by = values::word(value, &GIVES_UP_WORDS)?;
        Ok(())
    },
    show: |choices| values::shown_word(&choices.behaviour.gives_up_by, &GIVES_UP_WORDS),
};

const GIVES_UP_WORDS: [(&str, GivesUpBy); 2] =
    [("reset", GivesUpBy::Reset), ("fin", GivesUpBy::Fin)];

pub(super) const RETRIES: Knob<Choices> = Knob {
    name: "retries",
    group: GROUP,
    value: "N",
    reason: "how often a request is made again whose connection the server ended before the first \
             byte of the reply; none, so that each loss is seen",
    set: |choices, value| {
        choices.behaviour.retries = values::whole(value, 0, RETRIES_MAX)?;
        Ok(())
    },
    show: |choices| choices.behaviour.retries.to_string(),
};

pub(super) const KEEPS: Knob<Choices> = Knob {
    name: "keeps",
    group: GROUP,
    value: "request|session|client",
    reason: "how long a connection is kept; by default as the workload's source has it, else for \
             a session, and where that is one request, for all of a client in a closed loop",
    set: |choices, value| {
        choices.keeps = Some(values::word(value, &KEEPS_WORDS)?);
        Ok(())
    },
    show: |choices| {
        choices.keeps.map_or(OWN.into(), |keeps| values::shown_word(&keeps, &KEEPS_WORDS))
    },
};

const KEEPS_WORDS: [(&str, Keeps); 3] =
    [("request", Keeps::Request), ("session", Keeps::Session), ("client", Keeps::Client)];

/// A default that the workload decides.
const OWN: &str = "its own";

pub(super) const PIPELINED: Knob<Choices> = Knob {
    name: "pipelined",
    group: GROUP,
    value: "on|off",
    reason: "sends all requests of a burst but the first without waiting for replies",
    set: |choices, value| {
        choices.behaviour.pipelines = values::word(value, &values::ON_OFF)?;
        Ok(())
    },
    show: |choices| values::shown_word(&choices.behaviour.pipelines, &values::ON_OFF),
};

pub(super) const PARALLEL: Knob<Choices> = Knob {
    name: "parallel",
    group: GROUP,
    value: "N",
    reason: "connections of one session at the same time, as browsers have; by default the \
             workload's own, mostly 1",
    set: |choices, value| {
        choices.parallel = Some(values::whole(value, 1, PARALLEL_MAX)?);
        Ok(())
    },
    show: |choices| choices.parallel.map_or(OWN.into(), |parallel| parallel.to_string()),
};

pub(super) const CONDITIONAL: Knob<Choices> = Knob {
    name: "conditional",
    group: GROUP,
    value: "SHARE",
    reason: "of the GETs, those that ask whether a copy is still current, beside those of the \
             workload",
    set: |choices, value| {
        choices.behaviour.conditional = values::share(value)?;
        Ok(())
    },
    show: |choices| choices.behaviour.conditional.to_string(),
};

pub(super) const VERIFIED: Knob<Choices> = Knob {
    name: "verified",
    group: GROUP,
    value: "SHARE",
    reason: "of the replies, those whose content is compared with what `make-site` made; all, as \
             a byte costs a nanosecond, and lengths always are",
    set: |choices, value| {
        choices.behaviour.verified = values::share(value)?;
        Ok(())
    },
    show: |choices| choices.behaviour.verified.to_string(),
};

pub(super) const SOURCES: Knob<Choices> = Knob {
    name: "sources",
    group: GROUP,
    value: "IP[-IP][,...]",
    reason: "addresses of this machine to connect from, for sessions in turn, each of which is \
             counted as a client of its own and has ports of its own; by default the kernel \
             chooses",
    set: |choices, value| {
        let mut all = Vec::new();
        for range in value.split(',') {
            all.extend(choices::sources(range)?);
        }
        if all.len() > choices::SOURCES_MAX {
            return Err(format!("has more than {} addresses", choices::SOURCES_MAX));
        }
        choices.behaviour.sources = all;
        Ok(())
    },
    show: |choices| {
        let all: Vec<String> = choices.behaviour.sources.iter().map(ToString::to_string).collect();
        if all.is_empty() { String::from(values::NONE) } else { all.join(",") }
    },
};

pub(super) const PORTS: Knob<Choices> = Knob {
    name: "ports",
    group: GROUP,
    value: "FROM-TO",
    reason: "of each of these addresses, the ports to connect from, among those that the kernel \
             connects from (net.ipv4.ip_local_port_range); by default all of them",
    set: |choices, value| {
        choices.behaviour.ports = Some(choices::ports(value)?);
        Ok(())
    },
    show: |choices| match &choices.behaviour.ports {
        Some(ports) => format!("{}-{}", ports.start(), ports.end()),
        None => String::from("the kernel's"),
    },
};

pub(super) const CONNECTIONS_MAX: Knob<Choices> = Knob {
    name: "connections-max",
    group: GROUP,
    value: "N",
    reason: "connections of a process at the same time; who comes then is counted as not started; \
             by default as many as there are descriptors",
    set: |choices, value| {
        choices.connections_max = Some(values::whole(value, 1, CONNECTIONS_MAX_MOST)?);
        Ok(())
    },
    show: |choices| match choices.connections_max {
        Some(most) => most.to_string(),
        None => String::from("descriptors"),
    },
};
