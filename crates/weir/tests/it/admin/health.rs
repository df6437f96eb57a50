//! What balancers are told of workers that do not run.

use rustix::process::Signal;

use crate::admin::{ANYWHERE, ready, status};
use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::Program;
use crate::support::fixture::Fixture;
use crate::support::processes::{stop, workers_of};
use crate::support::server::send;
use crate::support::{PATIENCE, await_true};

#[test]
fn health_is_503_while_every_worker_is_stopped() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let workers = workers_of(server.pid());
        workers.iter().for_each(|worker| stop(*worker));
        let told = (status(admin, "/ready"), status(admin, "/healthz"));
        assert_eq!(told, (503, 503), "{combination}");
        workers.iter().for_each(|worker| send(*worker, Signal::CONT));
        let is_well = || (status(admin, "/ready"), status(admin, "/healthz")) == (200, 200);
        assert!(await_true(PATIENCE, is_well), "{combination}");
        server.stop();
    });
}
