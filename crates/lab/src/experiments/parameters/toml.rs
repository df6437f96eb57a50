//! Parameters as TOML: a table for each, `[accept]` or `[sped.connection]`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Parameter;
use crate::known::Spread;

/// The machine, to stand in front: on another one a parameter says nothing.
pub(super) fn machine(facts: &BTreeMap<String, String>) -> String {
    let mut text = String::from("# Measured by weir lab run parameters.\n\n[machine]\n");
    for name in ["processor", "processors", "kernel"] {
        if let Some(fact) = facts.get(name) {
            // Writing to memory does not fail.
            let _ = writeln!(text, "{name} = {}", quoted(fact));
        }
    }
    text
}

/// All that are known.
pub(super) fn text(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for Parameter { name, unit, is, value, command } in parameters {
        let Ok(Spread { median, range: (low, high), count, .. }) = value else { continue };
        let name = match name.rsplit_once('.') {
            Some((of, name)) => format!("{}.{}", key(of), key(name)),
            None => key(name),
        };
        let _ = write!(
            text,
            "\n# {is}\n[{name}]\nvalue = {median:?}\nunit = {}\nlow = {low:?}\nhigh = {high:?}\n\
             repeats = {count}\ncommand = {}\n",
            quoted(unit),
            quoted(command),
        );
    }
    text
}

/// A bare key where it may be one.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.into() } else { quoted(name) }
}

/// A basic string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => drop(write!(quoted, "\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_a_table() {
        let value = Spread::of(vec![1.5, 2.0, 4.0]).expect("three values");
        let of = |name: &str, command: &str| Parameter {
            name: name.into(),
            unit: "us",
            is: "a step",
            value: Ok(value),
            command: command.into(),
        };
        let facts = [("kernel", "Linux 6.18"), ("clock", "tsc")];
        let facts = facts.map(|(name, fact)| (name.into(), fact.into())).into();
        let machine = machine(&facts);
        assert!(machine.ends_with("\n[machine]\nkernel = \"Linux 6.18\"\n"), "{machine}");
        let text = text(&[of("sped.request", "weir \"x\""), of("mt:load=0.2.request", "y")]);
        let expected = "# a step\n[sped.request]\nvalue = 2.0\nunit = \"us\"\nlow = 1.5\n\
                        high = 4.0\nrepeats = 3\ncommand = \"weir \\\"x\\\"\"\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n[\"mt:load=0.2\".request]\n"), "{text}");
    }
}
