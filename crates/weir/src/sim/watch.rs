//! Who waits for replications: how they go, and what ^C makes of them.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use measure::Duration;
use os::clock::monotonic;
use os::{Signal, Signals};
use sim::point::{Course, Point};
use sim::scenario::Scenario;

use crate::terminal::{self, CLEARED, cut};
use crate::{STOPPED, complain};

/// How often it is looked at, and heard whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(100);

/// Why there is no point.
pub(super) enum Fault {
    /// What was asked makes no sense.
    Operator(String),
    Machine(String),
}

/// Runs a scenario so many times, on all processors. By SIGINT or SIGTERM it ends with those that
/// are done, and by one more the process ends at once. Behind it they have their usual effect.
pub(super) fn replicated(scenario: &Scenario, replications: u64) -> Result<Point, Fault> {
    let failed = |error: io::Error| Fault::Machine(format!("signals: {error}"));
    let signals = Signals::take(&[Signal::Int, Signal::Term]).map_err(failed)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let course = Course::default();
    let watch = Watch {
        course: &course,
        replications,
        whole: (scenario.warm_up + scenario.measured).as_secs_f64() * replications as f64,
        is_seen: io::stderr().is_terminal(),
    };
    let point = thread::scope(|scope| {
        let (told, ended) = mpsc::channel();
        let course = &course;
        scope.spawn(move || {
            // Whoever waits for it does so until it comes.
            let _ = told.send(Point::new(scenario, replications, threads, course));
        });
        watch.until(&signals, || ended.recv_timeout(LOOK))
    });
    // Of what is over anyway.
    while let Ok(Some(_)) = signals.next() {}
    signals.release().map_err(failed)?;
    point.map_err(Fault::Operator)
}

struct Watch<'w> {
    course: &'w Course,
    replications: u64,
    /// All that is to be simulated, in seconds.
    whole: f64,
    /// Whether anybody looks.
    is_seen: bool,
}

impl Watch<'_> {
    /// Looks at it until it is over.
    fn until<T>(&self, signals: &Signals, ended: impl Fn() -> Result<T, RecvTimeoutError>) -> T {
        let (mut is_stopped, mut last) = (false, String::new());
        // Since when something is simulated: what was made before tells nothing of the rest.
        let mut since = None;
        loop {
            if self.course.simulated() > Duration::ZERO {
                since.get_or_insert_with(monotonic);
            }
            let line = self.line(since.map(|since| monotonic().since(since).as_secs_f64()));
            if !is_stopped && line != last {
                self.show(&format!("{CLEARED}{}", cut(&line, terminal::columns())));
                last = line;
            }
            match ended() {
                Err(RecvTimeoutError::Timeout) => {}
                done => {
                    self.show(CLEARED);
                    return done.expect("a simulation ends");
                }
            }
            while let Ok(Some(_)) = signals.next() {
                self.show(CLEARED);
                if is_stopped {
                    os::process::exit(STOPPED.into());
                }
                is_stopped = true;
                self.course.stop();
                complain("stopping, with what is done; ^C once more ends it at once");
            }
        }
    }

    fn line(&self, lasted_s: Option<f64>) -> String {
        let done = format!("{} of {} replications done", self.course.done(), self.replications);
        let simulated = self.course.simulated().as_secs_f64();
        match lasted_s {
            Some(lasted_s) if lasted_s > 0.0 => {
                let left_s = (lasted_s * (self.whole - simulated).max(0.0) / simulated).ceil();
                let (minutes, seconds) = (left_s as u64 / 60, left_s as u64 % 60);
                format!("{done}, {minutes}:{seconds:02} left")
            }
            _ => done,
        }
    }

    fn show(&self, text: &str) {
        if self.is_seen {
            // Who does not see it misses nothing else.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}
