//! The table of HTTP dialogs: what a client sends, byte for byte, and what it must hear. Every row
//! runs over real sockets on every architecture and poller that the binary lists, then once more on
//! a transport that re-codes every byte, so that no part of a file can be sent directly, and once
//! without anything that is saved on a reply.
//!
//! Rows stand in the files beside this one, by topic. "9112" and "9110" are the numbers of RFCs.

mod coding;
mod conditional;
mod connection;
mod content;
mod framing;
mod head;
mod limits;
mod methods;
mod paths;
mod range;
mod row;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::fixture::Fixture;
use crate::support::server::{Combination, Program, on_every, on_every_poller, on_every_ring};
use row::Row;

/// Short, so that rows about patience do not need much of it; still long enough for a machine that
/// does other things. Who is idle is not hurried: no row is about that.
const FLAGS: &[&str] = &["--head-timeout-ms", "3000"];

/// Nothing is saved: whatever a knob can turn off is.
const WITHOUT_SAVINGS: &[&str] = &[
    "--head-cache",
    "off",
    "--date-cache",
    "off",
    "--gather",
    "off",
    "--nodelay",
    "off",
    "--send-buffer-kb",
    "4",
];

/// A file's part is sent by a call that waits for the client.
const PARTS_WAIT: &[&str] = &["--sendfile", "blocking"];

/// Loops of one process, over one cache.
const TWO_LOOPS: &[&str] = &["--threads", "2"];

/// For what has to come. Shorter than elsewhere, because a server that is wrong is so in many rows.
const PATIENCE: Duration = Duration::from_secs(8);

/// After so many the rest of the table is not held: something greater is wrong.
const FAILURES_MAX: usize = 20;

fn rows() -> Vec<&'static Row> {
    let topics = [
        head::ROWS,
        framing::ROWS,
        connection::ROWS,
        limits::ROWS,
        methods::ROWS,
        conditional::ROWS,
        range::ROWS,
        coding::ROWS,
        content::ROWS,
        content::MEDIA,
        paths::SERVED,
        paths::ABSENT,
        paths::MALFORMED,
    ];
    topics.concat()
}

#[test]
fn rows_have_names_of_their_own_and_cite_a_section() {
    let rows = rows();
    for (at, row) in rows.iter().enumerate() {
        assert!(!row.cites.is_empty(), "{} cites nothing", row.name);
        assert!(rows[..at].iter().all(|earlier| earlier.name != row.name), "{} twice", row.name);
    }
}

#[test]
fn every_dialog_on_every_architecture_and_poller() {
    run(Program::Weir, &[]);
}

#[test]
fn every_dialog_on_a_transport_that_recodes_every_byte() {
    run(Program::Recoded, &[]);
}

#[test]
fn every_dialog_without_savings() {
    run(Program::Weir, WITHOUT_SAVINGS);
}

#[test]
fn every_dialog_on_every_kind_of_ring() {
    let site = Fixture::new();
    on_every_ring(Program::Weir, |combination| hold(combination, &[], &rows(), &site));
}

#[test]
fn every_dialog_where_parts_are_waited_for() {
    run_where_taken(PARTS_WAIT, |_| true);
}

#[test]
fn every_dialog_by_two_loops_of_a_process() {
    run_where_taken(TWO_LOOPS, |combination| combination.row["holder"] == "loop");
}

/// Files from memory by the fiber, and by workers that wait for clients.
#[test]
fn every_dialog_by_fibers_of_an_acceptor() {
    for how in ["off", "nonblocking"] {
        run_where_taken(&["--acceptor", "on", "--sendfile", how], |_| true);
    }
}

/// One connection in each queue; threads that stages share, without controllers; and all threads on
/// one processor.
#[test]
fn every_dialog_through_stages_of_other_kinds() {
    run_where_taken(&["--stage-queue", "1"], |_| true);
    let shared = ["--stage-pools", "shared", "--pool-control", "off", "--batch-control", "off"];
    run_where_taken(&shared, |_| true);
    run_where_taken(&["--pin", "on", "--threads", "2"], |_| true);
}

fn run_where_taken(flags: &[&str], is_meant: impl Fn(&Combination) -> bool + Sync) {
    let (site, rows, begun) = (Fixture::new(), rows(), Instant::now());
    let held = AtomicUsize::new(0);
    on_every(Program::Weir, |combination| {
        if is_meant(combination) && combination.takes(flags) {
            hold(combination, flags, &rows, &site);
            held.fetch_add(1, Ordering::Relaxed);
        }
    });
    let held = held.into_inner();
    assert!(held > 0, "{flags:?}: nobody takes them");
    tell((rows.len(), held), &format!(", {}", flags.join(" ")), begun);
}

fn run(program: Program, flags: &[&str]) {
    let (site, rows, begun) = (Fixture::new(), rows(), Instant::now());
    let test = |combination: &Combination| hold(combination, flags, &rows, &site);
    let combinations = match flags {
        [] => on_every_poller(program, test),
        // How a loop waits has nothing to do with what is saved.
        _ => on_every(program, test),
    };
    let how = match program {
        Program::Recoded => ", every byte re-coded",
        Program::Weir if !flags.is_empty() => ", without savings",
        _ => "",
    };
    tell((rows.len(), combinations), how, begun);
}

fn tell((rows, combinations): (usize, usize), how: &str, begun: Instant) {
    let (dialogs, took_s) = (rows * combinations, begun.elapsed().as_secs());
    // Not by `println`, which a test that passes swallows.
    let _ = writeln!(
        std::io::stdout(),
        "dialogs: {rows} rows x {combinations} combinations = {dialogs} dialogs passed{how}, in \
         {took_s} s"
    );
}

/// All rows, one after the other, each on a connection of its own.
fn hold(combination: &Combination, flags: &[&str], rows: &[&Row], site: &Fixture) {
    let flags = [FLAGS, flags].concat();
    let server = combination.start(&site.root(), &flags);
    let mut failures = Vec::new();
    for row in rows {
        let mut wire = server.connect();
        wire.set_patience(PATIENCE);
        if let Err(fault) = row::check(row, &mut wire, site) {
            failures.push(format!("{combination}: {} ({}): {fault}", row.name, row.cites));
        }
        if failures.len() == FAILURES_MAX {
            break;
        }
    }
    server.stop();
    assert!(failures.is_empty(), "{} dialogs failed\n{}", failures.len(), failures.join("\n"));
}
