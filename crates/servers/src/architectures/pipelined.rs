//! PIPELINED: a request goes through stages with a thread each.
//!
//! Paper: Choi05 section 4, figures 3 and 4.
//!
//! Same: five basic threads, which accept, read the request, find the file, send the header, and
//! read the file and send its data, each with a queue in front of it; and two helpers beside them,
//! for path translation and for reads of the disk. No stage waits for another's work. With
//! `--threads N` there are N such pools in one process, over one cache, as the paper has one for
//! each processor, and with `--pin on` each stays on one.
//!
//! Different: connections are kept, so that one comes back to be read from. The stages that read
//! and that send data wait for sockets with a poller of their own, each for those that it has. Who
//! sends the header sends a small file with it. The kernel is asked by cachestat whether pages are
//! in memory (the paper's mincore); where they are, nobody waits for the helper. Queues are
//! bounded: where one is full the stage before it stops, and at last nobody is accepted. Who would
//! wait for too long for a helper, with a path or with what it leads to, hears so (503).

use std::io;

use crate::loops::stages::carried::Does::{
    Find, Head, Pages, Parse, Part, Path, Receive, Rest, Verify,
};
use crate::loops::stages::crew::Crew;
use crate::loops::stages::door::Door;
use crate::loops::stages::line::{Design, Is, Line, Stage};
use crate::loops::stages::plant::{Guard, Plant};
use crate::shared::performer::Performer;
use crate::shared::server::Worker;

/// Behind the one that accepts. Each connection goes on to the first of them that does what it
/// wants.
const STAGES: [Stage; 6] = [
    Stage { by: Performer::Reader, does: &[Receive, Parse, Verify, Rest], is: Is::Holding },
    Stage { by: Performer::Finder, does: &[Find], is: Is::Queue },
    Stage { by: Performer::Helper, does: &[Path], is: Is::Helper },
    Stage { by: Performer::Helper, does: &[Pages], is: Is::Helper },
    Stage { by: Performer::Header, does: &[Head], is: Is::Queue },
    Stage { by: Performer::Writer, does: &[Part, Head], is: Is::Holding },
];

/// Of a request whose file is in memory: read, found, sent, and read again.
const TURNS: u32 = 4;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller or a descriptor at start.
pub(crate) fn pipelined(worker: &Worker<'_>) -> io::Result<()> {
    let plant = Plant::new(worker, None)?;
    let line = Line::new(&plant, design(worker)?)?;
    std::thread::scope(|scope| {
        let served = line.hire(scope).and_then(|()| accept(&plant, &line));
        served.unwrap_or_else(|e| plant.fail(&e));
        line.end();
    });
    Ok(())
}

fn design(worker: &Worker<'_>) -> io::Result<Design> {
    let settings = &worker.server.settings;
    let processors = os::thread::processors()?;
    Ok(Design {
        stages: &STAGES,
        queue_max: settings.stages.queue as usize,
        is_private: true,
        crew: |_| Crew::single(),
        processor: settings.stages.pin.then(|| processors[worker.row % processors.len()]),
    })
}

/// The first stage.
fn accept(plant: &Plant<'_>, line: &Line<'_, '_>) -> io::Result<()> {
    let _guard = Guard;
    let mut door = Door::new(plant, &line.belts, TURNS)?;
    line.stay()?;
    plant.worker.ready();
    while door.go_on() {
        door.wait()?;
        if door.is_listener_ready() {
            door.accept();
        }
        door.expire();
    }
    door.end();
    Ok(())
}
