//! What can be chosen of a run, as values: of it and a workload a [`Plan`] is made.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use measure::draw::Draw;
use measure::{Duration, Instant};

use crate::arrivals::{Arrivals, Gaps, Stage};
use crate::behaviour::{Behaviour, Keeps};
use crate::collector::LATE;
use crate::engine::{Part, Plan};
use crate::expectation::Expectation;
use crate::session::Method;
use crate::stop::Stop;
use crate::workload::Workload;

/// See the head of this file. [`KNOBS`](crate::knobs::KNOBS) is the table of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// When sessions begin; `None`: as the workload's log says, else as [`Pace::DEFAULT`].
    pub pace: Option<Pace>,
    /// Whether the gaps of a rate are drawn (Poisson).
    pub is_poisson: bool,
    /// How long a client of a closed loop rests between two sessions.
    pub rest: Draw,
    /// Sessions at most.
    pub sessions_max: Option<u64>,
    /// The same as requests, where a session is one.
    pub requests_max: Option<u64>,
    /// How long is measured; `None`: until `Steps`, a `Ramp` or a log are over, else [`DURATION`].
    pub duration: Option<Duration>,
    /// How long nothing is measured before that.
    pub warm_up: Duration,
    /// After that.
    pub cool_down: Duration,
    /// Results are also told for each such time.
    pub interval: Duration,
    /// Whom requests ask, where that is another name than the URL's.
    pub host: Option<String>,
    /// How clients behave, but for the three below.
    pub behaviour: Behaviour,
    /// How long connections are kept; `None`: as the workload's source has it, see
    /// [`Choices::keeps`].
    pub keeps: Option<Keeps>,
    /// Connections of a session at the same time; `None`: the workload's own.
    pub parallel: Option<u16>,
    /// Connections of a process at the same time; `None`: as many as it may have descriptors.
    pub connections_max: Option<usize>,
    /// Whether it is found out before the run that the server is there.
    pub probes: bool,
    /// Of all random numbers.
    pub seed: u64,
    /// Processes that make the load together.
    pub processes: u32,
    /// Whether they never sleep.
    pub spins: bool,
    /// How late the generator may make requests, by the schedule: most of the sessions, and 99 of
    /// 100 requests.
    pub lag_max: Duration,
    /// What the run has to come to.
    pub expectations: Vec<Expectation>,
    /// What has to hold at the highest rate, which is looked for; none: no rate is looked for.
    pub sought: Vec<Expectation>,
    /// Where the report goes as JSON, `-` is the standard output; where the histograms go, as the
    /// beginning of their names; and where a line for each request.
    pub json: Option<PathBuf>,
    /// See [`Choices::json`].
    pub hgrm: Option<PathBuf>,
    /// See [`Choices::json`].
    pub records: Option<PathBuf>,
    /// Where it is told when the run begins, as soon as that is known.
    pub begins: Option<PathBuf>,
}

/// When sessions begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// Open loop: so many in a second.
    Rate(f64),
    /// Open loop: one rate after the other.
    Steps(Vec<Stage>),
    /// Open loop: from one rate to another.
    Ramp {
        /// At the start.
        from: f64,
        /// At the end of `over`.
        to: f64,
        /// For how long.
        over: Duration,
    },
    /// Closed loop: of so many clients.
    Clients(u32),
}

impl Pace {
    /// Where nothing is said.
    pub const DEFAULT: Self = Self::Clients(64);
}

/// How long is measured where nothing is said.
pub const DURATION: Duration = Duration::from_secs(10);

impl Default for Choices {
    fn default() -> Self {
        Self {
            pace: None,
            is_poisson: false,
            rest: Draw::Constant(0.0),
            sessions_max: None,
            requests_max: None,
            duration: None,
            warm_up: Duration::ZERO,
            cool_down: Duration::ZERO,
            interval: Duration::from_secs(1),
            host: None,
            behaviour: Behaviour::default(),
            keeps: None,
            parallel: None,
            connections_max: None,
            probes: true,
            seed: 1,
            processes: 1,
            spins: false,
            lag_max: LATE,
            expectations: Vec::new(),
            sought: Vec::new(),
            json: None,
            hgrm: None,
            records: None,
            begins: None,
        }
    }
}

impl Choices {
    /// The run of these choices against a server. A process may have `descriptors` open, some of
    /// which are no connections ([`SPARE_DESCRIPTORS`]).
    ///
    /// # Errors
    /// More connections than descriptors, or what excludes each other: one line.
    pub fn plan(
        &self,
        (to, host): (SocketAddr, &str),
        workload: &dyn Workload,
        descriptors: u64,
    ) -> Result<Plan, String> {
        let arrivals = self.arrivals(workload)?;
        let model = workload.model();
        let connections_max = self.connections(descriptors)?;
        self.judge_clients(&arrivals, connections_max)?;
        self.judge_body()?;
        let behaviour = Behaviour {
            keeps: self.keeps(&arrivals, workload),
            parallel: self.parallel.unwrap_or(model.parallel),
            connections_max,
            ..self.behaviour.clone()
        };
        Ok(Plan {
            to,
            host: self.host.clone().unwrap_or_else(|| host.into()),
            behaviour,
            stop: Stop {
                after: self.lasts(&arrivals, workload)?,
                sessions_max: self.sessions_max(workload)?,
                warm_up: self.warm_up,
                cool_down: self.cool_down,
                interval: self.interval,
            },
            arrivals,
            seed: self.seed,
            begin: Instant::ORIGIN,
            part: Part::WHOLE,
            spins: self.spins,
        })
    }

    fn judge_body(&self) -> Result<(), String> {
        let Behaviour { body: Some(body), method: Some(method), .. } = &self.behaviour else {
            return Ok(());
        };
        match method {
            Method::Get | Method::Head => Err(format!(
                "--body {}: a GET or HEAD has none; say --method POST or PUT",
                body.file.display()
            )),
            _ => Ok(()),
        }
    }

    fn arrivals(&self, workload: &dyn Workload) -> Result<Arrivals, String> {
        if let (None, false, Some(times)) = (&self.pace, self.is_poisson, workload.times()) {
            return Ok(Arrivals::Open(times));
        }
        match (self.gaps()?, self.pace.as_ref().unwrap_or(&Pace::DEFAULT)) {
            (None, Pace::Clients(clients)) => {
                Ok(Arrivals::Closed { clients: *clients, think: self.rest })
            }
            (Some(gaps), _) if self.rest == Draw::Constant(0.0) => Ok(Arrivals::Open(gaps)),
            _ => Err(String::from("--rest: it is --clients that rest between two sessions")),
        }
    }

    /// Those of the open loop that was chosen; `None`: a closed one.
    ///
    /// # Errors
    /// They are to be drawn, and there is no rate: one line.
    pub fn gaps(&self) -> Result<Option<Gaps>, String> {
        let gaps = match self.pace.as_ref().unwrap_or(&Pace::DEFAULT).clone() {
            Pace::Rate(rate) => Gaps::Fixed { rate },
            Pace::Steps(stages) => Gaps::Steps(stages),
            Pace::Ramp { from, to, over } => Gaps::Ramp { from, to, over },
            Pace::Clients(_) if self.is_poisson => {
                let what = "--gaps poisson: gaps are those of a --rate, of --steps or of a --ramp";
                return Err(String::from(what));
            }
            Pace::Clients(_) => return Ok(None),
        };
        Ok(Some(if self.is_poisson { Gaps::Poisson(Box::new(gaps)) } else { gaps }))
    }

    /// How long connections are kept: as was said, or as the workload's source has it, or else for
    /// a session. Where sessions are single requests, that is for one request of an open loop,
    /// whose clients are new ones, and for good in a closed loop, as other generators do it.
    #[must_use]
    pub fn keeps(&self, arrivals: &Arrivals, workload: &dyn Workload) -> Keeps {
        let by_arrivals = match arrivals {
            _ if !has_single_requests(workload) => Keeps::Session,
            Arrivals::Open(_) => Keeps::Request,
            Arrivals::Closed { .. } => Keeps::Client,
        };
        self.keeps.or(workload.model().keeps).unwrap_or(by_arrivals)
    }

    /// After how many sessions it is over.
    fn sessions_max(&self, workload: &dyn Workload) -> Result<Option<u64>, String> {
        match (self.requests_max, self.sessions_max) {
            (None, sessions) => Ok(sessions),
            (Some(requests), Some(_)) => Err(format!(
                "--requests-max {requests}: a run has one of --requests-max and --sessions"
            )),
            (Some(requests), None) if has_single_requests(workload) => Ok(Some(requests)),
            (Some(requests), None) => Err(format!(
                "--requests-max {requests}: a session of this workload makes several requests; say \
                 how many --sessions"
            )),
        }
    }

    /// How long the whole run is: the warm-up, what is measured, and the cool-down.
    fn lasts(&self, arrivals: &Arrivals, workload: &dyn Workload) -> Result<Duration, String> {
        let of_arrivals = match (&self.pace, arrivals) {
            (Some(Pace::Steps(stages)), _) => Some(stages.iter().map(|stage| stage.lasts).sum()),
            (Some(Pace::Ramp { over, .. }), _) => Some(*over),
            (_, Arrivals::Open(Gaps::Times(_))) => workload.lasts().map(|lasts| lasts + AFTER_LOG),
            // Their number says when it is over.
            _ => self.sessions_max.or(self.requests_max).map(|_| ENDLESS),
        };
        match (self.duration, of_arrivals) {
            (None, Some(lasts)) if lasts <= self.warm_up + self.cool_down => Err(format!(
                "--warm-up {} --cool-down {}: without a --duration the run is over after {} s",
                self.warm_up.as_secs_f64(),
                self.cool_down.as_secs_f64(),
                lasts.as_secs_f64()
            )),
            (None, Some(lasts)) => Ok(lasts),
            (measured, _) => Ok(self.warm_up + measured.unwrap_or(DURATION) + self.cool_down),
        }
    }

    fn connections(&self, descriptors: u64) -> Result<usize, String> {
        let most = descriptors.saturating_sub(SPARE_DESCRIPTORS);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        match self.connections_max {
            _ if most == 0 => Err(format!(
                "a process may have {descriptors} descriptors open (ulimit -n), of which none can \
                 be a connection: {SPARE_DESCRIPTORS} are for other things"
            )),
            Some(asked) if asked > most => Err(format!(
                "--connections-max {asked}: a process may have {descriptors} descriptors open \
                 (ulimit -n), of which {most} can be connections"
            )),
            asked => Ok(asked.unwrap_or(most)),
        }
    }

    /// Clients that never rest need a connection each: who had none would ask for one again at
    /// once, for as long as the run lasts.
    fn judge_clients(&self, arrivals: &Arrivals, connections_max: usize) -> Result<(), String> {
        let of_process = match arrivals {
            Arrivals::Closed { clients, .. } if !arrivals.have_times() => {
                clients.div_ceil(self.processes) as usize
            }
            _ => 0,
        };
        if of_process <= connections_max {
            return Ok(());
        }
        Err(format!(
            "{of_process} clients of a process have {connections_max} connections: let there be \
             fewer --clients, more --processes or a higher limit (ulimit -n, --connections-max)"
        ))
    }

    /// The addresses that results are told apart by: their number, at least 1.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.behaviour.sources.len().max(1) as u32
    }
}

/// Whether a session is one request.
fn has_single_requests(workload: &dyn Workload) -> bool {
    workload.model().requests.is_none_or(|requests| requests <= 1.0)
}

/// No run lasts longer.
const ENDLESS: Duration = Duration::from_secs(366 * 24 * 3600);

/// How long a log goes on behind its last request: clients pause behind replies, so each of these
/// makes them later.
const AFTER_LOG: Duration = Duration::from_secs(1);

/// Descriptors that are not connections: the standard ones, the poller, files.
pub const SPARE_DESCRIPTORS: u64 = 64;

/// So many source addresses at most: results are told for each.
pub const SOURCES_MAX: usize = crate::collector::CLIENTS_MAX as usize;

/// Addresses from one to the other, or one alone.
///
/// # Errors
/// It is none, they are of two families, or there are more than [`SOURCES_MAX`].
pub fn sources(text: &str) -> Result<Vec<IpAddr>, String> {
    let address =
        |text: &str| text.parse::<IpAddr>().map_err(|_| format!("has no IP address in \"{text}\""));
    let Some((first, last)) = text.split_once('-') else { return Ok(vec![address(text)?]) };
    let all: Vec<IpAddr> = match (address(first)?, address(last)?) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            (first..=last).take(SOURCES_MAX + 1).map(IpAddr::V4).collect()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            (first..=last).take(SOURCES_MAX + 1).map(IpAddr::V6).collect()
        }
        _ => return Err(String::from("has to be of one family")),
    };
    match all.len() {
        0 => Err(String::from("ends before it begins")),
        1..=SOURCES_MAX => Ok(all),
        _ => Err(format!("has more than {SOURCES_MAX} addresses")),
    }
}

/// Ports from one to the other.
///
/// # Errors
/// They are none, or not in order.
pub fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        (0 < first && first <= last).then_some(first..=last)
    });
    range.ok_or_else(|| String::from("has to be FROM-TO, two ports from 1 to 65535"))
}

#[cfg(test)]
mod tests;
