//! How the machine is shared out: descriptors and memory, for connections and files.

use h1::LEFTOVER_BYTES_MAX;
use os::limits::{self, Memory};

use crate::architectures::{Architecture, Holder};
use crate::loops::phases::BUFFER_BYTES;
use crate::rings::completions::READ_BYTES_MIN;
use crate::shared::failure::Failure;
use crate::shared::performer::Performer;
use crate::shared::server::PIECE_BYTES;
use crate::shared::settings::{Sendfile, Settings};

/// Descriptors that are neither connections nor files: listeners, pollers, wake-ups, logs.
const DESCRIPTORS_SPARE: u64 = 64;
/// Those that each further loop of a worker needs: a poller or a ring, a spare one, what it knows
/// of its time, wake-ups for verdicts and for helpers; a pipeline three pollers and three wake-ups
/// more; and some that are open for a moment.
const LOOP_SPARE: u64 = 12;
/// More than anybody serves from one process, and all that the table of a ring takes, whatever the
/// limit says: service managers set it to 2^30.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// Of what memory there is, what connections may take: the rest is for the cache, the program, and
/// the kernel's pages of files.
const OF_MEMORY: u64 = 2;
/// Of a thread: the kernel's stack, and of its own what it touches.
const THREAD_BYTES: u64 = 32 << 10;
/// What is touched of a fiber's stack.
const FIBER_BYTES: u64 = 16 << 10;
/// Of a process that was forked: its tables of pages, what of its memory it has changed, and the
/// kernel's account of it.
const PROCESS_BYTES: u64 = 512 << 10;
/// Its session, its place, its deadline.
const STATE_BYTES: u64 = 2 << 10;
/// The kernel's: a socket, its file and its place in a poller are 4 KiB; its buffers take as little
/// as 4 KiB each when memory is short, and what all of them take it bounds itself (tcp_mem).
const KERNEL_BYTES: u64 = 12 << 10;

/// What one worker has.
pub(super) struct Split {
    pub(super) descriptors: u64,
    pub(super) files: u64,
    pub(super) connections: u64,
    /// Of these, what each of its loops has.
    pub(super) of_loop: u64,
    /// What keeps them from being more.
    pub(super) bound: &'static str,
    pub(super) memory: Option<Memory>,
    /// Connections for which there is memory.
    by_memory: u64,
}

impl Split {
    pub(super) fn new(settings: &Settings, architecture: &Architecture) -> Result<Self, Failure> {
        let descriptors = limits::descriptors().min(DESCRIPTORS_MAX);
        let too_few = || {
            Failure::Machine(format!(
                "{descriptors} descriptors are too few to serve with; raise the limit (ulimit -n)"
            ))
        };
        let loops = u64::from(architecture.loops(settings));
        let workers = architecture.workers_max(settings);
        // Of one table.
        let sharers = if architecture.kept { u64::from(workers) } else { 1 };
        let spare = spare(descriptors) + (loops * sharers - 1) * LOOP_SPARE;
        let usable = descriptors.checked_sub(spare).filter(|&n| n >= 4);
        let usable = usable.ok_or_else(too_few)?;
        let files = match settings.cache_files {
            0 => usable / 4,
            n => u64::from(n).min(usable / 2),
        };
        let memory = limits::memory();
        let bytes = connection_bytes(settings, architecture) * u64::from(workers);
        let by_memory = memory.map_or(u64::MAX, |memory| memory.bytes / OF_MEMORY / bytes);
        let mut bounds = vec![((usable - files) * 9 / 10 / sharers, "descriptors")];
        match settings.connections_max {
            0 => bounds.push((by_memory, "memory")),
            n => bounds.push((u64::from(n / workers), "--connections-max")),
        }
        match architecture.holder {
            Holder::Thread => bounds.push((architecture.threads(settings).into(), "--threads")),
            Holder::Process => bounds.push((1, "--processes")),
            Holder::Fiber => {
                let most = os::fiber::stacks_max().map(|most| (most, "vm.max_map_count"));
                bounds.extend(most);
            }
            Holder::Loop | Holder::Stages => {}
        }
        let least = bounds.into_iter().min_by_key(|(connections, _)| *connections);
        let (connections, bound) = least.expect("there is one");
        let of_loop = (connections / loops).max(1);
        let connections = of_loop * loops;
        Ok(Self { descriptors, files, connections, of_loop, bound, memory, by_memory })
    }

    /// The operator's word holds, but he is told.
    pub(super) fn warning(&self) -> Option<String> {
        let memory = self.memory.filter(|_| self.connections > self.by_memory.max(1))?;
        let (connections, mib, least) = (self.connections, memory.bytes >> 20, self.by_memory);
        Some(format!(
            "{connections} connections may take more than half of {mib} MiB of memory at their \
             worst; {least} could not (--connections-max)"
        ))
    }
}

const fn spare(descriptors: u64) -> u64 {
    if descriptors / 4 < DESCRIPTORS_SPARE { descriptors / 4 } else { DESCRIPTORS_SPARE }
}

/// Memory that a connection takes at its worst: a head that is not whole, with what came behind it,
/// in a vector that was doubled just before. A log keeps words of a head until its reply is out.
fn connection_bytes(settings: &Settings, architecture: &Architecture) -> u64 {
    let head = settings.limits.head_bytes_max as u64;
    let words = if settings.access_log.is_some() { head } else { 0 };
    let own = if architecture.holder == Holder::Process { PROCESS_BYTES } else { THREAD_BYTES };
    let (behind, more) = match architecture.receive {
        Performer::Ring => (LEFTOVER_BYTES_MAX as u64, READ_BYTES_MIN),
        // A blocked send keeps its piece.
        Performer::Thread | Performer::Process if settings.sendfile == Some(Sendfile::Off) => {
            (BUFFER_BYTES as u64, own + PIECE_BYTES)
        }
        Performer::Thread | Performer::Process => (BUFFER_BYTES as u64, own),
        Performer::Fiber => (BUFFER_BYTES as u64, FIBER_BYTES),
        _ => (BUFFER_BYTES as u64, 0),
    };
    2 * (head + behind) + words + more + STATE_BYTES + KERNEL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architectures::ARCHITECTURES;

    #[test]
    fn memory_bounds_connections_unless_the_operator_says_how_many() {
        for architecture in ARCHITECTURES {
            let threads = (architecture.holder == Holder::Thread).then_some(32_768);
            let mut settings = Settings { threads, ..Settings::default() };
            let of = |settings: &Settings| Split::new(settings, architecture).unwrap();
            settings.limits.head_bytes_max = 1 << 40;
            let split = of(&settings);
            assert_eq!((split.connections, split.bound), (1, "memory"), "{}", architecture.name);
            assert_eq!(split.warning(), None);
            if architecture.holder == Holder::Process {
                continue;
            }
            settings.connections_max = 8 * architecture.workers_max(&settings);
            let split = of(&settings);
            assert_eq!((split.connections, split.bound), (8, "--connections-max"));
            assert!(split.warning().is_some_and(|warning| warning.starts_with("8 connections")));
            settings.limits.head_bytes_max = 16 << 10;
            assert_eq!(of(&settings).warning(), None);
        }
    }

    #[test]
    fn loops_share_what_a_worker_has() {
        let loops = ARCHITECTURES.iter().filter(|row| row.multiplies);
        for architecture in loops.filter(|row| row.knobs.contains(&"threads")) {
            // Connections that the operator says, processes, loops; what each loop has.
            for (connections_max, processes, loops, expected) in
                [(12, 1, 1, 12), (12, 1, 4, 3), (13, 1, 4, 3), (12, 3, 4, 1), (12, 1, 24, 1)]
            {
                let (threads, processes) = (Some(loops), Some(processes));
                let settings =
                    Settings { connections_max, processes, threads, ..Settings::default() };
                let split = Split::new(&settings, architecture).unwrap();
                assert_eq!(split.of_loop, expected, "{}: {settings:?}", architecture.name);
                assert_eq!(split.connections, expected * u64::from(loops));
            }
        }
    }
}
