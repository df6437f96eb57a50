//! What can be chosen of workloads, as a table: flags and documents read it.

use measure::Duration;

use crate::knob::values::{ON_OFF, number, share, shown_word, whole, word};
use crate::knob::{self, Knob};
use crate::trace::names::FILES_MAX;
use crate::trace::presets::{SCALE_LEAST, SCALE_MOST};
use crate::trace::synthesis::{MEAN_BYTES_LEAST, MEAN_BYTES_MAX, Model};
use crate::trace::wsesslog::THINK_S_MAX;
use crate::trace::{Choices, GAP_S_MAX, SPEED_LEAST, SPEED_MOST};

/// The choices. Each workload looks at its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Directories of `specweb99`.
    pub dirs: u32,
    /// Files of `surge`, `browser` and `synthetic`.
    pub files: u32,
    /// Pages of one visit in `surge`.
    pub pages: u32,
    /// Content of the file of `one-packet`, in bytes.
    pub bytes: u64,
    /// Files of `one-packet`.
    pub copies: u32,
    /// Of the requests of `webstone`, how many are for its largest file.
    pub largest_percent: f64,
    /// How users think; `None`: the workload's own way.
    pub think: Option<Think>,
    /// All pauses are multiplied by this.
    pub think_scale: f64,
    /// What logs leave open.
    pub log: Choices,
    /// The pause after a burst of `wsesslog` that has none of its own.
    pub default_think: Duration,
    /// So many times the files, cache and requests of a synthesised trace that was published.
    pub trace_scale: f64,
    /// The figures of `synthetic`, but for its files.
    pub figures: Model,
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

/// More is a trace.
const COPIES_MAX: u32 = 20_000;

/// A larger cache is no machine's: 10^15 bytes.
const CACHE_MB_MAX: f64 = 1e9;

/// A byte.
const CACHE_MB_LEAST: f64 = 1e-6;

const MB: f64 = 1e6;

/// A visit of more pages is not one user's.
const PAGES_MAX: u32 = 1_000;

/// One packet has some 65,000 at most; larger ones are for what a large file costs beside a small
/// one, and a megabyte shows that.
const ONE_FILE_BYTES_MAX: u64 = 1 << 20;

/// As many as a session of a log has at most; each is made whole when it begins.
const SESSION_REQUESTS_MAX: u16 = 1_000;

/// Users who think for an hour on the average.
const THINK_SCALE_MAX: f64 = 1_000.0;

/// SURGE's authors had so many.
const FILES: u32 = 2_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            dirs: 680,
            files: FILES,
            pages: 4,
            bytes: 1_180,
            copies: 1,
            largest_percent: 1.0,
            think: None,
            think_scale: 1.0,
            log: Choices::default(),
            default_think: Duration::ZERO,
            trace_scale: 1.0,
            figures: Model {
                files: FILES,
                mean_bytes: 16_000.0,
                requests: 100_000,
                cache_bytes: 8_000_000,
                hits: 0.8,
                recency: 0.1,
                session_requests: 1,
            },
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

    /// The files of a workload that has `most` of them at most.
    ///
    /// # Errors
    /// More are asked for: one line.
    pub(crate) fn files_upto(&self, most: u32) -> Result<u32, String> {
        let files = self.files;
        let wanted = || format!("--files {files}: has to be from 1 to {most} for this workload");
        (files <= most).then_some(files).ok_or_else(wanted)
    }

    /// The trace that is described by its figures.
    pub(crate) const fn synthetic(&self) -> Model {
        Model { files: self.files, ..self.figures }
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
        reason: "how many files there are: SURGE's authors ran it with 2,000; up to 20,000, of \
                 synthetic up to 4,194,304",
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
            settings.bytes = whole(value, 0, ONE_FILE_BYTES_MAX)?;
            Ok(())
        },
        show: |settings| settings.bytes.to_string(),
    },
    Knob {
        name: "copies",
        group: GROUP,
        value: "N",
        reason: "how many such files there are, asked for in turn; the paper's is one, and several \
                 keep a server without a cache from answering two clients by one look",
        set: |settings, value| {
            settings.copies = whole(value, 1, COPIES_MAX)?;
            Ok(())
        },
        show: |settings| settings.copies.to_string(),
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
        name: "largest-percent",
        group: GROUP,
        value: "PERCENT",
        reason: "of webstone's requests that are for its file of 5 MB; the others keep their \
                 ratios. With more of them larger pools of threads may be better (JAWS97 3.2.3)",
        set: |settings, value| {
            settings.largest_percent = number(value, 0.0, 100.0)?;
            Ok(())
        },
        show: |settings| settings.largest_percent.to_string(),
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
                 has to be given one, here nothing is added to what the file says",
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
        name: "pauses",
        group: GROUP,
        value: "on|off",
        reason: "clients pause between two requests as in the log, or ask for the next one at \
                 once: with off and --clients the log is asked for as fast as it is answered",
        set: |settings, value| {
            settings.log.has_pauses = word(value, &ON_OFF)?;
            Ok(())
        },
        show: |settings| shown_word(&settings.log.has_pauses, &ON_OFF),
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
    Knob {
        name: "mean-bytes",
        group: GROUP,
        value: "BYTES",
        reason: "mean size of the files: 2,000 of 16,000 bytes, about the mean of Choi05's Penn \
                 State, are 32 MB, which any machine can make and hold",
        set: |settings, value| {
            settings.figures.mean_bytes = number(value, MEAN_BYTES_LEAST, MEAN_BYTES_MAX)?;
            Ok(())
        },
        show: |settings| settings.figures.mean_bytes.to_string(),
    },
    Knob {
        name: "requests",
        group: GROUP,
        value: "N",
        reason: "of one pass: describe counts them and draws no more, a run goes on after it; \
                 100,000 ask for nearly every one of 2,000 files",
        set: |settings, value| {
            settings.figures.requests = whole(value, 1, u64::MAX)?;
            Ok(())
        },
        show: |settings| settings.figures.requests.to_string(),
    },
    Knob {
        name: "cache-mb",
        group: GROUP,
        value: "MB",
        reason: "of 10^6 bytes: the cache that has --hits of the requests; 8 are a quarter of all \
                 files, so that it has to choose",
        set: |settings, value| {
            let mb = number(value, CACHE_MB_LEAST, CACHE_MB_MAX)?;
            settings.figures.cache_bytes = (mb * MB).round() as u64;
            Ok(())
        },
        show: |settings| (settings.figures.cache_bytes as f64 / MB).to_string(),
    },
    Knob {
        name: "hits",
        group: GROUP,
        value: "SHARE",
        reason: "locality: of all requests, those that --cache-mb answers once it is warm; with \
                 the other defaults 0.8 makes popularity Zipf with an exponent near 1, as SURGE \
                 has it",
        set: |settings, value| {
            settings.figures.hits = share(value)?;
            Ok(())
        },
        show: |settings| settings.figures.hits.to_string(),
    },
    Knob {
        name: "recency",
        group: GROUP,
        value: "SHARE",
        reason: "of all requests, those that repeat one of the last: one in ten, as in the other \
                 synthesised traces",
        set: |settings, value| {
            settings.figures.recency = share(value)?;
            Ok(())
        },
        show: |settings| settings.figures.recency.to_string(),
    },
    Knob {
        name: "session-requests",
        group: GROUP,
        value: "N",
        reason: "of one session, one after the other without a pause; one, on a connection of its \
                 own, as in Choi05 5.1",
        set: |settings, value| {
            settings.figures.session_requests = whole(value, 1, SESSION_REQUESTS_MAX)?;
            Ok(())
        },
        show: |settings| settings.figures.session_requests.to_string(),
    },
];

#[cfg(test)]
mod tests;
