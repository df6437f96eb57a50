//! The supervisor: owns the listening sockets, starts generations of workers, lets them end.
//!
//! It has one thread and never touches a request, so that it may fork at any time and goes on
//! whatever happens to a worker. A worker is a forked process that runs an architecture; what it
//! shares with the supervisor are the listening sockets, the counters and its orders.

mod back_off;
mod cache;
mod confine;
mod ending;
mod generation;
pub(crate) mod judge;
mod keeper;
mod lookout;
mod number;
mod rehearsal;
mod serving;
mod socket_files;
mod split;
mod start;
mod upgrade;
mod voice;
mod worker;
mod workers;

use std::path::PathBuf;
use std::{io, iter, mem};

use h1::{Limits, Shared};
use measure::{Duration, Instant};
use os::notify::State;
use os::process::{self, Exit};
use os::signals::{Signal, Signals};
use os::{PidFile, limits};

use self::generation::Generation;
use self::rehearsal::{ALL_ANSWERED_WITHIN, ANSWERED_WITHIN, Rehearsal};
use self::start::Before;
use self::upgrade::{Inheritance, Upgrade};
pub use self::voice::Voice;
use crate::operator::admin::{Admin, View};
use crate::operator::knobs;
use crate::session::Sessions;
use crate::shared::counters::Totals;
use crate::shared::failure::Failure;
use crate::shared::settings::Settings;

/// What a program decides about the server that it runs.
pub struct Program<'p> {
    /// The operator's decisions as they are now: asked at the start and for each reload.
    pub settings: &'p mut dyn FnMut() -> Result<Settings, String>,
    /// Makes what speaks with each connection.
    pub sessions: &'p dyn Fn(&Shared<Limits>) -> Sessions,
    /// What SIGHUP does.
    pub hangup: Hangup,
    /// Has lines for the operator.
    pub voice: Voice<'p>,
}

/// What SIGHUP does: an operator sends it, or the kernel when a terminal is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hangup {
    /// The settings are asked for again.
    Reloads,
    /// The server ends, as by SIGTERM.
    Ends,
    /// Nothing.
    IsIgnored,
}

/// Serves until SIGTERM or SIGINT, and for `drain_delay` more without being ready for balancers;
/// then drains for at most `drain_timeout`. A second signal stops at once. SIGHUP does what
/// [`Program::hangup`] says: on a reload the server serves by the settings of now, while
/// connections of before finish what they have. SIGUSR2 starts the program anew, from its file, and
/// leaves the serving to it.
///
/// # Errors
/// Nothing could be served: see [`Failure`].
pub fn serve(program: &mut Program<'_>) -> Result<(), Failure> {
    let taken = [Signal::Term, Signal::Int, Signal::Hup, Signal::Usr1, Signal::Usr2, Signal::Child];
    let signals = Signals::take(&taken).map_err(blind)?;
    limits::give_back_large_allocations();
    // Only now: whoever reads where it listens may send a signal at once.
    let settings = asked(program)?;
    let inheritance = Inheritance::take();
    let pid_file = number::take(&settings, inheritance.as_ref())?;
    let mut supervisor = Supervisor {
        signals: &signals,
        admin: Admin::open(&settings, &signals, &|address| inheritance.as_ref()?.admin(address))?,
        generations: Vec::new(),
        started: 0,
        executable: upgrade::executable().map_err(blind)?,
        inheritance,
        pid_file,
        upgrade: None,
        rehearsal: None,
        wants_reload: false,
        wants_upgrade: false,
        gone: Totals::default(),
    };
    supervisor.start(settings, program).inspect_err(|_| supervisor.remove_files())?;
    program.voice.tell(match program.hangup {
        Hangup::Reloads => "SIGHUP reloads the settings",
        Hangup::Ends => {
            "SIGHUP ends this server, because it was started in a terminal without --config"
        }
        Hangup::IsIgnored => "SIGHUP is ignored, as it was at the start",
    });
    if let Some((level, text)) = supervisor.admin.announce() {
        program.voice.say(level, &text);
    }
    // From now on nobody may be there to read.
    supervisor.serving().iter().for_each(|first| program.voice.goes_to(&first.server.errors));
    let end = supervisor.supervise(program).inspect_err(|_| supervisor.remove_files())?;
    let cut = supervisor.drain(end, program).map_err(blind)?;
    program.voice.tell(&ending::summary(&supervisor.totals()));
    if cut == 0 { Ok(()) } else { Err(Failure::Cut) }
}

/// The settings as they are now, if they agree with each other and with this machine.
fn asked(program: &mut Program<'_>) -> Result<Settings, Failure> {
    let settings = (program.settings)().map_err(Failure::Operator)?;
    let mistakes = judge::knobs(&settings);
    if mistakes.is_empty() { Ok(settings) } else { Err(Failure::Operator(mistakes.join("\n"))) }
}

/// Generations that may finish what they have beside the one that serves: each holds a cache of its
/// own. A reload beyond waits for one of them to end.
const ENDING_MAX: usize = 8;

/// How often a generation that is being started is asked whether it is ready, and for how long.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const START_MAX: Duration = Duration::from_secs(30);

struct Supervisor<'s> {
    signals: &'s Signals,
    admin: Admin<'s>,
    /// In the order of their start. The last may be on its way; the one that serves stands before
    /// it, and those that end before that.
    generations: Vec<Generation>,
    /// How many there were so far.
    started: u32,
    /// This program, as it was started: what it is replaced by lies there, too.
    executable: PathBuf,
    /// What was handed over, until it is said that this program serves.
    inheritance: Option<Inheritance>,
    /// Gone with this program, unless another has taken it over.
    pid_file: Option<PidFile>,
    /// Another program that is to take over.
    upgrade: Option<Upgrade>,
    /// The reload that comes next.
    rehearsal: Option<Rehearsal>,
    /// A reload, or an upgrade, was asked for and waits.
    wants_reload: bool,
    wants_upgrade: bool,
    /// What the generations that are gone have counted.
    gone: Totals,
}

/// Why the supervising ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// A signal said so.
    Stopped,
    /// Another program serves.
    Replaced,
}

impl Supervisor<'_> {
    /// Starts another generation, which listens where the one before it does.
    fn start(&mut self, settings: Settings, program: &mut Program<'_>) -> Result<(), Failure> {
        if let Some(serving) = self.serving() {
            // All its sockets listen from now on, also those of workers that have left: these are
            // not to stop them.
            serving.server.orders.leave_behind_only(iter::empty());
        }
        let before = match (self.serving(), &self.inheritance) {
            (Some(generation), _) => Before::Server(&generation.server),
            (None, Some(inheritance)) => Before::Another(inheritance),
            (None, None) => Before::Nobody,
        };
        let server = start::server(settings, program.sessions, &before, &mut program.voice)?;
        self.started += 1;
        let generation = Generation::start(self.started, Box::new(server), &mut program.voice)?;
        self.generations.push(generation);
        Ok(())
    }

    /// The generation of the settings that are in force.
    fn serving(&self) -> Option<&Generation> {
        self.generations.iter().rfind(|generation| generation.serves())
    }

    /// Until the first signal to end, or until another program serves.
    fn supervise(&mut self, program: &mut Program<'_>) -> Result<End, Failure> {
        let mut starting = Some(os::clock::monotonic());
        loop {
            let now = os::clock::monotonic();
            let due = self.generations.iter().filter_map(Generation::due).min();
            let looks = starting.is_some() || self.upgrade.is_some();
            let look = looks.then(|| now + LOOK_EVERY);
            let answer = self.rehearsal.as_ref().map(|rehearsal| rehearsal.due);
            let patience = due.into_iter().chain(look).chain(answer).min().map(|at| at - now);
            match self.wait(patience).map_err(blind)? {
                Some(Signal::Term | Signal::Int) => return Ok(End::Stopped),
                Some(Signal::Hup) => match program.hangup {
                    Hangup::Reloads => self.ask_for_reload(&mut program.voice),
                    Hangup::Ends => return Ok(End::Stopped),
                    Hangup::IsIgnored => {}
                },
                Some(Signal::Usr2) => self.wants_upgrade = true,
                Some(Signal::Usr1) => self.reopen_logs(),
                Some(_) => self.bury(program, &mut starting)?,
                None => {}
            }
            let now = os::clock::monotonic();
            let is_reloading = starting.is_some() || self.rehearsal.is_some();
            let is_alone = !is_reloading && self.upgrade.is_none();
            for generation in &mut self.generations {
                generation.tick(now, is_alone, &mut program.voice);
            }
            self.close_gone(program);
            if let Some(since) = starting {
                starting = self.follow(program, since, now);
            }
            if let Some(upgrade) = &self.upgrade {
                if upgrade.is_ready() {
                    self.hand_on(program);
                    return Ok(End::Replaced);
                }
                if now - upgrade.started >= START_MAX {
                    upgrade.give_up();
                    self.upgrade = None;
                    number::write(self.pid_file.as_mut(), &mut program.voice);
                    let within = START_MAX.as_secs();
                    let text = format!("not upgraded: not ready within {within} s");
                    program.voice.complain(&text);
                }
            }
            if self.rehearsal.as_mut().is_some_and(|rehearsal| rehearsal.is_stuck(now)) {
                self.give_reload_up(program);
            }
            if self.is_quiet(starting) && mem::take(&mut self.wants_upgrade) {
                self.begin_upgrade(program);
            } else if self.is_quiet(starting)
                && self.generations.len() <= ENDING_MAX
                && mem::take(&mut self.wants_reload)
            {
                self.rehearse(program);
            }
        }
    }

    /// Whether nothing is on its way that a reload or an upgrade would meet.
    fn is_quiet(&self, starting: Option<Instant>) -> bool {
        // A socket that is about to end is not to be anybody else's.
        let is_parting = self.generations.iter().any(Generation::is_parting);
        starting.is_none() && self.upgrade.is_none() && self.rehearsal.is_none() && !is_parting
    }

    /// Begins a reload.
    fn rehearse(&mut self, program: &mut Program<'_>) {
        tell(State::Reloading);
        match Rehearsal::begin(program) {
            Ok(rehearsal) => self.rehearsal = Some(rehearsal),
            Err(e) => {
                let what = "no process to look at the settings";
                self.stays(&format!("{what}: {e}; raise the limit of processes"), program);
            }
        }
    }

    /// The disks that the settings name do not answer.
    fn give_reload_up(&mut self, program: &mut Program<'_>) {
        let Some(rehearsal) = self.rehearsal.take() else { return };
        rehearsal.give_up();
        let [one, all] = [ANSWERED_WITHIN, ALL_ANSWERED_WITHIN].map(|within| within.as_secs());
        let why = "a disk or mount that the settings name does not answer within";
        let why = format!("{why} {one} s, or all of them within {all} s");
        self.stays(&format!("{why}; reload when the roots and logs do"), program);
    }

    fn stays(&self, why: &str, program: &mut Program<'_>) {
        program.voice.complain(&format!("not reloaded: {why}"));
        tell(State::Ready);
    }

    /// Waits for a signal; meanwhile the admin listener tells of the generation that serves. One
    /// that was handed over is left to who did so until this program serves: a balancer would hear
    /// that it does not.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Option<Signal>> {
        let serves = |generation: &&Generation| generation.serves() && generation.is_ready();
        let told = self.generations.iter().rfind(serves).or(self.generations.last());
        match told {
            Some(Generation { server, number, .. }) if self.inheritance.is_none() => {
                self.admin.wait(timeout, &View { server, generation: *number })
            }
            _ => self.signals.wait(timeout),
        }
    }

    fn ask_for_reload(&mut self, voice: &mut Voice<'_>) {
        let is_new = !mem::replace(&mut self.wants_reload, true);
        if is_new && self.generations.len() > ENDING_MAX {
            voice.tell(&format!("to be reloaded when one of {ENDING_MAX} generations has ended"));
        }
    }

    /// Starts a generation with the settings of now; `false`: that cannot be, and all stays as it
    /// is.
    fn reload(&mut self, program: &mut Program<'_>) -> bool {
        let settings = asked(program);
        let settings = settings.map(|settings| self.keep_what_stays(settings, &mut program.voice));
        match settings.and_then(|settings| self.start(settings, program)) {
            Ok(()) => return true,
            Err(Failure::Operator(what) | Failure::Machine(what)) => {
                for line in what.lines() {
                    program.voice.complain(&format!("not reloaded: {line}"));
                }
            }
            Err(Failure::Cut) => {}
        }
        self.serving().into_iter().for_each(Generation::goes_on);
        tell(State::Ready);
        false
    }

    /// What only a restart can change stays, and is named.
    fn keep_what_stays(&self, mut settings: Settings, voice: &mut Voice<'_>) -> Settings {
        let Some(serving) = self.serving() else { return settings };
        for knob in knobs::all().filter(|knob| knob.needs_restart()) {
            let (wanted, stays) = ((knob.show)(&settings), (knob.show)(&serving.server.settings));
            if wanted != stays && (knob.set)(&mut settings, &stays).is_ok() {
                voice.warn(&format!(
                    "{} {wanted} needs a restart; until then it is {stays}",
                    knob.name
                ));
            }
        }
        settings
    }

    /// Looks after a start: when the new generation is ready the others retire. Returns since when
    /// it is on its way, if it still is.
    fn follow(
        &mut self,
        program: &mut Program<'_>,
        since: Instant,
        now: Instant,
    ) -> Option<Instant> {
        let (last, others) = self.generations.split_last_mut()?;
        if !last.is_ready() {
            let is_late = now - since >= START_MAX;
            if is_late && !others.is_empty() {
                self.abandon("the workers were not ready in time", now, program);
                return None;
            }
            // There is nobody to go back to. Another program gives this one up by itself.
            if !is_late || self.inheritance.is_some() || !last.has_begun() {
                return Some(since);
            }
            program.voice.warn("some workers are not ready; the others serve");
        }
        if let Some(inheritance) = self.inheritance.take() {
            let known = inheritance.addresses();
            socket_files::set_access(&last.server, &known, &mut program.voice);
            if let Some((address, listener)) = self.admin.listener(&last.server.settings) {
                socket_files::set_access_of(listener, &address, &known, &mut program.voice);
            }
            number::write(self.pid_file.as_mut(), &mut program.voice);
            inheritance.ready();
        }
        program.voice.goes_to(&last.server.errors);
        for generation in others.iter_mut().filter(|generation| generation.serves()) {
            let known = &generation.server.settings.listen;
            socket_files::set_access(&last.server, known, &mut program.voice);
            program
                .voice
                .tell(&format!("generation {} serves, {} retires", last.number, generation.number));
            generation.retire(Some(&last.server), now);
        }
        tell(State::Ready);
        None
    }

    /// Takes note of workers that have ended.
    fn bury(
        &mut self,
        program: &mut Program<'_>,
        starting: &mut Option<Instant>,
    ) -> Result<(), Failure> {
        while let Some((pid, exit)) = process::wait_any_exited().map_err(blind)? {
            let now = os::clock::monotonic();
            if self.upgrade.take_if(|upgrade| upgrade.pid == pid).is_some() {
                program.voice.complain(&format!("not upgraded: process {pid} {exit}"));
                number::write(self.pid_file.as_mut(), &mut program.voice);
            }
            if self.rehearsal.take_if(|rehearsal| rehearsal.pid == pid).is_some() {
                match exit {
                    Exit::Status(_) => *starting = self.reload(program).then_some(now),
                    // It has perhaps not seen all disks answer.
                    Exit::Killed(_) => self.stays(&format!("process {pid} {exit}"), program),
                }
            }
            for generation in &mut self.generations {
                let is_alone = starting.is_none() && self.upgrade.is_none();
                let how = (now, is_alone);
                let Err(failure) = generation.bury(pid, exit, how, &mut program.voice) else {
                    continue;
                };
                if self.started == 1 {
                    return Err(failure);
                }
                *starting = None;
                self.abandon("the workers could not start", now, program);
                break;
            }
        }
        Ok(())
    }

    /// The last generation is not to serve; whom it has let in already it still serves.
    fn abandon(&mut self, why: &str, now: Instant, program: &mut Program<'_>) {
        if let Some((last, others)) = self.generations.split_last_mut() {
            let serving = others.iter().rfind(|generation| generation.serves());
            last.retire(serving.map(|generation| &*generation.server), now);
            serving.into_iter().for_each(Generation::goes_on);
        }
        self.stays(why, program);
    }

    /// Generations without a worker are over; what they have counted stays. Returns how many
    /// connections were cut off.
    fn close_gone(&mut self, program: &mut Program<'_>) -> u64 {
        let mut cut = 0;
        self.generations.retain(|generation| {
            let stays = generation.serves() || !generation.is_over();
            if !stays {
                generation.server.counters.add_to(&mut self.gone);
                cut += generation.close(&mut program.voice);
            }
            stays
        });
        cut
    }

    fn reopen_logs(&mut self) {
        self.upgrade.iter_mut().for_each(|upgrade| upgrade.misses_logs = true);
        self.generations.iter().for_each(|generation| generation.server.orders.reopen_logs());
    }

    /// What all generations have counted.
    fn totals(&self) -> Totals {
        let mut totals = self.gone.clone();
        self.generations
            .iter()
            .for_each(|generation| generation.server.counters.add_to(&mut totals));
        totals
    }
}

/// Tells the service manager. One that does not listen is no reason to serve differently.
fn tell(state: State) {
    let _ = os::notify::tell(state);
}

fn blind(error: io::Error) -> Failure {
    Failure::Machine(format!("cannot wait for signals and workers: {error}"))
}
