//! nginx: a master and workers, each a loop.

use super::setup::{
    BACKLOG, CONNECTIONS_MAX, DEFER_ACCEPT, IDLE_S, PROGRAM, SENDFILE, Setup, WORKERS,
};
use super::{Knob, Launch, Peer};
use crate::Failure;
use crate::subject::Takes;
use crate::subject::knob::SWITCH;

pub(super) const NGINX: Peer = Peer {
    name: "nginx",
    is: "one loop for each worker process; a disk blocks one of them, unless `aio=threads`",
    package: "nginx-light",
    program: "nginx",
    version: "-v",
    knobs: &[
        WORKERS,
        CONNECTIONS_MAX,
        BACKLOG,
        Knob {
            takes: Takes::Word(&["auto", "on", "off"]),
            default: "auto",
            reason: "files go from the page cache to the socket without being copied; auto: off \
                     where no file of the site is longer than 16 KiB, as a copy of so few bytes \
                     costs less than the calls",
            ..SENDFILE
        },
        IDLE_S,
        DEFER_ACCEPT,
        PROGRAM,
        Knob {
            name: "file-cache",
            takes: SWITCH,
            default: "on",
            reason: "keeps files open (open_file_cache), as many as there are descriptors beside \
                     the connections; off by default, which costs open, stat and close for each \
                     request",
        },
        Knob {
            name: "multi-accept",
            takes: SWITCH,
            default: "on",
            reason: "takes all connections that wait, not one per round: accept-limit inf or 1",
        },
        Knob {
            name: "reuseport",
            takes: SWITCH,
            default: "off",
            reason: "a listening socket for each worker; off: they share one",
        },
        Knob {
            name: "send-buffer-kb",
            takes: Takes::Number(0, 1_048_576),
            default: "0",
            reason: "that a connection has sent and its client not acknowledged; 0: the kernel \
                     lets it grow",
        },
        Knob {
            name: "aio",
            takes: Takes::Word(&["off", "threads"]),
            default: "off",
            reason: "who reads files: the loop, or helper threads, as in AMPED (Pai99)",
        },
    ],
    tuning: &[
        ("connections", &["1000", "4000"]),
        ("workers", &["1", "2", "4"]),
        ("backlog", &["64", "1024"]),
        ("defer-accept", &["off", "on"]),
        ("sendfile", &["off", "on"]),
    ],
    settings: &[
        ("access_log off", "a line for each reply costs a tenth of the CPU, and a disk"),
        ("tcp_nopush on", "with sendfile: head and content leave in one packet"),
        (
            "keepalive_requests, keepalive_time",
            "a connection is closed after 1,000 requests or an \
         hour by default, which a client meets as an error",
        ),
        (
            "worker_connections",
            "512 by default, 1,024 in the sample; those above are refused. `connections` by \
             workers, and four for the worker itself",
        ),
        ("open_file_cache_valid 600s", "the site does not change while it is measured"),
        ("output_buffers 2 128k", "without sendfile: most files in one read"),
        ("user", "the lab's own, so that it may read the site wherever it lies"),
    ],
    launch,
};

fn launch(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let (site, scratch) = (setup.site(), setup.scratch());
    let user = if setup.is_root() { "user root;" } else { "" };
    let (workers, multi_accept) = (setup.workers(), setup.word("multi-accept"));
    let connections = setup.connections_of_each(setup.connections_max())?;
    let sendfile = setup.sendfile();
    let (backlog, idle_s, aio) = (setup.word("backlog"), setup.word("idle-s"), setup.word("aio"));
    let reuseport = if setup.is_on("reuseport") { "reuseport" } else { "" };
    let send_buffer = match setup.word("send-buffer-kb") {
        "0" => String::new(),
        kb => format!("sndbuf={kb}k"),
    };
    let deferred = if setup.is_on("defer-accept") { "deferred" } else { "" };
    let own = connections + OF_WORKER;
    let (address, descriptors) = (setup.start.address, setup.descriptors);
    let file_cache = match setup.files_beside(connections) {
        files if setup.is_on("file-cache") && files > 0 => {
            format!("open_file_cache max={files} inactive=600s; open_file_cache_valid 600s;")
        }
        _ => String::from("open_file_cache off;"),
    };
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let places =
        places.map(|name| format!("    {name}_temp_path \"{scratch}/{name}\";\n")).concat();
    let text = format!(
        "daemon off; {user}
worker_processes {workers}; worker_rlimit_nofile {descriptors};
pid \"{scratch}/nginx.pid\"; error_log stderr crit;
events {{
    use epoll; worker_connections {own}; multi_accept {multi_accept};
}}
http {{
    access_log off; default_type application/octet-stream;
    sendfile {sendfile}; tcp_nopush {sendfile}; output_buffers 2 128k; aio {aio};
    keepalive_timeout {idle_s}s; keepalive_requests 1000000000; keepalive_time 24h;
    {file_cache}
{places}    server {{
        listen {address} backlog={backlog} {send_buffer} {reuseport} {deferred};
        root \"{site}\";
    }}
}}
"
    );
    let file = setup.write("nginx.conf", &text)?;
    // -e: what it says before it has read its settings.
    Ok(setup.launch(&["-p", &scratch, "-e", "stderr", "-c", &file]))
}

/// Of those that it counts among its connections: it listens, hears its master, and wakes itself
/// and its threads.
const OF_WORKER: u64 = 4;
