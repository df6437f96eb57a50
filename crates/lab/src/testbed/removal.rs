//! The end of a testbed, whoever made it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use measure::Duration;
use os::Stranger;

use super::disk::{self, DISKS};
use super::groups::Roots;
use super::name::{Maker, Name};
use super::network::NAMES;

/// What the kernel keeps of a testbed until it is told otherwise.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    /// Files of network namespaces, which the devices in them end with.
    pub(super) namespaces: Vec<PathBuf>,
    /// Directories of control groups.
    pub(super) groups: Vec<PathBuf>,
    /// Directories in which disks are mounted.
    pub(super) disks: Vec<PathBuf>,
}

/// A process that is killed may have begun another one.
const ROUNDS_MAX: usize = 16;

/// How long a process that was killed may take to end: one that waits for a slow disk ends when
/// that has answered.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How often a group is tried that the kernel has not seen the end of yet, and how long is waited
/// in between: nothing tells when it has.
const BUSY_TRIES_MAX: usize = 200;
const BUSY_WAIT: Duration = Duration::from_millis(5);

impl Belongings {
    /// Ends what runs there, then removes it. Each line tells of something that stays.
    pub(super) fn remove(&self) -> Result<(), Vec<String>> {
        let mut complaints = Vec::new();
        self.kill().unwrap_or_else(|error| complaints.push(error));
        for directory in &self.disks {
            complain(&mut complaints, directory, disk::remove(directory));
        }
        for namespace in self.namespaces.iter().filter(|namespace| namespace.exists()) {
            let done = os::namespace::remove_name(namespace);
            complain(&mut complaints, namespace, done);
        }
        for group in &self.groups {
            complain(&mut complaints, group, remove_group(group));
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    }

    /// The processes in it, without this one.
    pub(super) fn processes(&self) -> Vec<u32> {
        let there = self
            .namespaces
            .iter()
            .flat_map(|namespace| os::namespace::inhabitants(namespace).unwrap_or_default());
        let members = self.groups.iter().flat_map(|group| {
            let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>()
        });
        // 0 is a process that this one cannot see.
        let mut all: Vec<u32> =
            there.chain(members).filter(|&pid| pid != 0 && pid != os::process::id()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn kill(&self) -> Result<(), String> {
        let failed = |error: io::Error| format!("a process could not be ended: {error}");
        for _ in 0..ROUNDS_MAX {
            let seen = self.processes();
            if seen.is_empty() {
                return Ok(());
            }
            let held: Vec<(u32, Stranger)> =
                seen.into_iter().filter_map(|pid| Some((pid, Stranger::of(pid).ok()??))).collect();
            // What is seen again while it is held on to is the same.
            let seen_again = self.processes();
            let ours: Vec<&Stranger> =
                held.iter().filter(|(pid, _)| seen_again.contains(pid)).map(|(_, p)| p).collect();
            for process in &ours {
                process.kill().map_err(failed)?;
            }
            for process in ours {
                process.has_ended(ENDS_WITHIN).map_err(failed)?;
            }
        }
        Err(format!("processes {:?} do not end", self.processes()))
    }
}

fn complain(complaints: &mut Vec<String>, path: &Path, done: io::Result<()>) {
    match done {
        Ok(()) => {}
        // Another lab may have seen it, too.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => complaints.push(format!("{}: {error}", path.display())),
    }
}

fn remove_group(group: &Path) -> io::Result<()> {
    for _ in 1..BUSY_TRIES_MAX {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(BUSY_WAIT),
            done => return done,
        }
    }
    fs::remove_dir(group)
}

/// Everything on this machine that has a testbed's name, whoever made it.
pub(super) fn found(roots: &Roots) -> BTreeMap<Name, Belongings> {
    let mut found = BTreeMap::<Name, Belongings>::new();
    let mut look = |place: &Path, add: fn(&mut Belongings, PathBuf)| {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            if let Some((name, _)) = entry.file_name().to_str().and_then(Name::of) {
                add(found.entry(name).or_default(), entry.path());
            }
        }
    };
    look(Path::new(NAMES), |belongings, path| belongings.namespaces.push(path));
    look(Path::new(DISKS), |belongings, path| belongings.disks.push(path));
    for place in roots.places() {
        look(place, |belongings, path| belongings.groups.push(path));
    }
    found
}

/// Removes what labs have left behind that ended before they could, but for what is to last. Each
/// line tells of something that stays.
pub(super) fn sweep(roots: &Roots, is_kept: impl Fn(&Name) -> bool) -> Vec<String> {
    let left_behind =
        found(roots).into_iter().filter(|(name, _)| name.maker() == Maker::Ended && !is_kept(name));
    left_behind.filter_map(|(_, belongings)| belongings.remove().err()).flatten().collect()
}
