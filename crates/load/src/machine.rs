//! What the reader of a result has to know of the machine that made the load, and of this program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is known of the machine as it is now, by name. What cannot be read is left out, and who
/// owns the machine is not told: results are handed on.
///
/// | name | what it is |
/// |---|---|
/// | `kernel` | `Linux` and its release |
/// | `processor` | the model's name |
/// | `processors` | how many this process may use |
/// | `processors_allowed` | which: their numbers from 0, as in `0-1,4` |
/// | `processors_online` | which the machine has, in the same way |
/// | `processor_quota_us` | what a control group (version 2) may use, and in which period |
/// | `frequency_governor` | how the first processor's frequency is chosen |
/// | `hyperthreads` | 1: two processors may share a core; 0: they do not |
/// | `is_virtual` | 1: a virtual machine, whose host may take its processors away; 0: it is not |
/// | `clock` | what the kernel's clocks are read from |
/// | `load_average` | tasks that ran or wanted to in the last 1, 5 and 15 min |
/// | `memory_bytes` | all of the machine's |
/// | `damon` | `on`: the kernel looks which pages nobody uses, and may take them back at once |
/// | `loopback_mtu_bytes` | the longest packet from the machine to itself |
/// | `descriptors_max` | how many this process may have open (RLIMIT_NOFILE, the soft limit) |
/// | with a dot | the kernel's setting of that name, as sysctl(8) tells it |
#[must_use]
pub fn facts() -> BTreeMap<String, String> {
    let mut facts = facts_under(Path::new("/"));
    facts.insert("processors".into(), os::thread::cpu_affinity_count().to_string());
    facts
}

/// Of this program, and how it was built: a `debug` one is many times slower.
#[must_use]
pub fn versions() -> BTreeMap<String, String> {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let pairs = [
        ("weir", env!("CARGO_PKG_VERSION")),
        ("build", build),
        ("architecture", std::env::consts::ARCH),
    ];
    pairs.map(|(name, value)| (name.into(), value.into())).into()
}

/// What a file's text says of something; `None`: nothing.
type Reader = fn(&str) -> Option<String>;

/// By name: in which file it stands, and how.
const FACTS: [(&str, &str, Reader); 13] = [
    ("kernel", "proc/version", kernel),
    ("processor", "proc/cpuinfo", |text| field(text, "model name")),
    ("processors_allowed", "proc/self/status", |text| field(text, "Cpus_allowed_list")),
    ("processors_online", "sys/devices/system/cpu/online", words),
    ("frequency_governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", words),
    ("hyperthreads", "sys/devices/system/cpu/smt/active", words),
    ("is_virtual", "proc/cpuinfo", is_virtual),
    ("clock", "sys/devices/system/clocksource/clocksource0/current_clocksource", words),
    ("load_average", "proc/loadavg", |text| first(text, 3)),
    ("memory_bytes", "proc/meminfo", memory_bytes),
    ("damon", "sys/kernel/mm/damon/admin/kdamonds/0/state", words),
    ("loopback_mtu_bytes", "sys/class/net/lo/mtu", words),
    ("descriptors_max", "proc/self/limits", descriptors_max),
];

/// The kernel's settings that a load depends on: how connections are made and let go, and how bytes
/// move.
const SETTINGS: [&str; 15] = [
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
];

fn facts_under(root: &Path) -> BTreeMap<String, String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let of_files = FACTS
        .iter()
        .filter_map(|&(name, path, reader)| Some((String::from(name), reader(&read(path)?)?)));
    let settings = SETTINGS.iter().filter_map(|&name| {
        let text = read(&format!("proc/sys/{}", name.replace('.', "/")))?;
        Some((String::from(name), words(&text)?))
    });
    let quota = read("proc/self/cgroup").and_then(|groups| {
        let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        words(&read(&format!("sys/fs/cgroup/{group}/cpu.max"))?)
    });
    let quota = quota.map(|quota| (String::from("processor_quota_us"), quota));
    of_files.chain(settings).chain(quota).collect()
}

/// `Linux version 6.1.0 (who built it ...`.
fn kernel(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let (name, _, release) = (words.next()?, words.next()?, words.next()?);
    Some(format!("{name} {release}"))
}

/// What stands behind a colon, in the first line that begins so.
fn field(text: &str, name: &str) -> Option<String> {
    let of_it = |line: &str| {
        let (key, value) = line.split_once(':')?;
        if key.trim_end() == name { words(value) } else { None }
    };
    text.lines().find_map(of_it)
}

fn is_virtual(text: &str) -> Option<String> {
    let flags = field(text, "flags")?;
    let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
    Some(u8::from(is_virtual).to_string())
}

fn memory_bytes(text: &str) -> Option<String> {
    let total = field(text, "MemTotal")?;
    let kib: u64 = total.strip_suffix(" kB")?.parse().ok()?;
    Some(kib.checked_mul(1024)?.to_string())
}

/// `Max open files    1024    524288    files`.
fn descriptors_max(text: &str) -> Option<String> {
    let limits = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    first(limits, 1)
}

/// All of a text on one line.
fn words(text: &str) -> Option<String> {
    first(text, usize::MAX)
}

fn first(text: &str, count: usize) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().take(count).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_where_the_kernel_tells_them() {
        let rows = [
            (
                "proc/version",
                "Linux version 6.1.0-9 (builder@host) (gcc 12) #1 SMP\n",
                "kernel",
                Some("Linux 6.1.0-9"),
            ),
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: A  Model 7\nflags\t\t: fpu hypervisor\n",
                "processor",
                Some("A Model 7"),
            ),
            ("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf\n", "is_virtual", Some("1")),
            ("proc/cpuinfo", "flags\t\t: fpu hypervisors\n", "is_virtual", Some("0")),
            ("proc/cpuinfo", "Features\t: fp asimd\n", "is_virtual", None),
            (
                "proc/self/status",
                "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
                "processors_allowed",
                Some("0-1"),
            ),
            ("proc/loadavg", "0.10 0.20 0.30 2/300 4567\n", "load_average", Some("0.10 0.20 0.30")),
            ("proc/meminfo", "MemTotal:  4 kB\nMemFree:  1 kB\n", "memory_bytes", Some("4096")),
            ("proc/meminfo", "MemTotal:  four kB\n", "memory_bytes", None),
            (
                "proc/self/limits",
                "Limit  Soft  Hard\nMax open files            1024    4096   files\n",
                "descriptors_max",
                Some("1024"),
            ),
            ("proc/self/limits", "", "descriptors_max", None),
            ("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n", "damon", Some("on")),
            (
                "proc/sys/net/ipv4/tcp_rmem",
                "4096\t131072\t6291456\n",
                "net.ipv4.tcp_rmem",
                Some("4096 131072 6291456"),
            ),
            ("proc/sys/net/core/somaxconn", "\n", "net.core.somaxconn", None),
        ];
        for (path, text, name, expected) in rows {
            let root = tempfile::tempdir().expect("a directory");
            write(root.path(), path, text);
            let facts = facts_under(root.path());
            assert_eq!(facts.get(name).map(String::as_str), expected, "{path}: {text}");
        }
    }

    #[test]
    fn a_quota_is_that_of_the_own_group() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(facts_under(root.path()), BTreeMap::new());
        write(root.path(), "proc/self/cgroup", "4:memory:/other\n0::/a/b\n");
        write(root.path(), "sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
        let expected = [(String::from("processor_quota_us"), String::from("50000 100000"))];
        assert_eq!(facts_under(root.path()), BTreeMap::from(expected));
    }

    #[test]
    fn this_machine_is_told() {
        let facts = facts();
        let processors: usize = facts["processors"].parse().expect("a number");
        assert!(processors >= 1 && facts.contains_key("kernel"), "{facts:#?}");
        assert!(facts.iter().all(|(name, value)| !name.is_empty() && !value.is_empty()));
        assert_eq!(versions()["weir"], env!("CARGO_PKG_VERSION"));
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("directories");
        fs::write(path, text).expect("a file");
    }
}
