//! Counters, knobs, orders and quotas, and loom models of what threads share.
#![forbid(unsafe_code)]

mod counters;
mod error_log;
mod knobs;
mod orders;
mod pool_model;
mod quotas;
mod turn_model;
