//! Tables of knobs as flags.

use std::path::PathBuf;

use clap::{Arg, value_parser};
use load::knob::Knob;

/// One that takes whatever stands behind it.
pub(crate) fn flag(name: &'static str, value: &'static str, help: String) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
}

/// A positional argument that names a file or a directory, in any bytes.
pub(crate) fn path(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).value_name(value).value_parser(value_parser!(PathBuf))
}

/// A flag for each of a table; `whose` says what is to stand before a knob's reason.
pub(crate) fn of_table<C: 'static>(
    table: &'static [Knob<C>],
    defaults: C,
    whose: fn(&str) -> String,
) -> impl Iterator<Item = Arg> {
    table.iter().map(move |knob| {
        let Knob { name, group, value, reason, show, .. } = knob;
        let help = format!("{}{reason} [default: {}]", whose(name), show(&defaults));
        flag(name, value, help).help_heading(*group)
    })
}

/// What most need of a tool, and how `-h` says it; `-h` shows no other flag.
pub(crate) type Few = [(&'static str, &'static str)];

/// A flag as `-h` is to show it, in a few words or not at all. `--help` has all of it.
pub(crate) fn in_short(arg: Arg, few: &Few) -> Arg {
    match few.iter().find(|(name, _)| *name == arg.get_id().as_str()) {
        Some((_, short)) => {
            let whole = arg.get_help().cloned().unwrap_or_default();
            arg.help(*short).long_help(whole)
        }
        None if arg.is_positional() => arg,
        None => arg.hide_short_help(true),
    }
}
