//! AMPED: the loop of SPED, with helpers for what may touch the disk.
//!
//! Paper: Choi05 sections 2 and 3.1, figure 1 (d).
//!
//! Same: the loop serves what is in memory; what is not it hands to a helper process, which answers
//! when it has it. Of each server's helpers one translates paths and the others read.
//!
//! Different: none. (Weir's own helpers are threads, and each does either.)

use std::rc::Rc;

use crate::resources::queues::{Item, QueueId};
use crate::server::Server;
use crate::simulation::Simulation;
use crate::task::Task;

/// Where one server's loop and its helpers meet.
#[derive(Clone, Copy)]
struct Orders {
    paths: QueueId,
    pages: QueueId,
    translated: QueueId,
    loaded: QueueId,
}

pub(super) fn amped(simulation: &mut Simulation, server: &Rc<Server>) {
    let each = server.crew.helpers / server.crew.processes;
    let mut helper_process = server.crew.processes;
    for process in 0..server.crew.processes {
        let core = server.core(process);
        let [paths, pages, translated, loaded] = [(); 4].map(|()| server.queue());
        let orders = Orders { paths, pages, translated, loaded };
        simulation.spawn(process, core, |task| event_loop(task, Rc::clone(server), orders));
        for number in 0..each {
            simulation.spawn(helper_process, core, |task| {
                helper(task, Rc::clone(server), orders, number == 0)
            });
            helper_process += 1;
        }
    }
}

async fn event_loop(task: Task, server: Rc<Server>, orders: Orders) {
    let heard = server.queue();
    let queues = [server.listening, heard, orders.translated, orders.loaded];
    loop {
        let ready = server.events(&task, &queues, heard).await;
        for _ in 0..server.crew.accept_limit {
            let Some(connection) = server.accept(&task).await else { break };
            server.hear(connection, heard);
        }
        while let Some(connection) = task.pop(orders.loaded) {
            let asked = server.asked(connection);
            server.send(&task, connection, asked).await;
        }
        while let Some(connection) = task.pop(orders.translated) {
            reply(&task, &server, orders, connection).await;
        }
        for connection in ready {
            if !server.asks(connection) {
                server.send(&task, connection, server.asked(connection)).await;
                continue;
            }
            let asked = server.receive(&task, connection).await;
            if server.find(&task, asked.file).await {
                reply(&task, &server, orders, connection).await;
            } else {
                server.hand_over(&task, orders.paths, connection).await;
            }
        }
    }
}

async fn reply(task: &Task, server: &Server, orders: Orders, connection: Item) {
    let asked = server.asked(connection);
    server.send_header(task, connection).await;
    if server.has(task, asked.file).await {
        server.send(task, connection, asked).await;
    } else {
        server.hand_over(task, orders.pages, connection).await;
    }
}

async fn helper(task: Task, server: Rc<Server>, orders: Orders, translates: bool) {
    let (from, to) = match translates {
        true => (orders.paths, orders.translated),
        false => (orders.pages, orders.loaded),
    };
    loop {
        let connection = task.take(from).await;
        let asked = server.asked(connection);
        if translates {
            server.translate(&task, asked.file).await;
        } else {
            server.load(&task, asked).await;
        }
        server.hand_over(&task, to, connection).await;
    }
}
