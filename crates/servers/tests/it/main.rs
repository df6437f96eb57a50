//! Counters, knobs, orders and quotas, and loom models of what threads share.
#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "each model includes the locks that loom explores")]

mod counters;
mod error_log;
mod knobs;
mod orders;
mod pool_model;
mod quotas;
mod turn_model;
