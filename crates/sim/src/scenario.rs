//! What is simulated: a model on a machine, with clients; and what comes of one run of it.

use std::rc::Rc;

use cache::PolicyKind;
use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Keeps;
use load::choices::Choices;
use load::collector::{Collector, LATE, Pace, Plan};
use load::source::Workload;
use load::stop::Stop;
use load::workload::settings::{KNOBS, Settings};
use load::workload::{self, Named};
use measure::draw::Draw;
use measure::{Duration, Instant};

use crate::clients::{Clients, Interrupts, Manner, Sending, Sessions, Timeouts};
use crate::crew::Crew;
use crate::footprint::Footprint;
use crate::models::Model;
use crate::parameters::Parameters;
use crate::resources::cores::Sharing;
use crate::resources::disk::Speed;
use crate::resources::locks::Locking;
use crate::resources::memory::Warm;
use crate::run::{BATCHES, Run, Whole};
use crate::server::Server;
use crate::simulation::Simulation;
use crate::world::Hardware;

/// See the head of this file.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The model.
    pub model: &'static Model,
    /// Its knobs that are set.
    pub knobs: Vec<(String, String)>,
    /// What everything costs.
    pub parameters: Parameters,
    /// Processors.
    pub cores: u32,
    /// Memory, without the kernel's.
    pub memory_bytes: u64,
    /// Clients in a closed loop; of an open one, at most so many at a time.
    pub clients: u32,
    /// When sessions begin, as of `weir load`; `None`: closed loop.
    pub gaps: Option<Gaps>,
    /// How long connections are kept; `None`: as `weir load` has it, see
    /// [`Choices::keeps`](load::choices::Choices::keeps).
    pub keeps: Option<Keeps>,
    /// How long clients wait for a reply; `None`: as long as it takes.
    pub patience: Option<Duration>,
    /// As `weir load --workload` takes it.
    pub workload: String,
    /// Its knobs.
    pub settings: Settings,
    /// Who goes when memory is full.
    pub policy: PolicyKind,
    /// Simulated time before anything counts; memory is warm before.
    pub warm_up: Duration,
    /// Simulated time that counts.
    pub measured: Duration,
    /// Of all that is drawn.
    pub seed: u64,
}

/// No timer of the kernel's is finer.
const JIFFY_NS: u64 = 1_000_000;
/// Of disks: more than there are tasks that read.
const CHANNELS_MAX: u64 = 1 << 16;
/// How much is simulated until it is asked whether it may go on.
const PIECE: Duration = Duration::from_secs(1);

impl Scenario {
    /// One server as it is simulated where nothing else is said: on one processor, under what the
    /// paper asked most of its servers. The model's own values of parameters are taken.
    #[must_use]
    pub fn new(model: &'static Model, parameters: &Parameters) -> Self {
        Self {
            model,
            knobs: Vec::new(),
            parameters: parameters.of_model(model.name),
            cores: 1,
            memory_bytes: 4 << 30,
            clients: 1000,
            gaps: None,
            keeps: None,
            patience: None,
            workload: String::from("choi-penn-state-cse"),
            settings: Settings::default(),
            policy: PolicyKind::Lru,
            warm_up: Duration::from_secs(20),
            measured: Duration::from_secs(60),
            seed: 1,
        }
    }

    /// Another value of a parameter, in its unit, or of a knob of the workload, as it is now.
    ///
    /// # Errors
    /// There is neither of that name, the workload has no such knob, or it cannot be that: one
    /// line.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if !KNOBS.iter().any(|knob| knob.name == name) {
            return self.parameters.set(name, value);
        }
        let is_foreign = |of: &&Named| !of.knobs.contains(&name);
        match workload::named(&self.workload).filter(is_foreign) {
            Some(of) => Err(format!("{name}: {} has no such knob", of.name)),
            None => self.settings.set(name, value),
        }
    }

    /// When sessions begin, how long connections are kept and clients wait, of what `weir load`
    /// lets one choose.
    ///
    /// # Errors
    /// See [`Choices::gaps`].
    pub fn choose(&mut self, choices: &Choices) -> Result<(), String> {
        (self.gaps, self.keeps) = (choices.gaps()?, choices.keeps);
        self.patience = choices.behaviour.patience;
        Ok(())
    }

    /// The workload.
    ///
    /// # Errors
    /// There is none of that name: one line.
    pub fn workload(&self) -> Result<Sessions, String> {
        workload::make(&self.workload, &self.settings)
    }

    /// Who works, and what that takes.
    ///
    /// # Errors
    /// A knob is none of the model's, memory is too small, or a request takes no time at all: one
    /// line.
    pub fn sized(&self) -> Result<(Crew, Footprint), String> {
        self.takes_time()?;
        let crew = self.model.crew(self.cores, self.clients, &self.knobs)?;
        let (parameters, memory) = (&self.parameters, self.memory_bytes);
        let footprint = Footprint::new(parameters, &crew, memory, self.clients)
            .map_err(|why| format!("{}: {why}", self.model.name))?;
        Ok((crew, footprint))
    }

    /// Of each file, in bytes.
    pub(crate) fn sizes(&self, workload: &Sessions) -> Vec<u64> {
        let sizes = workload.files().iter().map(|(_, file)| file.bytes.unwrap_or_default());
        let mut sizes: Vec<u64> = sizes.collect();
        if self.parameters.word("file-sizes") == "mean" {
            let mean = sizes.iter().sum::<u64>() / sizes.len().max(1) as u64;
            sizes.fill(mean);
        }
        sizes
    }

    /// Who asks again as soon as he is answered would do so for ever at the same moment.
    fn takes_time(&self) -> Result<(), String> {
        let each = ["receive", "header", "path-lookup", "cache-lookup", "transmit"];
        // A client that is kept for ever is accepted once.
        let more = if self.keeps == Some(Keeps::Client) { None } else { Some("accept") };
        let mut works = each.into_iter().chain(more);
        // There and back, a nanosecond each.
        let is_far = self.parameters.whole("round-trip") > 1;
        if self.gaps.is_some() || is_far || works.any(|name| self.parameters.whole(name) > 0) {
            return Ok(());
        }
        let works: Vec<&str> = each.into_iter().chain(more).collect();
        Err(format!(
            "in a closed loop a request has to take some time: let {} or round-trip be more than 0",
            works.join(", ")
        ))
    }

    /// One run, from warm caches on. The workload is given back: making one may take longer than
    /// a run.
    ///
    /// # Errors
    /// See [`Self::sized`].
    pub fn run(&self, warm: Warm, workload: Sessions) -> Result<(Run, Sessions), String> {
        Ok(self.run_while(warm, workload, |_| true)?.expect("nobody has stopped it"))
    }

    /// The same as long as it may go on, which is asked before each piece of a simulated second or
    /// less, with its length; `None`: it might not.
    ///
    /// # Errors
    /// See [`Self::sized`].
    pub fn run_while(
        &self,
        warm: Warm,
        workload: Sessions,
        mut goes_on: impl FnMut(Duration) -> bool,
    ) -> Result<Option<(Run, Sessions)>, String> {
        let (crew, footprint) = self.sized()?;
        let mut simulation = Simulation::new(&self.hardware());
        let server = self.server(&simulation, crew, footprint, workload, warm);
        self.model.spawn(&mut simulation, &server);
        server.clients.borrow_mut().begin(&mut server.world.borrow_mut());
        let mut replied_within = |lasts: Duration| {
            let before = server.clients.borrow().tally().replied;
            let mut left = lasts;
            while left > Duration::ZERO {
                let piece = left.min(PIECE);
                if !goes_on(piece) {
                    return None;
                }
                let until_ns = server.world.borrow().now_ns + piece.as_nanos() as u64;
                simulation.run(until_ns, |world, who| {
                    server.clients.borrow_mut().rung(world, who);
                });
                left -= piece;
            }
            Some(server.clients.borrow().tally().replied - before)
        };
        let batch = self.measured / BATCHES as u32;
        let mut batches = [0.0; BATCHES];
        if replied_within(self.warm_up).is_none() {
            return Ok(None);
        }
        for of in &mut batches {
            let Some(replies) = replied_within(batch) else { return Ok(None) };
            *of = replies as f64 / batch.as_secs_f64();
        }
        let lasts_ns = server.world.borrow().now_ns;
        drop(simulation);
        let world = server.world.borrow();
        let clients = server.clients.borrow();
        let whole = Whole {
            lasts_ns,
            events: world.events(),
            digest: world.digest(),
            busy: world.cores.busy().collect(),
            disk_busy_ns: world.disk.busy_ns(lasts_ns),
            channels: world.disk.channels(),
            carried: clients.carried(lasts_ns),
            locks: world.all_locks(),
            seen: server.files.borrow().seen(),
            tally: clients.tally(),
            open: clients.open() as u64,
            done: server.done(),
            faults: [world.faults(), clients.faults(server.sent_bytes(), lasts_ns)].concat(),
        };
        drop((world, clients));
        let server = Rc::into_inner(server).expect("no task is left that has it");
        let (results, workload) = server.clients.into_inner().finish(lasts_ns);
        let run = Run { batches, results, crew, footprint, whole };
        Ok(Some((run, workload)))
    }

    /// How long connections are kept under this workload.
    #[must_use]
    pub fn keeps(&self, workload: &dyn Workload) -> Keeps {
        let choices = Choices { keeps: self.keeps, ..Choices::default() };
        choices.keeps(&self.arrivals(), workload)
    }

    fn arrivals(&self) -> Arrivals {
        let closed = || Arrivals::Closed { clients: self.clients, think: Draw::Constant(0.0) };
        self.gaps.clone().map_or_else(closed, Arrivals::Open)
    }

    fn hardware(&self) -> Hardware {
        let of = &self.parameters;
        Hardware {
            cores: self.cores,
            sharing: Sharing {
                slice_ns: of.whole("slice").max(1),
                thread_switch_ns: of.whole("thread-switch"),
                process_switch_ns: of.whole("process-switch"),
                wake_ns: of.whole("wake"),
            },
            locking: Locking {
                spin_ns: of.whole("lock-spin"),
                transfer_ns: of.whole("lock-transfer"),
            },
            disk: Speed {
                latency_ns: of.whole("disk-latency"),
                bytes_per_s: of.number("disk-rate").max(1.0),
                channels: of.whole("disk-channels").clamp(1, CHANNELS_MAX) as u32,
                grain_ns: of.whole("grain").max(1),
            },
        }
    }

    fn server(
        &self,
        simulation: &Simulation,
        crew: Crew,
        footprint: Footprint,
        workload: Sessions,
        warm: Warm,
    ) -> Rc<Server> {
        let world = &simulation.world;
        // Linux has room for one more than listen is told (`sk_acceptq_is_full`).
        let backlog = self.parameters.whole("backlog") as usize + 1;
        let listening = world.borrow_mut().queue(backlog);
        let class_name = workload.model().class_name;
        let manner = Manner {
            count: self.clients,
            gaps: self.gaps.clone(),
            keeps: self.keeps(&*workload),
            patience_ns: self.patience.map(|patience| patience.as_nanos() as u64),
            round_trip_ns: self.parameters.whole("round-trip"),
            grain_ns: self.parameters.whole("grain").max(1),
            timeouts: Timeouts {
                syn_ns: self.parameters.whole("syn-timeout").max(JIFFY_NS),
                data_ns: self.parameters.whole("data-timeout").max(JIFFY_NS),
            },
            half_open_max: self.parameters.whole("half-open"),
            sending: Sending {
                link_bytes_per_s: self.parameters.number("link-rate"),
                has_own_links: self.parameters.word("link-is") == "own",
                buffer_bytes: self.parameters.whole("send-buffer"),
            },
            interrupts: Interrupts {
                taken_ns: self.parameters.whole("interrupt"),
                dropped_ns: self.parameters.whole("interrupt-dropped"),
            },
            seed: self.seed,
        };
        let collector = Collector::new(&self.plan(), workload.files(), class_name);
        let sizes = self.sizes(&workload);
        let clients =
            Clients::new((workload, sizes), collector, manner, &mut world.borrow_mut(), listening);
        let Warm { files, paths } = warm;
        let parameters = &self.parameters;
        let (clients, kept) = ((clients, listening), (files, paths));
        Rc::new(Server::new(world, parameters, (crew, footprint), clients, kept))
    }

    fn plan(&self) -> Plan {
        Plan {
            start: Instant::ORIGIN,
            stop: Stop {
                after: self.warm_up + self.measured,
                sessions_max: None,
                warm_up: self.warm_up,
                cool_down: Duration::ZERO,
                // Nobody asks how it went meanwhile.
                interval: self.warm_up + self.measured,
            },
            patience: self.patience,
            pace: Pace::from(&self.arrivals()),
            clients: 1,
            verified: None,
            lag_max: LATE,
        }
    }
}
