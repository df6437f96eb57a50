//! Values of knobs: from text, judged, and back to text.

use std::path::PathBuf;

use measure::Duration;

pub(super) fn number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if n >= least && n <= most => Ok(n),
        _ => Err(format!("a number from {least} to {most}")),
    }
}

/// As [`number`], or nothing for `auto`.
pub(super) fn auto(text: &str, least: u32, most: u32) -> Result<Option<u32>, String> {
    if text == "auto" {
        return Ok(None);
    }
    number(text, least, most).map(Some).map_err(|why| format!("{why}, or auto"))
}

pub(super) fn or_auto(value: Option<u32>) -> String {
    value.map_or_else(|| String::from("auto"), |value| value.to_string())
}

/// Up to an hour.
pub(super) fn millis(text: &str, least: u32) -> Result<Duration, String> {
    Ok(Duration::from_millis(u64::from(number(text, least, 3_600_000)?)))
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(String::from("on or off")),
    }
}

/// Sets a field to a value that was judged.
pub(super) fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

/// One of those that have such a name.
pub(super) fn named<T: Copy>(
    text: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|one| name(*one) == text);
    found.ok_or_else(|| all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", "))
}

/// As [`named`], or nothing for `auto`.
pub(super) fn auto_or_named<T: Copy>(
    text: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>, String> {
    if text == "auto" {
        return Ok(None);
    }
    named(text, all, name).map(Some).map_err(|names| format!("{names}, auto"))
}

pub(super) fn word_or_auto(word: Option<&'static str>) -> String {
    String::from(word.unwrap_or("auto"))
}

pub(super) fn on_off(value: bool) -> String {
    String::from(if value { "on" } else { "off" })
}

/// A file, which the standard output is not: it would be the name of one.
pub(super) fn file(text: &str) -> Result<Option<PathBuf>, String> {
    match text {
        "-" => Err("a file's name, or off".into()),
        "stdout" | "stderr" => Err(format!("a file's name, as ./{text} is, or off")),
        _ => Ok(path(text)),
    }
}

pub(super) fn path(text: &str) -> Option<PathBuf> {
    (text != "off").then(|| PathBuf::from(text))
}

pub(super) fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| String::from("off"), |path| path.display().to_string())
}
