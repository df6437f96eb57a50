//! Apache: processes of threads with a poller for idle connections (event), or processes alone, one
//! connection each (prefork).

use super::setup::{
    BACKLOG, CONNECTIONS_MAX, DEFER_ACCEPT, IDLE_S, PROGRAM, SENDFILE, Setup, WORKERS,
};
use super::{Knob, Launch, Peer};
use crate::Failure;
use crate::subject::Takes;

pub(super) const EVENT: Peer = Peer {
    name: "apache-event",
    is: "processes with a thread for each request at work; one of them polls idle connections",
    package: "apache2",
    program: "apache2",
    version: "-v",
    knobs: &[
        WORKERS,
        Knob {
            name: "threads",
            takes: Takes::Number(1, 20_000),
            default: "64",
            reason: "of each worker process: requests at work at once; 25 by default",
        },
        CONNECTIONS_MAX,
        BACKLOG,
        SENDFILE,
        IDLE_S,
        DEFER_ACCEPT,
        PROGRAM,
    ],
    tuning: &[
        ("workers", &["1", "2", "4"]),
        ("threads", &["16", "64", "256"]),
        ("backlog", &["64", "1024"]),
        ("defer-accept", &["off", "on"]),
    ],
    settings: &[
        (
            "AsyncRequestWorkerFactor",
            "2 connections for each idle thread by default; as many as \
         `connections` says",
        ),
        ("MaxSpareThreads", "as many as there are: none is ended and started again in a run"),
        KEEP_ALIVE_REQUESTS,
        MODULES,
        LOGS,
        USER,
    ],
    launch: event,
};

pub(super) const PREFORK: Peer = Peer {
    name: "apache-prefork",
    is: "a pool of processes, one connection each, an idle one too",
    package: "apache2",
    program: "apache2",
    version: "-v",
    knobs: &[
        Knob {
            name: "workers",
            takes: Takes::Number(1, 20_000),
            default: "512",
            reason: "processes, and so connections at once; 256 by default",
        },
        BACKLOG,
        SENDFILE,
        Knob {
            name: "idle-s",
            takes: Takes::Number(1, 3600),
            default: "5",
            reason: "a connection is kept without a request, and its process with it: while others \
                     wait for one, longer is worse. Its own default",
        },
        DEFER_ACCEPT,
        PROGRAM,
    ],
    tuning: &[
        ("workers", &["16", "64", "256"]),
        ("backlog", &["64", "1024"]),
        ("defer-accept", &["off", "on"]),
    ],
    settings: &[
        (
            "StartServers, MaxSpareServers",
            "all processes are there from the beginning: Apache \
         forks one more each second otherwise, then twice as many",
        ),
        KEEP_ALIVE_REQUESTS,
        MODULES,
        LOGS,
        USER,
    ],
    launch: prefork,
};

const KEEP_ALIVE_REQUESTS: (&str, &str) =
    ("MaxKeepAliveRequests 0", "100 by default, then the connection is closed");
const MODULES: (&str, &str) =
    ("modules", "none but for access: Debian loads a dozen, and several look at each request");
const LOGS: (&str, &str) = ("no access log", "a line for each reply costs CPU, and a disk");
const USER: (&str, &str) =
    ("User www-data", "as root it serves as somebody else, who has to be able to read the site");

/// Threads of a process, and processes, that Apache takes at most.
const THREADS_MAX: u64 = 20_000;

fn event(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let workers = setup.workers();
    let threads = setup.number("threads").unwrap_or(1).min(THREADS_MAX);
    let all = workers * threads;
    // Connections of a process: its threads, and for each idle one so many more.
    let factor = setup.connections()?.div_ceil(all).saturating_sub(1).max(1);
    let pool = format!(
        "LoadModule mpm_event_module {MODULES_DIR}/mod_mpm_event.so
ServerLimit {workers}
StartServers {workers}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {all}
MinSpareThreads 1
MaxSpareThreads {all}
AsyncRequestWorkerFactor {factor}
"
    );
    launch(setup, &pool)
}

fn prefork(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let workers = setup.workers();
    let pool = format!(
        "LoadModule mpm_prefork_module {MODULES_DIR}/mod_mpm_prefork.so
ServerLimit {workers}
StartServers {workers}
MaxRequestWorkers {workers}
MinSpareServers 1
MaxSpareServers {workers}
"
    );
    launch(setup, &pool)
}

/// Where Debian has them.
const MODULES_DIR: &str = "/usr/lib/apache2/modules";

fn launch(setup: &Setup<'_>, pool: &str) -> Result<Launch, Failure> {
    let user = if setup.is_root() { "User www-data\nGroup www-data\n" } else { "" };
    if setup.is_root() {
        setup.is_open_to_all("www-data")?;
    }
    let (site, scratch) = (setup.site(), setup.scratch());
    let filter = if setup.is_on("defer-accept") { "data" } else { "none" };
    let (backlog, idle_s) = (setup.word("backlog"), setup.word("idle-s"));
    let (sendfile, address) = (setup.word("sendfile"), setup.start.address);
    let text = format!(
        "ServerRoot \"{scratch}\"
DefaultRuntimeDir \"{scratch}\"
PidFile \"{scratch}/apache.pid\"
ErrorLog \"{scratch}/apache.log\"
LogLevel crit
{user}{pool}MaxConnectionsPerChild 0
LoadModule authz_core_module {MODULES_DIR}/mod_authz_core.so
ServerName localhost
AcceptFilter http {filter}
Listen {address}
ListenBacklog {backlog}
KeepAlive On
KeepAliveTimeout {idle_s}
MaxKeepAliveRequests 0
EnableSendfile {sendfile}
EnableMMAP Off
DocumentRoot \"{site}\"
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
"
    );
    let file = setup.write("apache.conf", &text)?;
    Ok(setup.launch(&["-D", "FOREGROUND", "-f", &file]))
}
