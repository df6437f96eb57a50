//! What everything that a testbed is made of is called: whose it is can be read from it, so that
//! nothing has to be kept in order for a later lab to know what an earlier one left behind.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};

/// `weir-lab-SPACE-PROCESS-STARTED-NUMBER`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// The namespace that the process's number is of: a container has its own, and may yet see the
    /// control groups of the machine.
    space: u64,
    /// Its maker.
    pub(super) process: u32,
    /// When that started, in ticks since the machine did: numbers of processes are used again.
    started: u64,
    /// How many its maker had made before.
    number: u32,
}

/// What has become of whoever made a testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// It runs.
    Runs,
    /// It has ended.
    Ended,
    /// It cannot be seen from here.
    Elsewhere,
}

const PREFIX: &str = "weir-lab-";

impl Name {
    /// One that nobody has had.
    pub(super) fn new() -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let process = os::process::id();
        let started = started(process).ok_or_else(|| io::Error::other("/proc says nothing"))?;
        Ok(Self { space: space()?, process, started, number: MADE.fetch_add(1, Ordering::Relaxed) })
    }

    /// The name in front of what belongs to a testbed, and what follows it.
    pub(super) fn of(text: &str) -> Option<(Self, &str)> {
        let rest = text.strip_prefix(PREFIX)?;
        let mut parts = rest.splitn(5, '-');
        let mut part = || parts.next();
        let space = u64::from_str_radix(part()?, 16).ok()?;
        let process = part()?.parse().ok()?;
        let started = part()?.parse().ok()?;
        let number = part()?.parse().ok()?;
        let name = Self { space, process, started, number };
        let rest = part();
        let written = rest.map_or(name.to_string(), |rest| format!("{name}-{rest}"));
        // Others write their numbers in another way.
        (text == written && rest != Some("")).then_some((name, rest.unwrap_or_default()))
    }

    pub(super) fn maker(&self) -> Maker {
        if space().ok() != Some(self.space) {
            Maker::Elsewhere
        } else if started(self.process) == Some(self.started) {
            Maker::Runs
        } else {
            Maker::Ended
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, process, started, number } = self;
        write!(f, "{PREFIX}{space:x}-{process}-{started}-{number}")
    }
}

/// The namespace of this process's number.
fn space() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// When a process started, if it runs.
fn started(process: u32) -> Option<u64> {
    started_of(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// From /proc/PID/stat (proc_pid_stat(5)): the second field may have anything in it but ends with
/// the last parenthesis, the third is the state, the 22nd the time.
fn started_of(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_whose_they_are() {
        let name = Name::new().unwrap();
        assert_ne!(Name::new().unwrap(), name);
        assert_eq!(name.maker(), Maker::Runs);
        let text = format!("{name}-server");
        assert_eq!(Name::of(&text), Some((name.clone(), "server")));
        assert_eq!(Name::of(&name.to_string()), Some((name.clone(), "")));
        let before = Name { started: name.started - 1, ..name.clone() };
        let nobody = Name { process: u32::MAX, ..name.clone() };
        let foreign = Name { space: name.space + 1, ..name };
        let rows = [(before, Maker::Ended), (nobody, Maker::Ended), (foreign, Maker::Elsewhere)];
        for (name, expected) in rows {
            assert_eq!(name.maker(), expected, "{name}");
        }
    }

    #[test]
    fn names_of_others_are_none() {
        let rows = [
            "",
            "weir-lab",
            "weir-lab-",
            "weir-lab-mine",
            "weir-lab-1-2-3",
            "weir-lab-1-2-3-x",
            "weir-lab-1-2-3-+4",
            "weir-lab-01-2-3-4",
            "weir-lab-1-2-3-4-",
            "weir-lab-F-2-3-4",
            "other-1-2-3-4",
            "weir-lab-1-2-3-99999999999",
        ];
        for text in rows {
            assert_eq!(Name::of(text), None, "{text}");
        }
        assert!(Name::of("weir-lab-f-2-3-4-a-b").is_some_and(|(_, rest)| rest == "a-b"));
    }

    #[test]
    fn a_process_that_only_waits_to_be_buried_has_ended() {
        let tail = "1 ".repeat(18);
        let rows = [
            (format!("7 (a) b) S {tail}4711 5"), Some(4711)),
            (format!("7 (a) Z {tail}4711 5"), None),
            (String::from("7 (a) S 1 2"), None),
            (String::new(), None),
        ];
        for (stat, expected) in rows {
            assert_eq!(started_of(&stat), expected, "{stat}");
        }
    }
}
