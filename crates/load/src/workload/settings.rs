//! What can be chosen of workloads, as a table: flags and documents read it.

use measure::Duration;

use crate::knob::values::{number, whole};
use crate::knob::{self, Knob};
use crate::trace::presets::{SCALE_LEAST, SCALE_MOST};
use crate::trace::wsesslog::THINK_S_MAX;
use crate::trace::{Choices, GAP_S_MAX, SPEED_LEAST, SPEED_MOST};

/// The choices. Each workload looks at its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Directories of `specweb99`.
    pub dirs: u32,
    /// Files of `surge` and `browser`.
    pub files: u32,
    /// Pages of one visit in `surge`.
    pub pages: u32,
    /// Content of the file of `one-packet`, in bytes.
    pub bytes: u64,
    /// How users think; `None`: the workload's own way.
    pub think: Option<Think>,
    /// All pauses are multiplied by this.
    pub think_scale: f64,
    /// What logs leave open.
    pub log: Choices,
    /// The pause after a burst of `wsesslog` that has none of its own.
    pub default_think: Duration,
    /// So many times the files, cache and requests of a synthesised trace.
    pub trace_scale: f64,
}

/// How long users and their browsers pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Always the same two times (Pariag07 3.2).
    Constant,
    /// Drawn.
    Drawn,
    /// Not at all.
    None,
}

/// Names of directories have five digits; 20,000 of them are 102 GB.
const DIRS_MAX: u32 = 20_000;

/// Popularity is matched to sizes in time that grows with the square of it.
const FILES_MAX: u32 = 20_000;

/// A visit of more pages is not one user's.
const PAGES_MAX: u32 = 1_000;

/// More is no single packet anywhere: a loopback device's segments have 65,483 bytes.
const ONE_PACKET_BYTES_MAX: u64 = 65_000;

/// Users who think for an hour on the average.
const THINK_SCALE_MAX: f64 = 1_000.0;

impl Default for Settings {
    fn default() -> Self {
        Self {
            dirs: 680,
            files: 2_000,
            pages: 4,
            bytes: 1_180,
            think: None,
            think_scale: 1.0,
            log: Choices::default(),
            default_think: Duration::ZERO,
            trace_scale: 1.0,
        }
    }
}

impl Settings {
    /// Changes one by its name.
    ///
    /// # Errors
    /// There is none of that name, or the value is not what it has to be: one line.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        knob::set(KNOBS, self, name, value)
    }
}

const GROUP: &str = "Workloads";

/// The table.
pub const KNOBS: &[Knob<Settings>] = &[
    Knob {
        name: "dirs",
        group: GROUP,
        value: "N",
        reason: "directories of 36 files and 5.1 MB; 680 are the 24,480 files of Pariag07 3.2",
        set: |settings, value| {
            settings.dirs = whole(value, 1, DIRS_MAX)?;
            Ok(())
        },
        show: |settings| settings.dirs.to_string(),
    },
    Knob {
        name: "files",
        group: GROUP,
        value: "N",
        reason: "how many files there are; SURGE's authors ran it with 2,000",
        set: |settings, value| {
            settings.files = whole(value, 1, FILES_MAX)?;
            Ok(())
        },
        show: |settings| settings.files.to_string(),
    },
    Knob {
        name: "pages",
        group: GROUP,
        value: "N",
        reason: "pages of one visit; SURGE's users never leave, so this is our choice: about as \
                 many as a session of specweb99 has",
        set: |settings, value| {
            settings.pages = whole(value, 1, PAGES_MAX)?;
            Ok(())
        },
        show: |settings| settings.pages.to_string(),
    },
    Knob {
        name: "bytes",
        group: GROUP,
        value: "BYTES",
        reason: "size of the one file: with a head of up to 268 bytes it fits into one segment of \
                 Ethernet, which has 1,448 beside its timestamps",
        set: |settings, value| {
            settings.bytes = whole(value, 0, ONE_PACKET_BYTES_MAX)?;
            Ok(())
        },
        show: |settings| settings.bytes.to_string(),
    },
    Knob {
        name: "think",
        group: GROUP,
        value: "constant|drawn|none",
        reason: "pauses between pages and within them: constant is 3.0 s and 0.343 s (Pariag07 \
                 3.2), drawn is Pareto and Weibull; specweb99 has them constant and surge drawn",
        set: |settings, value| {
            settings.think = Some(match value {
                "constant" => Think::Constant,
                "drawn" => Think::Drawn,
                "none" => Think::None,
                _ => return Err(String::from("has to be constant, drawn or none")),
            });
            Ok(())
        },
        show: |settings| {
            String::from(match settings.think {
                None => "its own",
                Some(Think::Constant) => "constant",
                Some(Think::Drawn) => "drawn",
                Some(Think::None) => "none",
            })
        },
    },
    Knob {
        name: "think-scale",
        group: GROUP,
        value: "FACTOR",
        reason: "multiplies all pauses: at 1 a session of specweb99 lasts 9 s, so that 15,000 \
                 requests/s are 18,000 open connections; less needs fewer",
        set: |settings, value| {
            settings.think_scale = number(value, 0.0, THINK_SCALE_MAX)?;
            Ok(())
        },
        show: |settings| settings.think_scale.to_string(),
    },
    Knob {
        name: "default-think",
        group: GROUP,
        value: "SECONDS",
        reason: "pause after a burst of a wsesslog file that has no think= of its own; httperf \
                 has to be told, here nothing is added to what the file says",
        set: |settings, value| {
            settings.default_think = Duration::from_secs_f64(number(value, 0.0, THINK_S_MAX)?);
            Ok(())
        },
        show: |settings| settings.default_think.as_secs_f64().to_string(),
    },
    Knob {
        name: "session-gap",
        group: GROUP,
        value: "SECONDS",
        reason: "a client of a log that asks nothing for longer comes back as a new session; 15 s \
                 is what Apache 1.3 kept a connection open for",
        set: |settings, value| {
            settings.log.gap = Duration::from_secs_f64(number(value, 0.0, GAP_S_MAX)?);
            Ok(())
        },
        show: |settings| settings.log.gap.as_secs_f64().to_string(),
    },
    Knob {
        name: "speed",
        group: GROUP,
        value: "FACTOR",
        reason: "how many times as fast as it was logged a log is replayed: its pauses and the \
                 times between its sessions are divided by it",
        set: |settings, value| {
            settings.log.speed = number(value, SPEED_LEAST, SPEED_MOST)?;
            Ok(())
        },
        show: |settings| settings.log.speed.to_string(),
    },
    Knob {
        name: "site",
        group: GROUP,
        value: "own|made",
        reason: "what the server of a log's replay has: files of its own, of which nothing is \
                 known, or those that make-site makes of the log, which are compared",
        set: |settings, value| {
            settings.log.is_made = match value {
                "own" => false,
                "made" => true,
                _ => return Err(String::from("has to be own or made")),
            };
            Ok(())
        },
        show: |settings| String::from(if settings.log.is_made { "made" } else { "own" }),
    },
    Knob {
        name: "trace-scale",
        group: GROUP,
        value: "FACTOR",
        reason: "multiplies the files, the cache and the requests of a synthesised trace and \
                 leaves its locality as it is: for a machine with less memory or disk",
        set: |settings, value| {
            settings.trace_scale = number(value, SCALE_LEAST, SCALE_MOST)?;
            Ok(())
        },
        show: |settings| settings.trace_scale.to_string(),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_takes_what_it_says() {
        let (few, many) = ("a whole number from 1 to 20000", "a number from 0 to 1000");
        // What it shows then, or what it wants instead.
        let rows = [
            ("dirs", "1", Ok("1")),
            ("dirs", "20000", Ok("20000")),
            ("dirs", "0", Err(few)),
            ("dirs", "many", Err(few)),
            ("files", "300", Ok("300")),
            ("files", "-1", Err(few)),
            ("pages", "1001", Err("a whole number from 1 to 1000")),
            ("bytes", "0", Ok("0")),
            ("bytes", "65001", Err("a whole number from 0 to 65000")),
            ("think", "drawn", Ok("drawn")),
            ("think", "hard", Err("constant, drawn or none")),
            ("think-scale", "0.25", Ok("0.25")),
            ("think-scale", "NaN", Err(many)),
            ("think-scale", "-1", Err(many)),
            ("default-think", "1.5", Ok("1.5")),
            ("default-think", "86401", Err("a number from 0 to 86400")),
            ("session-gap", "60", Ok("60")),
            ("session-gap", "3601", Err("a number from 0 to 3600")),
            ("speed", "10", Ok("10")),
            ("speed", "0", Err("a number from 0.001 to 1000000")),
            ("site", "made", Ok("made")),
            ("site", "own", Ok("own")),
            ("site", "yes", Err("own or made")),
            ("trace-scale", "0.1", Ok("0.1")),
            ("trace-scale", "0", Err("a number from 0.001 to 100")),
        ];
        for (name, value, expected) in rows {
            let mut settings = Settings::default();
            let told = settings.set(name, value);
            let show = KNOBS.iter().find(|knob| knob.name == name).expect("it exists").show;
            let seen = told.map(|()| show(&settings));
            let expected = match expected {
                Ok(shown) => Ok(String::from(shown)),
                Err(wanted) => Err(format!("--{name} {value}: has to be {wanted}")),
            };
            assert_eq!(seen, expected, "--{name} {value}");
        }
        let told = Settings::default().set("depth", "1");
        assert_eq!(told, Err(String::from("there is no knob depth")));
    }
}
