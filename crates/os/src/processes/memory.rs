//! How much memory there is for this process, and how it is given back.

use std::path::{Component, Path, PathBuf};

/// Memory, and who bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// So much.
    pub bytes: u64,
    /// Whether a control group leaves this process less than the machine has.
    pub is_of_group: bool,
}

/// The least of what the machine has and what the control groups of this process leave it, version
/// 1 or 2, those around its own too; `None` without /proc.
#[must_use]
pub fn memory() -> Option<Memory> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = machine_bytes(&read(Path::new("/proc/meminfo"))?)?;
    let told = [read(Path::new("/proc/self/cgroup")), read(Path::new("/proc/self/mountinfo"))];
    let [groups, mounts] = told.map(Option::unwrap_or_default);
    let group = group_bytes(&groups, &mounts, read).filter(|bytes| *bytes < machine);
    Some(Memory { bytes: group.unwrap_or(machine), is_of_group: group.is_some() })
}

/// What is allocated in a mapping of its own: such memory is the machine's again once it is freed.
/// glibc begins with as much, see mallopt(3).
#[cfg(target_env = "gnu")]
const OWN_MAPPING_BYTES: libc::c_int = 128 << 10;

/// Keeps large allocations in mappings of their own, in all threads, and in processes forked from
/// this one. Left alone, glibc puts an allocation among the small ones if one as large has been
/// freed before; in a cache of contents that come and go, holes between what came later take as
/// much memory again as the cache.
pub fn give_back_large_allocations() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers, and may be called at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
    }
}

/// Of proc_meminfo(5).
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The least of all groups' limits, by cgroups(7) and proc_pid_mountinfo(5).
fn group_bytes(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let files = groups.lines().flat_map(|line| files(line, mounts).unwrap_or_default());
    // "max" is no number, and no limit.
    files.filter_map(|file| read(&file)?.trim().parse().ok()).min()
}

/// Where the limits of one of its groups and of those around it are told, if they are of memory.
fn files(group: &str, mounts: &str) -> Option<Vec<PathBuf>> {
    let mut columns = group.splitn(3, ':').skip(1);
    let (controllers, path) = (columns.next()?, Path::new(columns.next()?));
    let is_v2 = controllers.is_empty();
    if !is_v2 && !controllers.split(',').any(|name| name == "memory") {
        return None;
    }
    let file = if is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
    let (root, point) = mounts.lines().find_map(|line| mount(line, is_v2))?;
    // A group outside of what is mounted is not to be seen: what is mounted is around it.
    let inside = path.strip_prefix(root).ok();
    let is_plain = |path: &&Path| path.components().all(|part| part != Component::ParentDir);
    let inside = inside.filter(is_plain).unwrap_or(Path::new(""));
    Some(inside.ancestors().map(|part| Path::new(point).join(part).join(file)).collect())
}

/// The root and the place of a mount, if it tells groups of that version, and of memory.
fn mount(line: &str, is_v2: bool) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let tells = match is_v2 {
        true => kind == "cgroup2",
        false => kind == "cgroup" && options.split(',').any(|name| name == "memory"),
    };
    tells.then_some((root, point))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "35 31 0:32 / /cg/memory rw shared:9 - cgroup cgroup rw,memory\n\
                      33 31 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
    const DOCKER: &str = "35 31 0:32 /docker/x /cg/memory ro - cgroup cgroup rw,memory\n";

    #[test]
    fn the_least_limit_of_all_groups_around_counts() {
        // Its groups, the mounts, files with what they say; the limit.
        type Row<'r> = (&'r str, &'r str, &'r [(&'r str, &'r str)], Option<u64>);
        let rows: [Row<'_>; 9] = [
            ("0::/a/b\n", V2, &[("/sys/fs/cgroup/a/b/memory.max", "4096\n")], Some(4096)),
            ("0::/a/b\n", V2, &[("/sys/fs/cgroup/a/b/memory.max", "max\n")], None),
            (
                "0::/a/b\n",
                V2,
                &[
                    ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("/sys/fs/cgroup/a/memory.max", "8192\n"),
                ],
                Some(8192),
            ),
            ("0::/\n", V2, &[], None),
            // Another's, seen from a namespace of groups.
            ("0::/../b\n", V2, &[("/sys/fs/cgroup/memory.max", "1\n")], Some(1)),
            (
                "9:cpu:/c\n4:memory:/a/b\n0::/\n",
                V1,
                &[
                    ("/cg/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
                    ("/cg/memory/a/memory.limit_in_bytes", "5\n"),
                    ("/cg/cpu/c/memory.limit_in_bytes", "3\n"),
                ],
                Some(5),
            ),
            (
                "4:memory:/docker/x/y\n",
                DOCKER,
                &[("/cg/memory/y/memory.limit_in_bytes", "7")],
                Some(7),
            ),
            ("4:memory:/other\n", DOCKER, &[("/cg/memory/memory.limit_in_bytes", "7")], Some(7)),
            ("nonsense\n::\n", "nonsense - x\n", &[], None),
        ];
        for (groups, mounts, files, expected) in rows {
            let read = |path: &Path| {
                let found = files.iter().find(|(name, _)| Path::new(name) == path);
                found.map(|(_, text)| String::from(*text))
            };
            assert_eq!(group_bytes(groups, mounts, read), expected, "{groups:?} {files:?}");
        }
    }

    #[test]
    fn a_machine_tells_its_memory() {
        assert_eq!(
            machine_bytes("MemTotal:       24684092 kB\nMemFree: 1 kB\n"),
            Some(25276510208)
        );
        assert_eq!(machine_bytes("MemFree: 1 kB\n"), None);
        assert!(memory().is_some_and(|memory| memory.bytes > 1 << 20));
    }
}
