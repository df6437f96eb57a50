//! Which disk a directory is on.

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Failure;

/// A block device by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) major: u32,
    pub(super) minor: u32,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl Device {
    /// The whole disk that holds a directory: the kernel limits no part of one.
    pub(super) fn of(directory: &Path) -> Result<Self, Failure> {
        let place = directory.display();
        let meta = fs::metadata(directory).map_err(|error| Failure::machine(place, error))?;
        let mut device = Self::of_number(meta.dev());
        if device.major == 0 {
            // A file system that says no more than that it is one.
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let source = source(&mounts, device).map(fs::metadata);
            let is_block = |meta: &fs::Metadata| meta.file_type().is_block_device();
            match source {
                Some(Ok(meta)) if is_block(&meta) => device = Self::of_number(meta.rdev()),
                _ => {
                    return Err(Failure::Machine(format!(
                        "{}: not on a disk, so there is no disk to slow down",
                        directory.display()
                    )));
                }
            }
        }
        Ok(whole(Path::new("/sys/dev/block"), device))
    }

    /// As the C library splits it (makedev(3)).
    fn of_number(number: u64) -> Self {
        let major = (number >> 8 & 0xfff) | (number >> 32 & 0xffff_f000);
        let minor = (number & 0xff) | (number >> 12 & 0xffff_ff00);
        Self { major: major as u32, minor: minor as u32 }
    }

    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// What is mounted there (proc_pid_mountinfo(5)).
fn source(mounts: &str, device: Device) -> Option<PathBuf> {
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(2).and_then(Device::parse) == Some(device))?;
    let (_, theirs) = line.split_once(" - ")?;
    theirs.split(' ').nth(1).map(PathBuf::from)
}

/// A partition's directory is in that of its disk.
fn whole(devices: &Path, device: Device) -> Device {
    let disk = || {
        let directory = fs::canonicalize(devices.join(device.to_string())).ok()?;
        directory.join("partition").exists().then_some(())?;
        Device::parse(&fs::read_to_string(directory.parent()?.join("dev")).ok()?)
    };
    disk().unwrap_or(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_split_as_the_kernel_has_them() {
        let rows = [
            (0xfe00, 254, 0),
            (0x0801, 8, 1),
            (0x10_0801, 8, 257),
            (0x0002_0000_0001_0305, 0x0002_0003, 0x05),
            (0x2b, 0, 43),
        ];
        for (number, major, minor) in rows {
            assert_eq!(
                Device::of_number(number & !0x1_0000),
                Device { major, minor },
                "{number:x}"
            );
        }
    }

    #[test]
    fn a_partition_is_part_of_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("devices/sdb");
        fs::create_dir_all(disk.join("sdb1")).unwrap();
        fs::write(disk.join("dev"), "8:16\n").unwrap();
        fs::write(disk.join("sdb1/dev"), "8:17\n").unwrap();
        fs::write(disk.join("sdb1/partition"), "1\n").unwrap();
        let devices = root.path().join("block");
        fs::create_dir(&devices).unwrap();
        std::os::unix::fs::symlink("../devices/sdb", devices.join("8:16")).unwrap();
        std::os::unix::fs::symlink("../devices/sdb/sdb1", devices.join("8:17")).unwrap();
        for (minor, expected) in [(16, 16), (17, 16), (18, 18)] {
            let whole = whole(&devices, Device { major: 8, minor });
            assert_eq!(whole, Device { major: 8, minor: expected });
        }
    }

    #[test]
    fn a_file_system_without_a_device_has_a_source() {
        let mounts = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            40 27 0:37 / /srv rw shared:1 master:2 - btrfs /dev/vdb rw,subvol=/\n\
            41 27 0:38 / /tmp rw - tmpfs tmpfs rw\n";
        for (minor, expected) in [(37, Some("/dev/vdb")), (38, Some("tmpfs")), (39, None)] {
            let found = source(mounts, Device { major: 0, minor });
            assert_eq!(found, expected.map(PathBuf::from), "0:{minor}");
        }
    }
}
