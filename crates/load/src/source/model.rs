//! What the distributions of a workload come to, without drawing.

use crate::behaviour::Keeps;
use crate::files::size_class_name;

/// See the head of this file. What is not known is left out.
#[derive(Debug, Clone)]
pub struct Model {
    /// How likely a request is for each file, by its place; empty: not known.
    pub shares: Vec<f64>,
    /// How popularity falls with rank.
    pub popularity: Option<Popularity>,
    /// Requests of a session, on the average.
    pub requests: Option<f64>,
    /// Connections that a session has, if they are kept, on the average.
    pub connections: Option<f64>,
    /// The share of requests that are conditional.
    pub conditional: Option<f64>,
    /// Connections of one session at the same time; the behaviour of a run takes it, unless it is
    /// told otherwise.
    pub parallel: u16,
    /// How long its clients keep a connection, where its source says so.
    pub keeps: Option<Keeps>,
    /// A class of files in words.
    pub class_name: fn(u16) -> String,
}

/// Popularity by Zipf's law: the share of rank `n` is in proportion to `n` to the power of minus
/// the exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Popularity {
    /// The exponent.
    pub exponent: f64,
    /// Of what it is: files, directories.
    pub of: &'static str,
    /// How many files, one after the other, share one rank.
    pub files_each: u32,
}

impl Popularity {
    /// Of single files.
    pub const FILES: Self = Self { exponent: 1.0, of: "files", files_each: 1 };
}

impl Default for Model {
    fn default() -> Self {
        Self {
            shares: Vec::new(),
            popularity: None,
            requests: None,
            connections: None,
            conditional: None,
            parallel: 1,
            keeps: None,
            class_name: size_class_name,
        }
    }
}
