//! What the operator has written about hosts and paths, as values.
//!
//! A request is for the first host whose names it matches. There the rules are looked at in the
//! order in which they were written: those whose prefix the path has and that set something apply,
//! and the first of them that answers ends it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use h1::Status;
pub use os::Network;

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
        self.effects().any(|effect| matches!(effect, Effect::Auth { .. }))
    }

    /// Whether any of them asks from which address a request is.
    #[must_use]
    pub fn ask_for_addresses(&self) -> bool {
        self.effects().any(|effect| matches!(effect, Effect::Allow(_) | Effect::Deny(_)))
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.hosts.iter().flat_map(|host| &host.rules).map(|rule| &rule.effect)
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
    /// `/docs/a`, not of `/docsa`. Begins with a slash; `/` is a prefix of all. Where the last
    /// segment is a star and an ending that begins with a dot, `/docs/*.css`, what stands before
    /// is the prefix, and the last segment of a path beneath it must have that ending. An empty
    /// last segment counts as the names of the index files.
    pub at: String,
    /// What it does.
    pub effect: Effect,
    /// Where it was written.
    pub origin: Origin,
}

impl Rule {
    /// What a path must begin with, in whole segments; empty for all paths.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.parts().map_or(&self.at, |(prefix, _)| prefix)
    }

    /// What the last segment of a path must end with, its dot included; nothing: whatever it is.
    #[must_use]
    pub fn ending(&self) -> Option<&str> {
        self.parts().map(|(_, ending)| ending)
    }

    fn parts(&self) -> Option<(&str, &str)> {
        self.at.rsplit_once("/*")
    }
}

/// Where the operator wrote it. `{}` shows the place, `{:#}` what it is as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, as the operator named it; or a flag of the command line.
    pub file: Arc<str>,
    /// None of a flag.
    pub place: Option<Place>,
    /// With the tables that it is in, `host.rule.root` for instance; empty of a flag.
    pub key: Arc<str>,
}

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl Origin {
    /// A flag with its value, as the operator wrote them.
    #[must_use]
    pub fn flag(written: &str) -> Self {
        Self { file: written.into(), place: None, key: "".into() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if f.alternate() && !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        Ok(())
    }
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
    /// Sets where symbolic links may lead that lead out of the root: to what lies beneath these
    /// directories. The last such rule holds. Links of users are never followed out.
    FollowLinks(Vec<PathBuf>),
    /// Sets whether a name without a dot also shows the page whose name has `.html` behind it,
    /// where there is no file by that name alone: `/about` shows `about.html`. The last such rule
    /// holds. In a host that has one, a last segment without a dot counts for rules by ending as
    /// one with `.html`.
    CleanUrls(bool),
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
    /// Sets the media type of files: for an ending without its dot (`m4s`, `tar.gz`), or for `*`,
    /// which is every name, what `Content-Type` says. A longer ending wins; of several rules the
    /// last one that fits a name holds.
    Types(Vec<(String, String)>),
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
    /// Lets in only who is in one of these networks; all others get 403. Where several rules allow,
    /// all must let the client in, so that no order of rules opens a door. A client without an
    /// address (of a Unix socket) is in no network.
    Allow(Vec<Network>),
    /// Shuts out who is in one of these networks.
    Deny(Vec<Network>),
}

impl Effect {
    /// Whether it keeps what is there from clients: it then holds under all names that show the
    /// same.
    #[must_use]
    pub const fn closes(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Auth { .. } | Self::Allow(_) | Self::Deny(_))
    }
}
