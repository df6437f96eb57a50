//! `weir serve --list-architectures`: the registry, for people and for programs.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use servers::architectures::{ARCHITECTURES, Architecture};
use servers::knobs::{self, Takes};
use servers::performer::Performer;
use servers::settings::{ACCEPT_INF, Sendfile};

pub(crate) fn list(as_json: bool) -> ExitCode {
    if as_json {
        crate::shown(&format!("{:#}\n", ARCHITECTURES.iter().map(row).collect::<Value>()))
    } else {
        crate::shown(&ARCHITECTURES.iter().map(told).collect::<String>())
    }
}

fn row(row: &Architecture) -> Value {
    let pollers = ["select", "poll", "epoll"];
    let own = knobs::all().filter(|knob| knob.takes != Takes::All && knob.is_taken_by(row.name));
    let tuning: Map<String, Value> =
        row.tuning.iter().map(|(knob, values)| (String::from(*knob), json!(values))).collect();
    json!({
        "name": row.name,
        "is": row.is,
        "known_as": row.known_as,
        "paper": row.paper,
        "pollers": if row.polls { &pollers[..] } else { &[] },
        "accept": row.accept.name(),
        "receive": row.receive.name(),
        "send": row.send.name(),
        "files": row.files.name(),
        "path": row.path.name(),
        "pages": row.pages.name(),
        "stalls": row.stalls.name(),
        "requests": row.requests.name(),
        "workers": row.workers,
        "holder": row.holder.name(),
        "kept": row.kept,
        "threads": row.threads,
        "knobs": own.map(|knob| knob.name).collect::<Vec<_>>(),
        "accept_limit": match row.accept_limit {
            ACCEPT_INF => json!("inf"),
            limit => json!(limit),
        },
        "sendfile": row.sendfile.iter().copied().map(Sendfile::name).collect::<Vec<_>>(),
        "window_bytes": row.window_bytes,
        "tuning": tuning,
    })
}

fn told(row: &Architecture) -> String {
    let who = [row.accept, row.receive, row.send, row.files, row.path, row.pages];
    let [accept, receive, send, files, path, pages] = who.map(Performer::name);
    let width = ARCHITECTURES.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let line = |name: &str, text: &str| format!("{name:<width$} {text}\n");
    let transfers = match receive == send {
        true => format!("receive, send {receive}"),
        false => format!("receive {receive}; send {send}"),
    };
    let sends = format!("{transfers}; files {files}");
    let (stalls, requests) = (row.stalls.name(), row.requests.name());
    [
        line(row.name, row.is),
        line("", &format!("known as {} ({})", row.known_as, row.paper)),
        line("", &format!("accept {accept}; {sends}; path {path}; pages {pages}")),
        line("", &format!("a slow disk stalls {stalls}; requests in hand: {requests}")),
    ]
    .concat()
}
