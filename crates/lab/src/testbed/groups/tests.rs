use super::*;

/// A directory with what a kernel would have mounted, as far as this looks at it.
struct Machine {
    root: tempfile::TempDir,
}

const ONE: &str = "cgroup cgroup rw";
const TWO: &str = "cgroup2 cgroup2 rw";

impl Machine {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A line of mountinfo, and its directory.
    fn mount(&self, at: &str, kind: &str) -> String {
        let path = self.path(at);
        fs::create_dir_all(&path).unwrap();
        format!("35 23 0:32 / {} rw,relatime shared:7 - {kind}\n", path.display())
    }

    /// All that a layout puts into files, as `FILE: TEXT`, by name.
    fn made(&self, roots: &Roots, layout: &Layout) -> Result<Vec<String>, Failure> {
        let name = Name::new().unwrap();
        let mut directories = Vec::new();
        roots.make(&name, layout, &mut directories)?;
        let mut texts = Vec::new();
        for directory in directories {
            assert!(directory.ends_with(name.to_string()), "{directory:?}");
            for file in fs::read_dir(directory).unwrap() {
                let file = file.unwrap();
                let text = fs::read_to_string(file.path()).unwrap();
                texts.push(format!("{}: {text}", file.file_name().to_string_lossy()));
            }
        }
        texts.sort();
        Ok(texts)
    }
}

const LIMITED: Layout = Layout {
    is_loopback: false,
    quota_percent: Some(25),
    memory_bytes: Some(1 << 30),
    disk: None,
    round_trip_ms: None,
    wire_mbit: None,
    wire_mtu_bytes: None,
    syns: None,
};

#[test]
fn version_one_has_a_group_in_each_hierarchy() {
    let machine = Machine::new();
    let mounts = [
        machine.mount("cpu", &format!("{ONE},cpu,cpuacct")),
        machine.mount("memory", &format!("{ONE},memory")),
        machine.mount("cpuset", &format!("{ONE},cpuset")),
        machine.mount("unified", TWO),
    ];
    let roots = Roots::of(&mounts.concat());
    assert_eq!(roots.places().len(), 3);
    let expected =
        ["cpu.cfs_period_us: 4000", "cpu.cfs_quota_us: 1000", "memory.limit_in_bytes: 1073741824"];
    assert_eq!(machine.made(&roots, &LIMITED).unwrap(), expected);
    let none = machine.made(&roots, &Layout::default()).unwrap();
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn version_two_has_one_group_for_all() {
    let machine = Machine::new();
    let mount = machine.mount("cgroup", TWO);
    let root = machine.path("cgroup");
    fs::write(root.join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
    let roots = Roots::of(&mount);
    assert_eq!(roots.places(), [root.as_path()]);
    let expected = ["cpu.max: 1000 4000", "memory.max: 1073741824"];
    let handed_down = root.join("cgroup.subtree_control");
    assert_eq!(machine.made(&roots, &LIMITED).unwrap(), expected);
    // A file of a directory keeps what was written last; the kernel's keeps all.
    assert_eq!(fs::read_to_string(&handed_down).unwrap(), "+memory");
    fs::write(&handed_down, "cpu io memory\n").unwrap();
    assert_eq!(machine.made(&roots, &LIMITED).unwrap(), expected);
    assert_eq!(fs::read_to_string(&handed_down).unwrap(), "cpu io memory\n", "not touched");
}

#[test]
fn what_is_not_there_is_said() {
    let machine = Machine::new();
    let cpu = machine.mount("cpu", &format!("{ONE},cpu"));
    let unified = machine.mount("unified", TWO);
    let memory = Layout { memory_bytes: Some(1), ..Layout::default() };
    let quota = Layout { quota_percent: Some(1), ..Layout::default() };
    let rows: [(&str, &Layout, Option<&str>); 5] = [
        (&cpu, &quota, None),
        (&cpu, &memory, Some("a limit on the server's memory needs control groups")),
        (&unified, &quota, Some("neither the controller cpu of version 1 nor cpu of version 2")),
        ("", &memory, Some("neither the controller memory of version 1 nor memory of version 2")),
        ("1 2 3\nno such - line\n - \n", &quota, Some("needs control groups")),
    ];
    for (mounts, layout, expected) in rows {
        let failure = machine.made(&Roots::of(mounts), layout).err().map(|e| e.to_string());
        let is_expected = match (&failure, expected) {
            (Some(failure), Some(expected)) => failure.contains(expected),
            (failure, expected) => failure.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{mounts}: {failure:?}");
    }
}

#[test]
fn quotas_are_no_shorter_than_the_kernel_takes() {
    let rows = [
        (100, 4_000, 4_000),
        (25, 1_000, 4_000),
        (50, 2_000, 4_000),
        (150, 6_000, 4_000),
        (10, 1_000, 10_000),
        (3, 1_000, 33_334),
        (1, 1_000, 100_000),
        (0, 1_000, 100_000),
        (u32::MAX, u32::MAX, 4_000),
    ];
    for (percent, quota_us, period_us) in rows {
        assert_eq!(Quota::of(percent), Quota { quota_us, period_us }, "{percent} %");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    let rows = [
        (PermissionDenied, "only root makes control groups; leave the server's limits out"),
        (ReadOnlyFilesystem, "this container may not make control groups"),
        (ResourceBusy, "has processes of its own, groups in it limit nothing; leave"),
        (InvalidInput, "invalid"),
    ];
    for (kind, expected) in rows {
        let failure = refused(Path::new("/groups/a"), &io::Error::from(kind)).to_string();
        assert!(failure.starts_with("/groups/a: "), "{failure}");
        assert!(failure.contains(expected), "{failure}");
    }
}
