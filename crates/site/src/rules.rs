//! What the operator has written about hosts and paths, as values.
//!
//! A request is for the first host whose names it matches. There the rules are looked at in the
//! order in which they were written: those whose prefix the path has and that set something apply,
//! and the first of them that answers ends it.

use std::path::PathBuf;
use std::sync::Arc;

use h1::Status;

/// All hosts, in written order. None: one host for every name that serves one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// See [`Host`].
    pub hosts: Vec<Host>,
}

impl Rules {
    /// Whether any of them asks for a password.
    #[must_use]
    pub fn ask_for_passwords(&self) -> bool {
        let mut rules = self.hosts.iter().flat_map(|host| &host.rules);
        rules.any(|rule| matches!(rule.effect, Effect::Auth { .. }))
    }
}

/// One virtual host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// In lower case and without a port: `example.org`, `*.example.org` for all names below it, or
    /// `*` for every name.
    pub names: Vec<String>,
    /// In written order.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The prefix that a path must have, whole segments of it: `/docs` is a prefix of `/docs` and
    /// `/docs/a`, not of `/docsa`. Begins with a slash; `/` is a prefix of all.
    pub at: String,
    /// What it does.
    pub effect: Effect,
    /// Where it was written.
    pub origin: Origin,
}

/// A place in a file that the operator wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, as the operator named it.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
}

/// What a rule does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Answers: what stands behind the prefix is a path beneath this directory.
    Root(PathBuf),
    /// Answers, for a prefix whose next segment is `~name`: a path beneath this directory in that
    /// user's home (JAWS97 section 3.1's tilde expander).
    UserDirectories(String),
    /// Answers: what stands behind the prefix is appended to `to`.
    Redirect {
        /// A path, or a whole URI.
        to: String,
        /// 301, 302, 303, 307 or 308.
        status: Status,
    },
    /// Answers with a status and nothing else, 403 or 410 for instance.
    Answer(Status),
    /// Sets whether directories without an index file are listed; the last such rule holds.
    Listing(bool),
    /// Sets the file, a path of this host, that is served where there is none: for applications
    /// that are one page. The last such rule holds.
    Fallback(String),
    /// Sets the file, a path of this host, that is the content of replies with this status; the
    /// last such rule holds. It is read at the start, and is for everybody to see, also where a
    /// password is asked for.
    ErrorPage {
        /// 400 and above.
        status: Status,
        /// A path of this host.
        file: String,
    },
    /// Adds a field to replies; a later one of the same name is added, too.
    Field {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Lets pages of other origins read replies (CORS): `*`, or each as `https://example.org`.
    /// Those of several rules all may.
    Cors {
        /// Who may.
        origins: Vec<String>,
    },
    /// Asks for a name and a password (RFC 7617). Where several rules ask, all must let the client
    /// in, so that no order of rules opens a door; the last one's realm is shown.
    Auth {
        /// What the client shows its user.
        realm: String,
        /// Names and hashes of passwords: argon2 or bcrypt in their usual text forms.
        users: Vec<(String, String)>,
    },
}
