//! What supervisor, workers and operator share.

pub(crate) mod admissions;
pub(crate) mod architecture;
pub(crate) mod auth_slots;
pub(crate) mod choice;
pub mod counters;
pub mod dials;
pub mod error_log;
pub(crate) mod failure;
mod hint_quota;
pub(crate) mod ledger;
pub(crate) mod line_file;
pub(crate) mod listening;
pub(crate) mod log;
pub mod orders;
pub mod performer;
pub mod quotas;
pub(crate) mod scoreboard;
pub(crate) mod server;
pub mod settings;
pub(crate) mod stops;
pub mod tally;
pub(crate) mod trace;
pub(crate) mod verifiers;
