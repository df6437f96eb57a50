//! The table of HTTP dialogs: what a client sends, byte for byte, and what it must hear. Every row
//! runs over real sockets on every architecture and poller that the binary lists, then, by one
//! architecture for each mechanism, on a transport that re-codes every byte, so that no part of a
//! file can be sent directly, and without anything that is saved on a reply.
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

use std::time::Instant;

use crate::support::SCALES;
use crate::support::chosen::{on_every_poller, on_mechanisms, on_mechanisms_where, on_rings};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::Fixture;
use row::Row;

/// The head timeout for rows about it: short, so that they do not last long. On a machine that is
/// too slow for it they are held again with a longer one.
const HEAD_TIMEOUT_MS: u32 = 1000;

/// The head timeout for all other rows: however slow the machine is, no client is late.
const FLAGS: &[&str] = &["--head-timeout-ms", "3600000"];

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

/// After so many the rest of the table is not held: something greater is wrong. Each may have had
/// to wait for `PATIENCE`.
const FAILURES_MAX: usize = 5;

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
    on_rings(Program::Weir, |combination| hold(combination, &[], &rows(), &site));
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

fn run_where_taken(flags: &[&str], is_meant: impl Fn(&Combination) -> bool) {
    let (site, rows, begun) = (Fixture::new(), rows(), Instant::now());
    let is_meant = |combination: &Combination| is_meant(combination) && combination.takes(flags);
    let held = on_mechanisms_where(Program::Weir, is_meant, |combination| {
        hold(combination, flags, &rows, &site);
    });
    assert!(held > 0, "no architecture takes {flags:?}");
    tell((rows.len(), held), &format!(", {}", flags.join(" ")), begun);
}

fn run(program: Program, flags: &[&str]) {
    let (site, rows, begun) = (Fixture::new(), rows(), Instant::now());
    let test = |combination: &Combination| hold(combination, flags, &rows, &site);
    let combinations = match program {
        Program::Weir if flags.is_empty() => on_every_poller(program, test),
        _ => on_mechanisms(program, test),
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
    let (slow, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().copied().partition(|row| row.is_about_head_timeout());
    let mut failures = failures_of(combination, &[FLAGS, flags].concat(), &others, site);
    if !slow.is_empty() {
        let by_scale = SCALES.into_iter().map(|scale| {
            let ms = (HEAD_TIMEOUT_MS * scale).to_string();
            let flags = [&["--head-timeout-ms", &ms][..], flags].concat();
            failures_of(combination, &flags, &slow, site)
        });
        failures.extend(first_empty_or_last(by_scale));
    }
    assert!(failures.is_empty(), "{} dialogs failed\n{}", failures.len(), failures.join("\n"));
}

/// The first list without a failure, or the last one.
fn first_empty_or_last(lists: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut last = Vec::new();
    for list in lists {
        last = list;
        if last.is_empty() {
            break;
        }
    }
    last
}

fn failures_of(
    combination: &Combination,
    flags: &[&str],
    rows: &[&Row],
    site: &Fixture,
) -> Vec<String> {
    let server = combination.start(&site.root(), flags);
    let mut failures = Vec::new();
    for row in rows {
        let mut wire = server.connect();
        if let Err(fault) = row::check(row, &mut wire, site) {
            failures.push(format!("{combination}: {} ({}): {fault}", row.name, row.cites));
        }
        if failures.len() == FAILURES_MAX {
            break;
        }
    }
    server.stop();
    failures
}
