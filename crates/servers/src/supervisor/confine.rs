//! What the server gives up before it serves: root at its start, and in each worker all files and
//! system calls that serving does not need. What cannot be given up ends it: an operator who asks
//! for a lock must not get an open door.

use std::io;
use std::path::{Path, PathBuf};

use os::landlock::{self, Grant, Rules};
use os::seccomp::{self, Kind};
use os::users;
use site::rules::Effect;

use crate::shared::failure::Failure;
use crate::shared::server::Server;
use crate::shared::settings::{Confinement, LogTo, Settings};
use crate::supervisor::voice::Voice;

const PASSWD: &str = "/etc/passwd";

/// What workers may reach, if they are confined to that. Looked up once for all workers: a worker
/// that takes another's place waits for no disk.
///
/// # Errors
/// The kernel has no Landlock, or no memory.
pub(crate) fn rules(settings: &Settings) -> Result<Option<Rules>, Failure> {
    if let Some(lacking) = lacking(settings).into_iter().next() {
        return Err(Failure::Machine(lacking));
    }
    if !applies(settings.landlock, landlock::version) {
        return Ok(None);
    }
    let grants = grants(settings);
    let grants: Vec<_> = grants.iter().map(|(path, grant)| (path.as_path(), *grant)).collect();
    let said = settings.said("landlock", "");
    let failed = |e| {
        Failure::Machine(format!("{said}: workers cannot be confined: {e}; off serves without"))
    };
    Rules::new(&grants).map(Some).map_err(failed)
}

/// In a thread of a worker that has started no other: from now on it, and those that it starts,
/// reach what serving needs, by such calls.
pub(crate) fn confine(server: &Server, calls: Kind) -> io::Result<()> {
    let settings = &server.settings;
    let failed = |flag: &str, e: &io::Error| io::Error::other(format!("--{flag}: {e}"));
    if let Some(rules) = &server.rules {
        rules.confine().map_err(|e| failed("landlock", &e))?;
    }
    if applies(settings.seccomp, seccomp::probe) {
        seccomp::confine(calls).map_err(|e| failed("seccomp", &e))?;
    }
    Ok(())
}

/// Whom the settings name, and how the server becomes that.
pub(crate) struct Identity {
    uid: u32,
    gid: u32,
    /// The flags, for the operator.
    asked: String,
}

/// Looks up whom the settings name; `None`: it stays who it is.
///
/// # Errors
/// Each of the two names that means nobody here: a line for the operator.
pub(crate) fn identity(settings: &Settings) -> Result<Option<Identity>, Vec<String>> {
    let Settings { user, group, .. } = settings;
    let gid = group.as_deref().map(|name| {
        users::group(Path::new(users::GROUPS), name)
            .map_err(|e| unknown(settings, "group", name, &e))
    });
    let row = user.as_deref().map(|name| {
        users::user(Path::new(PASSWD), name).map_err(|e| unknown(settings, "user", name, &e))
    });
    let (gid, row) = match (gid.transpose(), row.transpose()) {
        (Ok(gid), Ok(row)) => (gid, row),
        (gid, row) => return Err(gid.err().into_iter().chain(row.err()).collect()),
    };
    let Some(row) = row else {
        let asked = settings.said("group", group.as_deref().unwrap_or_default());
        return Ok(gid.map(|gid| Identity { uid: users::effective().0, gid, asked }));
    };
    let asked = settings.said("user", user.as_deref().unwrap_or_default());
    match gid.or(row.gid) {
        Some(gid) => Ok(Some(Identity { uid: row.uid, gid, asked })),
        None => Err(vec![format!("{asked}: {PASSWD} has no row for it; add --group")]),
    }
}

fn unknown(settings: &Settings, knob: &str, name: &str, error: &io::Error) -> String {
    let said = settings.said(knob, name);
    let table = if knob == "user" { PASSWD } else { users::GROUPS };
    match error.kind() {
        io::ErrorKind::NotFound if error.raw_os_error().is_none() => {
            format!("{said}: {table} has no such {knob}; name one that it has")
        }
        _ => format!("{said}: cannot read {table}: {error}; give numbers"),
    }
}

/// From now on the server is that user, and every worker that it starts.
pub(crate) fn become_identity(identity: Option<&Identity>) -> Result<(), Failure> {
    let Some(Identity { uid, gid, asked }) = identity else { return Ok(()) };
    users::become_user(*uid, *gid).map_err(|e| {
        let mend = "start as root, or as that user";
        Failure::Machine(format!("{asked}: cannot become user {uid} with group {gid}: {e}; {mend}"))
    })
}

/// Says what workers will be confined by.
pub(crate) fn announce(settings: &Settings, voice: &mut Voice<'_>) {
    let mut by = Vec::new();
    for (name, way, probed) in locks(settings) {
        match (way, probed) {
            (Confinement::Off, _) => {}
            (_, Ok(())) => by.push(name),
            (_, Err(e)) => {
                voice.warn(&format!("workers are not confined by {name}: the kernel says {e}"));
            }
        }
    }
    if !by.is_empty() {
        voice.tell(&format!("workers are confined by {}", by.join(" and ")));
    }
}

/// What was asked for and this machine has not, each a line for the operator.
pub(crate) fn lacking(settings: &Settings) -> Vec<String> {
    let all = locks(settings).into_iter().filter(|(_, way, _)| *way == Confinement::On);
    let lacking = all.filter_map(|(name, _, probed)| {
        let said = settings.said(name, "on");
        let mend = "auto serves without";
        Some(format!("{said}: this kernel has it not or forbids it: {}; {mend}", probed.err()?))
    });
    lacking.collect()
}

fn locks(settings: &Settings) -> [(&'static str, Confinement, io::Result<()>); 2] {
    [
        ("landlock", settings.landlock, landlock::version().map(drop)),
        ("seccomp", settings.seccomp, seccomp::probe()),
    ]
}

/// What workers may reach: what is served, and the logs by path, because they are opened again.
fn grants(settings: &Settings) -> Vec<(PathBuf, Grant)> {
    let mut grants = Vec::new();
    let effects = settings.rules.hosts.iter().flat_map(|host| &host.rules).map(|rule| &rule.effect);
    // Where there are hosts, the root is one of theirs or nobody's.
    let root = settings.rules.hosts.is_empty().then(|| settings.root.clone());
    let mut roots = Vec::from_iter(root);
    for effect in effects {
        match effect {
            Effect::Root(root) => roots.push(root.clone()),
            Effect::FollowLinks(places) => roots.extend(places.iter().cloned()),
            Effect::UserDirectories(name) => {
                let homes = users::homes(Path::new(PASSWD)).unwrap_or_default();
                roots.extend(homes.into_iter().map(|home| home.join(name)));
                grants.push((PathBuf::from(PASSWD), Grant::Read));
            }
            _ => {}
        }
    }
    for root in roots.iter().filter_map(|root| std::path::absolute(root).ok()) {
        // Without a slash at its end, which would follow a link.
        let root: PathBuf = root.components().collect();
        grants.extend(site::releases(&root).map(|releases| (releases, Grant::Read)));
        grants.push((root, Grant::Read));
    }
    let logs = settings.access_log.iter().chain([&settings.error_log]);
    for log in logs.filter_map(LogTo::path) {
        grants.push((os::output::place(log), Grant::Write));
    }
    if settings.trace.is_some() {
        // A trace names threads, and /proc knows their names.
        grants.push((PathBuf::from("/proc"), Grant::Read));
    }
    grants
}

fn applies<T>(way: Confinement, probe: impl FnOnce() -> io::Result<T>) -> bool {
    match way {
        Confinement::On => true,
        Confinement::Off => false,
        Confinement::Auto => probe().is_ok(),
    }
}
