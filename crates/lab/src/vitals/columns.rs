//! The kernel's way of writing what it counts: a line for each.

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
