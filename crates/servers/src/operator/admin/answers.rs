//! What the admin listener answers to which target.

use h1::{Answer, Found, Head, Method, Representation, Status, Wording};
use measure::Instant;
use os::File;
use serde_json::{Value, json};

use super::{From, View, metrics, state};
use crate::operator::knobs::{self, Knob};
use crate::shared::counters::COUNTERS;
use crate::shared::dials::Dials;

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

/// What changes something: what only reads is not to do so (RFC 9110 section 9.2.1).
const SET: &[u8] = b"/set";

/// Answers a request with what whoever asks may hear.
pub(super) fn found(head: &Head<'_>, from: From, view: &View<'_>, now: Instant) -> Found<File> {
    match head.method() {
        Method::Get | Method::Head => Found::Answer(answer(head, from, view, now)),
        Method::Post if head.path() == SET => Found::Answer(set(head, from, view)),
        Method::Options => Found::Status(Status::NO_CONTENT),
        Method::Post | Method::Known => Found::Status(Status::METHOD_NOT_ALLOWED),
        Method::Unknown => Found::Status(Status::NOT_IMPLEMENTED),
    }
}

fn answer(head: &Head<'_>, from: From, view: &View<'_>, now: Instant) -> Answer<File> {
    let server = view.server;
    let is_ready = (0..server.counters.workers()).any(|worker| server.counters.runs(worker));
    // Read first: the order to retire may be given meanwhile, and must not be taken for another.
    let is_ending = server.orders.all().is_ending();
    // Another program serves here, and whoever asks again will ask that one: of a generation that
    // another one of this program replaces nobody is told.
    let is_replaced = server.orders.all().is_retiring();
    let serves = is_ready || is_replaced;
    let ends = is_ending && !is_replaced;
    match head.path() {
        b"/healthz" if serves => text(Status::OK, "ok"),
        b"/healthz" => text(Status::SERVICE_UNAVAILABLE, "no worker is ready and runs"),
        b"/ready" if ends => text(Status::SERVICE_UNAVAILABLE, "draining"),
        b"/ready" if serves => text(Status::OK, "ok"),
        b"/ready" => text(Status::SERVICE_UNAVAILABLE, "no worker is ready and runs"),
        // Balancers ask the above by any name.
        _ if matches!(from, From::ThisMachine { .. }) && named(head.host()) == Named::Otherwise => {
            text(
                Status::FORBIDDEN,
                "from this machine ask localhost or an address: a name may be somebody else's",
            )
        }
        b"/" => made(Status::OK, HTML, page()),
        b"/metrics" => made(Status::OK, METRICS, metrics::text(view)),
        b"/state" => made(Status::OK, JSON, state::json(view, now).to_string()),
        b"/knobs" => made(Status::OK, JSON, format!("{:#}\n", knob_list(view))),
        SET => {
            let told = String::from("a change is a POST\n");
            dressed(b"Allow: POST\r\n", Status::METHOD_NOT_ALLOWED, TEXT, told)
        }
        _ => text(
            Status::NOT_FOUND,
            "there are /, /healthz, /ready, /metrics, /state, /knobs and /set",
        ),
    }
}

/// Every knob, at the value in force.
fn knob_list(view: &View<'_>) -> Value {
    let settings = view.server.dials.in_force(&view.server.settings);
    let taken = knobs::all().filter(|knob| knob.is_of(view.server.architecture));
    let rows = taken.map(|knob| {
        json!({
            "name": knob.name,
            "value": (knob.show)(&settings),
            "takes": knob.value,
            "reason": knob.reason,
            "changeable": Dials::has(knob.name),
            "change": if Dials::has(knob.name) { "at once" } else { by(knob) },
        })
    });
    rows.collect()
}

/// `POST /set?knob=NAME&value=VALUE`; a body is read away.
fn set(head: &Head<'_>, from: From, view: &View<'_>) -> Answer<File> {
    let may = match from {
        From::Socket { is_operator } => is_operator,
        From::ThisMachine { is_operator } => is_operator && named(head.host()) == Named::Loopback,
        From::Elsewhere => false,
    };
    if !may {
        let told = "knobs are turned by root or the user who serves alone, on this machine at \
            localhost or its address; where the kernel does not tell who asks, or by another \
            name, through a Unix socket (--admin unix:PATH)";
        return text(Status::FORBIDDEN, told);
    }
    let ours = [b"http://", head.host()].concat();
    if head.values("origin").any(|origin| origin != ours) {
        return text(Status::FORBIDDEN, "a page of another origin turns no knobs");
    }
    if head.values(CONSENT).next() != Some(b"1") {
        return text(Status::FORBIDDEN, "a change needs the field X-Weir: 1");
    }
    let field = |name: &str| {
        let mut fields = str::from_utf8(head.query()).ok()?.split('&');
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    let (Some(name), Some(value)) = (field("knob"), field("value")) else {
        return text(Status::BAD_REQUEST, "say POST /set?knob=NAME&value=VALUE");
    };
    let knob = knobs::knob(name).filter(|knob| knob.is_of(view.server.architecture));
    match knob {
        None => text(Status::NOT_FOUND, "no such knob here; /knobs lists them"),
        Some(knob) if !Dials::has(knob.name) => {
            let how = by(knob);
            let told = format!("{name} {value} needs a {how}; what can be set here is in /knobs");
            text(Status::BAD_REQUEST, &told)
        }
        Some(knob) => turn(knob, value, view),
    }
}

/// What a change takes of a knob that is read when workers start.
fn by(knob: &Knob) -> &'static str {
    if knob.needs_restart() { "restart" } else { "reload" }
}

fn turn(knob: &Knob, value: &str, view: &View<'_>) -> Answer<File> {
    let server = view.server;
    let mut settings = server.dials.in_force(&server.settings);
    let set = (knob.set)(&mut settings, value);
    if let Err(told) = set.and_then(|()| server.judge_turn(knob.name, &settings)) {
        return text(Status::BAD_REQUEST, &format!("{}: must be {told}", knob.name));
    }
    server.dials.turn(knob.name, &settings);
    let shown = (knob.show)(&server.dials.in_force(&server.settings));
    made(Status::OK, JSON, json!({ "name": knob.name, "value": shown }).to_string())
}

/// By what a request names this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// `localhost`, or an address that stays within it.
    Loopback,
    /// Another address.
    Address,
    /// A name. Somebody else's may lead here too, and a browser would take his page and ours for
    /// one (DNS rebinding).
    Otherwise,
}

fn named(host: &[u8]) -> Named {
    let host = str::from_utf8(host).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match bare.unwrap_or(name).parse::<std::net::IpAddr>() {
        Ok(ip) if ip.is_loopback() => Named::Loopback,
        Ok(_) => Named::Address,
        Err(_) if name.eq_ignore_ascii_case("localhost") => Named::Loopback,
        Err(_) => Named::Otherwise,
    }
}

/// The live page, with the meaning of every counter in it.
fn page() -> String {
    let rows = COUNTERS.iter().map(|(_, name, unit, meaning)| json!([name, unit, meaning]));
    PAGE.replace(PAGE_COUNTERS, &rows.collect::<Value>().to_string())
}

fn text(status: Status, line: &str) -> Answer<File> {
    made(status, TEXT, format!("{line}\n"))
}

fn made(status: Status, media_type: &str, content: String) -> Answer<File> {
    dressed(b"", status, media_type, content)
}

fn dressed(more: &[u8], status: Status, media_type: &str, content: String) -> Answer<File> {
    let fields: &[u8] = b"Cache-Control: no-store\r\n\
        Cross-Origin-Resource-Policy: same-origin\r\n\
        Content-Security-Policy: default-src 'none'; connect-src 'self'; \
        style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";
    let fields = [more, fields].concat();
    let media_type = media_type.as_bytes();
    let wording = Wording { media_type, fields: &fields, ..Wording::default() };
    Representation::made(status, wording, content.into_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_known() {
        let rows = [
            ("localhost", Named::Loopback),
            ("LOCALHOST:8081", Named::Loopback),
            ("127.0.0.1:8081", Named::Loopback),
            ("127.0.0.2", Named::Loopback),
            ("[::1]:8081", Named::Loopback),
            ("[::1]", Named::Loopback),
            ("192.0.2.1:8081", Named::Address),
            ("[::2]:80", Named::Address),
            ("", Named::Otherwise),
            ("example.org", Named::Otherwise),
            ("localhost.example.org:8081", Named::Otherwise),
            ("127.0.0.1.example.org", Named::Otherwise),
            ("[[::1]]:80", Named::Otherwise),
            ("2130706433", Named::Otherwise),
        ];
        for (host, expected) in rows {
            assert_eq!(named(host.as_bytes()), expected, "{host}");
        }
    }
}
