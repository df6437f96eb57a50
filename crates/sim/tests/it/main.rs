//! The simulator: its engine against queueing theory, its models against the papers.
#![forbid(unsafe_code)]

mod doubled;
mod links;
mod models;
mod open;
mod overload;
mod plain;
mod queueing;
mod resources;
mod table_1;
mod table_5;
mod theory;
mod trace;
mod words;
