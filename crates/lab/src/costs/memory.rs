//! What one more of something holds in memory: many are made, and the difference is shared out.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Barrier};
use std::{fs, thread};

use os::process::{self, Fork};

use super::Place;
use crate::vitals::line;

const THREADS: usize = 200;
const PROCESSES: usize = 16;
/// Fewer where there are fewer descriptors.
const SOCKETS: usize = 2_000;
/// Descriptors for all else.
const SPARE: usize = 64;

pub(super) fn thread(_: &Place) -> io::Result<f64> {
    let (come, go) = (Arc::new(Barrier::new(THREADS + 1)), Arc::new(Barrier::new(THREADS + 1)));
    let before = held(&["Rss"])? + kernel(&["KernelStack"])?;
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (come, go) = (Arc::clone(&come), Arc::clone(&go));
            thread::spawn(move || {
                come.wait();
                go.wait();
            })
        })
        .collect();
    come.wait();
    let after = held(&["Rss"])? + kernel(&["KernelStack"])?;
    go.wait();
    for thread in threads {
        thread.join().map_err(|_| io::Error::other("a thread ended"))?;
    }
    Ok((after - before) / THREADS as f64)
}

/// What is not shared with who forked it, and the kernel's own.
pub(super) fn process(_: &Place) -> io::Result<f64> {
    let (heard, _told) = io::pipe()?;
    let before = kernel(&["KernelStack", "PageTables"])?;
    let mut pids = Vec::new();
    for _ in 0..PROCESSES {
        match process::fork()? {
            Fork::Child => {
                process::die_with_parent();
                // Nobody tells it anything, so that it waits until it is killed.
                let _ = io::read_to_string(heard);
                process::exit(0)
            }
            Fork::Parent(pid) => pids.push(pid),
        }
    }
    let after = kernel(&["KernelStack", "PageTables"]);
    let of_children: io::Result<f64> =
        pids.iter().map(|pid| held_by(&pid.to_string(), &["Private_Dirty"])).sum();
    pids.iter().try_for_each(|pid| process::kill(*pid))?;
    Ok((of_children? + after? - before) / PROCESSES as f64)
}

/// The kernel's memory for sockets that are open and idle, of which two are a connection.
pub(super) fn socket(_: &Place) -> io::Result<f64> {
    let descriptors = usize::try_from(os::limits::descriptors()).unwrap_or(usize::MAX);
    let sockets = SOCKETS.min(descriptors.saturating_sub(SPARE) / 2).max(1);
    let slab = || kernel(&["Slab"]);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let before = slab()?;
    let open = || Ok((TcpStream::connect(address)?, listener.accept()?));
    let pairs: Vec<_> = (0..sockets).map(|_| open()).collect::<io::Result<_>>()?;
    let after = slab()?;
    drop(pairs);
    Ok((after - before) / (2 * sockets) as f64)
}

fn held(names: &[&str]) -> io::Result<f64> {
    held_by("self", names)
}

fn held_by(of: &str, names: &[&str]) -> io::Result<f64> {
    kilobytes(&fs::read_to_string(format!("/proc/{of}/smaps_rollup"))?, names)
}

fn kernel(names: &[&str]) -> io::Result<f64> {
    kilobytes(&fs::read_to_string("/proc/meminfo")?, names)
}

/// The sum of these lines, in bytes.
fn kilobytes(text: &str, names: &[&str]) -> io::Result<f64> {
    let told = names.iter().map(|name| line(text, name).map(|kb| kb as f64 * 1024.0));
    told.sum::<Option<f64>>().ok_or_else(|| io::Error::other("the kernel does not tell"))
}
