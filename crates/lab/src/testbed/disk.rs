//! A disk that makes one wait: of this machine's own means, as few kernels have one that delays.
//!
//! A process answers the reads of an image late ([`served`]); a loop device with direct I/O makes a
//! disk of it, with ext4 on that, whose page cache is as that of any other.

mod image;
mod model;
mod served;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use measure::Duration;
use os::placement::Placement;

use super::name::Name;
use crate::Failure;
use crate::hearing::hear;
use crate::program::path_of;
pub(super) use image::{image, new_image};
pub use model::{Arm, Disk};

pub(super) use served::SERVED;
use served::{FREE, SLOW};

/// Where disks are mounted: a directory for each testbed, by its name.
pub(super) const DISKS: &str = "/run/weir-lab-disks";

/// The image's file in it, and what it holds.
const FILE: &str = "disk";
const SITE: &str = "site";

/// What the lab's own program is called with to serve a disk, before [`words`].
const PROGRAM: [&str; 2] = ["lab", "testbed"];

/// The first of these.
pub(super) const WORD: &str = "disk";

/// How long an answer of the process is waited for: it never has much to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// A disk that is mounted, until it is dropped or its testbed is removed.
#[derive(Debug)]
pub(super) struct SlowDisk {
    site: PathBuf,
    child: Child,
    orders: File,
    answers: File,
}

/// What came of the reads since they were last asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reads {
    /// From the disk: pages that were in memory are in none.
    pub reads: u64,
    /// All of them together, in µs beyond the time that each was to take.
    pub late_us: u64,
}

impl SlowDisk {
    /// Mounts an image. The process that serves it runs there, until this one ends. As long as
    /// nobody says that it is slow, it is not.
    pub(super) fn mount(
        (name, image, disk): (&Name, &Path, Disk),
        program: &Path,
        placement: &Placement,
    ) -> Result<Self, Failure> {
        let directory = make(name)?;
        let failed = |error| Failure::machine(program.display(), error);
        let mut command = placement.command(program).map_err(failed)?;
        command.args(PROGRAM).args(words(name, image, disk));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let own = |fd: Option<OwnedFd>| File::from(fd.expect("a pipe was asked for"));
        let orders = own(child.stdin.take().map(OwnedFd::from));
        let answers = own(child.stdout.take().map(OwnedFd::from));
        let mounted = Self { site: directory.join(SITE), child, orders, answers };
        let said = mounted.answer();
        if said.as_deref() != Ok(SERVED) {
            let said = said.unwrap_or_else(|failure| failure.to_string());
            return Err(Failure::Machine(format!("a slow disk is not served: {said}")));
        }
        mounted.make_slow(false)?;
        mount_image(&directory)?;
        Ok(mounted)
    }

    /// Where its files are.
    pub(super) fn site(&self) -> &Path {
        &self.site
    }

    /// Whether reads are slow from now on; what came of those before.
    pub(super) fn make_slow(&self, is_slow: bool) -> Result<Reads, Failure> {
        let order = if is_slow { SLOW } else { FREE };
        let sent = writeln!(&self.orders, "{order}");
        sent.map_err(|error| Failure::machine("the slow disk's process", error))?;
        let said = self.answer()?;
        let told = said.split_once(' ').and_then(|(reads, late_us)| {
            Some(Reads { reads: reads.parse().ok()?, late_us: late_us.parse().ok()? })
        });
        told.ok_or_else(|| Failure::Machine(format!("the slow disk's process says {said:?}")))
    }

    fn answer(&self) -> Result<String, Failure> {
        let deadline = os::clock::monotonic() + PATIENCE;
        let said = hear(&mut &self.answers, deadline, |said| said.ends_with(b"\n"));
        let said = said.map_err(|error| Failure::machine("the slow disk's process", error))?;
        Ok(String::from_utf8_lossy(&said).trim_end().into())
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // As long as it is served: nothing is in flight then that fails. What cannot be unmounted
        // now is when nobody holds on to it any more.
        let _ = unmount(&self.site, &[]);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The directory of a testbed's disk.
pub(super) fn directory(name: &Name) -> PathBuf {
    Path::new(DISKS).join(name.to_string())
}

/// With where to mount both.
pub(super) fn make(name: &Name) -> Result<PathBuf, Failure> {
    let directory = directory(name);
    let failed = |error| Failure::machine(directory.display(), error);
    fs::create_dir_all(directory.join(SITE)).map_err(failed)?;
    fs::write(directory.join(FILE), "").map_err(failed)?;
    Ok(directory)
}

/// What [`serve`] is to be called with.
pub(super) fn words(name: &Name, image: &Path, disk: Disk) -> [String; 4] {
    [WORD.into(), name.to_string(), image.display().to_string(), disk.to_string()]
}

/// Serves the disk of a testbed by the calling process, which has nothing else to do, until it is
/// killed or the disk is unmounted.
///
/// # Errors
/// There is no such testbed, or this kernel has no FUSE.
pub(super) fn serve(name: &Name, image: &Path, disk: Disk) -> io::Result<()> {
    // Refused where the load is not urgent, either.
    let _ = os::placement::go_before_urgent();
    let at = directory(name).join(FILE);
    let name = name.to_string();
    served::serve((&at, image, &name), disk, io::stdin().lock(), io::stdout())
}

/// Makes a disk of what is served. The device goes with the mount.
pub(super) fn mount_image(directory: &Path) -> Result<PathBuf, Failure> {
    let (file, site) = (directory.join(FILE), directory.join(SITE));
    run("mount", &["-t", "ext4", "-o", "ro,loop"], &[&file, &site])?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let device = source(&mounts, &site)
        .ok_or_else(|| Failure::machine(site.display(), "what was mounted is not there"))?;
    // Else the pages of the image were in memory, too, and on nobody's account.
    run("losetup", &["--direct-io=on"], &[&device])?;
    Ok(site)
}

/// What is mounted there (proc_pid_mountinfo(5)).
fn source(mounts: &str, at: &Path) -> Option<PathBuf> {
    let is_there = |line: &&str| line.split(' ').nth(4).is_some_and(|place| at == Path::new(place));
    let (_, theirs) = mounts.lines().rev().find(is_there)?.split_once(" - ")?;
    theirs.split(' ').nth(1).map(PathBuf::from)
}

/// Removes what a testbed's disk was: nobody runs any more who used it.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    unmount(&directory.join(SITE), &[])?;
    // The loop device lets go of it a moment later.
    unmount(&directory.join(FILE), &["--lazy"])?;
    fs::remove_dir_all(directory)?;
    // Others may have theirs there.
    let _ = fs::remove_dir(DISKS);
    Ok(())
}

/// Where nothing is mounted it does nothing.
fn unmount(at: &Path, flags: &[&str]) -> io::Result<()> {
    let is_there = |mounts: &str| source(mounts, at).is_some();
    if !is_there(&fs::read_to_string("/proc/self/mountinfo")?) {
        return Ok(());
    }
    run("umount", flags, &[at]).map_err(|failure| io::Error::other(failure.to_string()))
}

/// A program of the package util-linux or e2fsprogs.
fn run(program: &str, flags: &[&str], paths: &[&Path]) -> Result<(), Failure> {
    let failed = |why: &str| Failure::Machine(format!("{program}: {}", why.trim()));
    let found = path_of(program).unwrap_or_else(|| program.into());
    let output = Command::new(found).args(flags).args(paths).output();
    let output = output.map_err(|error| failed(&error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(());
    }
    if said.contains("No space left") {
        return Err(Failure::Full(format!("{program}: {}", said.trim())));
    }
    Err(failed(&said))
}

/// What this machine lacks for a slow disk.
pub(super) fn lack() -> Option<String> {
    let files = ["/dev/fuse", "/dev/loop-control"].map(|file| (file, Path::new(file).exists()));
    let programs = ["mount", "losetup", "umount", "mke2fs"];
    let programs = programs.map(|program| (program, path_of(program).is_some()));
    let absent = files.into_iter().chain(programs).filter(|(_, is_there)| !is_there);
    let absent: Vec<&str> = absent.map(|(name, _)| name).collect();
    (!absent.is_empty()).then(|| format!("no {}: no slower disk", absent.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_somewhere_has_a_source() {
        let mounts = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            40 27 7:0 / /run/a/site ro shared:1 master:2 - ext4 /dev/loop0 ro\n\
            41 27 7:1 / /run/a/site ro - ext4 /dev/loop1 ro\n";
        for (at, expected) in
            [("/", Some("/dev/vda")), ("/run/a/site", Some("/dev/loop1")), ("/run", None)]
        {
            assert_eq!(source(mounts, Path::new(at)), expected.map(PathBuf::from), "{at}");
        }
    }
}
