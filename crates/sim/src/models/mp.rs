//! MP: a pool of processes, one connection each, blocking calls, entries of its own each.
//!
//! Paper: Choi05 sections 2 and 3.2, figure 1 (a).
//!
//! Same: a process performs all steps of a connection, and blocks while the disk reads for it. No
//! process waits for another's lock, and each takes memory for its own entries.
//!
//! Different: what the equal processes keep of paths is simulated once, as all of them are asked
//! for the same files.

use std::rc::Rc;

use super::mt::one_at_a_time;
use crate::server::Server;
use crate::simulation::Simulation;

pub(super) fn mp(simulation: &mut Simulation, server: &Rc<Server>) {
    for process in 0..server.crew.processes {
        let core = server.any_core(process);
        simulation.spawn(process, core, |task| one_at_a_time(task, Rc::clone(server)));
    }
}
