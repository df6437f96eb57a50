//! Descriptors that run out.

use std::process::Command;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::Fixture;
use crate::support::metrics::counted;
use crate::support::processes::workers_of;
use crate::support::rest::check_rests;
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

const CLIENTS: usize = 200;
const FEW: &str = "16";

#[test]
fn more_clients_than_descriptors_neither_crash_nor_spin() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        for room in ["off", "on"] {
            check(combination, &site, room);
        }
    });
}

fn check(combination: &Combination, site: &Fixture, room: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(combination.program.path());
    let flags = ["--make-room", room, "--head-timeout-ms", "600000", "--admin", "127.0.0.1:0"];
    // Where each has one connection the supervisor has a descriptor for each of them.
    let is_each = combination.row["holder"] == "process";
    let few: &[&str] = if is_each { &["--processes", FEW] } else { &[] };
    command.args(combination.arguments(&site.root(), &[&flags, few].concat()));
    let mut server = Server::start(command, 0);
    let most = server.await_line("limits: ");
    let most = most.split(' ').find_map(|word| word.parse().ok()).expect("a number");
    let admin = server.await_admin();
    let least = if is_each { FEW.parse().expect("a number") } else { 1 };
    let started = || Some(workers_of(server.pid())).filter(|workers| workers.len() >= least);
    let workers = await_some(PATIENCE, started).expect("a worker");

    let clients: Vec<Wire> = (0..CLIENTS).map(|_| server.connect()).collect();
    // All who wait come, or none of them does.
    let expected = if room == "on" { CLIENTS as f64 } else { most };
    let are_in = || counted(admin, "accepted") >= expected;
    assert!(await_true(PATIENCE, are_in), "{combination}, {room}: not {expected} are let in");
    check_rests(combination, &server, admin);

    // Some of them are connected and some wait; none is dropped without an answer, but for another.
    let answered = clients.into_iter().filter_map(|mut wire| {
        wire.get("/digits.txt", "Connection: close\r\n").ok()?;
        wire.reply(false).ok().filter(|(head, _)| head.status == 200)
    });
    let answered = answered.count();
    let least = if room == "on" { 1 } else { CLIENTS };
    assert!(answered >= least, "{combination}, {room}: {answered} of {CLIENTS} answered");
    let serves = await_true(PATIENCE, || server.fetch("/large.bin").is_ok());
    assert!(serves, "{combination}: not served afterwards");
    assert_eq!(workers_of(server.pid()), workers, "{combination}: a worker died");
    server.stop();
}
