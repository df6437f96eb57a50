//! How values of knobs are written.

use measure::Duration;
use measure::draw::Draw;

/// Longer is no run, and no patience.
const SECONDS_MAX: f64 = 366.0 * 24.0 * 3600.0;

/// Arrivals in a second: more are no rate that a machine makes.
pub const RATE_MAX: f64 = 1e7;

/// Of a time, in seconds; the longer name first where one ends as another does.
const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// How a time may be written, for whoever has written another one.
const EXAMPLES: &str = "as 3, 3s, 500ms or 2m";

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wanted = || format!("has to be a number of seconds from 0 to {SECONDS_MAX}, {EXAMPLES}");
    read(text).ok_or_else(wanted)
}

pub(crate) fn some_seconds(text: &str) -> Result<Duration, String> {
    let wanted =
        || format!("has to be a number of seconds above 0, up to {SECONDS_MAX}, {EXAMPLES}");
    read(text).filter(|span| !span.is_zero()).ok_or_else(wanted)
}

/// A number of seconds, or a number with its unit.
fn read(text: &str) -> Option<Duration> {
    let of_unit = |&(unit, one): &(&str, f64)| Some((text.strip_suffix(unit)?, one));
    let (number, one) = UNITS.iter().find_map(of_unit).unwrap_or((text, 1.0));
    let seconds = number.parse::<f64>().ok()? * one;
    (0.0..=SECONDS_MAX).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// With a word for none.
pub(crate) fn limit(text: &str) -> Result<Option<Duration>, String> {
    if text == NONE {
        return Ok(None);
    }
    some_seconds(text).map(Some).map_err(|wanted| format!("{wanted}, or {NONE}"))
}

pub(crate) const NONE: &str = "none";

pub(crate) fn shown(span: Duration) -> String {
    span.as_secs_f64().to_string()
}

pub(crate) fn shown_limit(span: Option<Duration>) -> String {
    span.map_or_else(|| String::from(NONE), shown)
}

/// Sessions a second.
pub(crate) fn rate(text: &str, least: f64) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (least..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| format!("a rate is a number from {least} to {RATE_MAX} in a second"))
}

/// The least rate of an arrival that comes at all: less than one in a day.
pub(crate) const RATE_MIN: f64 = 0.000_01;

pub(crate) fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("has to be a number from {least} to {most}"))
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| String::from("has to be a share from 0 to 1"))
}

pub(crate) fn whole<N>(text: &str, least: N, most: N) -> Result<N, String>
where
    N: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let number = text.parse().ok().filter(|number| *number >= least && *number <= most);
    number.ok_or_else(|| format!("has to be a whole number from {least} to {most}"))
}

/// A time that is always the same, or drawn with that mean.
pub(crate) fn pause(text: &str) -> Result<Draw, String> {
    match text.strip_prefix(EXPONENTIAL) {
        Some(mean) => Ok(Draw::Exponential {
            mean: some_seconds(mean.trim_start_matches(':'))?.as_secs_f64(),
        }),
        None => Ok(Draw::Constant(seconds(text)?.as_secs_f64())),
    }
}

const EXPONENTIAL: &str = "exponential:";

pub(crate) fn shown_pause(pause: Draw) -> String {
    match pause {
        Draw::Constant(seconds) => seconds.to_string(),
        Draw::Exponential { mean } => format!("{EXPONENTIAL}{mean}"),
        other => format!("{other:?}"),
    }
}

/// One of a few words.
pub(crate) fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        format!("has to be one of {}", all.join(", "))
    })
}

pub(crate) const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

pub(crate) fn shown_word<T: PartialEq>(value: &T, words: &[(&str, T)]) -> String {
    let found = words.iter().find(|(_, known)| known == value);
    found.map(|&(word, _)| String::from(word)).unwrap_or_default()
}
