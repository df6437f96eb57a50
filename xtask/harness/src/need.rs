//! What a test needs of the machine that it runs on.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use crate::record;

/// The programs that tests start, one in a line with the Debian package that it comes in. `.ci/run`
/// installs these packages.
const PROGRAMS: &str = include_str!("../../../.ci/programs");

/// One thing that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// The test's process runs as root, and not only as root of a user namespace.
    Root,
    /// A program of the table `.ci/programs`, to be found on the PATH.
    Program(&'static str),
    /// A file or a device, such as `/dev/fuse`.
    File(&'static str),
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Self::Root => is_root(),
            Self::Program(name) => path_of(name).is_some(),
            Self::File(path) => Path::new(path).exists(),
        }
    }

    /// The Debian package that brings it, if one does.
    fn package(self) -> Option<&'static str> {
        match self {
            Self::Program(name) => Some(package_of(name)),
            Self::Root | Self::File(_) => None,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => write!(f, "root"),
            Self::Program(name) => write!(f, "{name} ({})", package_of(name)),
            Self::File(path) => write!(f, "{path}"),
        }
    }
}

/// Whether this machine lacks any of `needs`. If so, records that the calling test is skipped; the
/// test then returns.
///
/// # Panics
/// If something is lacking and `WEIR_SKIPS=none` forbids skips.
#[track_caller]
pub fn lacks(needs: &[Need]) -> bool {
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    if missing.is_empty() {
        return false;
    }
    let names: Vec<String> = missing.iter().map(Need::to_string).collect();
    let packages: Vec<&str> = missing.iter().filter_map(|need| need.package()).collect();
    record::write(&format!("needs {}", names.join(", ")), &packages);
    true
}

/// # Panics
/// If the table does not have the program, because `.ci/run` would then not install it.
fn package_of(name: &str) -> &'static str {
    let mut rows = PROGRAMS.lines().filter_map(|line| line.split_once(' '));
    let row = rows.find(|(program, _)| *program == name);
    row.unwrap_or_else(|| panic!("{name} is not in .ci/programs")).1
}

fn is_root() -> bool {
    let is_zero = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    // Outside of all user namespaces each user is itself (user_namespaces(7)).
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_outside = map.split_whitespace().eq(["0", "0", "4294967295"]);
    is_zero && (map.is_empty() || is_outside)
}

/// Where a program is: on the PATH, or among those for root, which are not on every user's PATH.
/// `None` if it is not installed.
pub fn path_of(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut files = directories.map(|directory| directory.join(name));
    files.find(|file| {
        fs::metadata(file).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn need_is_met_by_what_is_there() {
        assert!(Need::File("/").is_met());
        assert!(!Need::File("/no/such/file").is_met());
        assert!(path_of("sh").is_some());
        assert_eq!(path_of("no-such-program"), None);
        assert_eq!(Need::Program("ip").to_string(), "ip (iproute2)");
        assert_eq!(Need::Program("ip").package(), Some("iproute2"));
    }

    #[test]
    fn table_has_one_program_and_one_package_in_a_line() {
        for line in PROGRAMS.lines() {
            assert_eq!(line.split(' ').count(), 2, "{line}");
        }
    }
}
