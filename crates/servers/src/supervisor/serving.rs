//! The process of a worker: what is prepared before it is confined, and how its loops begin and end
//! together.
//!
//! Each loop runs in a thread of its own, which makes its ring and asks for its times before it
//! confines itself: afterwards it may not, and a ring is its maker's alone. None serves before all
//! are confined and ready.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use os::landlock::Rules;
use os::process;
use os::seccomp::Kind;
use os::thread::Schedule;

use crate::rings::ways;
use crate::shared::error_log::By;
use crate::shared::server::{Run, Server, Worker};
use crate::shared::settings::{Level, RingFiles};
use crate::supervisor::confine;

/// Stack of a further loop: opening files and writing listings need little. Only touched pages cost
/// memory.
const STACK_BYTES: usize = 256 << 10;

/// Serves until drained.
///
/// # Errors
/// The machine refuses what is needed, or a lock that was asked for.
pub(super) fn serve(server: &Server, number: usize) -> io::Result<()> {
    match server.architecture.run {
        Run::Calls(run) => {
            let run = |worker: &Worker<'_>, (): ()| run(worker);
            by_loops((server, number), Kind::Calls, &|| Ok(()), &run)
        }
        Run::Ring { make, run } => {
            let make = || make(&server.settings, server.connections_max);
            let kind = match ways::files(&server.settings) {
                RingFiles::Read => Kind::Ring,
                RingFiles::Sendfile => Kind::RingAndSendfile,
            };
            by_loops((server, number), kind, &make, &run)
        }
    }
}

/// The first loop runs in the thread that calls, and there may be no other.
fn by_loops<P>(
    (server, number): (&Server, usize),
    kind: Kind,
    prepare: &(impl Fn() -> io::Result<P> + Sync),
    run: &(impl Fn(&Worker<'_>, P) -> io::Result<()> + Sync),
) -> io::Result<()> {
    let unconfined = AtomicUsize::new(server.counters.loops());
    let begin = || -> io::Result<(Schedule, P)> {
        let schedule = Schedule::open();
        let prepared = prepare()?;
        confine::confine(server, kind)?;
        // Those that are kept have one table of descriptors with those that come after them.
        if unconfined.fetch_sub(1, AcqRel) == 1 && !server.architecture.kept {
            server.rules.iter().for_each(Rules::leave);
        }
        Ok((schedule, prepared))
    };
    let first = |schedule| Worker::new(server, number, schedule);
    if server.counters.loops() == 1 {
        let (schedule, prepared) = begin()?;
        return run(&first(schedule)?, prepared);
    }
    std::thread::scope(|scope| {
        let begin = &begin;
        let mut others = Vec::new();
        for _ in 1..server.counters.loops() {
            let (give, given) = sync_channel::<Worker<'_>>(1);
            let thread = Builder::new().name(String::from("weir-loop")).stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, move || {
                let served = begin().and_then(|(schedule, prepared)| match given.recv() {
                    Ok(mut worker) => {
                        worker.schedule = schedule;
                        run(&worker, prepared)
                    }
                    // Not all of them could be made, and the process ends.
                    Err(_) => Ok(()),
                });
                served.unwrap_or_else(|e| fail((server, number), &e));
            })?;
            others.push(give);
        }
        let served = begin().and_then(|(schedule, prepared)| {
            let worker = first(schedule)?;
            for (nth, give) in (1..).zip(others) {
                // It waits, or is about to.
                let _ = give.send(worker.beside(nth));
            }
            run(&worker, prepared)
        });
        served.unwrap_or_else(|e| fail((server, number), &e));
        Ok(())
    })
}

/// A loop that cannot go on is the end of all: who listens still would wait for it in vain, and
/// another worker takes their place.
fn fail((server, number): (&Server, usize), error: &io::Error) -> ! {
    let text = format!("{}: {error}", server.architecture.name);
    server.errors.write(Level::Error, By::Worker(number), &text);
    process::exit(1)
}
