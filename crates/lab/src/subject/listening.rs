//! Who listens on a port, in the network namespace of a process, from its /proc/PID/net.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a socket that listens.
const LISTEN: &str = "0A";

/// The inodes of all sockets that listen where a client of `address` would arrive, as seen by
/// process `pid`.
pub(super) fn listeners(pid: u32, address: SocketAddr) -> io::Result<Vec<u64>> {
    let mut inodes = Vec::new();
    for table in ["tcp", "tcp6"] {
        match File::open(format!("/proc/{pid}/net/{table}")) {
            Ok(table) => {
                // The kernel lists sockets that listen first. Connections may be many.
                for line in BufReader::new(table).lines().skip(1) {
                    match listener(&line?) {
                        Some(socket) if socket.serves(address) => inodes.push(socket.inode),
                        Some(_) => {}
                        None => break,
                    }
                }
            }
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table == "tcp6" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(inodes)
}

/// A socket that listens.
#[derive(Debug, PartialEq)]
struct Listener {
    at: SocketAddr,
    inode: u64,
}

impl Listener {
    fn serves(&self, client: SocketAddr) -> bool {
        let is_any = self.at.ip().is_unspecified() || client.ip().is_unspecified();
        let is_same = self.at.ip().to_canonical() == client.ip().to_canonical();
        self.at.port() == client.port() && (is_any || is_same)
    }
}

/// Parses a line of the table (Linux, Documentation/networking/proc_net_tcp); `None` if the socket
/// does not listen.
fn listener(line: &str) -> Option<Listener> {
    let fields: Vec<&str> = line.split_whitespace().take(10).collect();
    let [_, local, _, LISTEN, _, _, _, _, _, inode] = fields.as_slice() else { return None };
    let (ip, port) = local.split_once(':')?;
    let at = SocketAddr::new(ip_of(ip)?, u16::from_str_radix(port, 16).ok()?);
    Some(Listener { at, inode: inode.parse().ok()? })
}

/// Words of 32 bits in hexadecimal, each as the machine stores it.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = hex.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_found_in_the_kernel_s_tables() {
        let v4 = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     \
                  0        0 4711 1 0000000000000000 100 0 0 10 0";
        let any = v4.replace("0100007F", "00000000");
        let any6 = v4.replace("0100007F", &"0".repeat(32));
        let mapped = v4.replace("0100007F", "0000000000000000FFFF00000100007F");
        let loopback6 = v4.replace("0100007F", "00000000000000000000000001000000");
        let rows = [
            (v4, "127.0.0.1:8080", true),
            (v4, "127.0.0.1:8081", false),
            (v4, "127.0.0.2:8080", false),
            (v4, "[::1]:8080", false),
            (&any, "127.0.0.1:8080", true),
            (&any6, "127.0.0.1:8080", true),
            (&mapped, "127.0.0.1:8080", true),
            (&loopback6, "[::1]:8080", true),
            (&loopback6, "127.0.0.1:8080", false),
        ];
        for (line, address, expected) in rows {
            let found = listener(line).unwrap();
            assert_eq!(found.inode, 4711, "{line}");
            assert_eq!(found.serves(address.parse().unwrap()), expected, "{address} in {line}");
        }
        let connected = v4.replace(" 0A ", " 01 ");
        for line in [&connected, "  sl  local_address rem_address   st", ""] {
            assert_eq!(listener(line), None, "{line}");
        }
    }

    #[test]
    fn a_socket_of_this_process_is_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let pid = std::process::id();
        assert_eq!(listeners(pid, address).unwrap().len(), 1);
    }
}
