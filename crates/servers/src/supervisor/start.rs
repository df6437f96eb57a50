//! What happens before the first fork: the settings are judged, the listening sockets bound, the
//! descriptors shared out, and the operator is told.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use h1::{Limits, Shared};
use os::{Address, Listener, Wake, users};
use site::Site;
use site::rules::{Effect, Rule};

use crate::architectures::{self, Architecture, Holder};
use crate::connection::by_address;
use crate::operator::knobs;
use crate::rings::ways;
use crate::session::Sessions;
use crate::shared::admissions::Admissions;
use crate::shared::auth_slots::AuthSlots;
use crate::shared::counters::Counters;
use crate::shared::dials::{BACKLOG_AUTO, Dials};
use crate::shared::error_log::ErrorLog;
use crate::shared::failure::Failure;
use crate::shared::ledger::Ledger;
use crate::shared::line_file::LineFile;
use crate::shared::listening::Listening;
use crate::shared::log;
use crate::shared::orders::Orders;
use crate::shared::quotas::Rate;
use crate::shared::scoreboard::Scoreboard;
use crate::shared::server::{Common, Server};
use crate::shared::settings::{Queues, Sendfile, Settings};
use crate::shared::stops::Stops;
use crate::supervisor::split::Split;
use crate::supervisor::upgrade::Inheritance;
use crate::supervisor::voice::Voice;
use crate::supervisor::{cache, confine};
use crate::threads::life;

/// At all addresses of the machine, of both families.
const PORT_DEFAULT: &str = "8080";

/// Who listened before.
pub(crate) enum Before<'b> {
    Nobody,
    Server(&'b Server),
    Another(&'b Inheritance),
}

impl Before<'_> {
    /// The sockets that listen there already, in the order in which they began: of those that are
    /// named alike the ones behind so many others, as with port 0 each has a port of its own.
    fn listeners(&self, address: &Address, others: usize) -> io::Result<Vec<Arc<Listener>>> {
        match self {
            Self::Nobody => Ok(Vec::new()),
            Self::Server(server) => {
                let all = server.settings.listen.iter().enumerate();
                let at = { all }.filter(|(_, known)| known.is_same_place(address)).nth(others);
                let known = at.into_iter().flat_map(|(at, _)| server.listeners.at(at));
                Ok(known.cloned().collect())
            }
            Self::Another(inheritance) => inheritance.listeners(address, others),
        }
    }

    /// Rung for those who listen there.
    fn bell(&self) -> io::Result<Arc<Wake>> {
        match self {
            Self::Server(server) => Ok(Arc::clone(server.listeners.common_bell())),
            Self::Nobody | Self::Another(_) => Wake::new().map(Arc::new),
        }
    }

    /// The sockets of a service manager, for who names no address.
    fn handed_over(&self) -> Vec<Address> {
        match self {
            Self::Nobody => os::notify::handed_over(),
            Self::Server(server) => {
                let all = server.settings.listen.iter();
                all.filter(|address| matches!(address, Address::Fd(_))).cloned().collect()
            }
            Self::Another(inheritance) => inheritance.handed_over(),
        }
    }
}

/// Makes the server that the workers will share; where somebody listens already, so does it.
pub(crate) fn server(
    mut settings: Settings,
    sessions: &dyn Fn(&Shared<Limits>) -> Sessions,
    before: &Before<'_>,
    voice: &mut Voice<'_>,
) -> Result<Server, Failure> {
    let identity = confine::identity(&settings).map_err(|all| Failure::Operator(all.join("\n")))?;
    let is_told_where = settle_where(&mut settings, before);
    let bound = bind(&settings, before)?;
    let trace = opened(&settings, "trace", settings.trace.as_deref())?;
    let admission_log = opened(&settings, "admission-log", settings.admission_log.as_deref())?;
    // All that follows is judged as who will serve, and has to do it again.
    confine::become_identity(identity.as_ref())?;
    let access_log = access_log(&settings)?;
    let architecture = choose(&settings, voice)?;
    if let Some(line) = ways::settle(&mut settings).filter(|_| architecture.has_ring()) {
        voice.warn(&line);
    }
    settle_admission(&mut settings, architecture);
    let refused = |e: io::Error| {
        let what = if os::is_out_of_descriptors(&e) { "descriptors" } else { "memory" };
        Failure::Machine(format!("no {what} to share with workers: {e}"))
    };
    let workers = architecture.workers_max(&settings);
    let bell = before.bell().map_err(refused)?;
    let listeners = Listening::new(bound, settings.listener_queues, workers as usize, bell);
    hand_on_patience(&settings, architecture, &listeners)?;
    let split = Split::new(&settings, architecture)?;
    cache::judge(&settings, &split)?;
    if let Some(bytes) = architecture.window_bytes {
        settings.limits.window_bytes = bytes;
    }
    let site = cache::site(&settings, architecture, &split, voice)?;
    let limits = Shared::new(settings.limits.clone());
    let loops = architecture.loops(&settings) as usize;
    let counters = Counters::of_loops(workers as usize, loops).map_err(refused)?;
    let orders = Orders::new(listeners.len(), workers as usize).map_err(refused)?;
    let admissions = Admissions::new(listeners.len()).map_err(refused)?;
    let errors = error_log(&settings, &orders, &counters)?;
    let common = in_common(&settings, architecture, workers as usize).map_err(refused)?;
    let rules = confine::rules(&settings)?;
    let ledger = common.as_ref().map(|common| &common.ledger);
    let sessions = sessions(&limits);
    let sessions = by_address::before(sessions, &settings, &listeners, &counters, ledger);
    announce(&settings, &site, architecture, &listeners, &split, voice);
    warn(&settings, is_told_where, voice);
    confine::announce(&settings, voice);
    Ok(Server {
        rules,
        architecture,
        site,
        sessions,
        asks_who: by_address::is_wanted(&settings),
        limits,
        listeners,
        counters,
        orders,
        errors: Arc::new(errors),
        connections_max: split.of_loop as usize,
        common,
        dials: Dials::new(&settings, workers).map_err(refused)?,
        stops: Stops::new().map_err(refused)?,
        admissions,
        access_log,
        trace,
        admission_log,
        dropped_before: os::queue_drops::queue_drops().unwrap_or_default(),
        settings,
    })
}

/// Where an architecture decides which requests it admits, all who knock are accepted: never both.
fn settle_admission(settings: &mut Settings, architecture: &Architecture) {
    if architecture.admits_itself(settings) {
        settings.admit_percent.get_or_insert(100);
        settings.backlog.get_or_insert(BACKLOG_AUTO);
    }
}

fn in_common(
    settings: &Settings,
    architecture: &Architecture,
    workers: usize,
) -> io::Result<Option<Common>> {
    if architecture.holder != Holder::Process {
        return Ok(None);
    }
    let quota = settings.quota;
    let rate = Rate::per_second(quota.requests_per_s);
    Ok(Some(Common {
        ledger: Arc::new(Ledger::new(workers, quota.connections_max, rate)?),
        auth_slots: AuthSlots::new(workers, settings.auth_failures_per_min)?,
        scoreboard: Scoreboard::new(workers)?,
    }))
}

/// What the settings name; where that cannot be had here, a line says so and `sped` serves.
fn choose(settings: &Settings, voice: &mut Voice<'_>) -> Result<&'static Architecture, Failure> {
    let unknown = || {
        let said = settings.said("architecture", "");
        Failure::Operator(format!("{said}: one of {}", architectures::names()))
    };
    let chosen = architectures::architecture(&settings.architecture).ok_or_else(unknown)?;
    let connections = Split::new(settings, chosen)?.of_loop;
    let Err(why) = (chosen.probe)(settings, connections) else { return Ok(chosen) };
    let instead = &architectures::ARCHITECTURES[0];
    let (name, needs) = (chosen.name, chosen.needs);
    voice.warn(&format!("{name} needs {needs}: {why}; {} serves", instead.name));
    Ok(instead)
}

/// Where to listen, if the operator does not say; `false`: nor does who starts the server.
fn settle_where(settings: &mut Settings, before: &Before<'_>) -> bool {
    if settings.listen.is_empty() {
        settings.listen = before.handed_over();
    }
    let is_told = !settings.listen.is_empty();
    if !is_told {
        settings.listen.extend(PORT_DEFAULT.parse::<Address>());
    }
    is_told
}

/// The sockets of each address.
fn bind(settings: &Settings, before: &Before<'_>) -> Result<Vec<Vec<Arc<Listener>>>, Failure> {
    let row = architectures::architecture(&settings.architecture);
    let queues = match (settings.listener_queues, row) {
        (Queues::Own, Some(row)) => row.workers_max(settings) as usize,
        _ => 1,
    };
    let mut bound: Vec<Vec<Arc<Listener>>> = Vec::new();
    for (at, address) in settings.listen.iter().enumerate() {
        let others =
            settings.listen[..at].iter().filter(|other| other.is_same_place(address)).count();
        let known = before.listeners(address, others);
        let listeners = known.and_then(|known| bind_to(settings, address, known, queues));
        let listeners = listeners.map_err(|e| {
            let is_first = matches!(before, Before::Nobody);
            if is_first {
                bound.iter().flatten().for_each(|listener| listener.remove_file());
            }
            Failure::Machine(refusal(settings, at, &e, is_first))
        })?;
        listeners.iter().try_for_each(|listener| adjust(listener, address, settings))?;
        bound.push(listeners);
    }
    Ok(bound)
}

/// Those that are known there, and others up to so many where there can be several.
fn bind_to(
    settings: &Settings,
    address: &Address,
    known: Vec<Arc<Listener>>,
    queues: usize,
) -> io::Result<Vec<Arc<Listener>>> {
    let backlog = settings.backlog.unwrap_or(BACKLOG_AUTO);
    let mut listeners = known;
    // Also those that were stopped, because fewer workers served.
    listeners.iter().try_for_each(|known| known.listen(backlog))?;
    if listeners.is_empty() {
        let listener = Listener::bind(address, backlog)?;
        // Whoever had a socket that is lent may have left it refusing, and may have forbidden to
        // change that.
        let _ = listener.admit_all();
        listeners.push(Arc::new(listener));
    }
    while listeners.len() < queues && listeners[0].has_room_beside() {
        let another = listeners[0].another(backlog)?;
        listeners.push(Arc::new(another));
    }
    Ok(listeners)
}

/// Also what is set by default, which a reload may come back to.
fn adjust(listener: &Listener, address: &Address, settings: &Settings) -> Result<(), Failure> {
    // Of a service manager's socket it is the manager's to say.
    let is_ours = !matches!(address, Address::Fd(_));
    let failed =
        |knob: &str, e: io::Error| Failure::Machine(format!("{}: {e}", settings.said(knob, "")));
    if settings.defer_accept_s > 0 || is_ours {
        let deferred = listener.defer_accept(settings.defer_accept_s);
        deferred.map_err(|e| failed("defer-accept-s", e))?;
    }
    if settings.send_buffer_kb.is_some() || is_ours {
        let set = listener.set_send_buffer(settings.send_buffer_kb.map(|kb| kb << 10));
        set.map_err(|e| failed("send-buffer-kb", e))?;
    }
    listener.set_nodelay(settings.nodelay).map_err(|e| failed("nodelay", e))
}

/// Where calls block, a connection has its first timeouts from its listening socket. They are never
/// taken away: a worker whose calls block may serve on when others were to take its place.
fn hand_on_patience(
    settings: &Settings,
    architecture: &Architecture,
    listeners: &Listening,
) -> Result<(), Failure> {
    let limits = &settings.limits;
    let (receive, send) = (life::first_patience(limits), life::long_patience(limits));
    let parts_wait = settings.sendfile == Some(Sendfile::Blocking);
    let waits = architecture.holder == Holder::Thread || parts_wait;
    let mut listeners = listeners.iter().filter(|_| waits);
    let set = listeners.try_for_each(|listener| listener.set_timeouts(receive, send));
    set.map_err(|e| Failure::Machine(format!("cannot set timeouts: {e}")))
}

/// Why it cannot listen at one of its addresses, for the operator. `is_first`: no other server of
/// his is there.
pub(crate) fn refusal(settings: &Settings, at: usize, error: &io::Error, is_first: bool) -> String {
    let is_unix = matches!(settings.listen[at], Address::Unix(_));
    let mend = match error.kind() {
        io::ErrorKind::AddrInUse if !is_first => {
            "if this server has it by another spelling, keep that; or choose another address"
        }
        io::ErrorKind::AddrInUse if is_unix => {
            "another program or file has it; stop or remove that, or choose another path"
        }
        io::ErrorKind::PermissionDenied if is_unix => {
            "start as root, or as a user who may write there and is in the group"
        }
        io::ErrorKind::NotFound if is_unix => "make its directory or group, or name others",
        io::ErrorKind::AddrInUse => "another program has it; stop that or choose another port",
        io::ErrorKind::PermissionDenied => {
            "not permitted; choose a port from 1024 or start as root"
        }
        io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        io::ErrorKind::InvalidInput => "who starts this must hand over a socket that listens",
        _ => "choose another address",
    };
    let origin = settings.origin("listen", at);
    let place = origin.map_or_else(String::new, |origin| format!("{origin:#}: "));
    format!("{place}cannot listen on {}: {error}; {mend}", settings.listen[at])
}

fn access_log(settings: &Settings) -> Result<Option<log::Target>, Failure> {
    let taken = settings
        .access_log
        .as_ref()
        .map(|to| log::Target::take(to).map_err(|e| unwritable(settings, "access-log", to, &e)));
    taken.transpose().map_err(Failure::Operator)
}

fn error_log(
    settings: &Settings,
    orders: &Orders,
    counters: &Counters,
) -> Result<ErrorLog, Failure> {
    let to = &settings.error_log;
    ErrorLog::open(to, settings.log_level, orders, counters)
        .map_err(|e| Failure::Operator(unwritable(settings, "error-log", to, &e)))
}

/// The file that a knob names.
fn opened(
    settings: &Settings,
    knob: &str,
    path: Option<&Path>,
) -> Result<Option<LineFile>, Failure> {
    let open = |path: &Path| {
        let refused = |e: io::Error| unwritable(settings, knob, path.display(), &e);
        LineFile::open(path).map_err(refused)
    };
    path.map(open).transpose().map_err(Failure::Operator)
}

/// Why what a knob names is not written, for the operator.
pub(crate) fn unwritable(
    settings: &Settings,
    knob: &str,
    to: impl fmt::Display,
    error: &io::Error,
) -> String {
    let cure = match error.kind() {
        io::ErrorKind::NotFound => "make its directory, or name another file",
        _ => "name a file to write",
    };
    format!("{}: {error}; {cure}", settings.said(knob, to))
}

fn announce(
    settings: &Settings,
    site: &Site,
    architecture: &Architecture,
    listeners: &Listening,
    split: &Split,
    voice: &mut Voice<'_>,
) {
    for listener in listeners.firsts() {
        let address = listener.local_address().unwrap_or_default();
        let scheme = if address.starts_with("unix:") { "" } else { "http://" };
        let slash = if scheme.is_empty() { "" } else { "/" };
        // An address that a browser can be given.
        let here = address.strip_prefix("[::]").or_else(|| address.strip_prefix("0.0.0.0"));
        let here = here.map_or_else(String::new, |port| format!(" (http://localhost{port}/)"));
        voice.tell(&format!("listening on {scheme}{address}{slash}{here}"));
    }
    let poller =
        if architecture.polls { format!(" with {}", settings.poller) } else { String::new() };
    voice.tell(&format!("serving {} by {}{poller}", what_is_served(settings), architecture.name));
    let each = match architecture.workers_max(settings) {
        1 => String::new(),
        workers if architecture.kept => {
            format!("{workers} processes with one cache and one table, each with ")
        }
        workers => format!("{workers} processes, each with "),
    };
    let over = match architecture.loops(settings) {
        1 => String::new(),
        loops => format!(" over {loops} loops"),
    };
    let memory = split.memory.map_or_else(String::new, |memory| {
        let whose = if memory.is_of_group { "the control group" } else { "the machine" };
        format!("; {whose} has {} MiB", memory.bytes >> 20)
    });
    voice.tell(&format!(
        "limits: {each}{} connections{over} (bound by {}) and {} cached files of {} descriptors, \
         {} MiB of cache{memory}",
        split.connections,
        split.bound,
        split.files,
        split.descriptors,
        cache::bytes(settings, architecture) >> 20
    ));
    let defaults = Settings::default();
    let changed = knobs::all().filter(|knob| (knob.show)(settings) != (knob.show)(&defaults));
    let told = ["listen", "architecture", "poller", "admin"];
    let changed: Vec<String> = changed
        .filter(|knob| !told.contains(&knob.name))
        .map(|knob| format!("{} {}", knob.name, (knob.show)(settings)))
        .collect();
    if !changed.is_empty() {
        voice.tell(&format!("changed: {}", changed.join(", ")));
    }
    let unreached = site.unreached().map(|unreached| unreached.to_string());
    for warning in unreached.chain(split.warning()) {
        voice.warn(&warning);
    }
}

/// What serves more, or by more rights, than was asked for.
fn warn(settings: &Settings, is_told_where: bool, voice: &mut Voice<'_>) {
    if !is_told_where {
        voice.warn(&format!(
            "no --listen: port {PORT_DEFAULT} is open to all networks of this machine; \
             --listen 127.0.0.1:8080 serves this machine alone"
        ));
    }
    let (uid, _) = users::effective();
    if uid == 0 && settings.user.is_none() {
        voice.warn("serving as root; --user names who may do less, and --user root this one");
    }
}

fn what_is_served(settings: &Settings) -> String {
    let hosts = &settings.rules.hosts;
    if hosts.is_empty() {
        let root = settings.root.canonicalize().unwrap_or_else(|_| settings.root.clone());
        return root.display().to_string();
    }
    let counted = |n: usize, what| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if let [host] = hosts.as_slice()
        && host.names == ["*"]
        && let [rules @ .., Rule { at, effect: Effect::Root(root), .. }] = host.rules.as_slice()
        && at == "/"
    {
        let root = root.canonicalize().unwrap_or_else(|_| root.clone());
        return format!("{} with {}", root.display(), counted(rules.len(), "rule"));
    }
    let rules = hosts.iter().map(|host| host.rules.len()).sum();
    format!("{} with {}", counted(hosts.len(), "host"), counted(rules, "rule"))
}
