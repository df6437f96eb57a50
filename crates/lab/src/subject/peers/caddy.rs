//! Caddy: a goroutine for each connection.

use super::setup::{IDLE_S, PROGRAM, Setup, WORKERS};
use super::{Knob, Launch, Peer};
use crate::Failure;
use crate::subject::Takes;

pub(super) const CADDY: Peer = Peer {
    name: "caddy",
    is: "a user-level thread (goroutine) for each connection; sockets behind the runtime's poller",
    package: "caddy",
    program: "caddy",
    version: "version",
    knobs: &[
        WORKERS,
        IDLE_S,
        PROGRAM,
        Knob {
            name: "gogc",
            takes: Takes::Number(10, 10_000),
            default: "100",
            reason: "how much the heap may grow, in percent, before garbage is collected; the \
                     runtime's own default",
        },
    ],
    tuning: &[("workers", &["1", "2", "4"]), ("gogc", &["50", "100", "200", "400"])],
    settings: &[
        ("GOMAXPROCS", "as many threads run as there are workers"),
        ("protocols h1", "requests are HTTP/1.1; nothing is looked for that is not"),
        ("admin off, auto_https off", "nothing runs beside the site, and nothing is redirected"),
        ("log level ERROR", "it tells of its start, otherwise"),
        (
            "backlog, connections",
            "not to be set: the runtime takes net.core.somaxconn, and as \
         many descriptors as it may have",
        ),
        ("defer-accept", "not to be set: off"),
        ("sendfile", "not to be set: the runtime sends files so, 4 MiB at a time"),
    ],
    launch,
};

fn launch(setup: &Setup<'_>) -> Result<Launch, Failure> {
    let (site, scratch) = (setup.site(), setup.scratch());
    let (host, port) = (setup.start.address.ip(), setup.start.address.port());
    let idle_s = setup.word("idle-s");
    let text = format!(
        "{{
\tadmin off
\tauto_https off
\tlog {{
\t\tlevel ERROR
\t}}
\tservers {{
\t\tprotocols h1
\t\ttimeouts {{
\t\t\tidle {idle_s}s
\t\t}}
\t}}
}}
http://:{port} {{
\tbind {host}
\troot * \"{site}\"
\tfile_server
}}
"
    );
    let file = setup.write("Caddyfile", &text)?;
    let variables = [
        ("GOMAXPROCS", setup.workers().to_string()),
        ("GOGC", String::from(setup.word("gogc"))),
        // Where it keeps what it learns.
        ("HOME", scratch.clone()),
        ("XDG_CONFIG_HOME", scratch.clone()),
        ("XDG_DATA_HOME", scratch),
    ];
    Ok(Launch {
        environment: variables.map(|(name, value)| (String::from(name), value)).into(),
        ..setup.launch(&["run", "--adapter", "caddyfile", "--config", &file])
    })
}
