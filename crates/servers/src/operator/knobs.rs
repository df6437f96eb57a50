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

use crate::architectures::{self, ARCHITECTURES, Architecture, Holder};
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
    /// Those that ask a poller.
    Loops,
    /// Of those the loops that go in phases.
    Phases,
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
            Takes::Phases => row.polls && row.holder == Holder::Loop,
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

    /// The words that it takes; empty where there are others, too: names, numbers, addresses.
    #[must_use]
    pub fn words(&self) -> Vec<&'static str> {
        match self.name {
            "architecture" => ARCHITECTURES.iter().map(|row| row.name).collect(),
            _ => words(self.value),
        }
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
        matches!(self.name, "admin" | "user" | "group" | "pid-file")
    }
}

type Clear = fn(&mut Settings);
const LISTS: &[(&str, Clear)] = &[
    ("listen", |s| s.listen.clear()),
    ("proxy-protocol", |s| s.proxy_protocol.clear()),
    ("trusted-proxies", |s| s.trusted_proxies.clear()),
];

/// The words of a value such as `on|off|auto` or `GET|HEAD`; empty if it stands for others, too: of
/// `FILE|off`, what is in upper case says what kind of value it is.
#[must_use]
pub fn words(value: &'static str) -> Vec<&'static str> {
    let words: Vec<_> = value.split('|').collect();
    let are = |is_of: fn(&u8) -> bool| {
        let may_follow = |byte: u8| is_of(&byte) || byte == b'-' || byte.is_ascii_digit();
        words.iter().all(|word| {
            word.bytes().next().is_some_and(|first| is_of(&first)) && word.bytes().all(may_follow)
        })
    };
    let is_list = words.len() > 1 && (are(u8::is_ascii_lowercase) || are(u8::is_ascii_uppercase));
    if is_list { words } else { Vec::new() }
}

/// Finds a knob by its name.
#[must_use]
pub fn knob(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// The table.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    groups().into_iter().flat_map(|(_, knobs)| knobs)
}

/// The same by what it is of.
#[must_use]
pub const fn groups() -> [(&'static str, &'static [Knob]); 7] {
    [
        ("Who serves", architecture::KNOBS),
        ("Who is let in", admission::KNOBS),
        ("Files", files::KNOBS),
        ("Replies", replies::KNOBS),
        ("Limits", limits::KNOBS),
        ("What the operator sees", sight::KNOBS),
        ("The host", host::KNOBS),
    ]
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
