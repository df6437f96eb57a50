//! SEDA: a staged event-driven architecture, with controllers (Haboob).
//!
//! Paper: Pariag07 sections 2 and 9, after Welsh01; its admission after Welsh03.
//!
//! Same: Haboob's stages: socket listen and read, HTTP receive, cache, disk, HTTP send, socket
//! write, with a bounded queue in front of each and a pool of threads behind it, of 1 to
//! `--threads`, private or shared. Each stage has controllers, with a switch each: one adds threads
//! where many wait and lets idle ones go, one makes batches as small as throughput allows. With
//! `--stage-admission response` requests are admitted by how long replies take (503 for the
//! others); then nothing is decided about who is accepted.
//!
//! Different: stages that wait for sockets have one thread and a poller each, and take whoever
//! comes; so does the disk's, which is never shared. By default who is admitted is decided at the
//! listening socket, as everywhere here: a client that is refused there costs least. HTTP send
//! sends a head, and a small file with it; socket write what its client did not take at once, and
//! parts of files.

use std::io;

use control::batching::Batching;
use control::pool::Pool;
use control::response::Response;

use crate::loops::stages::belt::Belt;
use crate::loops::stages::carried::Does::{
    Find, Head, Pages, Parse, Part, Path, Receive, Rest, Verify,
};
use crate::loops::stages::crew::Crew;
use crate::loops::stages::door::Door;
use crate::loops::stages::line::{Design, Is, Line, Stage};
use crate::loops::stages::plant::{Guard, Plant};
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::shared::settings::{Settings, StageAdmission, StagePools};

/// Behind the one that listens. Each connection goes on to the first of them that does what it
/// wants.
const STAGES: [Stage; 6] = [
    Stage { by: Performer::Reader, does: &[Receive, Verify, Rest], is: Is::Holding },
    Stage { by: Performer::Receiver, does: &[Parse], is: Is::Queue },
    Stage { by: Performer::Finder, does: &[Find], is: Is::Queue },
    Stage { by: Performer::Helper, does: &[Path, Pages], is: Is::Helper },
    Stage { by: Performer::Header, does: &[Head], is: Is::Queue },
    Stage { by: Performer::Writer, does: &[Part, Head], is: Is::Holding },
];

/// Of a request whose file is in memory: read, received, found, sent, and read again.
const TURNS: u32 = 5;

/// Threads of a stage at most, where the operator does not say: Haboob's.
pub(super) const THREADS: u32 = 20;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller or a descriptor at start.
pub(crate) fn seda(worker: &Worker<'_>) -> io::Result<()> {
    let settings = &worker.server.settings;
    let plant = Plant::new(worker, admission(settings))?;
    let line = Line::new(&plant, design(settings))?;
    std::thread::scope(|scope| {
        let served = line.hire(scope).and_then(|()| listen(&plant, &line.belts));
        served.unwrap_or_else(|e| plant.fail(&e));
        line.end();
    });
    Ok(())
}

/// Socket listen.
fn listen(plant: &Plant<'_>, belts: &[Belt<'_>]) -> io::Result<()> {
    let _guard = Guard;
    let mut door = Door::new(plant, belts, TURNS)?;
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

/// Who of those that ask is admitted, where that is not decided by who is accepted.
fn admission(settings: &Settings) -> Option<Response> {
    let is_own = settings.stages.admission == StageAdmission::Response;
    is_own.then(|| Response::new(settings.stages.response_target, os::clock::monotonic()))
}

fn design(settings: &Settings) -> Design {
    Design {
        stages: &STAGES,
        queue_max: settings.stages.queue as usize,
        is_private: settings.stages.pools == StagePools::Private,
        crew: |settings| {
            let now = os::clock::monotonic();
            let most = settings.threads.unwrap_or(THREADS);
            let pool = settings.stages.pool_control.then(|| Pool::new(most, now));
            Crew::controlled(pool, settings.stages.batch_control.then(|| Batching::new(now)))
        },
        processor: None,
    }
}
