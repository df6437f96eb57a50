//! What the live page asks for each second.

use measure::Instant;
use os::Queue;
use serde_json::{Value, json};

use super::View;
use crate::shared::admissions::Admitted;
use crate::shared::counters::{COUNTERS, Counter};
use crate::shared::server::Server;

/// Everything that moves; the counters of a worker are in the order of their table.
pub(super) fn json(view: &View<'_>, now: Instant) -> Value {
    let server = view.server;
    let workers = (0..server.counters.workers()).map(|worker| {
        let counters = &server.counters;
        let counts = COUNTERS.iter().map(|row| counters.of(worker, row.0));
        json!({
            "process": counters.process(worker),
            "ready": counters.is_ready(worker),
            "wanted": worker < server.dials.workers() as usize,
            "leaves": server.orders.of(worker).is_draining(),
            "connections": counters.connections(worker),
            "requests": counters.of(worker, Counter::Requests),
            "counts": counts.collect::<Value>(),
        })
    });
    let queues = queues(server).map(|(place, address, queue)| {
        json!({
            "address": address,
            "worker": server.listeners.owner(place),
            "length": queue.length,
            "max": queue.max,
            "drops": queue.drops,
            "admission": admission(server, place),
        })
    });
    // Without /proc nothing is told rather than zeros. The kernel counts since it began.
    let before = server.dropped_before;
    let drops = os::queue_drops::queue_drops().ok();
    let overflows =
        drops.map(|drops| drops.listen_overflows.saturating_sub(before.listen_overflows));
    let drops = drops.map(|drops| drops.listen_drops.saturating_sub(before.listen_drops));
    let settings = &server.settings;
    let architecture = server.architecture;
    json!({
        "ns": now.ns,
        "architecture": architecture.name,
        "poller": architecture.polls.then(|| settings.poller.name()),
        "version": env!("CARGO_PKG_VERSION"),
        "generation": view.generation,
        "draining": server.orders.all().is_ending(),
        "connections_max": server.connections_max_of_all(),
        "workers": workers.collect::<Value>(),
        "queues": queues.collect::<Value>(),
        "overflows": overflows,
        "drops": drops,
    })
}

/// Who of those that knock at a listening socket is admitted, and why.
fn admission(server: &Server, place: usize) -> Value {
    let admitted = server.admissions.of(place);
    let told = admitted.told;
    json!({
        "share": admitted.share,
        "flood": told.is_flood,
        "why": why(&admitted),
        "capacity": told.capacity.round(),
        "offered": told.offered.round(),
        "wait_ns": told.wait.as_nanos() as u64,
        "floods": admitted.floods,
        "lifted": admitted.lifted,
    })
}

fn why(Admitted { share, told, .. }: &Admitted) -> String {
    let wait_ms = told.wait.as_millis();
    match told.is_flood {
        false if *share < 1.0 => String::from("admit-percent says so"),
        false => String::from("calm: all are admitted"),
        true => format!(
            "flood: {:.0}/s knock, {:.0}/s can be served, who is admitted waits {wait_ms} ms",
            told.offered, told.capacity
        ),
    }
}

/// The queue of each socket that listens, with its place and its address.
pub(super) fn queues(server: &Server) -> impl Iterator<Item = (usize, String, Queue)> {
    let all = server.listeners.iter().enumerate().filter(|(_, listener)| listener.listens());
    all.filter_map(|(place, listener)| {
        Some((place, listener.local_address().ok()?, listener.queue().ok()?))
    })
}
