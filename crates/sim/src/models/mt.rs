//! MT: a pool of kernel threads, one connection each, blocking calls, one shared cache.
//!
//! Paper: Choi05 sections 2 and 3.2, figure 1 (b).
//!
//! Same: any thread takes the next connection and performs all of its steps; it blocks while the
//! disk reads for it; paths and entries are under locks that all compete for.
//!
//! Different: no more threads than clients are there, as more than that never work.

use std::rc::Rc;

use crate::server::Server;
use crate::simulation::Simulation;
use crate::task::Task;

const PROCESS: u32 = 0;

pub(super) fn mt(simulation: &mut Simulation, server: &Rc<Server>) {
    for thread in 0..server.crew.threads {
        let core = server.any_core(thread);
        simulation.spawn(PROCESS, core, |task| one_at_a_time(task, Rc::clone(server)));
    }
}

/// What a thread or a process does that has one connection at a time.
pub(super) async fn one_at_a_time(task: Task, server: Rc<Server>) {
    let heard = server.queue();
    loop {
        let connection = server.accepted(&task).await;
        server.hear(connection, heard);
        loop {
            task.take(heard).await;
            if !server.asks(connection) {
                // It was reset.
                server.send(&task, connection, server.asked(connection)).await;
                break;
            }
            let asked = server.receive(&task, connection).await;
            if !server.find(&task, asked.file).await {
                server.translate(&task, asked.file).await;
            }
            server.send_header(&task, connection).await;
            if !server.has(&task, asked.file).await {
                server.load(&task, asked).await;
            }
            if server.send_all(&task, connection, asked, heard).await {
                break;
            }
        }
    }
}
