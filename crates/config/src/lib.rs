//! The operator's files: `weir.toml` and what it includes become [`Settings`].
//!
//! Every knob of [`servers::knobs::all`] is a key, judged by the knob itself; [`keys`] is the
//! table of all other keys. All mistakes are told at once, each with its place and a mend.
#![forbid(unsafe_code)]

mod auth;
pub mod explain;
mod fault;
pub mod folder;
mod hosts;
mod item;
pub mod keys;
mod knobs;
mod prefix;
mod reader;
mod rules;
mod source;
pub mod summary;
mod syntax;

use std::path::Path;

use servers::settings::Settings;

pub use fault::Fault;
pub use site::rules::Place;

/// What the command line says and the files have to know, because it wins over them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flags<'f> {
    /// By which it is judged which knobs may be written.
    pub architecture: Option<&'f str>,
    /// Stands in place of the files' own.
    pub root: Option<&'f Path>,
}

/// Reads a file and what it includes. Whatever is not written has its default.
///
/// What is included is read first, as if it stood at the top of the file; of a key that is written
/// in several files the last one counts. Relative paths are relative to the file that names them.
/// Where there are hosts, a root makes one more, the last, for all other names.
///
/// # Errors
/// All mistakes that were found, by file and line.
pub fn read(path: &Path, flags: Flags<'_>) -> Result<Settings, Vec<Fault>> {
    let mut reader = reader::Reader::default();
    reader.read(path);
    reader.settings(flags)
}

/// As [`read`], of a file whose content is `bytes`.
///
/// # Errors
/// As those of [`read`].
pub fn read_bytes(path: &Path, bytes: Vec<u8>, flags: Flags<'_>) -> Result<Settings, Vec<Fault>> {
    let mut reader = reader::Reader::default();
    reader.read_bytes(path, bytes);
    reader.settings(flags)
}
