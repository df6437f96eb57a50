//! What the admin listener answers to which target.

use h1::{Answer, Content, Head, Representation, Shared, Status};
use measure::Instant;
use serde_json::{Value, json};

use super::{NoFile, View, metrics, state};
use crate::counters::COUNTERS;
use crate::dials::Dials;
use crate::knobs::{self, KNOBS, Knob};

const PAGE: &str = include_str!("page.html");
/// Where the page gets its words for the counters from.
const PAGE_COUNTERS: &str = "{{counters}}";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
/// Prometheus' text format, version 0.0.4.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The field that a change has to carry. A page of another site cannot make a browser send it
/// without asking first by OPTIONS, and there is no yes to that here.
const CONSENT: &str = "x-weir";

/// Answers a GET or HEAD; `is_local`: from this machine.
pub(super) fn answer(
    head: &Head<'_>,
    is_local: bool,
    view: &View<'_>,
    now: Instant,
) -> Answer<NoFile> {
    let house = view.house;
    let serves = (0..house.counters.workers()).any(|worker| house.counters.is_ready(worker));
    let drains = house.orders.is_draining();
    match head.path() {
        b"/" => made(Status::OK, HTML, page()),
        b"/healthz" if serves => text(Status::OK, "ok"),
        b"/healthz" => text(Status::SERVICE_UNAVAILABLE, "no worker is ready"),
        b"/ready" if drains => text(Status::SERVICE_UNAVAILABLE, "draining"),
        b"/ready" if serves => text(Status::OK, "ok"),
        b"/ready" => text(Status::SERVICE_UNAVAILABLE, "no worker is ready yet"),
        b"/metrics" => made(Status::OK, METRICS, metrics::text(view)),
        b"/state" => made(Status::OK, JSON, state::json(view, now).to_string()),
        b"/knobs" => made(Status::OK, JSON, format!("{:#}\n", knob_list(view))),
        b"/set" => set(head, is_local, view),
        _ => text(
            Status::NOT_FOUND,
            "there are /, /healthz, /ready, /metrics, /state, /knobs and /set",
        ),
    }
}

/// Every knob, at the value in force.
fn knob_list(view: &View<'_>) -> Value {
    let settings = view.house.dials.in_force(&view.house.settings);
    let taken = KNOBS.iter().filter(|knob| knob.is_taken_by(&settings.architecture));
    let rows = taken.map(|knob| {
        json!({
            "name": knob.name,
            "value": (knob.show)(&settings),
            "takes": knob.value,
            "reason": knob.reason,
            "changeable": Dials::has(knob.name),
        })
    });
    rows.collect()
}

/// `/set?knob=NAME&value=VALUE`.
fn set(head: &Head<'_>, is_local: bool, view: &View<'_>) -> Answer<NoFile> {
    if !is_local || !is_host_of_this_machine(head.host()) {
        let told = "knobs are turned from this machine alone, at localhost or its address";
        return text(Status::FORBIDDEN, told);
    }
    if head.values(CONSENT).next() != Some(b"1") {
        return text(Status::FORBIDDEN, "a change needs the field X-Weir: 1");
    }
    let field = |name: &str| {
        let mut fields = str::from_utf8(head.query()).ok()?.split('&');
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    let (Some(name), Some(value)) = (field("knob"), field("value")) else {
        return text(Status::BAD_REQUEST, "say /set?knob=NAME&value=VALUE");
    };
    let settings = &view.house.settings;
    let knob = knobs::knob(name).filter(|knob| knob.is_taken_by(&settings.architecture));
    match knob {
        None => text(Status::NOT_FOUND, "no such knob here; /knobs lists them"),
        Some(knob) if !Dials::has(knob.name) => {
            let told =
                format!("{name} is read when workers start; start again with --{name} {value}");
            text(Status::BAD_REQUEST, &told)
        }
        Some(knob) => turn(knob, value, view),
    }
}

fn turn(knob: &Knob, value: &str, view: &View<'_>) -> Answer<NoFile> {
    let house = view.house;
    let mut settings = house.dials.in_force(&house.settings);
    if let Err(told) = (knob.set)(&mut settings, value) {
        return text(Status::BAD_REQUEST, &format!("{}: must be {told}", knob.name));
    }
    house.dials.turn(knob.name, &settings);
    let shown = (knob.show)(&house.dials.in_force(&house.settings));
    made(Status::OK, JSON, json!({ "name": knob.name, "value": shown }).to_string())
}

/// Whether a request was meant for an address of this machine: a name of somebody else's may lead
/// here too, and a browser would take his page and ours for one (DNS rebinding).
fn is_host_of_this_machine(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The live page, with the meaning of every counter in it.
fn page() -> String {
    let rows = COUNTERS.iter().map(|(_, name, unit, meaning)| json!([name, unit, meaning]));
    PAGE.replace(PAGE_COUNTERS, &rows.collect::<Value>().to_string())
}

fn text(status: Status, line: &str) -> Answer<NoFile> {
    made(status, TEXT, format!("{line}\n"))
}

fn made(status: Status, media_type: &str, content: String) -> Answer<NoFile> {
    let fields: &[u8] = b"Cache-Control: no-store\r\n\
        Content-Security-Policy: default-src 'none'; connect-src 'self'; \
        style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
        frame-ancestors 'none'\r\n";
    let representation = Representation {
        status,
        media_type: media_type.into(),
        coding: None,
        etag: None,
        modified: None,
        varies: false,
        fields: fields.into(),
        content: Content::Bytes(Shared::from(content.into_bytes())),
    };
    Answer { representation: Shared::new(representation), prebuilt: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_known() {
        let rows = [
            ("localhost", true),
            ("LOCALHOST:8081", true),
            ("127.0.0.1:8081", true),
            ("127.0.0.2", true),
            ("[::1]:8081", true),
            ("[::1]", true),
            ("", false),
            ("example.org", false),
            ("localhost.example.org:8081", false),
            ("127.0.0.1.example.org", false),
            ("192.0.2.1:8081", false),
            ("[::2]:80", false),
        ];
        for (host, expected) in rows {
            assert_eq!(is_host_of_this_machine(host.as_bytes()), expected, "{host}");
        }
    }
}
