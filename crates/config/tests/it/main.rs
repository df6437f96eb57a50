//! `weir.toml`: what it comes to, and the mistakes that it may hold.
#![forbid(unsafe_code)]

mod files;
mod folder;
mod mistakes;
