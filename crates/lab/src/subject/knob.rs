//! Knobs of subjects that are not Weir, whose own table has its.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Failure;
use crate::unknown::unknown;

/// One of them.
#[derive(Debug)]
pub struct Knob {
    /// As in `NAME:KNOB=VALUE`.
    pub name: &'static str,
    /// Which values.
    pub takes: Takes,
    /// What it is without being said; `auto` where that depends on the machine.
    pub default: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
}

/// Values of a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A number in a range, both ends included.
    Number(u32, u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Where a program is, from the root on.
    Program,
}

/// `on` or `off`.
pub(super) const SWITCH: Takes = Takes::Word(&["on", "off"]);

/// Whether `subject` takes these.
pub(super) fn judge(
    subject: &str,
    known: &[Knob],
    chosen: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    for (name, value) in chosen {
        let Some(knob) = known.iter().find(|knob| knob.name == name) else {
            let names = known.iter().map(|knob| knob.name);
            return Err(Failure::Operator(format!("{subject}: {}", unknown("knob", name, names))));
        };
        if !knob.takes.accepts(value) {
            let takes = knob.takes.in_words();
            return Err(Failure::Operator(format!("{subject}: {name}={value} must be {takes}")));
        }
    }
    Ok(())
}

impl Takes {
    fn accepts(self, value: &str) -> bool {
        match self {
            Self::Number(least, most) => {
                value.parse().is_ok_and(|n: u32| (least..=most).contains(&n))
            }
            Self::Word(words) => words.contains(&value),
            Self::Program => Path::new(value).is_absolute(),
        }
    }

    /// What a value has to be.
    #[must_use]
    pub fn in_words(self) -> String {
        match self {
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Word(words) => words.join(" or "),
            Self::Program => String::from("where a program is, as in /opt/name"),
        }
    }
}
