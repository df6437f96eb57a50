//! What the live page asks for each second.

use measure::Instant;
use os::Queue;
use serde_json::{Value, json};

use super::View;
use crate::shared::counters::COUNTERS;
use crate::shared::server::Server;

/// Everything that moves; the counters of a worker are in the order of their table.
pub(super) fn json(view: &View<'_>, now: Instant) -> Value {
    let server = view.server;
    let workers = (0..server.counters.workers()).map(|worker| {
        let counts = COUNTERS.iter().map(|row| server.counters.of(worker, row.0));
        json!({ "ready": server.counters.is_ready(worker), "counts": counts.collect::<Value>() })
    });
    let queues = queues(server).map(|(address, queue)| {
        json!({
            "address": address,
            "length": queue.length,
            "max": queue.max,
            "drops": queue.drops,
        })
    });
    // Without /proc nothing is told rather than zeros.
    let drops = os::queue_drops::queue_drops().ok();
    let settings = &server.settings;
    let architecture = server.architecture;
    json!({
        "ns": now.ns,
        "architecture": architecture.name,
        "poller": architecture.polls.then(|| settings.poller.name()),
        "version": env!("CARGO_PKG_VERSION"),
        "generation": view.generation,
        "draining": server.orders.all().is_ending(),
        "connections_max": server.connections_max * server.counters.workers(),
        "workers": workers.collect::<Value>(),
        "queues": queues.collect::<Value>(),
        "overflows": drops.map(|drops| drops.listen_overflows),
        "drops": drops.map(|drops| drops.listen_drops),
    })
}

/// The queue of each listening socket, by its address.
pub(super) fn queues(server: &Server) -> impl Iterator<Item = (String, Queue)> {
    server
        .listeners
        .iter()
        .filter_map(|listener| Some((listener.local_address().ok()?, listener.queue().ok()?)))
}
