//! One process of several that share a run. It is told on its standard input what to do, in two
//! lines, and says on its standard output how that goes, in a line each: whoever has started it may
//! be of this host or of another one.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;

use measure::{Duration, Instant};
use os::clock::monotonic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Done, Order, Standing};
use crate::collector::results::Results;
use crate::engine::{Failure, Part, Plan};
use crate::task::Task;

/// The first line that a process is told.
#[derive(Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) task: Task,
    /// The server, as all of them are to find it.
    pub(super) to: SocketAddr,
    pub(super) host: String,
    pub(super) part: Part,
}

/// The second one, when all of them are ready.
#[derive(Serialize, Deserialize)]
pub(super) struct Begin {
    /// By the machine's one clock.
    pub(super) ns: u64,
}

/// What a process says.
#[derive(Serialize, Deserialize)]
pub(super) enum Word {
    /// It knows what to do, and waits for the second line.
    Ready,
    Standing(Standing),
    Done {
        results: Box<Results>,
        complaints: Vec<String>,
    },
    Failed {
        what: String,
        is_operators: bool,
    },
}

/// Performs the part of a run that this process is told of on its standard input, for whoever has
/// started it and reads its standard output ([`run`](super::run())).
pub fn perform_part() {
    os::process::die_with_parent();
    let mut output = io::stdout().lock();
    let mut say = |word: &Word| {
        // Who is to hear it may be gone, and this process goes with him.
        let Ok(line) = line(word) else { return };
        let _ = output.write_all(&line).and_then(|()| output.flush());
    };
    let word = match perform(&mut io::stdin().lock(), &mut say) {
        Ok(Done { results, complaints, .. }) => {
            Word::Done { results: Box::new(results), complaints }
        }
        Err(Failure::Operator(what)) => Word::Failed { what, is_operators: true },
        Err(Failure::Machine(what)) => Word::Failed { what, is_operators: false },
    };
    say(&word);
}

/// One word.
pub(super) fn line(word: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    Ok(line)
}

fn perform(input: &mut dyn BufRead, say: &mut dyn FnMut(&Word)) -> Result<Done, Failure> {
    let Share { task, to, host, part } = told(input)?;
    let choices = task.choices().map_err(Failure::Operator)?;
    let mut workload = task.workload().map_err(Failure::Operator)?;
    let plan = choices.plan((to, &host), &*workload, os::limits::descriptors());
    let plan = plan.map_err(Failure::Operator)?;
    let signals = super::signals()?;
    say(&Word::Ready);
    let Begin { ns } = told(input)?;
    let begin = Instant { ns };
    judge_late(part, begin, monotonic())?;
    let plan = Plan { begin, part, ..plan };
    let records = choices.records.as_deref();
    let order = Order {
        plan: &plan,
        clients: choices.clients(),
        lag_max: choices.lag_max,
        records,
        begins: None,
    };
    super::part(&order, &mut *workload, &signals, &mut |standing| say(&Word::Standing(standing)))
}

fn told<T: DeserializeOwned>(input: &mut dyn BufRead) -> Result<T, Failure> {
    let wrong = |why: String| Failure::Operator(format!("standard input: no part of a run: {why}"));
    let mut text = String::new();
    let read = input.read_line(&mut text).map_err(|error| wrong(error.to_string()))?;
    if read == 0 {
        return Err(wrong(String::from("it ends")));
    }
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// Who begins so late leaves a share of the load to nobody. Less is seen by how late requests were.
const LATE_MAX: Duration = Duration::from_millis(500);

fn judge_late(part: Part, begin: Instant, now: Instant) -> Result<(), Failure> {
    let late = now.since(begin);
    if late <= LATE_MAX {
        return Ok(());
    }
    let (place, ms) = (part.place, late.as_millis());
    let what = format!("process {place} was late: it was to begin {ms} ms before it could");
    Err(Failure::Machine(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_begins_too_late_is_named() {
        let at = |ms: u64| Instant { ns: ms * 1_000_000 };
        let late = "process 3 was late: it was to begin 501 ms before it could";
        for (now_ms, expected) in [(0, None), (1_000, None), (1_500, None), (1_501, Some(late))] {
            let judged = judge_late(Part { place: 3, of: 4 }, at(1_000), at(now_ms));
            let told = judged.err().map(|failure| match failure {
                Failure::Machine(what) | Failure::Operator(what) => what,
            });
            assert_eq!(told.as_deref(), expected, "{now_ms}");
        }
    }

    #[test]
    fn what_is_no_part_of_a_run_is_refused() {
        let share = Share {
            task: Task {
                workload: Some(String::from("nothing")),
                target: String::from("/"),
                choices: Vec::new(),
                settings: Vec::new(),
            },
            to: SocketAddr::from(([127, 0, 0, 1], 1)),
            host: String::from("a"),
            part: Part::WHOLE,
        };
        let unknown = String::from_utf8(line(&share).unwrap()).unwrap();
        let known = unknown.replace("\"nothing\"", "null");
        let rows = [
            ("", "standard input: no part of a run: it ends"),
            ("GET / HTTP/1.1\n", "standard input: no part of a run: expected value at line 1"),
            (&unknown, "there is no workload nothing"),
            (&known, "standard input: no part of a run: it ends"),
        ];
        for (input, expected) in rows {
            let mut input = input.as_bytes();
            let Err(Failure::Operator(what)) = perform(&mut input, &mut |_| ()) else {
                panic!("{expected}: it is performed")
            };
            assert!(what.starts_with(expected), "{what}");
        }
    }
}
