//! Several processes that share a run: each is started with its part, performs it, and hands its
//! results over through a pipe. Each says at least once a second how it stands, so one that is
//! silent for long hangs.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use measure::Duration;
use os::clock::monotonic;
use os::process::{Exit, Pid};
use os::{Signal, Signals};

use super::part::{Begin, Share, Word, line};
use super::{CUT, Done, Order, START, STOP, Sharing, Standing, say_begin, wanted};
use crate::collector::results::Results;
use crate::engine::{Course, Failure, Part, Plan};

/// How soon a signal is heard.
const LISTEN: Duration = Duration::from_millis(50);

/// A process that has nothing to say for so many times [`LISTEN`] hangs: 30 s, in which a busy
/// machine also writes large results. Counted and not timed: whoever was stopped together with all
/// of them (^Z) has not waited.
const SILENCE_MAX: u32 = 600;

/// The same for one that makes what it is to ask: 5 min, in which it reads a log of gigabytes.
const PREPARES_MAX: u32 = 6_000;

/// A process that was killed is gone within this.
const GONE: Duration = Duration::from_secs(1);

pub(super) fn share(
    (order, sharing): (&Order<'_>, &Sharing<'_>),
    signals: &Signals,
    tell: &mut dyn FnMut(Standing),
) -> Result<Done, Failure> {
    let mut started = Started::default();
    let begun = started.all(order.plan, sharing);
    let Started { children, inputs, outputs } = started;
    let (sender, receiver) = mpsc::channel();
    let hearing = outputs.into_iter().enumerate().map(|(place, output)| {
        let sender = sender.clone();
        thread::spawn(move || hear(place, output, &sender))
    });
    let hearing: Vec<_> = hearing.collect();
    let failed = |error| Lost::Failure(Failure::Machine(format!("to share a run: {error}")));
    let done = begun
        .map_err(failed)
        .and_then(|()| gather(&receiver, (order, &children, inputs), signals, tell));
    // Who ends too early tells by himself how.
    let ended = usize::from(matches!(done, Err(Lost::Ended { .. })));
    let mut exits = bury(ended, signals);
    // Of the others, who has said all has ended; nobody is to go on where another could not.
    let is_left = |child: &&Pid| exits.iter().all(|(ended, _)| ended != *child);
    children.iter().filter(is_left).for_each(|&child| _ = os::process::kill(child));
    exits.extend(bury(children.len() - exits.len(), signals));
    if exits.len() == children.len() {
        // Their pipes have ended.
        hearing.into_iter().for_each(|thread| _ = thread.join());
    }
    done.map_err(|lost| match lost {
        Lost::Failure(failure) => failure,
        Lost::Ended { place } => {
            let exit = exits.iter().find(|(child, _)| *child == children[place]);
            let how = exit.map_or_else(|| String::from("ended"), |(_, exit)| exit.to_string());
            Failure::Machine(format!("process {place} {how}, without its results"))
        }
    })
}

/// Why there are no results.
enum Lost {
    Failure(Failure),
    /// The process of this place has ended too early.
    Ended {
        place: usize,
    },
}

/// Those that were started, by their places.
#[derive(Default)]
struct Started {
    children: Vec<Pid>,
    /// Open until the run is over.
    inputs: Vec<ChildStdin>,
    outputs: Vec<ChildStdout>,
}

impl Started {
    /// Starts them, each with its share. If that fails there are those that came before.
    fn all(&mut self, plan: &Plan, sharing: &Sharing<'_>) -> io::Result<()> {
        for place in 0..sharing.processes {
            let mut command = Command::new(sharing.command[0]);
            command.args(&sharing.command[1..]).arg0(NAME);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            self.children.extend(Pid::new(child.id()));
            self.outputs.extend(child.stdout.take());
            let part = Part { place, of: sharing.processes };
            let (task, to, host) = (sharing.task.clone(), plan.to, plan.host.clone());
            let share = line(&Share { task, to, host, part })?;
            if let Some(mut input) = child.stdin.take() {
                // Who does not read has ended, and is heard of.
                let _ = input.write_all(&share);
                self.inputs.push(input);
            }
        }
        Ok(())
    }
}

/// What it is called where processes are shown.
const NAME: &str = "weir";

/// Reads what one of them says; behind its last word there is none.
fn hear(place: usize, reader: ChildStdout, to: &Sender<(usize, Option<Word>)>) {
    for line in BufReader::new(reader).lines() {
        let word = line.and_then(|line| Ok(serde_json::from_str(&line)?));
        let word = word.unwrap_or_else(|error: io::Error| Word::Failed {
            what: format!("process {place} cannot be understood: {error}"),
            is_operators: false,
        });
        if to.send((place, Some(word))).is_err() {
            return;
        }
    }
    // Who is to hear it may have heard enough.
    let _ = to.send((place, None));
}

/// Hears all of them until each has handed over its results, or one will not.
fn gather(
    receiver: &Receiver<(usize, Option<Word>)>,
    (order, children, mut inputs): (&Order<'_>, &[Pid], Vec<ChildStdin>),
    signals: &Signals,
    tell: &mut dyn FnMut(Standing),
) -> Result<Done, Lost> {
    let mut all = Gathered::new(children.len());
    let mut course = Course::On;
    let mut next_wait = monotonic() + LISTEN;
    while !all.are_done() {
        match receiver.recv_timeout(LISTEN) {
            Ok((place, Some(word))) => all.take(place, word, tell)?,
            Ok((place, None)) if all.works(place) => return Err(Lost::Ended { place }),
            _ => {}
        }
        let now = monotonic();
        if all.are_ready_now() {
            let at = now + START;
            say_begin(order, at).map_err(Lost::Failure)?;
            let begin = line(&Begin { ns: at.ns });
            let begin = begin.map_err(|error| Failure::Machine(error.to_string()))?;
            // Who does not read has ended, and is heard of.
            inputs.iter_mut().for_each(|input| _ = input.write_all(&begin));
        }
        if now >= next_wait {
            next_wait = now + LISTEN;
            all.wait()?;
        }
        while let Ok(Some(signal)) = signals.next() {
            if matches!(signal, Signal::Int | Signal::Term) {
                course = wanted(course, all.is_over);
                let signal = if course == Course::Stop { STOP } else { CUT };
                // Who has ended needs none.
                children.iter().for_each(|&child| _ = os::process::signal(child, signal));
            }
        }
    }
    all.done(course != Course::On)
}

/// What has been heard, by the processes' places.
struct Gathered {
    parts: Vec<Heard>,
    /// All of them are ready, and were told when to begin.
    have_begun: bool,
    /// As was told last: replies are all that is left to come.
    is_over: bool,
    complaints: Vec<String>,
}

/// Of one process.
enum Heard {
    /// It makes what it is to ask, for so long, in times [`LISTEN`].
    Prepares(u32),
    Works {
        /// If it has said so since the last time that all together were told.
        standing: Option<Box<Standing>>,
        /// Since its last word, in times [`LISTEN`].
        silent: u32,
    },
    Done(Box<Results>),
}

impl Gathered {
    fn new(processes: usize) -> Self {
        let parts = std::iter::repeat_with(|| Heard::Prepares(0)).take(processes).collect();
        Self { parts, have_begun: false, is_over: false, complaints: Vec::new() }
    }

    fn are_done(&self) -> bool {
        (0..self.parts.len()).all(|place| !self.works(place))
    }

    fn works(&self, place: usize) -> bool {
        !matches!(self.parts[place], Heard::Done(_))
    }

    /// Once, when the last one has become ready.
    fn are_ready_now(&mut self) -> bool {
        let is_ready = |part: &Heard| !matches!(part, Heard::Prepares(_));
        let have_begun = self.parts.iter().all(is_ready);
        !std::mem::replace(&mut self.have_begun, have_begun) && have_begun
    }

    fn take(
        &mut self,
        place: usize,
        word: Word,
        tell: &mut dyn FnMut(Standing),
    ) -> Result<(), Failure> {
        self.parts[place] = match word {
            Word::Ready => Heard::Works { standing: None, silent: 0 },
            Word::Standing(standing) => Heard::Works { standing: Some(standing.into()), silent: 0 },
            Word::Done { results, complaints } => {
                self.complaints.extend(complaints);
                Heard::Done(results)
            }
            Word::Failed { what, is_operators: true } => return Err(Failure::Operator(what)),
            Word::Failed { what, is_operators: false } => return Err(Failure::Machine(what)),
        };
        if let Some(all) = self.standing() {
            self.is_over = all.over_ns.is_some();
            tell(all);
            for part in &mut self.parts {
                if let Heard::Works { standing, .. } = part {
                    *standing = None;
                }
            }
        }
        Ok(())
    }

    /// Time passes in which nobody may have said anything.
    fn wait(&mut self) -> Result<(), Failure> {
        for (place, part) in self.parts.iter_mut().enumerate() {
            let (silent, most, what) = match part {
                Heard::Prepares(silent) => (silent, PREPARES_MAX, "was not ready within"),
                // Until all are ready there is nothing to say.
                Heard::Works { silent, .. } if self.have_begun => {
                    (silent, SILENCE_MAX, "has not said anything for")
                }
                _ => continue,
            };
            *silent += 1;
            if *silent > most {
                let seconds = (LISTEN * most).as_secs();
                return Err(Failure::Machine(format!("process {place} {what} {seconds} s")));
            }
        }
        Ok(())
    }

    /// How those stand together that still work, if all of them have said so: of an interval that
    /// only some have told, the rates would be too low.
    fn standing(&self) -> Option<Standing> {
        let mut all: Option<Standing> = None;
        for part in &self.parts {
            let Heard::Works { standing, .. } = part else { continue };
            let standing = standing.as_deref()?;
            match &mut all {
                None => all = Some(standing.clone()),
                Some(all) => all.add(standing),
            }
        }
        all
    }

    fn done(self, is_stopped: bool) -> Result<Done, Lost> {
        let mut merged: Option<Results> = None;
        for (place, part) in self.parts.into_iter().enumerate() {
            let Heard::Done(results) = part else { return Err(Lost::Ended { place }) };
            match &mut merged {
                None => merged = Some(*results),
                Some(merged) => merged
                    .merge(*results)
                    .map_err(|error| Failure::Machine(format!("process {place}: {error}")))?,
            }
        }
        let results = merged.ok_or_else(|| Failure::Machine(String::from("no process")))?;
        Ok(Done { results, complaints: self.complaints, is_stopped })
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Standing {
    /// Another process's beside this one's.
    fn add(&mut self, other: &Self) {
        self.at_ns = self.at_ns.max(other.at_ns);
        self.open += other.open;
        self.asking += other.asking;
        // While one of them may begin something, it is not over.
        let both = self.over_ns.zip(other.over_ns);
        self.over_ns = both.map(|(ours, theirs)| (ours.0.max(theirs.0), ours.1.max(theirs.1)));
        match (&mut self.latest, &other.latest) {
            (Some(ours), Some(theirs)) if (ours.0, ours.1) == (theirs.0, theirs.1) => {
                ours.2.add(&theirs.2);
            }
            // One of them was late: what it told is of an earlier interval.
            (ours, Some(theirs)) if ours.as_ref().is_none_or(|ours| ours.0 < theirs.0) => {
                *ours = Some(theirs.clone());
            }
            _ => {}
        }
    }
}

/// Buries so many that have ended or been killed, and says how they ended.
fn bury(count: usize, signals: &Signals) -> Vec<(Pid, Exit)> {
    let mut exits = Vec::new();
    while exits.len() < count {
        match os::process::wait_any_exited() {
            Ok(Some(exit)) => exits.push(exit),
            // SIGCHLD tells of the next one.
            Ok(None) if matches!(signals.wait(Some(GONE)), Ok(Some(_))) => {}
            _ => break,
        }
    }
    exits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(open: u64, over_ns: Option<(u64, u64)>) -> Word {
        let at_ns = 1_000_000_000;
        Word::Standing(Standing { at_ns, open, asking: 0, over_ns, latest: None })
    }

    #[test]
    fn processes_are_told_together_or_not_at_all() {
        // Who says what, and what is told then.
        let (early, late) = (Some((1, 9)), Some((2, 8)));
        let rows = [
            (0, 1, None, None),
            (0, 2, early, None),
            (1, 10, None, Some((12, None))),
            (1, 20, late, None),
            (0, 3, early, Some((23, Some((2, 9))))),
        ];
        let mut all = ready();
        for (place, open, over_ns, expected) in rows {
            let mut told = None;
            let mut tell = |standing: Standing| told = Some((standing.open, standing.over_ns));
            assert!(all.take(place, standing(open, over_ns), &mut tell).is_ok());
            assert_eq!(told, expected, "{place} says {open}");
            assert_eq!(all.is_over, told.is_some_and(|(_, over)| over.is_some()));
        }
    }

    /// Two that have begun.
    fn ready() -> Gathered {
        let mut all = Gathered::new(2);
        for place in 0..2 {
            assert!(!all.are_ready_now(), "{place} prepares");
            assert!(all.take(place, Word::Ready, &mut |_| ()).is_ok());
        }
        assert!(all.are_ready_now() && !all.are_ready_now(), "they begin once");
        all
    }

    fn told(of: Result<(), Failure>) -> String {
        let Err(Failure::Machine(what)) = of else { panic!("it waits for ever") };
        what
    }

    #[test]
    fn who_says_nothing_for_long_hangs() {
        let mut all = ready();
        for _ in 0..SILENCE_MAX {
            assert!(all.wait().is_ok());
            assert!(all.take(0, standing(1, None), &mut |_| ()).is_ok());
        }
        assert_eq!(told(all.wait()), "process 1 has not said anything for 30 s");
    }

    #[test]
    fn who_is_never_ready_is_named() {
        let mut all = Gathered::new(2);
        assert!(all.take(0, Word::Ready, &mut |_| ()).is_ok());
        for _ in 0..PREPARES_MAX {
            assert!(all.wait().is_ok() && !all.are_ready_now());
        }
        assert_eq!(told(all.wait()), "process 1 was not ready within 300 s");
    }
}
