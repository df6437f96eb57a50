//! A server's memory, filled before anybody asks it for something, so that a warm-up of seconds
//! does not measure how that fills.
//!
//! A process with the server's limits reads the site's files as clients would ask for them: they
//! are then in its memory as after a long time, the often wanted ones and the last ones. Of a trace
//! it reads all files before, as some are asked for once in a million requests. Pages count for the
//! limits of who was the first to read them, also when he has ended.

use std::io::{self, Write as _};
use std::process::Stdio;

use load::files::File;
use load::site_files;
use load::workload::Workload;
use measure::draw::Stream;

use super::sites;
use crate::Failure;
use crate::spec::Load;
use crate::subject::Start;
use crate::testbed::READ;

/// So many times what memory holds is asked for. SPECweb99's files of half a megabyte are most of
/// it, and one request of a hundred wants one.
const ROUNDS: u64 = 8;

/// Drawn so, no load asks for the same.
const SEED: u64 = 0;

/// Between two questions whether it may go on.
const SESSIONS_AT_A_TIME: usize = 1_000;
const FILES_AT_A_TIME: usize = 1_000;

/// Fills it with what a load asks for, or else the one beside it.
pub(super) fn fill(
    memory_bytes: u64,
    load: &Load,
    start: &Start<'_>,
    may_go_on: &mut dyn FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut workload = sites::workload(load)?;
    let failed = |error| Failure::machine("who fills the server's memory", error);
    let command = start.host.placement.command(start.executable);
    let spawned = command.and_then(|mut command| {
        command.args(["lab", "testbed", READ]).current_dir(start.site);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    });
    let mut child = spawned.map_err(failed)?;
    let mut to_read = child.stdin.take().expect("a pipe was asked for");
    let (mut sessions, mut thinking) = (Stream::new(SEED, 0), Stream::new(SEED, 1));
    let (mut asked_bytes, mut number) = (0, 0);
    let mut rare = rarest_first(&*workload).into_iter();
    loop {
        let mut names = rare.next().unwrap_or_default();
        if names.is_empty() && asked_bytes >= ROUNDS * memory_bytes {
            break;
        }
        may_go_on().inspect_err(|_| drop(child.kill().and_then(|()| child.wait())))?;
        let drawn = if names.is_empty() { SESSIONS_AT_A_TIME } else { 0 };
        for _ in 0..drawn {
            let session = workload.session(number, &mut sessions, &mut thinking);
            number += 1;
            for request in session.bursts.iter().flat_map(|burst| &burst.requests) {
                let file = workload.files().file(request.file);
                asked_bytes += file.bytes.unwrap_or_default().max(1);
                names.push_str(&line(file));
            }
        }
        if to_read.write_all(names.as_bytes()).is_err() {
            break;
        }
    }
    drop(to_read);
    match child.wait().map_err(failed)? {
        status if status.success() => Ok(()),
        status => Err(failed(io::Error::other(status.to_string()))),
    }
}

/// All files of a trace, the most wanted last, so that they are what stays. Nothing of what is no
/// trace.
fn rarest_first(workload: &dyn Workload) -> Vec<String> {
    let shares = workload.pass().map(|_| workload.model().shares).unwrap_or_default();
    let files = workload.files().iter().map(|(_, file)| file);
    let mut files: Vec<(f64, &File)> = shares.into_iter().zip(files).collect();
    files.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names = |some: &[(f64, &File)]| some.iter().map(|(_, file)| line(file)).collect::<String>();
    files.chunks(FILES_AT_A_TIME).map(names).collect()
}

/// Its name, as who reads is told it; nothing: it has none.
fn line(file: &File) -> String {
    let path = site_files::relative(&file.target);
    path.map_or_else(String::new, |path| format!("{}\n", path.display()))
}
