//! Measures one point: fresh machines, a fresh server, a warm-up, the load, and away with it all.

mod beside;
mod client;
mod filling;
mod outcome;
mod ports;
mod scratch;
mod sites;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use load::collector::results::Results;
use load::collector::times::Digits;
use load::gates::{self, Finding, Limits};
use os::{Signal, Signals};

pub use self::client::Ran;
use self::client::{Client, Moment};
use self::outcome::Outcome;
use self::scratch::Scratch;
use self::sites::Sites;
use crate::Failure;
use crate::design::is_flood;
use crate::experiments::experiment;
use crate::fitted;
use crate::point::{CORRECT, InMemory, Point, is_of_client};
use crate::policies::{self, Policies};
use crate::profile::Profiler;
use crate::room;
use crate::simulated::Simulations;
use crate::spec::{Load, Spec};
use crate::subject::weir::ADMITTED;
use crate::subject::{Launch, Running, Start};
use crate::testbed::{Carried, Host, Reads, Sent, Testbed, drop_pages, share};
use crate::vitals::{self, Reading, Side, Vitals, Watch};

/// What stays the same for all points of a run.
pub struct Bench {
    /// Of this program: it makes the load, and serves.
    executable: PathBuf,
    /// Names the run.
    run: String,
    sites: Sites,
    scratch: PathBuf,
    signals: Signals,
    policies: Policies,
    simulations: Simulations,
    /// See [`Setup::is_anyway`](crate::setup::Setup::is_anyway).
    is_anyway: bool,
}

/// Where a server listens on machines that are all its own.
const PORT: u16 = 8080;

/// How much of a site was in memory, where the kernel does not tell.
const UNKNOWN: &str = "unknown, as this kernel does not tell (cachestat, Linux 6.5): whether the \
    server read from the disk is not checked";

impl Bench {
    /// Sites are kept in `sites` from one run to the next; `scratch` is emptied for each point.
    ///
    /// # Errors
    /// What stands in the place of `scratch` is not a lab's, or signals cannot be taken.
    pub fn new(
        executable: &Path,
        run: &str,
        sites: &Path,
        scratch: &Path,
    ) -> Result<Self, Failure> {
        let scratch =
            std::path::absolute(scratch).map_err(|e| Failure::machine(scratch.display(), e))?;
        Scratch::check(&scratch)?;
        let mut taken = vec![Signal::Int, Signal::Term, Signal::Child];
        // A terminal that is closed ends a run as ^C does, but with nohup.
        taken.extend((!Signals::is_ignored(Signal::Hup)).then_some(Signal::Hup));
        let signals = Signals::take(&taken);
        Ok(Self {
            executable: executable.into(),
            run: run.into(),
            sites: Sites::new(sites),
            scratch,
            signals: signals.map_err(|error| Failure::machine("signals", error))?,
            policies: Policies::default(),
            simulations: Simulations::default(),
            is_anyway: false,
        })
    }

    /// The same, which measures beside other programs if it is told so.
    #[must_use]
    pub fn anyway(self, is_anyway: bool) -> Self {
        Self { is_anyway, ..self }
    }

    /// Has this process adopt whatever its servers and loads leave behind, which is ended with each
    /// point: it is to start nothing else meanwhile. By whoever starts all others, the dead would
    /// be buried at some later point, where all that they have used would seem to be somebody
    /// else's work.
    ///
    /// # Errors
    /// None that is known.
    pub fn adopt_orphans(&self) -> Result<(), Failure> {
        os::process::adopt_orphans().map_err(|error| Failure::machine("this process", error))
    }

    /// Measures the first of these; the others come behind it. What a server does wrong is told by
    /// the point.
    ///
    /// # Errors
    /// The machine refuses, what is asked makes no sense, or somebody wants it to end. Nothing is
    /// left behind but what was there.
    pub fn measure(&mut self, specs: &[Spec], attempt: u32) -> Result<Point, Failure> {
        may_go_on(&self.signals)?;
        let spec = &specs[0];
        if policies::is_asked(spec) || fitted::is_asked(spec) || spec.is_simulated() {
            self.compute(specs, attempt)
        } else {
            self.measure_server(spec, attempt)
        }
    }

    /// Of a policy by itself, or of a machine that is not there: there is no server.
    fn compute(&mut self, specs: &[Spec], attempt: u32) -> Result<Point, Failure> {
        let (began, spec) = (Instant::now(), &specs[0]);
        let mut point = Point::begun(&self.run, spec, attempt);
        if policies::is_asked(spec) {
            point.counters = self.policies.counted(spec)?;
        } else if fitted::is_asked(spec) {
            fitted::fit(spec, &mut point)?;
        } else {
            self.simulations.simulate(specs, &mut point)?;
            point.load = point.load.map(kept);
        }
        point.cost.whole_s = began.elapsed().as_secs_f64();
        Ok(point)
    }

    fn measure_server(&mut self, spec: &Spec, attempt: u32) -> Result<Point, Failure> {
        let site = self.sites.of(&spec.load, &mut || may_go_on(&self.signals))?;
        let scratch = Scratch::make(&self.scratch)?;
        let began = Instant::now();
        let mut point = Point::begun(&self.run, spec, attempt);
        let (testbed, site) = self.machines(spec, site)?;
        point.testbed = testbed.facts.clone();
        let limit_bytes = spec.layout.memory_bytes;
        // Of all files of a site, which takes time: only where it is limited.
        let in_memory = || limit_bytes.map_or(Ok(None), |_| share(&site));
        let before = in_memory()?;
        if limit_bytes.is_some() && before.is_none() {
            point.testbed.insert(String::from("site in memory"), UNKNOWN.into());
        }
        let port = if spec.layout.is_loopback { ports::free()? } else { PORT };
        let address = SocketAddr::new(testbed.server.address, port);
        let start = Start {
            executable: &self.executable,
            host: &testbed.server,
            address,
            site: &site,
            scratch: scratch.path(),
            is_as_in_papers: experiment(&spec.experiment).is_some_and(|of| of.is_as_in_papers),
        };
        testbed.limit_processors(false)?;
        if let Some(bytes) = limit_bytes {
            let may_go_on = &mut || may_go_on(&self.signals);
            filling::fill(bytes, &spec.load, &start, may_go_on)?;
        }
        let outcome = match Running::start(&spec.subject, &start) {
            Ok(running) => {
                testbed.limit_processors(true)?;
                testbed.make_slow(true)?;
                point.cost.start_s = began.elapsed().as_secs_f64();
                point.commands.server = self.shown(running.launch(), &site, scratch.path());
                point.ignored = running.ignored(&spec.subject, &start);
                let client = Client {
                    executable: &self.executable,
                    testbed: &testbed,
                    address,
                    scratch: scratch.path(),
                    signals: &self.signals,
                };
                let outcome = self.perform(&client, &running, &mut point)?;
                // Nobody is served by how long it takes to end, nor by reads that are left over.
                testbed.limit_processors(false)?;
                testbed.make_slow(false)?;
                running.stop();
                outcome
            }
            Err(why) => {
                room::check(scratch.path())?;
                Outcome::without_start(why)?
            }
        };
        let of_wire = of_wire(&testbed, &mut point);
        point.site = before.zip(in_memory()?).map(|(before, after)| InMemory {
            bytes: after.bytes,
            before_bytes: before.cached_bytes,
            after_bytes: after.cached_bytes,
        });
        let of_site = point.site.zip(limit_bytes).and_then(|(site, bytes)| site.complaint(bytes));
        let disturbed = of_site.into_iter().chain(of_wire).collect();
        let outcome = if self.is_anyway { outcome.anyway() } else { outcome };
        point.verdict = outcome.verdict(is_flood(spec), disturbed);
        drop(testbed);
        point.cost.whole_s = began.elapsed().as_secs_f64();
        Ok(point)
    }

    /// As a spec wants them, with nothing of the site in memory where that is limited; and where
    /// the site is there.
    fn machines(&self, spec: &Spec, site: PathBuf) -> Result<(Testbed, PathBuf), Failure> {
        let mut testbed = Testbed::up(&spec.layout)?;
        // The quota of the server is one of tasks that are not urgent.
        if !spec.layout.is_loopback {
            testbed.prefer_client();
        }
        let site = testbed.slow_disk(&site, &self.executable)?;
        if spec.layout.memory_bytes.is_some() || spec.layout.disk.is_some() {
            vitals::count_waits();
        }
        if spec.layout.memory_bytes.is_some() {
            // What is in memory already is on nobody's account.
            drop_pages(&site)?;
        }
        Ok((testbed, site))
    }

    /// Without what is this run's alone.
    fn shown(&self, launch: &Launch, site: &Path, scratch: &Path) -> String {
        let names = [(site, "SITE"), (scratch, "SCRATCH"), (self.executable.as_path(), "weir")];
        names.iter().fold(launch.to_string(), |text, (path, name)| {
            text.replace(&path.display().to_string(), name)
        })
    }

    fn perform(
        &self,
        client: &Client<'_>,
        running: &Running,
        point: &mut Point,
    ) -> Result<Outcome, Failure> {
        let load = &point.spec.load.clone();
        // All rivals are asked the same, and each repeat asks something else.
        let seed = 1 + u64::from(point.spec.repeat);
        let idle = client.hold_idle(load)?;
        let began = Instant::now();
        let mut warm_up = client.warm_up(load, seed)?;
        let mut profiler = None;
        if let Some(kind) = point.spec.profile {
            // The window of a profile is all of a load, so that its requests can be counted.
            let before = Load { seconds: warm_up.within_s, ..load.clone() };
            client.run(&before, (0.0, seed), &mut |_| ())?;
            warm_up.within_s = 0.0;
            profiler = Some(Profiler::start(kind, &client.target(running)));
        }
        let beside = client.begin_beside(load, (warm_up.within_s, seed))?;
        point.cost.warm_up_s = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let (mut syns, mut watching) = (Ok(None), None);
        let (mut slow, mut watched) = (Ok(None), Ok(()));
        let ran = client.run(load, (warm_up.within_s, seed), &mut |moment| match moment {
            Moment::Starts(lasts) => {
                syns = client.testbed.send_syns(client.address.port(), lasts);
            }
            Moment::Begins => {
                watching = Some(Watching::begin(running, client.testbed));
                slow = client.testbed.make_slow(true);
            }
            Moment::Goes => {
                if let Some(Ok(watching)) = &mut watching {
                    watching.look(client.testbed);
                }
            }
            Moment::Ends => {
                slow = client.testbed.make_slow(true);
                let ended = watching.take().map(|of| of?.end(running, client.testbed, point));
                watched = ended.unwrap_or(Ok(()));
            }
        })?;
        let of_disk = slow?.and_then(|reads| of_disk(reads, point));
        point.cost.load_s = began.elapsed().as_secs_f64();
        point.profile = match profiler.map(|profiler| profiler?.finish(&running.pids())) {
            Some(Err(Failure::Full(why))) => return Err(Failure::Full(why)),
            seen => seen.map(|seen| seen.map_err(|failure| failure.to_string())),
        };
        drop((syns?, idle));
        point.commands.load = ran.command;
        let mut complaints: Vec<String> = of_others(point).into_iter().chain(of_disk).collect();
        let ran_beside = beside.map(|second| client.end_beside(second)).transpose()?;
        let wrong = ran_beside.map(|ran| of_beside(ran, point));
        let wrong = wrong.transpose().unwrap_or_else(|why| {
            complaints.push(why);
            None
        });
        complaints.extend(untold(watched)?);
        let outcome = told(ran.results, (wrong, complaints), client, point)?;
        if !running.is_alive() {
            let words = running.last_words();
            return Ok(Outcome::Failed(format!("the server ended in mid-run: {words}")));
        }
        Ok(outcome)
    }
}

/// What comes of a load, with what was wrong beside it and what disturbed it.
fn told(
    results: Result<Results, String>,
    (wrong, disturbed): (Option<Vec<Finding>>, Vec<String>),
    client: &Client<'_>,
    point: &mut Point,
) -> Result<Outcome, Failure> {
    Ok(match results {
        Ok(results) => {
            let findings = findings(&point.spec, &results);
            point.load = Some(kept(results));
            let findings = findings.into_iter().chain(wrong.unwrap_or_default()).collect();
            Outcome::Measured { findings, disturbed }
        }
        Err(why) => {
            room::check(client.scratch)?;
            Outcome::Untold([vec![why], disturbed].concat())
        }
    })
}

/// A server that has too much to do may not tell what it counts: one point is lost.
fn untold(watched: Result<(), Failure>) -> Result<Option<String>, Failure> {
    match watched {
        Ok(()) => Ok(None),
        Err(Failure::Machine(why)) => Ok(Some(why)),
        Err(other) => Err(other),
    }
}

/// What disturbed it meanwhile.
fn of_others(point: &Point) -> Vec<String> {
    point.vitals.as_ref().map(Vitals::complaints).unwrap_or_default()
}

/// What is kept of a load: a client is one of several addresses of one machine here, which tells
/// nothing.
fn kept(results: Results) -> Results {
    let requests = results.requests.told_to(Digits::Two);
    Results { requests, clients: Vec::new(), ..results }
}

/// What came of the load beside another one: who is answered wrongly there fails the server as
/// well, and all else is a figure. Without it the measurement is of something else.
fn of_beside(ran: Ran, point: &mut Point) -> Result<Vec<Finding>, String> {
    point.commands.beside = ran.command;
    let results = ran.results.map_err(|why| format!("no load beside it: {why}"))?;
    let findings = gates::findings(&results, &limits(&results)).into_iter();
    point.beside = Some(kept(results));
    Ok(findings.filter(|finding| finding.gate == CORRECT).collect())
}

/// Nothing new is begun for somebody who wants it to end.
fn may_go_on(signals: &Signals) -> Result<(), Failure> {
    loop {
        match signals.next().map_err(|error| Failure::machine("signals", error))? {
            Some(signal) if is_stop(signal) => return Err(Failure::Stopped),
            Some(_) => {}
            None => return Ok(()),
        }
    }
}

fn is_stop(signal: Signal) -> bool {
    matches!(signal, Signal::Int | Signal::Term | Signal::Hup)
}

/// What is judged of a load. Who turns everybody away does what he is there for.
fn findings(spec: &Spec, results: &Results) -> Vec<Finding> {
    let mut findings = gates::findings(results, &limits(results));
    if spec.subject.refuses() {
        findings.retain(is_of_client);
    }
    findings
}

/// What the client may get wrong. A host that stands still for 10 ms makes 1 % of a second's
/// requests late, on any virtual machine; what counts is that this does not show in what is told of
/// the server. So requests may be late by a tenth of the time that the server takes at its p99, and
/// by what [`Limits`] always allow.
fn limits(results: &Results) -> Limits {
    const OF_RESPONSE: u32 = 10;
    const LATE_SHARE: f64 = 0.05;
    let own = Limits::default();
    let lag_p99 = own.lag_p99.max(results.requests.whole.quantile(0.99) / OF_RESPONSE);
    Limits { lag_p99, late_share: LATE_SHARE, ..own }
}

/// What came of the disk's reads while it was measured, and what is wrong about that.
fn of_disk(reads: Reads, point: &mut Point) -> Option<String> {
    /// A disk whose processor others want is no longer as slow as it says, but slower.
    const LATE_SHARE: f64 = 0.1;
    const LATE_US: f64 = 500.0;
    let wanted = point.spec.layout.disk?;
    let late_us = reads.late_us as f64 / reads.reads.max(1) as f64;
    let told = format!(
        "{} reads answered late ({wanted}), by {late_us:.0} µs more than they were to be",
        reads.reads
    );
    point.testbed.insert(String::from("reads from the disk"), told);
    let most_us = LATE_US.max(LATE_SHARE * f64::from(wanted.delay_us));
    (late_us > most_us).then(|| {
        format!("the disk answered {late_us:.0} µs later than it was to: others had its processor")
    })
}

/// What a long wire has carried, and what is wrong about that.
fn of_wire(testbed: &Testbed, point: &mut Point) -> Option<String> {
    let carried = testbed.carried()?;
    let Carried { packets, lost, cpu } = carried;
    let cpu_s = cpu.as_secs_f64();
    let told = format!(
        "{packets} packets carried, {lost} lost, in {cpu_s:.3} s of the client's processors"
    );
    point.testbed.insert(String::from("delay"), told);
    carried.complaint()
}

/// What is watched from when the measured time begins until it ends.
struct Watching {
    counted: Counted,
    reading: Reading,
    syns: Option<Sent>,
    /// Connections at a time, of all looks.
    open_most: Option<u64>,
}

/// What the server has counted, and when: half-way between the question and its answer, for which
/// one that has too much to do may take a twentieth of a point.
struct Counted {
    at: Instant,
    counters: BTreeMap<String, f64>,
}

impl Counted {
    fn by(running: &Running) -> Result<Self, Failure> {
        let asked = Instant::now();
        let counters = running.counters()?;
        Ok(Self { at: asked + asked.elapsed() / 2, counters })
    }
}

impl Watching {
    /// The kernel tells at once: what it says is read last here and first at the end, so that it is
    /// of the measured time.
    fn begin(running: &Running, testbed: &Testbed) -> Result<Self, Failure> {
        let counted = Counted::by(running)?;
        let syns = testbed.syns_sent();
        let reading = Reading::take(&watch(running, testbed))?;
        let mut watching = Self { counted, reading, syns, open_most: None };
        watching.look(testbed);
        Ok(watching)
    }

    /// One look that fails is one less.
    fn look(&mut self, testbed: &Testbed) {
        let open = vitals::open_connections(&side(&testbed.server, Vec::new()));
        self.open_most = self.open_most.max(open.ok());
    }

    fn end(self, running: &Running, testbed: &Testbed, point: &mut Point) -> Result<(), Failure> {
        let mut vitals = self.reading.finish(&watch(running, testbed))?;
        vitals.queues.open_most = self.open_most.max(Some(vitals.queues.open));
        point.vitals = Some(vitals);
        point.syns = testbed.syns_sent().zip(self.syns).map(|(now, was)| now.since(was));
        let now = Counted::by(running)?;
        let was = |name: &str| match name {
            ADMITTED => 0.0,
            _ => self.counted.counters.get(name).copied().unwrap_or_default(),
        };
        let since = |(name, now): (&String, &f64)| (name.clone(), now - was(name));
        point.counters = now.counters.iter().map(since).collect();
        point.counted_s = now.at.duration_since(self.counted.at).as_secs_f64();
        Ok(())
    }
}

/// Both sides; the lab's own work is the client's.
fn watch(running: &Running, testbed: &Testbed) -> Watch {
    Watch {
        server: side(&testbed.server, running.pids()),
        client: side(&testbed.client, vec![os::process::id()]),
    }
}

fn side(host: &Host, pids: Vec<u32>) -> Side {
    Side {
        pids,
        processors: host.placement.processors.clone(),
        namespace: host.placement.namespace.clone(),
        groups: host.placement.groups.clone(),
    }
}
