//! h2o: one process with a loop in each of its threads.

use super::setup::{CONNECTIONS_MAX, IDLE_S, PROGRAM, Setup, WORKERS};
use super::{Launch, Peer};
use crate::Failure;

pub(super) const H2O: Peer = Peer {
    name: "h2o",
    is: "one loop for each thread of one process; a disk blocks one of them",
    package: "h2o",
    program: "h2o",
    version: "-v",
    knobs: &[WORKERS, CONNECTIONS_MAX, IDLE_S, PROGRAM],
    tuning: &[("connections", &["64", "256", "1000", "4000"]), ("workers", &["1", "2", "4"])],
    settings: &[
        ("max-connections", "1,024 by default; others wait"),
        ("http1-request-timeout", "10 s by default for a request and for the pause before it"),
        ("user", "the lab's own: as root it becomes `nobody`, who may not read every site"),
        ("num-name-resolution-threads 1", "32 by default, and no name is resolved"),
        ("backlog", "not to be set: it asks for 65,535 and gets net.core.somaxconn"),
        ("defer-accept", "not to be set: it is on (TCP_DEFER_ACCEPT), whatever it is told"),
        ("no access log", "none is written unless asked for"),
    ],
    launch,
};

fn launch(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let (site, scratch) = (setup.site(), setup.scratch());
    let user = if setup.is_root() { "user: root\n" } else { "" };
    let (host, port) = (setup.start.address.ip(), setup.start.address.port());
    let (workers, connections) = (setup.workers(), setup.connections()?);
    let idle_s = setup.word("idle-s");
    let text = format!(
        "{user}num-threads: {workers}
num-name-resolution-threads: 1
max-connections: {connections}
http1-request-timeout: {idle_s}
pid-file: '{scratch}/h2o.pid'
listen:
  host: '{host}'
  port: {port}
hosts:
  default:
    paths:
      /:
        file.dir: '{site}'
"
    );
    let file = setup.write("h2o.conf", &text)?;
    Ok(setup.launch(&["-m", "worker", "-c", &file]))
}
