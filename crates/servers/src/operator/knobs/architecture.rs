//! Knobs of the architecture: where connections come from, who does the work, in which portions.

use measure::Duration;

use super::values::{
    auto, auto_or_named, millis, named, number, on_off, or_auto, put, switch, word_or_auto,
};
use super::{Knob, Takes};
use crate::architectures;
use crate::shared::settings::{
    Queues, RingSetup, RingSockets, StageAdmission, StagePools, WORK_PENDING_INF,
};

/// Each has descriptors in the supervisor and a row of counters.
const PROCESSES_MAX: u32 = 1024;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "listen",
        value: "ADDR",
        reason: "host:port, [v6]:port, port, unix:PATH[,mode=0660][,group=NAME] or fd:N; may be \
                 given several times. A port alone is all addresses, of IPv6 and IPv4; 8080 needs \
                 no privilege",
        takes: Takes::All,
        set: |s, v| {
            s.listen.push(v.parse()?);
            Ok(())
        },
        show: |s| match s.listen.as_slice() {
            [] => String::from(":8080"),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        },
    },
    Knob {
        name: "architecture",
        value: "NAME",
        reason: "who performs which step of a request; see --list-architectures. `sped` has the \
                 least CPU per reply while the files are in memory",
        takes: Takes::All,
        set: |s, v| match architectures::architecture(v) {
            Some(row) => put(&mut s.architecture, Ok(String::from(row.name))),
            None => Err(format!("one of {}", architectures::names())),
        },
        show: |s| s.architecture.clone(),
    },
    Knob {
        name: "poller",
        value: "select|poll|epoll",
        reason: "how a loop waits for events; epoll costs the same for any number of connections",
        takes: Takes::Loops,
        set: |s, v| {
            let poller = v.parse().map_err(|_| String::from("select, poll or epoll"))?;
            put(&mut s.poller, Ok(poller))
        },
        show: |s| s.poller.to_string(),
    },
    Knob {
        name: "work-on-accepted",
        value: "on|off",
        reason: "whether a work phase also tries the connections just accepted. Off as in Brecht04 \
                 4.1: their requests are mostly still on the way",
        takes: Takes::Phases,
        set: |s, v| put(&mut s.work_on_accepted, switch(v)),
        show: |s| on_off(s.work_on_accepted),
    },
    Knob {
        name: "passes",
        value: "1|2",
        reason: "2: receive and find for all ready connections, then send for all, which keeps the \
                 kernel's receive and send paths warm; 1: the paper's loop",
        takes: Takes::Phases,
        set: |s, v| put(&mut s.passes, number(v, 1, 2)),
        show: |s| s.passes.to_string(),
    },
    Knob {
        name: "events-max",
        value: "1..65536 events",
        reason: "events taken per getevents call; bounds the length of a work phase",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.events_max, number(v, 1, 65_536)),
        show: |s| s.events_max.to_string(),
    },
    Knob {
        name: "work-kb-max",
        value: "4..1048576 KiB",
        reason: "sent to one connection before the others' turn, so that one large file does not \
                 hold up the rest; the default is a socket buffer's worth",
        takes: Takes::Loops,
        set: |s, v| put(&mut s.work_bytes_max, Ok(u64::from(number(v, 4, 1 << 20)?) << 10)),
        show: |s| (s.work_bytes_max >> 10).to_string(),
    },
    Knob {
        name: "work-pending-max",
        value: "1..1000000 completions|inf",
        reason: "done in a work phase before the next accept phase, with what comes meanwhile. inf \
                 is the paper's (Brecht04 4.3), where a load without end shuts newcomers out",
        takes: Takes::Named,
        set: |s, v| {
            let most = match v {
                "inf" => Ok(WORK_PENDING_INF),
                v => number(v, 1, 1_000_000).map_err(|why| format!("{why}, or inf")),
            };
            put(&mut s.work_pending_max, most)
        },
        show: |s| match s.work_pending_max {
            WORK_PENDING_INF => String::from("inf"),
            most => most.to_string(),
        },
    },
    Knob {
        name: "defer-accept-s",
        value: "0..60 s",
        reason: "hold connections in the kernel until their request is there; saves CPU at one \
                 request per connection, but moves overload into the SYN queue, so it is off",
        takes: Takes::All,
        set: |s, v| put(&mut s.defer_accept_s, number(v, 0, 60)),
        show: |s| s.defer_accept_s.to_string(),
    },
    Knob {
        name: "processes",
        value: "1..1024|auto",
        reason: "copies of the architecture that listen at the same addresses (N-copy); one keeps \
                 one processor busy. It may be turned down to --processes-min, and up again to \
                 what it was at the start: who goes finishes what it has, the others keep their \
                 caches. auto: 1, and 4 for symped and shared-symped; of mp, whose processes have \
                 one connection each, 64, and no more than --connections-max",
        takes: Takes::Named,
        set: |s, v| put(&mut s.processes, auto(v, 1, PROCESSES_MAX)),
        show: |s| or_auto(s.processes),
    },
    Knob {
        name: "processes-min",
        value: "1..1024",
        reason: "to how few --processes may be turned down while they serve (Pariag07 5.1 plans \
                 such a dial)",
        takes: Takes::Named,
        set: |s, v| put(&mut s.processes_min, number(v, 1, PROCESSES_MAX)),
        show: |s| s.processes_min.to_string(),
    },
    Knob {
        name: "listener-queues",
        value: "shared|own",
        reason: "shared: all processes accept from one queue, and one of those that wait is woken; \
                 who comes is served by whoever has time. own: each has a queue, and the kernel \
                 shares out who comes by a hash, however busy a process is (SO_REUSEPORT); Unix \
                 sockets and those that were handed over stay shared. More queues than there were \
                 at the start need the rights of the user who made those",
        takes: Takes::Named,
        set: |s, v| put(&mut s.listener_queues, named(v, Queues::ALL, Queues::name)),
        show: |s| s.listener_queues.name().into(),
    },
    Knob {
        name: "restart-wait-max-ms",
        value: "1..2000 ms",
        reason: "that a worker which dies again and again waits to be started again: at once the \
                 first time, then twice as long each time, up to this; from the start after 10 s \
                 of health. Clients wait in the kernel meanwhile",
        takes: Takes::All,
        set: |s, v| {
            let wait = number(v, 1, 2000).map(|ms| Duration::from_millis(u64::from(ms)));
            put(&mut s.restart_wait_max, wait)
        },
        show: |s| s.restart_wait_max.as_millis().to_string(),
    },
    Knob {
        name: "ring-setup",
        value: "deferred|cooperative|polled|auto",
        reason: "how the kernel works on a ring. deferred: when completions are waited for, many \
                 at once. cooperative: whenever the loop is in the kernel, so that completions are \
                 looked for without a call. polled: by a thread of its own for each loop, so that \
                 nothing is submitted by a call; it wants a processor to itself, and sleeps after \
                 10 ms of nothing. auto: deferred, and cooperative for tux",
        takes: Takes::Named,
        set: |s, v| put(&mut s.ring_setup, auto_or_named(v, RingSetup::ALL, RingSetup::name)),
        show: |s| word_or_auto(s.ring_setup.map(RingSetup::name)),
    },
    Knob {
        name: "ring-sockets",
        value: "direct|ordinary|auto",
        reason: "what the sockets of a ring are. direct: slots of a table of its own, which no \
                 call can name. ordinary: descriptors of the process, which `sendfile` takes and \
                 which tell their peers' addresses. auto: ordinary, and direct where --ring-files \
                 is read",
        takes: Takes::Named,
        set: |s, v| put(&mut s.ring_sockets, auto_or_named(v, RingSockets::ALL, RingSockets::name)),
        show: |s| word_or_auto(s.ring_sockets.map(RingSockets::name)),
    },
    Knob {
        name: "threads",
        value: "1..32768|auto",
        reason: "of loops: how many a process runs, each in a thread of its own, over one cache \
                 (JAWS97 3.1, a pool), and of pipelined how many pipelines; auto: 1, and of all \
                 processes 1024 at most. watpipe: writers; auto: 25. seda: threads of a stage at \
                 most; auto: 20. mt \
                 and thread-per-request: active threads at most, one connection each (JAWS97 \
                 3.2.3); auto: 1024, because an idle keep-alive connection holds one",
        takes: Takes::Named,
        set: |s, v| {
            s.threads = auto(v, 1, 32_768)?;
            s.threads_min = s.threads.map_or(s.threads_min, |threads| s.threads_min.min(threads));
            Ok(())
        },
        show: |s| or_auto(s.threads),
    },
    Knob {
        name: "threads-min",
        value: "1..32768",
        reason: "threads spawned before the first connection and kept; JAWS97 3.2.3 found small \
                 pools as good as large ones, but not fewer than processors",
        takes: Takes::Named,
        set: |s, v| put(&mut s.threads_min, number(v, 1, 32_768)),
        show: |s| s.threads_min.to_string(),
    },
    Knob {
        name: "acceptor",
        value: "on|off",
        reason: "off: each fiber accepts for itself (Pariag07's Knot-C). on: one accepts, and a \
                 fiber is made for each connection and ends with it (Knot-A)",
        takes: Takes::Named,
        set: |s, v| put(&mut s.acceptor, switch(v)),
        show: |s| on_off(s.acceptor),
    },
    Knob {
        name: "helpers",
        value: "1..256",
        reason: "threads that do what may touch the disk (Pai99); each is one request that a disk \
                 may work on. Those of knot are its workers; those of proactor and tux only \
                 translate paths and open files",
        takes: Takes::Named,
        set: |s, v| put(&mut s.helpers, number(v, 1, 256)),
        show: |s| s.helpers.to_string(),
    },
    Knob {
        name: "pin",
        value: "on|off",
        reason: "whether all threads of a pipeline stay on one processor, each pipeline on another \
                 (Choi05 4). off: the system decides, and may find an idle one",
        takes: Takes::Named,
        set: |s, v| put(&mut s.stages.pin, switch(v)),
        show: |s| on_off(s.stages.pin),
    },
    Knob {
        name: "stage-queue",
        value: "1..65536 connections",
        reason: "that may wait for a stage; where so many do, the stage before it waits, and at \
                 last nobody is accepted. Stages that wait for sockets, helpers and shared threads \
                 take all there are",
        takes: Takes::Named,
        set: |s, v| put(&mut s.stages.queue, number(v, 1, 65_536)),
        show: |s| s.stages.queue.to_string(),
    },
    Knob {
        name: "stage-pools",
        value: "private|shared",
        reason: "private: each stage has threads of its own. shared: all of them have the same, \
                 which go where somebody waits",
        takes: Takes::Named,
        set: |s, v| put(&mut s.stages.pools, named(v, StagePools::ALL, StagePools::name)),
        show: |s| s.stages.pools.name().into(),
    },
    Knob {
        name: "pool-control",
        value: "on|off",
        reason: "whether threads come to a stage while 10 and more wait for it, looked at every \
                 2 s, and go that have waited for 1 s (SEDA's controller). off: one each",
        takes: Takes::Named,
        set: |s, v| put(&mut s.stages.pool_control, switch(v)),
        show: |s| on_off(s.stages.pool_control),
    },
    Knob {
        name: "batch-control",
        value: "on|off",
        reason: "whether a stage takes as few at a time as keep its throughput (SEDA's \
                 controller). off: all that wait",
        takes: Takes::Named,
        set: |s, v| put(&mut s.stages.batch_control, switch(v)),
        show: |s| on_off(s.stages.batch_control),
    },
    Knob {
        name: "stage-admission",
        value: "queue|response",
        reason: "who is admitted. queue: of those who knock as many as are served soon, as \
                 everywhere. response: of requests as many a second as keep the 90th percentile \
                 of replies below --response-target-ms (SEDA's controller); the others hear 503, \
                 and all who knock are accepted",
        takes: Takes::Named,
        set: |s, v| {
            put(&mut s.stages.admission, named(v, StageAdmission::ALL, StageAdmission::name))
        },
        show: |s| s.stages.admission.name().into(),
    },
    Knob {
        name: "response-target-ms",
        value: "1..60000 ms",
        reason: "the 90th percentile of replies that --stage-admission response aims at",
        takes: Takes::Named,
        set: |s, v| {
            let target = number(v, 1, 60_000).map(|ms| Duration::from_millis(u64::from(ms)));
            put(&mut s.stages.response_target, target)
        },
        show: |s| s.stages.response_target.as_millis().to_string(),
    },
    Knob {
        name: "helper-queue",
        value: "1..65536 loads",
        reason: "that may wait for a helper; beyond it a request is answered 503 at once",
        takes: Takes::Named,
        set: |s, v| put(&mut s.helper_queue, number(v, 1, 65_536)),
        show: |s| s.helper_queue.to_string(),
    },
    Knob {
        name: "load-delay-ms",
        value: "1..3600000 ms",
        reason: "in which helpers and the disk are to have done what they have; a request that \
                 would come behind more is answered 503 at once, or by an old answer that is no \
                 older than ten times answer-age-ms, while what is in memory is sent",
        takes: Takes::Named,
        set: |s, v| put(&mut s.load_delay, millis(v, 1)),
        show: |s| s.load_delay.as_millis().to_string(),
    },
    Knob {
        name: "connections-max",
        value: "0..1000000 connections",
        reason: "open at once, over all workers. 0: nine tenths of what there are descriptors for, \
                 as many as half of the memory (of the control group or of the machine) has room \
                 for at their worst, and as many as there are threads, whichever is least",
        takes: Takes::All,
        set: |s, v| put(&mut s.connections_max, number(v, 0, 1_000_000)),
        show: |s| s.connections_max.to_string(),
    },
    Knob {
        name: "make-room",
        value: "on|off",
        reason: "at the maximum of connections (or threads) the one that has waited longest for a \
                 request, or for the rest of a head, is closed for a new one, unless another \
                 worker has room; if there is none, the slowest transfer (crowded-rate-min). Else \
                 idle and slow clients keep all others out. mt and \
                 thread-per-request keep one thread in 64 free by that. off, as in the papers: \
                 accepting rests until a ninth have gone, and mt closes only who is idle",
        takes: Takes::All,
        set: |s, v| put(&mut s.make_room, switch(v)),
        show: |s| on_off(s.make_room),
    },
];
