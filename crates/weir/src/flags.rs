//! Tables of knobs as flags.

use clap::Arg;
use load::knob::Knob;

/// One that takes whatever stands behind it.
pub(crate) fn flag(name: &'static str, value: &'static str, help: String) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
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
