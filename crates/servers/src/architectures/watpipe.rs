//! WatPipe: a short pipeline, whose stages merge their sets of connections batch by batch.
//!
//! Paper: Pariag07 section 6.
//!
//! Same: four stages. Stage 1 accepts and passes on. Stage 2 asks which connections can be read,
//! and reads and judges their requests. Stage 3 asks which can be written; stage 4, of as many
//! threads as `--threads` says, writes what can be written without waiting for a client. Stages 3
//! and 4 alternate: while one of them works the other waits, so that a connection goes to and fro
//! between them until all of its reply is out, and then back to stage 2. Each stage keeps a set of
//! its own; at the end of a batch it is merged with the next one's. There are no controllers.
//!
//! Different: epoll beside the paper's select, as everywhere here. Stage 2 also translates paths,
//! of which the paper does not say whose work it is. What is sent for the first time is not asked
//! about by stage 3, as its socket takes bytes. A writer that waits for the disk holds up its
//! batch, as in the paper, and with it all that comes behind: others of the batch are written by
//! other threads. A batch of which nothing is sent from a file is one writer's, as nobody has to
//! wait.

use std::io;
use std::thread::Builder;

use crate::connection::perform::InPlace;
use crate::loops::stages::belt::{Batch, Belt};
use crate::loops::stages::carried::Does::{
    self, Find, Head, Pages, Parse, Part, Path, Receive, Rest, Verify,
};
use crate::loops::stages::door::Door;
use crate::loops::stages::holding::Holding;
use crate::loops::stages::plant::{Guard, Plant};
use crate::loops::stages::turns::Turns;
use crate::loops::stages::{STACK_BYTES, no_thread};
use crate::shared::performer::Performer;
use crate::shared::server::Worker;

/// What stages 2 and 4 do.
const READS: &[Does] = &[Receive, Parse, Find, Verify, Path, Rest];
const WRITES: &[Does] = &[Head, Part, Pages];

/// Of a request whose file is in memory: read, asked about, written, and read again.
const TURNS: u32 = 4;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller, a descriptor or a thread, at start or while waiting.
pub(crate) fn watpipe(worker: &Worker<'_>) -> io::Result<()> {
    let plant = Plant::new(worker, None)?;
    let belts = [Belt::to_holding(&plant)?, Belt::to_holding(&plant)?];
    let writers = worker.server.architecture.threads(&worker.server.settings) as usize;
    let turns = Turns::new(&plant, writers);
    let (plant, belts, turns) = (&plant, &belts, &turns);
    std::thread::scope(|scope| {
        let stage = |by: Performer| {
            Builder::new().name(format!("weir-{}", by.name())).stack_size(STACK_BYTES)
        };
        let fails = move |e: io::Error| plant.fail(&e);
        let hired = || -> io::Result<()> {
            stage(Performer::Reader)
                .spawn_scoped(scope, move || read(plant, belts).unwrap_or_else(fails))?;
            stage(Performer::Selector)
                .spawn_scoped(scope, move || select(plant, belts, turns).unwrap_or_else(fails))?;
            for _ in 0..writers {
                stage(Performer::Writer).spawn_scoped(scope, move || turns.write(WRITES))?;
            }
            Ok(())
        };
        let begun = hired().map_err(no_thread).and_then(|()| accept(plant, belts));
        begun.unwrap_or_else(fails);
    });
    Ok(())
}

/// Stage 1.
fn accept(plant: &Plant<'_>, belts: &[Belt<'_>]) -> io::Result<()> {
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

/// Stage 2.
fn read(plant: &Plant<'_>, [inbox, next]: &[Belt<'_>; 2]) -> io::Result<()> {
    let _guard = Guard;
    let mut stage = Holding::new((plant, inbox), (0, Performer::Reader, READS))?;
    let mut batch = Batch::new();
    while !plant.is_over() {
        stage.get_events()?;
        for token in stage.round() {
            batch.extend(stage.work(token, &mut InPlace).map(|(_, carried)| carried));
        }
        stage.worked();
        next.put(&mut batch, stage.books.now.at);
        stage.expire();
    }
    Ok(())
}

/// Stage 3; at the end of each round it is stage 4's turn.
fn select(
    plant: &Plant<'_>,
    [back, inbox]: &[Belt<'_>; 2],
    turns: &Turns<'_, '_>,
) -> io::Result<()> {
    let _guard = Guard;
    let mut stage = Holding::new((plant, inbox), (1, Performer::Selector, &[]))?;
    let mut batch = Batch::new();
    while !plant.is_over() {
        stage.get_events()?;
        let round = stage.round();
        batch.extend(round.into_iter().filter_map(|token| stage.take_writable(token)));
        stage.worked();
        let mut written = turns.let_write(&mut batch);
        stage.worked();
        back.put(&mut written.done, stage.books.now.at);
        stage.take_back(written.unfinished);
        stage.expire();
    }
    turns.end();
    Ok(())
}
