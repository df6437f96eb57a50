//! Control groups: how much the server may use, in both of their versions (cgroups(7)).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Layout;
use super::name::Name;
use crate::Failure;

/// What can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    Processors,
    Memory,
}

/// Where a resource is limited: directories of groups are made in this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    /// Version 1: a hierarchy for each resource, or for a few.
    One(PathBuf),
    /// Version 2: one for all.
    Two(PathBuf),
}

/// What of it this machine has.
#[derive(Debug, Default)]
pub(super) struct Roots {
    found: BTreeMap<Resource, Root>,
    /// Of version 2, which tells of any group what it has used, whatever is limited in version 1.
    two: Option<PathBuf>,
}

impl Resource {
    pub(super) const ALL: [Self; 2] = [Self::Processors, Self::Memory];

    /// The controller's name, in versions 1 and 2.
    pub(super) fn controllers(self) -> (&'static str, &'static str) {
        match self {
            Self::Processors => ("cpu", "cpu"),
            Self::Memory => ("memory", "memory"),
        }
    }

    /// The file that a kernel of version 1 has where it was built with the limit.
    pub(super) fn file_of_one(self) -> &'static str {
        match self {
            Self::Processors => "cpu.cfs_quota_us",
            Self::Memory => "memory.limit_in_bytes",
        }
    }

    /// What a layout has to say for it to be needed.
    fn is_limited(self, layout: &Layout) -> bool {
        match self {
            Self::Processors => layout.quota_percent.is_some(),
            Self::Memory => layout.memory_bytes.is_some(),
        }
    }

    /// For whoever misses it.
    pub(super) fn limit(self) -> &'static str {
        match self {
            Self::Processors => "quota of the server's processors",
            Self::Memory => "limit on the server's memory",
        }
    }
}

impl Roots {
    /// Of this machine.
    pub(super) fn here() -> Self {
        Self::of(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// From what is mounted (proc_pid_mountinfo(5)). A controller is in one version only.
    fn of(mounts: &str) -> Self {
        let (mut found, mut unified) = (BTreeMap::new(), None);
        for line in mounts.lines() {
            let Some((ours, theirs)) = line.split_once(" - ") else { continue };
            let Some(place) = ours.split(' ').nth(4) else { continue };
            let place = PathBuf::from(place);
            let kind = theirs.split(' ').next().unwrap_or_default();
            let controllers = match kind {
                "cgroup" => theirs.rsplit(' ').next().unwrap_or_default().replace(',', " "),
                "cgroup2" => {
                    unified.get_or_insert_with(|| place.clone());
                    fs::read_to_string(place.join("cgroup.controllers")).unwrap_or_default()
                }
                _ => continue,
            };
            for resource in Resource::ALL {
                let (one, two) = resource.controllers();
                let (name, root) = match kind {
                    "cgroup" => (one, Root::One(place.clone())),
                    _ => (two, Root::Two(place.clone())),
                };
                if controllers.split_ascii_whitespace().any(|controller| controller == name) {
                    found.entry(resource).or_insert(root);
                }
            }
        }
        Self { found, two: unified }
    }

    pub(super) fn of_resource(&self, resource: Resource) -> Option<&Root> {
        self.found.get(&resource)
    }

    /// All directories in which groups may have been made.
    pub(super) fn places(&self) -> Vec<&Path> {
        let limited = self.found.values().map(Root::path);
        let mut places: Vec<&Path> = limited.chain(self.two.as_deref()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Makes the groups that a layout needs, with its limits; and, on hosts of their own, the one
    /// that tells what the server uses, where it can be made: what is used is read of its processes
    /// else. `made` has the directory of each as soon as it is there.
    pub(super) fn make(
        &self,
        name: &Name,
        layout: &Layout,
        made: &mut Vec<PathBuf>,
    ) -> Result<(), Failure> {
        for resource in Resource::ALL {
            if resource.is_limited(layout) {
                let group = self.group(resource, name, made)?;
                group.limit(layout)?;
            }
        }
        let tells = self.two.as_ref().map(|root| root.join(name.to_string()));
        if let Some(group) = tells.filter(|group| !layout.is_loopback && !made.contains(group))
            && fs::create_dir(&group).is_ok()
        {
            made.push(group);
        }
        Ok(())
    }

    fn group(
        &self,
        resource: Resource,
        name: &Name,
        made: &mut Vec<PathBuf>,
    ) -> Result<Group, Failure> {
        let (one, two) = resource.controllers();
        let Some(root) = self.of_resource(resource) else {
            let limit = resource.limit();
            return Err(Failure::Machine(format!(
                "a {limit} needs control groups: neither the controller {one} of version 1 nor \
                 {two} of version 2 is mounted here"
            )));
        };
        let group = Group::of(root, resource, name);
        if !made.contains(&group.directory) {
            fs::create_dir(&group.directory).map_err(|error| refused(&group.directory, &error))?;
            made.push(group.directory.clone());
        }
        if let Root::Two(root) = root {
            hand_down(root, two)?;
        }
        Ok(group)
    }
}

impl Root {
    fn path(&self) -> &Path {
        match self {
            Self::One(path) | Self::Two(path) => path,
        }
    }
}

/// Has groups right below the root limit this resource. It stays so: others may rely on it by the
/// time this testbed goes.
fn hand_down(root: &Path, controller: &str) -> Result<(), Failure> {
    let file = root.join("cgroup.subtree_control");
    let already = fs::read_to_string(&file).unwrap_or_default();
    if already.split_ascii_whitespace().any(|other| other == controller) {
        return Ok(());
    }
    fs::write(&file, format!("+{controller}")).map_err(|error| refused(&file, &error))
}

/// One group and what it limits.
#[derive(Debug)]
struct Group {
    directory: PathBuf,
    is_two: bool,
    resource: Resource,
}

impl Group {
    fn of(root: &Root, resource: Resource, name: &Name) -> Self {
        let is_two = matches!(root, Root::Two(_));
        Self { directory: root.path().join(name.to_string()), is_two, resource }
    }

    fn limit(&self, layout: &Layout) -> Result<(), Failure> {
        match self.resource {
            Resource::Processors => layout.quota_percent.map_or(Ok(()), |percent| {
                let Quota { quota_us, period_us } = Quota::of(percent);
                if self.is_two {
                    return self.set("cpu.max", &format!("{quota_us} {period_us}"));
                }
                self.set("cpu.cfs_period_us", &period_us.to_string())?;
                self.set("cpu.cfs_quota_us", &quota_us.to_string())
            }),
            Resource::Memory => layout.memory_bytes.map_or(Ok(()), |bytes| {
                let bytes = bytes.to_string();
                let (most, swap) = match self.is_two {
                    true => ("memory.max", ("memory.swap.max", "0")),
                    // Memory and swap together.
                    false => {
                        ("memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", bytes.as_str()))
                    }
                };
                self.set(most, &bytes)?;
                // What does not fit is not there: a kernel without the file has no swap to go to.
                if self.directory.join(swap.0).exists() { self.set(swap.0, swap.1) } else { Ok(()) }
            }),
        }
    }

    fn set(&self, file: &str, value: &str) -> Result<(), Failure> {
        let file = self.directory.join(file);
        fs::write(&file, value).map_err(|error| {
            if !file.exists() {
                let limit = self.resource.limit();
                return Failure::Machine(format!(
                    "a {limit} is not in this kernel: there is no {}",
                    file.display()
                ));
            }
            Failure::machine(format!("{} = {value}", file.display()), error)
        })
    }
}

/// Has the group of a testbed use no more of the processors than its layout says, or as much as it
/// wants to.
pub(super) fn limit_processors(
    roots: &Roots,
    name: &Name,
    layout: &Layout,
    is_limited: bool,
) -> Result<(), Failure> {
    let root = roots.of_resource(Resource::Processors);
    let Some(root) = root.filter(|_| Resource::Processors.is_limited(layout)) else {
        return Ok(());
    };
    let group = Group::of(root, Resource::Processors, name);
    match (is_limited, group.is_two) {
        (true, _) => group.limit(layout),
        (false, true) => group.set("cpu.max", "max"),
        (false, false) => group.set("cpu.cfs_quota_us", "-1"),
    }
}

/// How long processes may run in each period, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) quota_us: u32,
    pub(super) period_us: u32,
}

/// The kernel's default is 100 ms: a server with a quarter of a processor would run for 25 ms and
/// stand still for 75, and that is what its response times would tell of.
const PERIOD_US: u32 = 4_000;

/// The kernel takes no shorter one.
const QUOTA_MIN_US: u32 = 1_000;

impl Quota {
    /// Small ones have as long a period as the shortest quota takes.
    pub(super) fn of(percent: u32) -> Self {
        let percent = percent.max(1);
        let period_us = PERIOD_US.max((QUOTA_MIN_US * 100).div_ceil(percent));
        let quota_us = u64::from(percent) * u64::from(period_us) / 100;
        Self { quota_us: u32::try_from(quota_us).unwrap_or(u32::MAX), period_us }
    }
}

/// With what to do about it.
fn refused(file: &Path, error: &io::Error) -> Failure {
    let file = file.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::Machine(format!(
            "{file}: {error}: only root makes control groups; leave the server's limits out, or \
             run as root"
        )),
        io::ErrorKind::ReadOnlyFilesystem => Failure::Machine(format!(
            "{file}: {error}: this container may not make control groups; leave the server's \
             limits out"
        )),
        // Of a group that hands nothing down yet, as a container's first often is.
        io::ErrorKind::ResourceBusy => Failure::Machine(format!(
            "{file}: {error}: as long as this group has processes of its own, groups in it limit \
             nothing; leave the server's limits out, or move them into another group"
        )),
        _ => Failure::Machine(format!("{file}: {error}")),
    }
}

#[cfg(test)]
#[path = "groups/tests.rs"]
mod tests;
