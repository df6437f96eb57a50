//! What a server says that it has counted.

use std::net::SocketAddr;

use serde_json::Value;

use super::wire::Wire;

/// A counter by its name in `/metrics` without `weir_` and `_total`: the sum over all that it is
/// told of. One that is not told at all is no 0.
pub(crate) fn counted(admin: SocketAddr, counter: &str) -> f64 {
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    wire.send(format!("GET /metrics HTTP/1.1\r\nHost: {admin}\r\n\r\n").as_bytes()).expect("sent");
    let (head, body) = wire.reply(false).expect("metrics");
    assert_eq!(head.status, 200, "of /metrics");
    let text = String::from_utf8(body).expect("UTF-8");
    let name = format!("weir_{counter}_total{{");
    let samples = text.lines().filter_map(|line| line.strip_prefix(&name)?.rsplit_once(' '));
    let values = samples.map(|(_, value)| value.parse::<f64>().expect("a number"));
    values.reduce(|sum, value| sum + value).unwrap_or_else(|| panic!("no {name}: {text}"))
}

/// What is told of all listening sockets.
pub(crate) fn queues(admin: SocketAddr) -> Value {
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    wire.send(format!("GET /state HTTP/1.1\r\nHost: {admin}\r\n\r\n").as_bytes()).expect("sent");
    let (head, body) = wire.reply(false).expect("the state");
    assert_eq!(head.status, 200, "of /state");
    let state: Value = serde_json::from_slice(&body).expect("JSON");
    state["queues"].clone()
}
