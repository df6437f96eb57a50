//! The table of knobs: every limit and every choice, once. Flags, documentation and later the
//! configuration file, the lab and the controllers read this table.

mod admission;
mod architecture;
mod files;
mod host;
mod limits;
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
    all().find(|knob| knob.name == name)
}

/// The table.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    let tables = [
        architecture::KNOBS,
        admission::KNOBS,
        files::KNOBS,
        replies::KNOBS,
        limits::KNOBS,
        sight::KNOBS,
        host::KNOBS,
    ];
    tables.into_iter().flatten()
}

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let defaults = Settings::default();
    let mut text = String::from("| flag | value | default | taken by | what and why |\n");
    text.push_str("|---|---|---|---|---|\n");
    for knob in all() {
        let value = knob.value.replace('|', " or ");
        let (default, taken_by) = ((knob.show)(&defaults), knob.taken_by());
        let (name, reason) = (knob.name, knob.reason);
        text.push_str(&format!("| `--{name}` | {value} | {default} | {taken_by} | {reason} |\n"));
    }
    text
}
