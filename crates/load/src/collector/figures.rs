//! The numbers that results come to, also by the names that the papers give them.

use measure::Duration;
use serde::Serialize;

use super::results::{Results, Share};

/// See the head of this file. Of a time in which nothing was measured, all are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Figures {
    /// How long was measured, in seconds.
    pub measured_s: f64,
    /// Requests that were to be made, in a second.
    pub offered_per_s: f64,
    /// Whole replies in a second (httperf's reply rate; Brecht04 5, Pariag07 3.2).
    pub replies_per_s: f64,
    /// Good replies within the client's patience, in a second.
    pub goodput_per_s: f64,
    /// Requests that ended without a whole reply, in a second.
    pub failures_per_s: f64,
    /// Of all requests, those without a good reply: 0.0 to 1.0.
    pub failed_share: f64,
    /// Of all requests, those that ended by a timeout: 0.0 to 1.0.
    pub timeouts_share: f64,
    /// The share of a processor, 0.0 to 1.0, that the generator's busiest process used; 0.0 where
    /// nobody knows.
    pub client_cpu_share: f64,
    /// Server throughput: 10^6 bits that came from the server in a second, heads included, TCP's
    /// and IP's not (JAWS97 2.3).
    pub server_throughput_mbit_per_s: f64,
    /// Server connections: in a second, those on which a first reply came whole (JAWS97 2.3, where
    /// each connection has one request).
    pub connections_per_s: f64,
    /// Client throughput: 10^6 bits in a second that a client got while it waited for a reply, on
    /// the average over that time (JAWS97 2.3 does not say over what; WebStone's clients do
    /// nothing but wait).
    pub client_throughput_mbit_per_s: f64,
    /// Client latency: the mean, in ms, from sending a request to the last byte (JAWS97 2.3).
    pub client_latency_ms: f64,
    /// Mean response time, in ms: to connect, send and receive, a connection's time divided among
    /// its replies (Pariag07 8).
    pub response_time_ms: f64,
}

impl Figures {
    /// Those of results.
    #[must_use]
    pub fn of(results: &Results) -> Self {
        let (requests, flow) = (&results.requests, &results.flow);
        let measured_s = results.measured.as_secs_f64();
        let in_a_second = |count: u64| ratio(count as f64, measured_s);
        let waited_s = requests.latency.sum().as_secs_f64();
        Self {
            measured_s,
            offered_per_s: in_a_second(requests.counts.total()),
            replies_per_s: in_a_second(flow.replies),
            goodput_per_s: in_a_second(flow.goodput),
            failures_per_s: in_a_second(flow.failed),
            failed_share: Share::of_failures(&requests.counts).ratio(),
            timeouts_share: Share::of_timeouts(&requests.counts).ratio(),
            client_cpu_share: results.busiest().map_or(0.0, |(_, share)| share),
            server_throughput_mbit_per_s: mbit(in_a_second(flow.bytes)),
            connections_per_s: in_a_second(flow.connections),
            client_throughput_mbit_per_s: mbit(ratio(requests.bytes_good as f64, waited_s)),
            client_latency_ms: milliseconds(requests.latency.mean()),
            response_time_ms: milliseconds(requests.response.mean()),
        }
    }
}

fn ratio(count: f64, of: f64) -> f64 {
    if of > 0.0 { count / of } else { 0.0 }
}

fn mbit(bytes: f64) -> f64 {
    bytes * 8.0 / 1e6
}

fn milliseconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}
