//! What experiments ask for, and what they make of the answers: against servers of which all is
//! known, because they are a formula.

mod brackets;
mod choi05;
mod claims;
mod designs;
mod disk;
mod failed;
mod ignores;
pub(crate) mod model;
mod pages;
mod policies;
mod searches;
mod targets;
mod validation;
mod words;
