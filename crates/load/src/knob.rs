//! What can be chosen, as rows of tables: flags, the manual page and documents are made from them.

pub(crate) mod values;

pub use values::RATE_MAX;

use std::fmt::Write as _;

/// One choice of those that `C` has.
pub struct Knob<C> {
    /// As in `--name`.
    pub name: &'static str,
    /// What it is about, as a title over several of them.
    pub group: &'static str,
    /// What a value looks like, with its unit.
    pub value: &'static str,
    /// What it does, and why its default is what it is.
    pub reason: &'static str,
    /// Changes the choices, or says what a value has to be.
    pub set: fn(&mut C, &str) -> Result<(), String>,
    /// The value in use; of the default choices, the default.
    pub show: fn(&C) -> String,
}

/// Changes one choice by its name.
///
/// # Errors
/// The table has none of that name, or the value is not what it has to be: one line.
pub fn set<C>(table: &[Knob<C>], of: &mut C, name: &str, value: &str) -> Result<(), String> {
    let knob = table.iter().find(|knob| knob.name == name);
    let knob = knob.ok_or_else(|| format!("there is no knob {name}"))?;
    (knob.set)(of, value).map_err(|wanted| format!("--{name} {}: {wanted}", printable(value)))
}

/// The choices of which this was said, by the knobs' names.
///
/// # Errors
/// As [`set`].
pub fn told<C: Default>(table: &[Knob<C>], said: &[(String, String)]) -> Result<C, String> {
    let mut of = C::default();
    said.iter().try_for_each(|(name, value)| set(table, &mut of, name, value))?;
    Ok(of)
}

/// On one line, and nothing that a terminal obeys, whatever it holds.
pub(crate) fn printable(value: &str) -> String {
    let shown =
        |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    value.chars().map(shown).collect()
}

/// A table for the documents.
#[must_use]
pub fn markdown<C>(table: &[Knob<C>], defaults: &C) -> String {
    let mut text = String::from("| knob | default | what it does, and why |\n|---|---|---|\n");
    for Knob { name, value, reason, show, .. } in table {
        // A bar would end the cell.
        let value = value.replace('|', "\\|");
        let _ = writeln!(text, "| `--{name} {value}` | {} | {reason} |", show(defaults));
    }
    text
}
