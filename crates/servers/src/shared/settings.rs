//! The operator's decisions, as values.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cache::PolicyKind;
use h1::Limits;
pub use h1::LogFormat;
use measure::Duration;
use os::poller::Mechanism;
use os::{Address, Network};
use site::rules::Origin;

use crate::shared::choice::choice;
use crate::shared::quotas::Quota;

/// Everything an operator may decide; each field is the value of one knob of
/// [`crate::operator::knobs`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is served.
    pub root: PathBuf,
    /// What is served where hosts and paths differ; none: the root for all.
    pub rules: site::Rules,
    /// Where.
    pub listen: Vec<Address>,
    /// By which architecture.
    pub architecture: String,
    /// How a loop waits.
    pub poller: Mechanism,
    /// Connections taken consecutively; [`ACCEPT_INF`] is infinity. None: the architecture's own.
    pub accept_limit: Option<u32>,
    /// Whether a work phase also works on the connections just accepted.
    pub work_on_accepted: bool,
    /// Passes over the ready connections per round: 1 or 2.
    pub passes: u32,
    /// Events taken per getevents call.
    pub events_max: u32,
    /// Bytes sent to one connection before the others' turn.
    pub work_bytes_max: u64,
    /// Pending work that a phase of TUX does at most; [`WORK_PENDING_INF`] is infinity.
    pub work_pending_max: u32,
    /// Connections a listening socket may hold that nobody has accepted. None: fewer in a flood.
    pub backlog: Option<u32>,
    /// Of those who knock, how many are admitted. None: all, and fewer in a flood.
    pub admit_percent: Option<u32>,
    /// The wait to be accepted that is aimed at in a flood.
    pub queue_delay: Duration,
    /// How long accepting in a flood, and the work that comes of it, may take in a round.
    pub phase: Duration,
    /// Seconds the kernel may hold a connection back until its request is there; 0 is off.
    pub defer_accept_s: u32,
    /// Processes that run the architecture. None: as suits the architecture.
    pub processes: Option<u32>,
    /// To how few they may be turned down while they serve.
    pub processes_min: u32,
    /// Whether they accept from the same queues.
    pub listener_queues: Queues,
    /// How long a worker that has died waits at most to be started again.
    pub restart_wait_max: Duration,
    /// Loops of a worker, or threads that serve at most. None: the architecture's own.
    pub threads: Option<u32>,
    /// Threads that are kept ready.
    pub threads_min: u32,
    /// Helpers for what may touch the disk.
    pub helpers: u32,
    /// Of pipelines alone.
    pub stages: Stages,
    /// Loads that may wait for a helper.
    pub helper_queue: u32,
    /// How long a load waits for helpers and disk at most.
    pub load_delay: Duration,
    /// Whether one fiber accepts for all others, of which each has one connection.
    pub acceptor: bool,
    /// Open connections of all workers; 0: as many as there are descriptors for.
    pub connections_max: u32,
    /// Whether at the maximum one that waits goes for a newcomer.
    pub make_room: bool,
    /// How file parts leave. None: as suits the architecture.
    pub sendfile: Option<Sendfile>,
    /// How the kernel works on a ring. None: as suits the architecture.
    pub ring_setup: Option<RingSetup>,
    /// What the sockets of a ring are. None: as what is done with them needs it.
    pub ring_sockets: Option<RingSockets>,
    /// How file parts in memory leave where there is a ring. None: as its sockets allow.
    pub ring_files: Option<RingFiles>,
    /// Memory for cached content.
    pub cache_mb: u32,
    /// Open files in the cache; 0: from the descriptors.
    pub cache_files: u32,
    /// How long an answer is given without asking the disk again.
    pub answer_age: Duration,
    /// Which entry leaves first.
    pub cache_policy: PolicyKind,
    /// Where the paths stand that will be asked for.
    pub cache_hints: Option<PathBuf>,
    /// Largest content kept in memory.
    pub small_file_kb: u32,
    /// Locks of a cache that threads share.
    pub cache_locks: CacheLocks,
    /// Whether replies are kept with their heads.
    pub head_cache: bool,
    /// Whether connections send at once what they have.
    pub nodelay: bool,
    /// What the kernel keeps of what a connection has sent. None: as it thinks best.
    pub send_buffer_kb: Option<u32>,
    /// What a client may ask of a connection, and what is saved on its replies.
    pub limits: Limits,
    /// How long it serves on before a drain, while balancers notice.
    pub drain_delay: Duration,
    /// How long a drain may take.
    pub drain_timeout: Duration,
    /// The access log; none is off.
    pub access_log: Option<LogTo>,
    /// What its lines look like.
    pub log_format: LogFormat,
    /// The error log.
    pub error_log: LogTo,
    /// The least urgent that the error log has.
    pub log_level: Level,
    /// Who did what, a line for each request; none is off.
    pub trace: Option<PathBuf>,
    /// Where a line for each look at a listening queue goes.
    pub admission_log: Option<PathBuf>,
    /// Where the number of the process is written that serves; none is off.
    pub pid_file: Option<PathBuf>,
    /// Where the supervisor answers its operator.
    pub admin: AdminAt,
    /// Whom the server becomes once it listens; none: it stays who it is.
    pub user: Option<String>,
    /// Which group it then has; none: the user's.
    pub group: Option<String>,
    /// Who begins connections with a PROXY header, and has to.
    pub proxy_protocol: Vec<Network>,
    /// Who says in each request for whom it is, and is believed.
    pub trusted_proxies: Vec<Proxy>,
    /// What one address may have.
    pub quota: Quota,
    /// Wrong passwords a minute of one address, and as many at once; 0 is without a limit.
    pub auth_failures_per_min: u32,
    /// Whether workers reach nothing but what is served.
    pub landlock: Confinement,
    /// Whether workers make no calls but those that serving needs.
    pub seccomp: Confinement,
    /// Where in files the values of knobs stand, and the root, by their names; of a list each. What
    /// a flag says, or nobody, is not in here.
    pub written: BTreeMap<&'static str, Vec<Origin>>,
}

choice! {
    /// Whose threads do the work of stages.
    pub enum StagePools {
        /// Their own.
        Private = "private",
        /// Those of all of them.
        Shared = "shared",
    }
}

choice! {
    /// By what it is decided who is admitted.
    pub enum StageAdmission {
        /// How long who knocks has waited in the listening queue.
        Queue = "queue",
        /// How long replies take (Welsh03).
        Response = "response",
    }
}

impl Settings {
    /// How a line for the operator begins that is about a knob: with the place in a file where its
    /// value stands, or with the flag; then the value, unless that is empty.
    #[must_use]
    pub fn said(&self, knob: &str, value: impl fmt::Display) -> String {
        let (begin, between) = match self.origin(knob, 0) {
            Some(origin) => (format!("{origin:#}"), ": "),
            None => (format!("--{knob}"), " "),
        };
        let value = value.to_string();
        let text = if value.is_empty() { begin } else { [&begin, between, &value].concat() };
        // Names of files may hold anything, and a mistake is one line.
        text.replace(char::is_control, " ")
    }

    /// A line for the operator about a site that cannot be served.
    #[must_use]
    pub fn refused(&self, error: &site::Error) -> String {
        match (error, self.origin("root", 0)) {
            (site::Error::Root { .. }, Some(origin)) => format!("{origin:#}: {error}"),
            _ => error.to_string(),
        }
    }

    /// Where in a file the value of a knob stands, or one of its list.
    pub(crate) fn origin(&self, knob: &str, nth: usize) -> Option<&Origin> {
        self.written.get(knob)?.get(nth)
    }
}

/// Where the lines of a log go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTo {
    /// The standard output, as it was inherited.
    Stdout,
    /// The standard error output.
    Stderr,
    /// A file.
    File(PathBuf),
}

impl LogTo {
    /// The file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdout | Self::Stderr => None,
        }
    }
}

impl fmt::Display for LogTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::Stderr => f.write_str("stderr"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Proxies whose word is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    /// Those of a network.
    Of(Network),
    /// Whoever connects through a Unix socket, and so has no address.
    Unix,
}

impl FromStr for Proxy {
    type Err = String;

    /// As a [`Network`], or `unix`; the error says what would be one.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        text.parse().map(Self::Of).map_err(|told| format!("{told}, or unix"))
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(network) => network.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

/// Where the supervisor answers its operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAt {
    /// Nowhere.
    Off,
    /// At [`ADMIN_DEFAULT`], unless somebody else has it.
    Default,
    /// Here and nowhere else.
    At(Address),
}

/// Reached from this machine alone, and beside the site's own default port.
pub const ADMIN_DEFAULT: &str = "127.0.0.1:8081";

/// `accept-limit inf`.
pub const ACCEPT_INF: u32 = u32::MAX;

/// Pending work without end.
pub const WORK_PENDING_INF: u32 = u32::MAX;

choice! {
    /// Whether workers accept from the same queues.
    pub enum Queues {
        /// They do.
        Shared = "shared",
        /// Each has one at each address.
        Own = "own",
    }
}

/// What of a cache threads lock when they find something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLocks {
    /// One of so many parts.
    Parts(u32),
    /// The entry.
    Entry,
}

impl fmt::Display for CacheLocks {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(parts) => parts.fmt(to),
            Self::Entry => to.write_str("entry"),
        }
    }
}

choice! {
    /// How file parts leave.
    pub enum Sendfile {
        /// By `sendfile` on a non-blocking socket.
        Nonblocking = "nonblocking",
        /// The same, once the poller has told that the socket takes bytes: by the fiber what is in
        /// memory, by a worker the rest.
        NonblockingPolled = "nonblocking-polled",
        /// By `sendfile` on a blocking socket: called once for a window.
        Blocking = "blocking",
        /// Read into memory, then sent.
        Off = "off",
    }
}

choice! {
    /// How the kernel works on a ring.
    pub enum RingSetup {
        /// It makes completions when they are waited for.
        Deferred = "deferred",
        /// It makes them whenever the loop is in the kernel.
        Cooperative = "cooperative",
        /// By a thread of its own.
        Polled = "polled",
    }
}

choice! {
    /// What the sockets of a ring are.
    pub enum RingSockets {
        /// Slots of a table of the ring's.
        Direct = "direct",
        /// Descriptors of the process.
        Ordinary = "ordinary",
    }
}

choice! {
    /// How file parts leave that are in memory, where there is a ring.
    pub enum RingFiles {
        /// Read by the ring, then sent by the ring.
        Read = "read",
        /// By `sendfile`, called by the loop.
        Sendfile = "sendfile",
    }
}

choice! {
    /// How urgent a line of the error log is, the most urgent first.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// Something does not work, and somebody has to mend it.
        Error = "error",
        /// It works, and soon may not.
        Warn = "warn",
        /// What changed.
        Info = "info",
        /// For who looks for a mistake of ours.
        Debug = "debug",
    }
}

choice! {
    /// Whether workers give something up.
    pub enum Confinement {
        /// They do, and without it nothing is served.
        On = "on",
        /// They do not.
        Off = "off",
        /// They do where the kernel can see to it.
        Auto = "auto",
    }
}

/// What is decided about the stages of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    /// Whether each pipeline stays on a processor.
    pub pin: bool,
    /// Connections that may wait for a stage.
    pub queue: u32,
    /// Whether stages share their threads.
    pub pools: StagePools,
    /// Who decides who is admitted to a pipeline.
    pub admission: StageAdmission,
    /// The response time that is aimed at where it decides.
    pub response_target: Duration,
    /// Whether threads of stages come and go.
    pub pool_control: bool,
    /// Whether batches of stages are made small.
    pub batch_control: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            pin: false,
            queue: 1024,
            pools: StagePools::Private,
            admission: StageAdmission::Queue,
            response_target: Duration::from_secs(1),
            pool_control: true,
            batch_control: true,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            root: PathBuf::from("."),
            rules: site::Rules::default(),
            listen: Vec::new(),
            architecture: String::from("sped"),
            poller: Mechanism::Epoll,
            accept_limit: None,
            work_on_accepted: false,
            passes: 2,
            events_max: 1024,
            work_bytes_max: 256 << 10,
            work_pending_max: 4096,
            backlog: None,
            admit_percent: None,
            queue_delay: Duration::from_millis(20),
            phase: Duration::from_millis(5),
            defer_accept_s: 0,
            processes: None,
            processes_min: 1,
            listener_queues: Queues::Shared,
            restart_wait_max: Duration::from_secs(2),
            threads: None,
            threads_min: 16,
            helpers: 4,
            stages: Stages::default(),
            helper_queue: 4096,
            load_delay: Duration::from_millis(200),
            acceptor: false,
            connections_max: 0,
            make_room: true,
            sendfile: None,
            ring_setup: None,
            ring_sockets: None,
            ring_files: None,
            cache_mb: 64,
            cache_files: 0,
            answer_age: Duration::from_millis(900),
            cache_policy: PolicyKind::Sieve,
            cache_hints: None,
            small_file_kb: 32,
            cache_locks: CacheLocks::Parts(16),
            head_cache: true,
            nodelay: true,
            send_buffer_kb: None,
            limits: Limits::default(),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(30),
            access_log: None,
            log_format: LogFormat::Common,
            error_log: LogTo::Stderr,
            log_level: Level::Info,
            trace: None,
            admission_log: None,
            pid_file: None,
            admin: AdminAt::Default,
            user: None,
            group: None,
            proxy_protocol: Vec::new(),
            trusted_proxies: Vec::new(),
            quota: Quota::default(),
            auth_failures_per_min: 20,
            landlock: Confinement::Auto,
            seccomp: Confinement::Auto,
            written: BTreeMap::new(),
        }
    }
}
