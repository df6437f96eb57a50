//! The kernel's way of writing groups of counters: a line of names, then a line of values.

/// The counters of a group, by name; 0 for one that this kernel does not have.
pub(super) fn counter(text: &str, group: &str, name: &str) -> u64 {
    found(text, group, name).unwrap_or(0)
}

fn found(text: &str, group: &str, wanted: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|name| name == wanted)?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// The number in the line that begins with `name`, as in /proc/meminfo.
pub(crate) fn line(text: &str, name: &str) -> Option<u64> {
    let values = text.lines().find_map(|line| {
        let (first, rest) = line.split_once([':', ' '])?;
        (first == name).then_some(rest)
    });
    values?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_group_and_name() {
        let text = "TcpExt: ListenOverflows ListenDrops\nTcpExt: 22 333\n\
                    Tcp: AttemptFails InErrs\nTcp: 5 x\nIp: A\n";
        let rows = [
            ("TcpExt", "ListenDrops", 333),
            ("Tcp", "AttemptFails", 5),
            ("Tcp", "ListenDrops", 0),
            ("Tcp", "InErrs", 0),
            ("Ip", "A", 0),
            ("Udp", "A", 0),
        ];
        for (group, name, expected) in rows {
            assert_eq!(counter(text, group, name), expected, "{group} {name}");
        }
    }

    #[test]
    fn values_are_found_by_line() {
        let text = "MemTotal:       24684092 kB\nCached:           264640 kB\nfile 4096\nanon x\n";
        for (name, expected) in [
            ("Cached", Some(264_640)),
            ("file", Some(4096)),
            ("anon", None),
            ("Mem", None),
            ("SwapCached", None),
        ] {
            assert_eq!(line(text, name), expected, "{name}");
        }
    }
}
