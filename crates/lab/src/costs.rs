//! What single steps cost on this machine, each timed by itself: what a simulator has to know of
//! the kernel, whatever the architecture (Choi05 table 3 has some of them for Solaris).
//!
//! A step is made in batches, in a process that does nothing else, on one processor; told is the
//! median batch. What a step makes others do later (a packet that arrives, a page that is read) is
//! in its cost only where it runs in the caller's time, as over loopback.

mod events;
mod files;
mod memory;
mod rings;
mod sockets;
mod threads;

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use crate::Failure;

/// One of them.
#[derive(Debug)]
pub struct Cost {
    /// As in `weir lab cost NAME`.
    pub name: &'static str,
    /// Of its figure.
    pub unit: &'static str,
    /// What is timed.
    pub is: &'static str,
    run: fn(&Place) -> io::Result<f64>,
}

/// Where it is measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// The processor that performs each step; none: any.
    pub on: Option<usize>,
    /// Another one, for what goes between two; none: there is no other.
    pub beside: Option<usize>,
}

/// All there are, in the order of a request.
pub const COSTS: &[Cost] = &[
    ns("epoll-call", "epoll_wait that finds nothing ready", events::epoll_call),
    ns("epoll-event", "each ready descriptor of epoll_wait", events::epoll_event),
    ns("poll-descriptor", "each descriptor that poll asks about", events::poll_descriptor),
    ns("accept", "a waiting connection, taken (accept4)", sockets::accept),
    ns("accept-empty", "an accept that finds nobody", sockets::accept_empty),
    ns("receive", "a request of 100 bytes that is there (recv)", sockets::receive),
    ns("receive-empty", "a recv that finds nothing", sockets::receive_empty),
    ns("send", "300 bytes over loopback, what its receiver's kernel does included", sockets::send),
    ns("close", "a connection whose client has gone (close)", sockets::close),
    ns("open", "a file whose name is cached, opened, looked at and closed", files::open),
    ns("stat", "a file whose name is cached (statx)", files::stat),
    ns("read-kb", "each KiB read from the page cache", files::read_kb),
    ns("ring-call", "entering the kernel for one entry of a ring, its entry included", rings::call),
    ns("ring-entry", "each entry more of the same call", rings::entry),
    ns("switch-thread", "from one thread to another of its process", threads::switch),
    ns("switch-process", "from one process to another", threads::switch_process),
    ns("hand-over", "to a thread that waits on the same processor", threads::hand_over),
    ns("hand-over-far", "to a thread that waits on another processor", threads::hand_over_far),
    ns("cache-line", "a word that another processor has written", threads::cache_line),
    Cost {
        name: "thread-bytes",
        unit: "bytes",
        is: "a thread that waits: its stack as far as it is used, and the kernel's",
        run: memory::thread,
    },
    Cost {
        name: "process-bytes",
        unit: "bytes",
        is: "a forked process that waits: pages of its own, page tables, the kernel's stack",
        run: memory::process,
    },
    Cost {
        name: "socket-bytes",
        unit: "bytes",
        is: "an open connection at one end, in the kernel",
        run: memory::socket,
    },
];

const fn ns(name: &'static str, is: &'static str, run: fn(&Place) -> io::Result<f64>) -> Cost {
    Cost { name, unit: "ns", is, run }
}

/// Measures those of these names, all if there are none. What this machine has not got (a second
/// processor, a ring) is left out.
///
/// # Errors
/// There is no such cost; a file or a socket cannot be had.
pub fn measure(names: &[String], place: &Place) -> Result<BTreeMap<String, f64>, Failure> {
    let known = || COSTS.iter().map(|cost| cost.name);
    if let Some(wrong) = names.iter().find(|name| !known().any(|known| known == *name)) {
        return Err(Failure::Operator(crate::unknown("cost", wrong, known())));
    }
    place.check()?;
    stay(place.on).map_err(|e| Failure::machine("the processor", e))?;
    let mut measured = BTreeMap::new();
    for cost in COSTS {
        if !names.is_empty() && !names.iter().any(|name| name == cost.name) {
            continue;
        }
        match (cost.run)(place) {
            Ok(value) => drop(measured.insert(cost.name.into(), value)),
            Err(e) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(e) => return Err(Failure::machine(cost.name, e)),
        }
    }
    Ok(measured)
}

impl Place {
    /// Who waits for a thread that cannot begin waits for ever.
    fn check(&self) -> Result<(), Failure> {
        let own = os::thread::processors().map_err(|e| Failure::machine("processors", e))?;
        let is_wrong = |processor: &usize| !own.contains(processor);
        if let Some(wrong) = [self.on, self.beside].into_iter().flatten().find(is_wrong) {
            let own: Vec<String> = own.iter().map(ToString::to_string).collect();
            let own = own.join(", ");
            return Err(Failure::Operator(format!("{wrong}: has to be a processor of {own}")));
        }
        match self.beside {
            Some(beside) if self.on.is_none_or(|on| on == beside) => {
                Err(Failure::Operator(String::from("--beside: has to be another one than --on")))
            }
            _ => Ok(()),
        }
    }
}

fn stay(on: Option<usize>) -> io::Result<()> {
    on.map_or(Ok(()), |on| os::thread::stay_on(&[on]))
}

/// Of the batches of a step; a machine that was disturbed shows it in a few of them.
const BATCHES: usize = 31;

/// Nanoseconds of one of `steps` steps, by the median of batches; each is given what `prepare`
/// makes, which is not timed, and what `step` gives back is let go of when the time is taken.
fn timed<T, U>(
    steps: usize,
    mut prepare: impl FnMut() -> io::Result<T>,
    mut step: impl FnMut(T) -> io::Result<U>,
) -> io::Result<f64> {
    let mut times = [0.0; BATCHES];
    for time in &mut times {
        let of = prepare()?;
        let began = Instant::now();
        let made = step(of)?;
        *time = began.elapsed().as_nanos() as f64 / steps as f64;
        drop(made);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[BATCHES / 2])
}

/// What each of `more` costs on top of the first: the slope between two batches.
fn each(few_ns: f64, many_ns: f64, more: usize) -> f64 {
    (many_ns - few_ns) / more as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unlike_and_unknown_ones_are_told() {
        for (place, cost) in COSTS.iter().enumerate() {
            assert!(COSTS[..place].iter().all(|other| other.name != cost.name), "{}", cost.name);
        }
        let wrong = measure(&[String::from("acept")], &Place::default()).unwrap_err();
        assert!(wrong.to_string().contains("accept"), "{wrong}");
        let places = [(Some(9_999), None), (None, Some(0)), (Some(0), Some(0))];
        for (on, beside) in places {
            assert!(measure(&[], &Place { on, beside }).is_err(), "{on:?} {beside:?}");
        }
    }

    #[test]
    fn what_needs_no_process_of_its_own_is_measured() {
        let alone = |cost: &&Cost| {
            !["switch-process", "process-bytes"].contains(&cost.name) && cost.unit == "ns"
        };
        for cost in COSTS.iter().filter(alone) {
            match (cost.run)(&Place::default()) {
                Ok(value) => assert!(value.is_finite(), "{}: {value}", cost.name),
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::Unsupported, "{}: {e}", cost.name),
            }
        }
    }
}
