//! The table of knobs: every limit and every choice, once. Flags, documentation and later the
//! configuration file, the lab and the controllers read this table.

mod architecture;
mod files;
mod host;
mod limits;
mod listening;
mod replies;
mod sight;
mod values;

use crate::architectures::{self, ARCHITECTURES, Architecture};
use crate::shared::settings::Settings;

/// One knob.
pub struct Knob {
    /// As in `--name`.
    pub name: &'static str,
    /// What a value looks like, with its unit.
    pub value: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
    /// The architectures that take it.
    pub takes: Takes,
    /// Changes the settings, or says what a value has to be.
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
    /// The value in use; of the default settings, the default.
    pub show: fn(&Settings) -> String,
}

/// Which architectures take a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// All of them.
    All,
    /// Those with a readiness loop.
    Loops,
    /// Those whose rows name it.
    Named,
}

impl Knob {
    /// Whether an architecture takes it; none of an unknown name does.
    #[must_use]
    pub fn is_taken_by(&self, name: &str) -> bool {
        architectures::architecture(name).is_some_and(|row| self.is_of(row))
    }

    /// Whether the architecture of a row takes it.
    pub(crate) fn is_of(&self, row: &Architecture) -> bool {
        match self.takes {
            Takes::All => true,
            Takes::Loops => row.polls,
            Takes::Named => row.knobs.contains(&self.name),
        }
    }

    /// The architectures that take it.
    #[must_use]
    pub fn takers(&self) -> Vec<&'static str> {
        let names = ARCHITECTURES.iter().map(|row| row.name);
        names.filter(|name| self.is_taken_by(name)).collect()
    }

    /// The same in words, for tables.
    #[must_use]
    pub fn taken_by(&self) -> String {
        let takers = self.takers();
        let all = takers.len() == ARCHITECTURES.len();
        if all { String::from("all") } else { takers.join(", ") }
    }

    /// Whether it has several values, each added by `set`.
    #[must_use]
    pub fn is_list(&self) -> bool {
        LISTS.iter().any(|(name, _)| *name == self.name)
    }

    /// Takes all values of a list away, for others to take their place.
    pub fn clear(&self, settings: &mut Settings) {
        for (_, clear) in LISTS.iter().filter(|(name, _)| *name == self.name) {
            clear(settings);
        }
    }

    /// Whether it belongs to the supervisor, who lives on when the settings are read again.
    #[must_use]
    pub fn needs_restart(&self) -> bool {
        matches!(self.name, "admin" | "user" | "group")
    }
}

type Clear = fn(&mut Settings);
const LISTS: &[(&str, Clear)] =
    &[("listen", |s| s.listen.clear()), ("proxy-protocol", |s| s.proxy_protocol.clear())];

/// Finds a knob by its name.
#[must_use]
pub fn knob(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.name == name)
}

/// The table.
pub const KNOBS: &[Knob] = &[
    listening::LISTEN,
    architecture::ARCHITECTURE,
    architecture::POLLER,
    architecture::ACCEPT_LIMIT,
    architecture::WORK_ON_ACCEPTED,
    architecture::PASSES,
    architecture::EVENTS_MAX,
    architecture::WORK_KB_MAX,
    listening::BACKLOG,
    listening::DEFER_ACCEPT_S,
    architecture::PROCESSES,
    architecture::THREADS,
    architecture::THREADS_MIN,
    architecture::HELPERS,
    architecture::HELPER_QUEUE,
    listening::CONNECTIONS_MAX,
    files::SENDFILE,
    files::CACHE_MB,
    files::CACHE_FILES,
    files::ANSWER_AGE_MS,
    files::CACHE_POLICY,
    files::SMALL_FILE_KB,
    files::CACHE_LOCKS,
    replies::HEAD_CACHE,
    replies::DATE_CACHE,
    replies::GATHER,
    replies::NODELAY,
    replies::SEND_BUFFER_KB,
    limits::HEAD_TIMEOUT_MS,
    limits::IDLE_TIMEOUT_MS,
    limits::IDLE_GRACE_MS,
    limits::STALL_TIMEOUT_MS,
    limits::RATE_WINDOW_MS,
    limits::RATE_MIN,
    limits::TARGET_BYTES_MAX,
    limits::HEAD_BYTES_MAX,
    limits::DRAIN_DELAY_MS,
    limits::DRAIN_TIMEOUT_MS,
    sight::ACCESS_LOG,
    sight::LOG_FORMAT,
    sight::ERROR_LOG,
    sight::LOG_LEVEL,
    sight::TRACE,
    sight::ADMIN,
    host::USER,
    host::GROUP,
    host::LANDLOCK,
    host::SECCOMP,
    host::PROXY_PROTOCOL,
    host::ADDRESS_CONNECTIONS_MAX,
    host::ADDRESS_REQUESTS_PER_S,
];

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let defaults = Settings::default();
    let mut text = String::from("| flag | value | default | taken by | what and why |\n");
    text.push_str("|---|---|---|---|---|\n");
    for knob in KNOBS {
        let value = knob.value.replace('|', " or ");
        let (default, taken_by) = ((knob.show)(&defaults), knob.taken_by());
        let (name, reason) = (knob.name, knob.reason);
        text.push_str(&format!("| `--{name}` | {value} | {default} | {taken_by} | {reason} |\n"));
    }
    text
}
