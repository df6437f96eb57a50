//! Users and groups: what their names stand for, and how to become one for good.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

use crate::files::read_file;

/// Where a machine has its table of groups.
pub const GROUPS: &str = "/etc/group";

/// More of a table is not read: some hundred thousand lines.
pub const TABLE_BYTES_MAX: usize = 16 << 20;

/// A row of the table of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub uid: u32,
    /// The number of its group; of a bare number that no row has, nobody knows it.
    pub gid: Option<u32>,
}

/// Finds a user by name, or by number, in the table at `passwd` (passwd(5)). A number needs no row,
/// and no table: an image of a container may have none. Only the file is asked, no network service:
/// a worker of a static binary has none to ask.
///
/// # Errors
/// The table cannot be read; that is the system's error, with its number. `NotFound` without a
/// number: it has no row of this name.
pub fn user(passwd: &Path, name: &str) -> io::Result<User> {
    let number = number(name);
    let table = match table(passwd) {
        Err(e) if number.is_some() && e.kind() == io::ErrorKind::NotFound => String::new(),
        table => table?,
    };
    let found = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (row, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        let is_it = number.map_or(row == name, |number| uid == number);
        is_it.then_some(User { uid, gid: Some(gid) })
    });
    found.or(number.map(|uid| User { uid, gid: None })).ok_or(io::ErrorKind::NotFound.into())
}

/// The number of a group, by name or number, from the table at `group` (group(5)).
///
/// # Errors
/// As [`user`].
pub fn group(group: &Path, name: &str) -> io::Result<u32> {
    if let Some(number) = number(name) {
        return Ok(number);
    }
    let table = table(group)?;
    let found = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    });
    found.ok_or(io::ErrorKind::NotFound.into())
}

/// Full names may be in any encoding, which is no reason to find nobody.
fn table(path: &Path) -> io::Result<String> {
    let mut bytes = read_file(path, TABLE_BYTES_MAX)?;
    if bytes.len() == TABLE_BYTES_MAX {
        // Half of the last row would say something else.
        let rows_end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
        bytes.truncate(rows_end);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// All but the one that stands for nobody and changes nothing.
fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?.filter(|&number| number != u32::MAX)
}

/// The home of every user in the table at `passwd`.
///
/// # Errors
/// The table cannot be read.
pub fn homes(passwd: &Path) -> io::Result<Vec<PathBuf>> {
    let table = table(passwd)?;
    let homes = table.lines().filter_map(|line| line.split(':').nth(5));
    Ok(homes.filter(|home| home.starts_with('/')).map(PathBuf::from).collect())
}

/// The process has these numbers and no other group from now on, in all its threads, and no way
/// back. Who is that user already keeps what he has.
///
/// # Errors
/// EPERM for who is not root; `PermissionDenied` also if a way back was left, which no kernel is
/// known to do.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    if effective() != (uid, gid) {
        // The groups first and the user last: after it nothing more may be changed.
        // SAFETY: no group is read from the list, which has none. libc makes these three calls in
        // every thread of the process.
        let done = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(gid, gid, gid) == 0
                && libc::setresuid(uid, uid, uid) == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
    }
    if ids() != Some(([uid; 3], [gid; 3])) || (uid != 0 && is_way_back()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// Real, effective and saved user and group.
fn ids() -> Option<([u32; 3], [u32; 3])> {
    let (mut u, mut g) = ([0; 3], [0; 3]);
    // SAFETY: each call writes three numbers, to memory that outlives it.
    let done = unsafe {
        libc::getresuid(&raw mut u[0], &raw mut u[1], &raw mut u[2]) == 0
            && libc::getresgid(&raw mut g[0], &raw mut g[1], &raw mut g[2]) == 0
    };
    done.then_some((u, g))
}

fn is_way_back() -> bool {
    // SAFETY: changes no memory, and nothing at all unless it returns 0.
    unsafe { libc::setresuid(0, 0, 0) == 0 }
}

/// The user and the group of the process.
#[must_use]
pub fn effective() -> (u32, u32) {
    (geteuid().as_raw(), getegid().as_raw())
}
