use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cache::PolicyKind;

use crate::Hints;
use crate::rules::{Origin, Rule, Rules};
use crate::shard::REFUSALS_SHARE;

/// What the operator decides about a site.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of memory for answers: names, heads and small files. 64 MiB hold the hot part of most
    /// sites and are little beside the page cache, which serves the rest.
    pub cache_bytes: u64,
    /// Open files that are kept. They are taken from what RLIMIT_NOFILE leaves for connections;
    /// 1,024 go beside several thousand connections within the usual limits. What is let go while
    /// it is being sent stays open until then, on top of this: at most one file a connection.
    pub cache_files: usize,
    /// Locks over which the cache is spread, rounded up to a power of two; the bounds are split
    /// among them. One where one thread asks; more than cores where many do (JAWS97 3.2.4).
    pub shards: usize,
    /// Whether several threads may find answers in such a part at the same time, each with the lock
    /// of its answer alone (JAWS97 3.2.4). Of no effect where a hit changes more than its answer;
    /// see [`PolicyKind::hits_are_local`].
    pub entry_locks: bool,
    /// Which answers go when there is no room. SIEVE has more hits than LRU, and each costs less.
    pub policy: PolicyKind,
    /// Paths that will be asked for, to a policy that wants to be told.
    pub hints: Hints,
    /// Whether a reply is kept with its head, ready to be sent (JAWS97 3.2.2 and 4).
    pub head_cache: bool,
    /// Bytes up to which a file is kept in memory instead of open. Copying so much costs about
    /// what `sendfile` costs on top of `send`: 64 KiB.
    pub small_bytes_max: u64,
    /// How long an answer is given without asking the disk again; 0: it is asked each time. While
    /// it is asked for one client, others get the old answer for at most ten times as long. A
    /// change shows within one second by 900 ms: a tenth is left for the way from the disk to
    /// here, which may lead through a helper.
    pub answer_age: Duration,
    /// Names that are tried, in order, where a directory is asked for.
    pub index_files: Vec<String>,
    /// Hosts and their rules. None: one root for every host, and nothing else.
    pub rules: Rules,
    /// The table of accounts that tells where users are at home (passwd(5)).
    pub accounts: PathBuf,
}

impl Settings {
    /// Bytes of the largest file that can be kept in memory: one part has what others have not,
    /// less what refusals may take, and a name and a head beside.
    #[must_use]
    pub const fn largest_bytes(&self) -> u64 {
        let part = self.cache_bytes / self.shards.next_power_of_two() as u64;
        (part - part / REFUSALS_SHARE).saturating_sub(1 << 10)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 64 << 20,
            cache_files: 1024,
            shards: 1,
            entry_locks: false,
            policy: PolicyKind::Sieve,
            hints: Hints::default(),
            head_cache: true,
            small_bytes_max: 64 << 10,
            answer_age: Duration::from_millis(900),
            index_files: vec!["index.html".into()],
            rules: Rules::default(),
            accounts: "/etc/passwd".into(),
        }
    }
}

/// Why a site cannot be served: a line for the operator.
#[derive(Debug)]
pub enum Error {
    /// A root cannot be looked into.
    Root {
        /// Which.
        root: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A rule cannot be obeyed.
    Rule {
        /// Where it was written.
        origin: Origin,
        /// Why, and what to do.
        what: String,
    },
}

impl Error {
    pub(crate) fn of_rule(rule: &Rule, what: String) -> Self {
        Self::Rule { origin: rule.origin.clone(), what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (root, source) = match self {
            Self::Rule { origin, what } => {
                return write!(f, "{origin:#}: {what}");
            }
            Self::Root { root, source } => (root.display(), source),
        };
        match source.kind() {
            io::ErrorKind::NotFound => write!(f, "no such directory: {root}"),
            io::ErrorKind::NotADirectory => write!(f, "not a directory: {root}"),
            io::ErrorKind::PermissionDenied => write!(
                f,
                "no permission to look into {root}: this user needs search (x) permission on it \
                 and on every directory above it"
            ),
            _ => write!(f, "cannot serve {root}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Root { source, .. } => Some(source),
            Self::Rule { .. } => None,
        }
    }
}
