//! Several processes that share a run: each performs its part and hands its results over through a
//! pipe.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;

use measure::Duration;
use os::process::{Fork, Pid};
use os::{Signal, Signals};
use serde::{Deserialize, Serialize};

use super::{Done, Order, Standing};
use crate::collector::results::Results;
use crate::engine::{Failure, Part, Plan};
use crate::workload::Workload;

/// How soon a signal is heard.
const LISTEN: Duration = Duration::from_millis(50);

/// As shells tell a process that ^C has ended.
const INTERRUPTED: i32 = 130;

/// What a process says, in a line each.
#[derive(Serialize, Deserialize)]
enum Word {
    Standing(Standing),
    Done { results: Box<Results>, complaints: Vec<String> },
    Failed { what: String, is_operators: bool },
}

pub(super) fn share(
    order: &Order<'_>,
    workload: &mut dyn Workload,
    signals: &Signals,
    tell: &mut dyn FnMut(&Standing),
) -> Result<Done, Failure> {
    let failed = |error: io::Error| Failure::Machine(format!("to share a run: {error}"));
    let mut children = Vec::new();
    for place in 0..order.processes {
        let (reader, writer) = io::pipe().map_err(failed)?;
        match os::process::fork().map_err(failed)? {
            Fork::Parent(pid) => children.push(Child { pid, reader }),
            Fork::Child => {
                children.clear();
                drop(reader);
                os::process::die_with_parent();
                let part = Part { place, of: order.processes };
                let plan = Plan { part, ..order.plan.clone() };
                perform(&Order { plan: &plan, ..*order }, workload, signals, writer);
                os::process::exit(0);
            }
        }
    }
    gather(children, order, signals, tell)
}

struct Child {
    pid: Pid,
    reader: PipeReader,
}

/// In a child: does its part.
fn perform(
    order: &Order<'_>,
    workload: &mut dyn Workload,
    signals: &Signals,
    mut writer: PipeWriter,
) {
    let mut say = |word: &Word| {
        // Who is to hear it may be gone, and this process goes with him.
        let Ok(mut line) = serde_json::to_vec(word) else { return };
        line.push(b'\n');
        let _ = writer.write_all(&line);
    };
    let mut tell = |standing: &Standing| say(&Word::Standing(standing.clone()));
    let word = match super::part(order, workload, signals, &mut tell) {
        Ok(Done { results, complaints }) => Word::Done { results: Box::new(results), complaints },
        Err(Failure::Operator(what)) => Word::Failed { what, is_operators: true },
        Err(Failure::Machine(what)) => Word::Failed { what, is_operators: false },
    };
    say(&word);
}

/// Hears all of them until each has ended.
fn gather(
    children: Vec<Child>,
    order: &Order<'_>,
    signals: &Signals,
    tell: &mut dyn FnMut(&Standing),
) -> Result<Done, Failure> {
    let pids: Vec<Pid> = children.iter().map(|child| child.pid).collect();
    let (sender, receiver) = mpsc::channel();
    let hearing = children.into_iter().enumerate().map(|(place, child)| {
        let sender = sender.clone();
        thread::spawn(move || hear(place, child.reader, &sender))
    });
    let hearing: Vec<_> = hearing.collect();
    drop(sender);
    let mut all = Gathered::new(order.processes as usize);
    all.listen(&receiver, signals, &pids, tell);
    for thread in hearing {
        // Its pipe has ended.
        let _ = thread.join();
    }
    bury(pids.len(), signals);
    all.done()
}

/// Reads what one of them says.
fn hear(place: usize, reader: PipeReader, to: &Sender<(usize, Word)>) {
    for line in BufReader::new(reader).lines() {
        let Ok(Ok(word)) = line.map(|line| serde_json::from_str(&line)) else { return };
        if to.send((place, word)).is_err() {
            return;
        }
    }
}

/// What has been heard.
struct Gathered {
    standings: Vec<Option<Standing>>,
    /// Of those that are done.
    results: Vec<Option<Results>>,
    complaints: Vec<String>,
    failure: Option<Failure>,
}

impl Gathered {
    fn new(processes: usize) -> Self {
        Self {
            standings: vec![None; processes],
            results: vec![None; processes],
            complaints: Vec::new(),
            failure: None,
        }
    }

    fn listen(
        &mut self,
        receiver: &Receiver<(usize, Word)>,
        signals: &Signals,
        pids: &[Pid],
        tell: &mut dyn FnMut(&Standing),
    ) {
        let mut wishes = 0;
        // Ends: each process does, at the latest when the patience of its last clients is over.
        loop {
            match receiver.recv_timeout(LISTEN) {
                Ok((place, word)) => self.take(place, word, tell),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(Some(signal)) = signals.next() {
                if !matches!(signal, Signal::Int | Signal::Term) {
                    continue;
                }
                wishes += 1;
                if wishes > 1 {
                    os::process::exit(INTERRUPTED);
                }
                for &pid in pids {
                    // Who has ended needs none.
                    let _ = os::process::signal(pid, Signal::Term);
                }
            }
        }
    }

    fn take(&mut self, place: usize, word: Word, tell: &mut dyn FnMut(&Standing)) {
        match word {
            Word::Standing(standing) => {
                self.standings[place] = Some(standing);
                if place == 0 {
                    self.standing().iter().for_each(tell);
                }
            }
            Word::Done { results, complaints } => {
                self.results[place] = Some(*results);
                self.complaints.extend(complaints);
            }
            Word::Failed { what, is_operators } => {
                let failure = if is_operators { Failure::Operator } else { Failure::Machine };
                self.failure.get_or_insert(failure(what));
            }
        }
    }

    /// How all of them stand, by what the first one has just said.
    fn standing(&self) -> Option<Standing> {
        let mut all = self.standings.first()?.clone()?;
        for other in self.standings[1..].iter().flatten() {
            all.open += other.open;
            if let (Some(ours), Some(theirs)) = (&mut all.latest, &other.latest)
                && (ours.0, ours.1) == (theirs.0, theirs.1)
            {
                ours.2.add(&theirs.2);
            }
        }
        Some(all)
    }

    fn done(self) -> Result<Done, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut merged: Option<Results> = None;
        for (place, results) in self.results.into_iter().enumerate() {
            let lost = || Failure::Machine(format!("process {place} ended without its results"));
            let results = results.ok_or_else(lost)?;
            match &mut merged {
                None => merged = Some(results),
                Some(merged) => {
                    let differ = |error| Failure::Machine(format!("process {place}: {error}"));
                    merged.merge(results).map_err(differ)?;
                }
            }
        }
        let results = merged.ok_or_else(|| Failure::Machine(String::from("no process")))?;
        Ok(Done { results, complaints: self.complaints })
    }
}

/// All of them have said their last word.
fn bury(mut count: usize, signals: &Signals) {
    while count > 0 {
        match os::process::wait_any_exited() {
            Ok(Some(_)) => count -= 1,
            // SIGCHLD tells of the next one; whoever was buried by somebody else tells nothing.
            Ok(None) => {
                if !matches!(signals.wait(Some(Duration::from_secs(1))), Ok(Some(_))) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
