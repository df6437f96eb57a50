//! What a path leads to on the disk. Everything here may block; nothing here touches the cache.

use std::io;
use std::path::PathBuf;

use h1::{Coding, Codings, Content, Lookup, Representation, Shared, Status};
use os::{Directory, File, Kind, Opened, Stat};

use crate::mime::{self, Media};
use crate::path;

/// Times that a file which changes while it is being read is read again, before it is sent from
/// its descriptor instead. One that is appended to all the time would never come out whole.
const READS_MAX: u32 = 3;

/// Every coding that a sibling can have; `coding as usize` is its place.
const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

/// The files beneath a root.
pub(crate) struct Disk {
    pub(crate) root: PathBuf,
    pub(crate) small_bytes_max: u64,
    pub(crate) index_files: Vec<String>,
}

/// What a lookup came to.
#[derive(Clone)]
pub(crate) struct Loading {
    pub(crate) representation: Shared<Representation<File>>,
    pub(crate) source: Source,
}

/// How far a lookup has come.
pub(crate) enum Step {
    /// To its end.
    Loaded(Loading),
    /// To a small file, whose content belongs in memory.
    Unread(Unread),
}

/// A file that was opened and not read.
pub(crate) struct Unread {
    pub(crate) file: Shared<File>,
    pub(crate) stat: Stat,
    coding: Option<Coding>,
    varies: bool,
    media_type: &'static str,
}

/// What a representation was made of: as long as the disk gives the same source, the
/// representation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file of the site, or its sibling with that coding.
    File { stat: Stat, coding: Option<Coding>, varies: bool },
    /// A directory that was named without its slash.
    Directory,
}

/// Where a lookup leads, before anything is opened.
struct Target {
    /// Relative to the root; without the ending that the coding adds.
    name: Vec<u8>,
    media: Media,
    source: Source,
}

impl Disk {
    /// Looks the path up and opens what it leads to, unless that is what `before` was made of.
    ///
    /// The root is found anew by its own path each time: a deploy that swaps a symbolic link shows
    /// at once, and no handle can point into a tree that is gone.
    pub(crate) fn open(&self, lookup: &Lookup, before: Option<Loading>) -> Result<Step, Status> {
        let root = Directory::open(&self.root).map_err(|e| status_of(&e))?;
        let target = self.resolve(&root, lookup)?;
        match before {
            Some(before) if before.source == target.source => Ok(Step::Loaded(before)),
            _ => match target.source {
                Source::Directory => Ok(Step::Loaded(redirect(&lookup.path))),
                Source::File { coding, varies, .. } => {
                    let unread = open(&root, &target, coding, varies)?;
                    let small = unread.stat.size <= self.small_bytes_max;
                    Ok(if small { Step::Unread(unread) } else { Step::Loaded(unread.whole()) })
                }
            },
        }
    }

    /// Reads a small file; it counts as read only if it was the same before and after.
    pub(crate) fn read(&self, mut unread: Unread) -> Result<Loading, Status> {
        for _ in 0..READS_MAX {
            if unread.stat.size > self.small_bytes_max {
                break;
            }
            let bytes = read(&unread.file, unread.stat.size).map_err(|e| status_of(&e))?;
            match unread.with(bytes)? {
                Step::Loaded(loading) => return Ok(loading),
                Step::Unread(again) => unread = again,
            }
        }
        Ok(unread.whole())
    }

    fn resolve(&self, root: &Directory, lookup: &Lookup) -> Result<Target, Status> {
        let path = &lookup.path[1..];
        if path.is_empty() || path.ends_with(b"/") {
            return self.resolve_index(root, path, lookup.codings);
        }
        let stat = root.stat_beneath(path).map_err(|e| status_of(&e))?;
        match stat.kind {
            Kind::File => Ok(choose(root, path.to_vec(), stat, lookup.codings)),
            Kind::Directory => {
                let media = mime::of(path);
                Ok(Target { name: path.to_vec(), media, source: Source::Directory })
            }
            Kind::Other => Err(Status::NOT_FOUND),
        }
    }

    /// The first index file of the directory that there is. A directory without one has nothing to
    /// show, and a file that is named with a slash behind it is no directory.
    fn resolve_index(
        &self,
        root: &Directory,
        directory: &[u8],
        codings: Codings,
    ) -> Result<Target, Status> {
        for index in &self.index_files {
            let name = [directory, index.as_bytes()].concat();
            match root.stat_beneath(&name) {
                Ok(stat) if stat.kind == Kind::File => {
                    return Ok(choose(root, name, stat, codings));
                }
                Ok(_) => {}
                Err(e) => match status_of(&e) {
                    Status::NOT_FOUND => {}
                    status => return Err(status),
                },
            }
        }
        Err(Status::NOT_FOUND)
    }
}

impl Step {
    /// As far as it comes without reading.
    pub(crate) fn sent_from_descriptor(self) -> Self {
        match self {
            Self::Unread(unread) => Self::Loaded(unread.whole()),
            loaded => loaded,
        }
    }
}

impl Unread {
    /// The answer, if `bytes` are the whole file and it was the same before and after.
    pub(crate) fn with(self, bytes: Option<Shared<[u8]>>) -> Result<Step, Status> {
        let after = self.file.stat().map_err(|e| status_of(&e))?;
        match bytes {
            Some(bytes) if after == self.stat => {
                Ok(Step::Loaded(self.loading(Content::Bytes(bytes))))
            }
            _ => Ok(Step::Unread(Self { stat: after, ..self })),
        }
    }

    /// The answer that sends the file from its descriptor.
    pub(crate) fn whole(self) -> Loading {
        let content = Content::File { file: self.file.clone(), length: self.stat.size };
        self.loading(content)
    }

    fn loading(self, content: Content<File>) -> Loading {
        let Self { stat, coding, varies, media_type, .. } = self;
        let representation = Shared::new(Representation {
            status: Status::OK,
            media_type: media_type.into(),
            coding,
            etag: Some(etag(&stat, coding)),
            modified: u64::try_from(stat.mtime_ns.div_euclid(NS_PER_SECOND)).ok(),
            varies,
            fields: Box::default(),
            content,
        });
        Loading { representation, source: Source::File { stat, coding, varies } }
    }
}

impl Loading {
    /// Whether both are the very same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Shared::ptr_eq(&self.representation, &other.representation)
    }
}

impl Source {
    /// Whether a later change of the file will show in its times: one that happens within the same
    /// tick of the kernel's clock as the last does not. A tick is 1 to 10 ms long; whole seconds
    /// are what there is to compare with.
    pub(crate) fn is_settled(&self, seconds: u64) -> bool {
        match self {
            Self::File { stat, .. } => {
                let changed = stat.ctime_ns.max(stat.mtime_ns).div_euclid(NS_PER_SECOND);
                changed + 1 < i128::from(seconds)
            }
            Self::Directory => true,
        }
    }
}

const NS_PER_SECOND: i128 = 1_000_000_000;

/// Picks the precompressed sibling that suits the client best. A sibling older than its original
/// was made of something else and is passed over. Whether the answer varies depends on what there
/// is, not on who asks: a cache between us must hear it also with the plain bytes.
fn choose(root: &Directory, name: Vec<u8>, original: Stat, codings: Codings) -> Target {
    let media = mime::of(&name);
    let present = CODINGS.map(|coding| {
        if !media.compresses {
            return None;
        }
        let sibling = root.stat_beneath(&[&name, coding.suffix().as_bytes()].concat()).ok()?;
        let suits = sibling.kind == Kind::File && sibling.mtime_ns >= original.mtime_ns;
        suits.then_some(sibling)
    });
    let varies = present.iter().any(Option::is_some);
    let best = codings.iter().find_map(|coding| Some((present[coding as usize]?, coding)));
    let source = match best {
        Some((stat, coding)) => Source::File { stat, coding: Some(coding), varies },
        None => Source::File { stat: original, coding: None, varies },
    };
    Target { name, media, source }
}

fn open(
    root: &Directory,
    target: &Target,
    coding: Option<Coding>,
    varies: bool,
) -> Result<Unread, Status> {
    let ending = coding.map_or("", Coding::suffix).as_bytes();
    let opened = root.open_beneath(&[&target.name, ending].concat());
    let Opened::File(file, stat) = opened.map_err(|e| status_of(&e))? else {
        return Err(Status::NOT_FOUND);
    };
    let media_type = target.media.text;
    Ok(Unread { file: Shared::new(file), stat, coding, varies, media_type })
}

/// Leads to the same path with a slash behind it (RFC 9110 section 15.4.2). The query is not known
/// here and gets lost: a directory's index is a file and has no use for it.
fn redirect(path: &[u8]) -> Loading {
    let fields = [b"Location: ", path::escape(path).as_slice(), b"/\r\n"].concat();
    let representation = Shared::new(Representation {
        status: Status::MOVED_PERMANENTLY,
        media_type: Box::default(),
        coding: None,
        etag: None,
        modified: None,
        varies: false,
        fields: fields.into(),
        content: Content::Bytes(Shared::from([])),
    });
    Loading { representation, source: Source::Directory }
}

/// The first `size` bytes; nothing if the file has become shorter.
fn read(file: &File, size: u64) -> io::Result<Option<Shared<[u8]>>> {
    let mut bytes: Shared<[u8]> = std::iter::repeat_n(0, size as usize).collect();
    let buffer = Shared::get_mut(&mut bytes).expect("nobody else has it yet");
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], filled as u64)? {
            0 => return Ok(None),
            n => filled += n,
        }
    }
    Ok(Some(bytes))
}

/// Strong (RFC 9110 section 8.8.1): the inode tells files apart whose times were set by hand, as
/// reproducible builds do; the coding tells siblings' tags from their original's at sight.
fn etag(stat: &Stat, coding: Option<Coding>) -> Box<str> {
    let coding = coding.map_or(String::new(), |coding| format!("-{}", coding.token()));
    format!("\"{:x}-{:x}-{:x}{coding}\"", stat.ino, stat.size, stat.mtime_ns).into()
}

/// What the client hears when the disk says no.
pub(crate) fn status_of(error: &io::Error) -> Status {
    /// A path through too many symbolic links; `io::ErrorKind` has no stable name for it.
    const ELOOP: i32 = 40;
    use io::ErrorKind::{
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
        _ if error.raw_os_error() == Some(ELOOP) => Status::NOT_FOUND,
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

    /// What a file was when it was opened may no longer hold when it is read.
    #[test]
    fn a_file_that_changes_meanwhile_is_never_passed_off_as_complete() {
        let place = tempfile::TempDir::new().unwrap();
        std::fs::write(place.path().join("a"), "12345").unwrap();
        let root = Directory::open(place.path()).unwrap();
        let opened = || match root.open_beneath(b"a").unwrap() {
            Opened::File(file, stat) => (file, stat),
            other => panic!("{other:?}"),
        };
        let (file, stat) = opened();
        assert!(read(&file, stat.size + 1).unwrap().is_none());
        let disk = Disk { root: place.path().into(), small_bytes_max: 8, index_files: Vec::new() };
        let unread = |size: Option<u64>| {
            let (file, stat) = opened();
            let stat = Stat { size: size.unwrap_or(stat.size), ..stat };
            let file = Shared::new(file);
            Unread { file, stat, coding: None, varies: false, media_type: "text/plain" }
        };
        for (size, length) in [(3, 5), (9, 9)] {
            let loading = disk.read(unread(Some(size))).unwrap();
            let content = &loading.representation.content;
            assert_eq!(content.length(), length);
            assert_eq!(matches!(content, Content::Bytes(_)), length <= disk.small_bytes_max);
        }
        let before = unread(None);
        std::fs::write(place.path().join("a"), "1234567890").unwrap();
        let content = &disk.read(before).unwrap().representation.content;
        assert_eq!((content.length(), matches!(content, Content::File { .. })), (10, true));
    }
}
