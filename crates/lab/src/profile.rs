//! What is seen of a server from within, the same for every one.

use serde::{Deserialize, Serialize};

/// What is looked at; each costs something, so they are not all on in one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// System calls by the categories of JAWS97 table 2: how many, and for how long.
    Calls,
    /// Where the processor's time goes, by the categories of Pariag07 table 1.
    Shares,
}
