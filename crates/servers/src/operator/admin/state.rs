//! What the live page asks for each second.

use measure::Instant;
use os::Queue;
use serde_json::{Value, json};

use super::View;
use crate::shared::counters::COUNTERS;
use crate::shared::server::House;

/// Everything that moves; the counters of a worker are in the order of their table.
pub(super) fn json(view: &View<'_>, now: Instant) -> Value {
    let house = view.house;
    let workers = (0..house.counters.workers()).map(|worker| {
        let counts = COUNTERS.iter().map(|row| house.counters.of(worker, row.0));
        json!({ "ready": house.counters.is_ready(worker), "counts": counts.collect::<Value>() })
    });
    let queues = queues(house).map(|(address, queue)| {
        json!({
            "address": address,
            "length": queue.length,
            "max": queue.max,
            "drops": queue.drops,
        })
    });
    // Without /proc nothing is told rather than zeros.
    let drops = os::queue_drops::queue_drops().ok();
    let settings = &house.settings;
    let polls =
        crate::architectures::architecture(&settings.architecture).is_some_and(|row| row.polls);
    json!({
        "ns": now.ns,
        "architecture": settings.architecture,
        "poller": polls.then(|| settings.poller.name()),
        "version": env!("CARGO_PKG_VERSION"),
        "generation": view.generation,
        "draining": house.orders.is_ending(),
        "connections_max": house.connections_max * house.counters.workers(),
        "workers": workers.collect::<Value>(),
        "queues": queues.collect::<Value>(),
        "overflows": drops.map(|drops| drops.listen_overflows),
        "drops": drops.map(|drops| drops.listen_drops),
    })
}

/// The queue of each listening socket, by its address.
pub(super) fn queues(house: &House) -> impl Iterator<Item = (String, Queue)> {
    house
        .listeners
        .iter()
        .filter_map(|listener| Some((listener.local_address().ok()?, listener.queue().ok()?)))
}
