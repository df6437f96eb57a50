//! Who listens where the clients of a subject arrive.

use std::io;
use std::net::SocketAddr;

use os::socket_diag::{self, Listening};

use crate::testbed::Host;

/// The sockets that listen on a host where a client of `address` would arrive.
///
/// # Errors
/// As [`socket_diag::listening`] and [`Host::within`].
pub(super) fn listeners(host: &Host, address: SocketAddr) -> io::Result<Vec<Listening>> {
    let mut all = host.within(socket_diag::listening)?;
    all.retain(|socket| serves(socket.at, address));
    Ok(all)
}

fn serves(at: SocketAddr, client: SocketAddr) -> bool {
    let is_any = at.ip().is_unspecified() || client.ip().is_unspecified();
    let is_same = at.ip().to_canonical() == client.ip().to_canonical();
    at.port() == client.port() && (is_any || is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_arrives_at_its_address_or_at_any() {
        let rows = [
            ("127.0.0.1:8080", "127.0.0.1:8080", true),
            ("127.0.0.1:8080", "127.0.0.1:8081", false),
            ("127.0.0.1:8080", "127.0.0.2:8080", false),
            ("127.0.0.1:8080", "[::1]:8080", false),
            ("0.0.0.0:8080", "127.0.0.1:8080", true),
            ("[::]:8080", "127.0.0.1:8080", true),
            ("[::ffff:127.0.0.1]:8080", "127.0.0.1:8080", true),
            ("[::1]:8080", "[::1]:8080", true),
            ("[::1]:8080", "127.0.0.1:8080", false),
        ];
        for (at, client, expected) in rows {
            let told = serves(at.parse().unwrap(), client.parse().unwrap());
            assert_eq!(told, expected, "{client} at {at}");
        }
    }
}
