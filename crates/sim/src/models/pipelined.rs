//! PIPELINED: pools of a thread for each step, and two helpers for the disk; one shared cache.
//!
//! Paper: Choi05 section 4, figure 4.
//!
//! Same: accept connection, read request, find file, send header, and one thread that reads the
//! file and sends it; a path translation helper and a read helper. A pool for each processor; all
//! threads of one process, so that they share paths and entries under locks.
//!
//! Different: none. A thread works off what stands in its queue before it gives its processor up,
//! or one request of it (`stage-takes`): the paper says nothing of it.

use std::rc::Rc;

use crate::resources::queues::QueueId;
use crate::server::Server;
use crate::simulation::Simulation;
use crate::task::Task;

/// Of a pool: five basic threads and two helpers.
pub(super) const THREADS: u32 = 7;

const PROCESS: u32 = 0;

/// What stands before each thread but the first.
#[derive(Clone, Copy)]
struct Pool {
    read_request: QueueId,
    find_file: QueueId,
    translate: QueueId,
    send_header: QueueId,
    send_data: QueueId,
    read: QueueId,
    /// Those whose file the helper has read, or who have room for more of it, for the same thread.
    loaded: QueueId,
}

pub(super) fn pipelined(simulation: &mut Simulation, server: &Rc<Server>) {
    for number in 0..server.crew.threads / THREADS {
        let core = server.core(number);
        let queue = || server.queue();
        let pool = Pool {
            read_request: queue(),
            find_file: queue(),
            translate: queue(),
            send_header: queue(),
            send_data: queue(),
            read: queue(),
            loaded: queue(),
        };
        let shared = || Rc::clone(server);
        simulation.spawn(PROCESS, core, |task| accept_connection(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| read_request(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| find_file(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| send_header(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| send_data(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| path_helper(task, shared(), pool));
        simulation.spawn(PROCESS, core, |task| read_helper(task, shared(), pool));
    }
}

async fn accept_connection(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = server.accepted(&task).await;
        server.hear(connection, pool.read_request);
        server.rest(&task, server.listening).await;
    }
}

async fn read_request(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = task.take(pool.read_request).await;
        if !server.asks(connection) {
            server.hand_over(&task, pool.loaded, connection).await;
            continue;
        }
        server.receive(&task, connection).await;
        server.hand_over(&task, pool.find_file, connection).await;
        server.rest(&task, pool.read_request).await;
    }
}

async fn find_file(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = task.take(pool.find_file).await;
        let is_kept = server.find(&task, server.asked(connection).file).await;
        let next = if is_kept { pool.send_header } else { pool.translate };
        server.hand_over(&task, next, connection).await;
        server.rest(&task, pool.find_file).await;
    }
}

async fn path_helper(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = task.take(pool.translate).await;
        server.translate(&task, server.asked(connection).file).await;
        server.hand_over(&task, pool.send_header, connection).await;
    }
}

async fn send_header(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = task.take(pool.send_header).await;
        server.send_header(&task, connection).await;
        server.hand_over(&task, pool.send_data, connection).await;
        server.rest(&task, pool.send_header).await;
    }
}

async fn send_data(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        if let Some(connection) = task.pop(pool.loaded) {
            server.send(&task, connection, server.asked(connection)).await;
        } else if let Some(connection) = task.pop(pool.send_data) {
            let asked = server.asked(connection);
            if server.has(&task, asked.file).await {
                server.send(&task, connection, asked).await;
            } else {
                server.hand_over(&task, pool.read, connection).await;
            }
        } else {
            task.wait(&[pool.loaded, pool.send_data]).await;
            continue;
        }
        let next = if task.is_empty(pool.loaded) { pool.send_data } else { pool.loaded };
        server.rest(&task, next).await;
    }
}

async fn read_helper(task: Task, server: Rc<Server>, pool: Pool) {
    loop {
        let connection = task.take(pool.read).await;
        server.load(&task, server.asked(connection)).await;
        server.hand_over(&task, pool.loaded, connection).await;
    }
}
