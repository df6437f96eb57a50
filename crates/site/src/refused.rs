//! Why there is nothing to serve: for the client a status, for the operator perhaps a hint.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use h1::Status;
use os::{Directory, Kind};

use crate::ruling::Files;

/// Nothing to serve.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: Status,
    /// What the operator may not know of it.
    pub(crate) hint: Option<Hint>,
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self { status, hint: None }
    }
}

impl Refused {
    /// There is no such file. `leads_out`: the name that a link leads out of the root from.
    fn missing(files: &Files, root: &Directory, path: &[u8], leads_out: Option<Vec<u8>>) -> Self {
        Self { status: Status::NOT_FOUND, hint: hint(files, root, path, leads_out) }
    }

    /// The system refuses what is at this path; `None`: a user's, whose owner is not the operator.
    pub(crate) fn failed(path: Option<PathBuf>, error: &io::Error) -> Self {
        let status = status_of(error);
        // What is not there, and a name that is too long, are the client's mistakes. What the
        // machine lacks at the moment is counted.
        let is_told = !is_missing(error) && !is_passing(error);
        let why = || error.to_string();
        let hint = path.filter(|_| is_told).map(|path| Hint::Failed { status, path, why: why() });
        Self { status, hint }
    }
}

/// The names beneath a root of which the disk has told an error.
#[derive(Default)]
pub(crate) struct Failing {
    /// The last one that a link leads out of the root from.
    leads_out: RefCell<Option<Vec<u8>>>,
    /// The last one that is there and cannot be reached for another reason.
    unreachable: RefCell<Option<Vec<u8>>>,
}

impl Failing {
    /// The disk tells this error of a name.
    pub(crate) fn note(&self, name: &[u8], error: &io::Error) {
        let place = match error.kind() {
            ErrorKind::CrossesDevices => &self.leads_out,
            _ if is_absent(error) => return,
            _ => &self.unreachable,
        };
        place.replace(Some(name.to_vec()));
    }

    /// The error decides the reply to a request for this path.
    pub(crate) fn refused(
        &self,
        files: &Files,
        root: &Directory,
        path: &[u8],
        error: &io::Error,
    ) -> Refused {
        if is_missing(error) {
            return Refused::missing(files, root, path, self.leads_out.take());
        }
        let asked = || path.strip_prefix(b"/").unwrap_or(path).to_vec();
        let name = self.unreachable.take().unwrap_or_else(asked);
        Refused::failed(on_disk(files, culprit_in(root, &name, error)), error)
    }
}

/// What an operator may not know of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Hint {
    /// A request is for a host that has no name here. Which one the client has chosen.
    NoHost,
    /// This directory has no index file, and is not listed.
    NoIndex(PathBuf),
    /// This symbolic link leads out of the root.
    LeadsOut(PathBuf),
    /// The system refuses what is at this path: for want of a permission, because its links make a
    /// loop, or by an error of the disk.
    Failed {
        /// What the client gets.
        status: Status,
        /// The path.
        path: PathBuf,
        /// The system's word for it.
        why: String,
    },
    /// This precompressed sibling is there and cannot be read, so what the client gets is another
    /// one, or the file itself.
    LeftOut {
        /// The sibling.
        sibling: PathBuf,
        /// The system's word for it.
        why: String,
    },
}

impl Hint {
    /// Nothing for a user's file: its owner is not the operator.
    pub(crate) fn left_out(files: &Files, name: &[u8], error: &io::Error) -> Option<Self> {
        Some(Self::LeftOut { sibling: on_disk(files, name)?, why: error.to_string() })
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHost => write!(
                f,
                "421 for a host that no `names` have; a [[host]] with names = \"*\" is for all \
                 others"
            ),
            Self::NoIndex(directory) => write!(
                f,
                "404 for {}: it has no index.html; --listing, or `listing = true` in a rule, lists \
                 it",
                directory.display()
            ),
            Self::LeadsOut(link) => write!(
                f,
                "404 for {}: a symbolic link that leads out of the root; `follow-links` in a rule \
                 names the directories that links may lead to, and this user needs search (x) \
                 permission on the way there",
                link.display()
            ),
            Self::Failed { status, path, why } => {
                write!(f, "{} for {}: {why}", status.0, path.display())?;
                if *status == Status::FORBIDDEN {
                    let mend = "the user that serves needs permission to read it, and search (x) \
                                permission on the way there";
                    write!(f, "; {mend}")?;
                }
                Ok(())
            }
            Self::LeftOut { sibling, why } => write!(
                f,
                "{} is left out: {why}; the file that it was made of is sent",
                sibling.display()
            ),
        }
    }
}

/// Where a name beneath the root is on the disk, or `None` if it is a user's.
pub(crate) fn on_disk(files: &Files, name: &[u8]) -> Option<PathBuf> {
    let Files::Beneath(top, _) = files else { return None };
    Some(top.join(OsStr::from_bytes(name)))
}

/// What the operator may have meant otherwise where there is nothing to serve.
fn hint(files: &Files, root: &Directory, path: &[u8], leads_out: Option<Vec<u8>>) -> Option<Hint> {
    let Files::Beneath(top, _) = files else { return None };
    let name = path.strip_prefix(b"/").unwrap_or(path);
    let whole = |name: &[u8]| top.join(OsStr::from_bytes(name));
    if let Some(name) = leads_out {
        return Some(Hint::LeadsOut(whole(link_in(root, &name))));
    }
    let is_directory = || root.stat_beneath(name).is_ok_and(|stat| stat.kind == Kind::Directory);
    (path.ends_with(b"/") && is_directory()).then(|| Hint::NoIndex(whole(name)))
}

/// The link that leads out of the root, of a name that has one: or each name that a stranger makes
/// up behind it would be a hint of its own.
fn link_in<'n>(root: &Directory, name: &'n [u8]) -> &'n [u8] {
    let leads_out = |name: &&[u8]| {
        root.stat_beneath(name).is_err_and(|error| error.kind() == ErrorKind::CrossesDevices)
    };
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &name[..at]).find(leads_out).unwrap_or(name)
}

/// What the error of a name is about: the directory that may not be searched, or the first part of
/// the name that has the same error. Else each name that a client makes up behind it would have a
/// hint of its own.
fn culprit_in<'n>(root: &Directory, name: &'n [u8], error: &io::Error) -> &'n [u8] {
    let fails = |name: &[u8]| {
        root.stat_beneath(name).is_err_and(|of| of.raw_os_error() == error.raw_os_error())
    };
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let mut before = 0;
    for end in slashes.chain([name.len()]) {
        if fails(&name[..end]) {
            let is_denied = error.kind() == ErrorKind::PermissionDenied;
            return &name[..if is_denied { before } else { end }];
        }
        before = end;
    }
    name
}

/// Whether there is nothing under the name. What is there and cannot be reached, such as by a link
/// that leads out of the root, is not absent.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether the machine lacks something at the moment, so that the error tells nothing of the name.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    status_of(error) == Status::SERVICE_UNAVAILABLE
}

/// Whether there is nothing to serve under the name, for whatever reason that lies in the name.
fn is_missing(error: &io::Error) -> bool {
    status_of(error) == Status::NOT_FOUND && !is_loop(error)
}

/// Whether a path leads through too many symbolic links; `io::ErrorKind` has no stable name for it.
fn is_loop(error: &io::Error) -> bool {
    const ELOOP: i32 = 40;
    error.raw_os_error() == Some(ELOOP)
}

/// What the client hears when the disk says no.
pub(crate) fn status_of(error: &io::Error) -> Status {
    use ErrorKind::{
        CrossesDevices, InvalidFilename, IsADirectory, NotADirectory, NotFound, OutOfMemory,
        PermissionDenied, WouldBlock,
    };
    if os::is_out_of_descriptors(error) {
        return Status::SERVICE_UNAVAILABLE;
    }
    match error.kind() {
        // The third stands for a symbolic link that leads out of the root.
        NotFound | NotADirectory | CrossesDevices | InvalidFilename | IsADirectory => {
            Status::NOT_FOUND
        }
        PermissionDenied => Status::FORBIDDEN,
        OutOfMemory | WouldBlock => Status::SERVICE_UNAVAILABLE,
        _ if is_loop(error) => Status::NOT_FOUND,
        _ => Status::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_statuses() {
        // Numbers of Linux, asm-generic/errno.h.
        let rows = [
            ("ENOENT", 2, Status::NOT_FOUND),
            ("EIO", 5, Status::INTERNAL_SERVER_ERROR),
            ("EAGAIN", 11, Status::SERVICE_UNAVAILABLE),
            ("ENOMEM", 12, Status::SERVICE_UNAVAILABLE),
            ("EACCES", 13, Status::FORBIDDEN),
            ("EPERM", 1, Status::FORBIDDEN),
            ("EXDEV", 18, Status::NOT_FOUND),
            ("ENOTDIR", 20, Status::NOT_FOUND),
            ("ENFILE", 23, Status::SERVICE_UNAVAILABLE),
            ("EMFILE", 24, Status::SERVICE_UNAVAILABLE),
            ("ENAMETOOLONG", 36, Status::NOT_FOUND),
            ("ENOSYS", 38, Status::INTERNAL_SERVER_ERROR),
            ("ELOOP", 40, Status::NOT_FOUND),
        ];
        for (name, number, status) in rows {
            assert_eq!(status_of(&io::Error::from_raw_os_error(number)), status, "{name}");
        }
    }
}
