//! What the kernel counts for a network namespace, as netstat(8) -s tells it.

use std::io;

/// All counts of the calling thread's namespace, since that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetCounts(String);

impl NetCounts {
    /// Reads /proc/thread-self/net/netstat and snmp.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn read() -> io::Result<Self> {
        let read = |name| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        Ok(Self(read("netstat")? + &read("snmp")?))
    }

    /// One of a group, as `ListenDrops` of `TcpExt`; `None`: this kernel does not have it.
    #[must_use]
    pub fn of(&self, group: &str, name: &str) -> Option<u64> {
        // Two lines for each group: names, then values.
        let of_group = |line| str::strip_prefix(line, group)?.strip_prefix(':');
        let mut lines = self.0.lines().filter_map(of_group);
        let (names, values) = (lines.next()?, lines.next()?);
        let place = names.split_ascii_whitespace().position(|its| its == name)?;
        values.split_ascii_whitespace().nth(place)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_group_and_name() {
        let text = "TcpExt: ListenOverflows ListenDrops\nTcpExt: 22 333\n\
                    Tcp: AttemptFails InErrs OutRsts\nTcp: 5 x\nIp: A\n";
        let rows = [
            ("TcpExt", "ListenOverflows", Some(22)),
            ("TcpExt", "ListenDrops", Some(333)),
            ("Tcp", "AttemptFails", Some(5)),
            ("Tcp", "ListenDrops", None),
            ("Tcp", "InErrs", None),
            ("Tcp", "OutRsts", None),
            ("Ip", "A", None),
            ("Udp", "A", None),
        ];
        let counts = NetCounts(text.into());
        for (group, name, expected) in rows {
            assert_eq!(counts.of(group, name), expected, "{group} {name}");
        }
        assert_eq!(NetCounts(String::new()).of("Tcp", "AttemptFails"), None);
        assert!(NetCounts::read().unwrap().of("Tcp", "PassiveOpens").is_some());
    }
}
