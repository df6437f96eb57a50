//! One connection against a peer and a clock that are moved by hand.

mod counted;
mod cuts;
mod dialogs;
mod driver;
mod states;
mod timeouts;
