//! lighttpd: one loop, or several processes of it.

use std::net::SocketAddr;

use super::setup::{
    BACKLOG, CONNECTIONS_MAX, DEFER_ACCEPT, IDLE_S, PROGRAM, SENDFILE, Setup, WORKERS,
};
use super::{Knob, Launch, Peer};
use crate::Failure;
use crate::subject::Takes;

pub(super) const LIGHTTPD: Peer = Peer {
    name: "lighttpd",
    is: "one loop for each worker process; a disk blocks one of them",
    package: "lighttpd",
    program: "lighttpd",
    version: "-v",
    knobs: &[
        WORKERS,
        CONNECTIONS_MAX,
        BACKLOG,
        SENDFILE,
        IDLE_S,
        DEFER_ACCEPT,
        PROGRAM,
        Knob {
            name: "poller",
            takes: Takes::Word(&["epoll", "poll", "select"]),
            default: "epoll",
            reason: "how it waits for events; epoll is its own default on Linux",
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
        ("server.max-connections", "a tenth of 4,096 descriptors by default, 409: others wait"),
        ("server.max-fds", "4,096 by default; a connection and its file need two"),
        ("server.max-keep-alive-requests", "1,000 by default, then the connection is closed"),
        ("server.max-read-idle", "no shorter than the other patience"),
        (
            "server.h2proto, server.h2c disable",
            "requests are HTTP/1.1; nothing is looked for that is not",
        ),
        ("no access log", "none is written unless mod_accesslog is loaded"),
    ],
    launch,
};

fn launch(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let (site, scratch) = (setup.site(), setup.scratch());
    let host = match setup.start.address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    };
    let port = setup.start.address.port();
    // It caps them there by itself, and says so where nobody looks.
    let connections = setup.connections_of_each(setup.descriptors / 2)?;
    let descriptors = setup.descriptors;
    // 0: one process and nobody above it.
    let workers = Some(setup.workers()).filter(|workers| *workers > 1).unwrap_or(0);
    let backend = if setup.is_on("sendfile") { "sendfile" } else { "writev" };
    let poller = match setup.word("poller") {
        "epoll" => "linux-sysepoll",
        other => other,
    };
    let deferred = u8::from(setup.is_on("defer-accept"));
    let (backlog, idle_s) = (setup.word("backlog"), setup.word("idle-s"));
    let text = format!(
        "server.document-root = \"{site}\"
server.bind = \"{host}\"
server.port = {port}
server.max-worker = {workers}
server.max-fds = {descriptors}
server.max-connections = {connections}
server.listen-backlog = {backlog}
server.defer-accept = {deferred}
server.max-keep-alive-requests = {KEEP_ALIVE_REQUESTS}
server.max-keep-alive-idle = {idle_s}
server.max-read-idle = {idle_s}
server.network-backend = \"{backend}\"
server.event-handler = \"{poller}\"
server.upload-dirs = ( \"{scratch}\" )
server.feature-flags = ( \"server.h2proto\" => \"disable\", \"server.h2c\" => \"disable\" )
mimetype.assign = ( \"\" => \"application/octet-stream\" )
"
    );
    let file = setup.write("lighttpd.conf", &text)?;
    Ok(setup.launch(&["-D", "-f", &file]))
}

/// The most that it takes: it keeps them in 16 bits.
const KEEP_ALIVE_REQUESTS: u32 = 65_535;
