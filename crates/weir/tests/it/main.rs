//! The binary, run as its users run it. Tests wait for events; they run side by side, because
//! most of their time is waiting.
#![forbid(unsafe_code)]

mod admin;
mod clients;
mod config;
mod dialogs;
mod faults;
mod fleet;
mod folder;
mod help;
mod host;
mod lab;
mod load;
mod named;
mod names;
mod passwords;
mod rings;
mod savings;
mod several;
mod sim;
mod stall;
#[path = "../support/mod.rs"]
mod support;
mod trace;
mod translations;

/// Architectures that are tested at the same time: as many servers, clients and threads of theirs
/// as a machine with two processors still serves before any patience of a test is over.
const SERVERS_AT_ONCE_MAX: usize = 12;
