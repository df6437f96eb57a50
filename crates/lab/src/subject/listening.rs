//! Who listens on a port, in the network namespace of a process, from its /proc/PID/net.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a socket that listens.
const LISTEN: &str = "0A";

/// The inodes of all sockets that listen where a client of `address` would arrive, as seen by
/// process `pid`.
pub(super) fn listeners(pid: u32, address: SocketAddr) -> io::Result<Vec<u64>> {
    let mut inodes = Vec::new();
    for table in ["tcp", "tcp6"] {
        match fs::read_to_string(format!("/proc/{pid}/net/{table}")) {
            // On a busy machine most lines are connections; splitting them all takes too long.
            Ok(text) => inodes.extend(
                text.lines()
                    .filter(|line| line.contains(LISTEN))
                    .filter_map(|line| listener(line, address)),
            ),
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table == "tcp6" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(inodes)
}

/// Of a line of such a table (Linux, Documentation/networking/proc_net_tcp).
fn listener(line: &str, address: SocketAddr) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().take(10).collect();
    let [_, local, _, state, _, _, _, _, _, inode] = fields.as_slice() else { return None };
    let (ip, port) = local.split_once(':')?;
    let is_there = *state == LISTEN && u16::from_str_radix(port, 16).ok()? == address.port();
    let ip = ip_of(ip)?;
    let is_meant = ip.is_unspecified() || address.ip().is_unspecified();
    let is_meant = is_meant || ip.to_canonical() == address.ip().to_canonical();
    (is_there && is_meant).then(|| inode.parse().ok())?
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
        let connected = v4.replace(" 0A ", " 01 ");
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
            (&connected, "127.0.0.1:8080", false),
            ("  sl  local_address rem_address   st", "127.0.0.1:8080", false),
            ("", "127.0.0.1:8080", false),
        ];
        for (line, address, expected) in rows {
            let found = listener(line, address.parse().unwrap());
            assert_eq!(found, expected.then_some(4711), "{address} in {line}");
        }
    }

    #[test]
    fn a_socket_of_this_process_is_found() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let pid = std::process::id();
        assert_eq!(listeners(pid, address).unwrap().len(), 1);
        drop(socket);
        assert!(listeners(pid, address).unwrap().is_empty());
    }
}
