//! SPED: processes with one loop each, which does all steps of all of its connections.
//!
//! Paper: Choi05 sections 2 and 3.2, figure 1 (c); the phases are those of Brecht04 4.1.
//!
//! Same: one process for each processor; while the disk reads for one connection, all others of its
//! process wait.
//!
//! Different: none.

use std::rc::Rc;

use crate::server::Server;
use crate::simulation::Simulation;
use crate::task::Task;

pub(super) fn sped(simulation: &mut Simulation, server: &Rc<Server>) {
    for process in 0..server.crew.processes {
        let core = server.core(process);
        simulation.spawn(process, core, |task| event_loop(task, Rc::clone(server)));
    }
}

async fn event_loop(task: Task, server: Rc<Server>) {
    let heard = server.queue();
    let queues = [server.listening, heard];
    loop {
        let ready = server.events(&task, &queues, heard).await;
        for _ in 0..server.crew.accept_limit {
            let Some(connection) = server.accept(&task).await else { break };
            server.hear(connection, heard);
        }
        for connection in ready {
            if !server.asks(connection) {
                server.send(&task, connection, server.asked(connection)).await;
                continue;
            }
            let asked = server.receive(&task, connection).await;
            if !server.find(&task, asked.file).await {
                server.translate(&task, asked.file).await;
            }
            server.send_header(&task, connection).await;
            if !server.has(&task, asked.file).await {
                server.load(&task, asked).await;
            }
            server.send(&task, connection, asked).await;
        }
    }
}
