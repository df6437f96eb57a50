//! What a path leads to on the disk. Everything here may block but [`Disk::told`]; nothing here
//! touches the cache.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use h1::{
    Block, Chunk, Coding, Codings, Content, Lookup, Representation, Shared, Status, Wording, Words,
};
use os::{Directory, File, Kind, Opened, Stat};

use crate::homes::Homes;
use crate::listing::{self, Format};
use crate::mime;
use crate::names::{self, CODINGS};
use crate::path;
use crate::refused::{Failing, Hint, Refused, is_absent, is_passing, on_disk, status_of};
use crate::ruling::{Files, Place};
use crate::validators::{NS_PER_SECOND, etag, modified};

/// Times that a file which changes while it is being read is read again, before it is sent from
/// its descriptor instead. One that is appended to all the time would never come out whole.
const READS_MAX: u32 = 3;

/// The files beneath all roots.
pub(crate) struct Disk {
    pub(crate) small_bytes_max: u64,
    pub(crate) index_files: Vec<String>,
    pub(crate) homes: Homes,
}

/// What a lookup came to.
#[derive(Clone)]
pub(crate) struct Loading {
    pub(crate) representation: Shared<Representation<File>>,
    pub(crate) source: Source,
}

/// How far a lookup has come.
pub(crate) enum Reached {
    /// To its end.
    End(Loading),
    /// To a small file, whose content belongs in memory.
    Unread(Unread),
}

/// A file that was opened and not read.
pub(crate) struct Unread {
    pub(crate) file: Shared<File>,
    pub(crate) stat: Stat,
    /// Where it is; see [`on_disk`].
    path: Option<PathBuf>,
    coding: Option<Coding>,
    varies: bool,
    candidate: u8,
    media_type: Cow<'static, str>,
    lines: Shared<[u8]>,
}

/// What a representation was made of: as long as the disk gives the same source, the
/// representation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file of the site, or its sibling with that coding. A path stands for several names (an
    /// index file, a clean URL), and `candidate` tells by which of them the file was found.
    File { stat: Stat, coding: Option<Coding>, varies: bool, candidate: u8 },
    /// A directory that was named without its slash.
    Directory,
    /// What is in a directory.
    Listing(Format),
}

/// Where a lookup leads, before anything is opened.
struct Target {
    /// Relative to the root; without the ending of a sibling.
    name: Vec<u8>,
    /// The coding of the sibling that takes the file's place.
    sibling: Option<Coding>,
    source: Source,
}

impl Target {
    /// The name with the ending of a sibling.
    fn name_on_disk(&self) -> Vec<u8> {
        let suffix = self.sibling.map_or("", |coding| coding.suffix());
        [&self.name, suffix.as_bytes()].concat()
    }
}

impl Disk {
    /// Looks the path up and opens what it leads to, unless that is what `before` was made of.
    /// `lines` are header lines of the answer.
    ///
    /// The root is found anew by its own path each time: a deploy that swaps a symbolic link shows
    /// at once, and no handle can point into a tree that is gone.
    pub(crate) fn open(
        &self,
        place: &Place,
        lines: &Shared<[u8]>,
        lookup: &Lookup,
        before: Option<Loading>,
    ) -> Result<(Reached, Option<Hint>), Refused> {
        let reached = self.reach(place, lines, lookup, before);
        reached.map_err(|refused| match place.files {
            // Or it would tell that there is such an account (CVE-2001-1013): what is closed does,
            // and a disk that is gone, but not that nothing can be opened at the moment.
            Files::OfUsers(_) if refused.status != Status::SERVICE_UNAVAILABLE => {
                Status::NOT_FOUND.into()
            }
            _ => refused,
        })
    }

    fn reach(
        &self,
        place: &Place,
        lines: &Shared<[u8]>,
        lookup: &Lookup,
        before: Option<Loading>,
    ) -> Result<(Reached, Option<Hint>), Refused> {
        let (root, path) = self.root(&place.files, &lookup.path)?;
        let failing = Failing::default();
        let stat =
            |name: &[u8]| root.stat_beneath(name).inspect_err(|error| failing.note(name, error));
        let refused = |error: io::Error| failing.refused(&place.files, &root, path, &error);
        let mut codings = lookup.codings;
        let mut hint = None;
        loop {
            let target = self.resolve(stat, path, place, codings).map_err(refused)?;
            match &before {
                Some(before) if before.source == target.source => {
                    return Ok((Reached::End(before.clone()), hint));
                }
                _ => {}
            }
            let shown = || [&place.at[..], &lookup.path].concat();
            let reached = match target.source {
                Source::Directory => Reached::End(redirect(&shown(), lines)),
                Source::Listing(format) => {
                    let page = listing::page(&root, &target.name, &shown(), format);
                    Reached::End(listed(page.map_err(refused)?, format, lines))
                }
                Source::File { coding, varies, candidate, .. } => {
                    let unread = open(&root, &target).map(|(file, stat)| Unread {
                        file: Shared::new(file),
                        stat,
                        path: on_disk(&place.files, &target.name_on_disk()),
                        coding,
                        varies,
                        candidate,
                        media_type: place.types.of(&target.name).text,
                        lines: Shared::clone(lines),
                    });
                    match (unread, target.sibling) {
                        (Ok(unread), _) if unread.stat.size <= self.small_bytes_max => {
                            Reached::Unread(unread)
                        }
                        (Ok(unread), _) => Reached::End(unread.whole()),
                        // There need be no sibling, so one that cannot be read is left out.
                        (Err(error), Some(coding)) if !is_passing(&error) => {
                            codings = codings.without(coding);
                            let name = target.name_on_disk();
                            hint = hint.or_else(|| Hint::left_out(&place.files, &name, &error));
                            continue;
                        }
                        (Err(error), _) => {
                            let path = on_disk(&place.files, &target.name);
                            return Err(Refused::failed(path, &error));
                        }
                    }
                }
            };
            return Ok((reached, hint));
        }
    }

    /// What [`Self::open`] would find, if that is known without waiting for the disk: that there is
    /// nothing under a name as well, because `open` has asked for all names before.
    pub(crate) fn told(&self, place: &Place, lookup: &Lookup) -> Option<Result<Source, Status>> {
        let Files::Beneath(root, follows) = &place.files else { return None };
        let resolved = Directory::open_cached(root).and_then(|root| {
            let root = root.following(follows);
            // A machine that is out of memory, for instance, has not said that there is nothing.
            let stat = |name: &[u8]| {
                root.stat_beneath_cached(name).map_err(|error| match status_of(&error) {
                    Status::NOT_FOUND | Status::FORBIDDEN => error,
                    _ => ErrorKind::WouldBlock.into(),
                })
            };
            self.resolve(stat, &lookup.path, place, lookup.codings)
        });
        match resolved {
            Ok(target) => Some(Ok(target.source)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => Some(Err(status_of(&error))),
        }
    }

    /// Reads a small file; it counts as read only if it was the same before and after.
    pub(crate) fn read(&self, mut unread: Unread) -> Result<Loading, Refused> {
        for _ in 0..READS_MAX {
            if unread.stat.size > self.small_bytes_max {
                break;
            }
            let bytes = read(&unread.file, unread.stat.size);
            match unread.with(bytes)? {
                Reached::End(loading) => return Ok(loading),
                Reached::Unread(again) => unread = again,
            }
        }
        Ok(unread.whole())
    }

    /// The directory that a path begins in, and the path from there. A user's lies in the user's
    /// home: a link to elsewhere would show what this process may read and the user may not.
    fn root<'l>(&self, files: &Files, path: &'l [u8]) -> Result<(Directory, &'l [u8]), Refused> {
        let opened =
            |root| Directory::open(root).map_err(|e| Refused::failed(on_disk(files, b""), &e));
        match files {
            Files::Beneath(root, follows) => Ok((opened(root)?.following(follows), path)),
            Files::OfUsers(name) => {
                let path = path.strip_prefix(b"/~").ok_or(Status::NOT_FOUND)?;
                let end = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
                let (user, path) = path.split_at(end);
                let home = self.homes.of(user).ok_or(Status::NOT_FOUND)?;
                let root = opened(&home)?.beneath(name.as_bytes()).map_err(|e| status_of(&e))?;
                Ok((root, path))
            }
        }
    }

    /// `stat` tells what a name beneath the root stands for: what the disk says, or what is known
    /// of that. A name of which it cannot tell ends it also where another would do: this one might
    /// have come first.
    fn resolve(
        &self,
        stat: impl Fn(&[u8]) -> io::Result<Stat>,
        path: &[u8],
        place: &Place,
        codings: Codings,
    ) -> io::Result<Target> {
        let name = path.strip_prefix(b"/").unwrap_or(path).to_vec();
        if path.ends_with(b"/") {
            return match (self.resolve_index(stat, &name, place, codings), place.listing) {
                (Err(error), Some(format)) if is_absent(&error) => {
                    Ok(Target { name, sibling: None, source: Source::Listing(format) })
                }
                (resolved, _) => resolved,
            };
        }
        let original = stat(&name);
        let is_no_file = original.as_ref().map_or_else(is_absent, |stat| stat.kind != Kind::File);
        if is_no_file && let Some(page) = resolve_page(&stat, &name, place, codings)? {
            return Ok(page);
        }
        let original = original?;
        match original.kind {
            Kind::File => choose(stat, (name, 0), original, place, codings),
            Kind::Directory => Ok(Target { name, sibling: None, source: Source::Directory }),
            Kind::Other => Err(ErrorKind::NotFound.into()),
        }
    }

    /// The first index file of the directory that there is, also one that cannot be read: a listing
    /// in its place would publish what the operator has hidden behind it. A directory without one
    /// has nothing to show, and a file that is named with a slash behind it is no directory.
    fn resolve_index(
        &self,
        stat: impl Fn(&[u8]) -> io::Result<Stat>,
        directory: &[u8],
        place: &Place,
        codings: Codings,
    ) -> io::Result<Target> {
        for (candidate, index) in self.index_files.iter().enumerate() {
            let name = [directory, index.as_bytes()].concat();
            match stat(&name) {
                Ok(original) if original.kind == Kind::File => {
                    return choose(stat, (name, candidate as u8), original, place, codings);
                }
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::NotFound.into())
    }
}

impl Reached {
    /// As far as it comes without reading.
    pub(crate) fn sent_from_descriptor(self) -> Self {
        match self {
            Self::Unread(unread) => Self::End(unread.whole()),
            end => end,
        }
    }
}

impl Unread {
    /// The answer, if `bytes` are the whole file and it was the same before and after.
    pub(crate) fn with(self, bytes: io::Result<Option<Shared<[u8]>>>) -> Result<Reached, Refused> {
        let read = bytes.and_then(|bytes| Ok((bytes, self.file.stat()?)));
        let (bytes, after) = read.map_err(|error| Refused::failed(self.path.clone(), &error))?;
        match bytes {
            Some(bytes) if after == self.stat => {
                let content = Content::Bytes(Chunk::whole(bytes));
                Ok(Reached::End(self.loading(content)))
            }
            _ => Ok(Reached::Unread(Self { stat: after, ..self })),
        }
    }

    /// The answer that sends the file from its descriptor.
    pub(crate) fn whole(self) -> Loading {
        let content = Content::File { file: self.file.clone(), length: self.stat.size };
        self.loading(content)
    }

    fn loading(self, content: Content<File>) -> Loading {
        let Self { stat, coding, varies, candidate, media_type, lines, .. } = self;
        let etag = etag(&stat, coding);
        let representation = Shared::new(Representation {
            status: Status::OK,
            coding,
            modified: modified(&stat),
            varies,
            words: Words::of(Wording {
                media_type: media_type.as_bytes(),
                etag: etag.as_bytes(),
                location: b"",
                fields: &lines,
            }),
            content,
        });
        Loading { representation, source: Source::File { stat, coding, varies, candidate } }
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
            // Its times do not tell when a file in it grew.
            Self::Listing(_) => false,
        }
    }
}

/// The page whose clean URL ends with that name, if there is one.
fn resolve_page(
    stat: impl Fn(&[u8]) -> io::Result<Stat>,
    name: &[u8],
    place: &Place,
    codings: Codings,
) -> io::Result<Option<Target>> {
    if !place.clean_urls || !names::is_bare(names::last(name)) {
        return Ok(None);
    }
    let name = [name, names::PAGE].concat();
    match stat(&name) {
        Ok(page) if page.kind == Kind::File => {
            choose(stat, (name, 1), page, place, codings).map(Some)
        }
        Err(error) if !is_absent(&error) => Err(error),
        _ => Ok(None),
    }
}

/// Picks the precompressed sibling that suits the client best. A sibling older than its original
/// was made of something else and is passed over. Whether the answer varies depends on what there
/// is, not on who asks: a cache between us must hear it also with the plain bytes.
fn choose(
    stat: impl Fn(&[u8]) -> io::Result<Stat>,
    (name, candidate): (Vec<u8>, u8),
    original: Stat,
    place: &Place,
    codings: Codings,
) -> io::Result<Target> {
    let own_coding = mime::coding_of(&name);
    let compresses = own_coding.is_none() && place.types.of(&name).compresses;
    let mut present = [None; CODINGS.len()];
    for coding in CODINGS.into_iter().filter(|_| compresses && place.siblings) {
        let suits =
            |sibling: &Stat| sibling.kind == Kind::File && sibling.mtime_ns >= original.mtime_ns;
        present[coding as usize] = match stat(&[&name, coding.suffix().as_bytes()].concat()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(error),
            sibling => sibling.ok().filter(suits),
        };
    }
    let varies = present.iter().any(Option::is_some);
    let best = codings.iter().find_map(|coding| Some((present[coding as usize]?, coding)));
    let (stat, sibling) = match best {
        Some((stat, coding)) => (stat, Some(coding)),
        None => (original, None),
    };
    let coding = sibling.or(own_coding);
    let source = Source::File { stat, coding, varies, candidate };
    Ok(Target { name, sibling, source })
}

fn open(root: &Directory, target: &Target) -> io::Result<(File, Stat)> {
    let ending = target.sibling.map_or("", Coding::suffix).as_bytes();
    match root.open_beneath(&[&target.name, ending].concat())? {
        Opened::File(file, stat) => Ok((file, stat)),
        _ => Err(ErrorKind::NotFound.into()),
    }
}

/// Leads to the same path with a slash behind it (RFC 9110 section 15.4.2).
fn redirect(path: &[u8], lines: &[u8]) -> Loading {
    let location = [&path::escape(path)[..], b"/"].concat();
    let wording = Wording { location: &location, fields: lines, ..Wording::default() };
    let status = Status::MOVED_PERMANENTLY;
    let representation = Representation::made(status, wording, Block::default());
    Loading { representation: Shared::new(representation), source: Source::Directory }
}

fn listed(page: Vec<u8>, format: Format, lines: &[u8]) -> Loading {
    let fields = [b"Vary: Accept\r\n", format.fields().as_bytes(), lines].concat();
    let media_type = format.media_type().as_bytes();
    let wording = Wording { media_type, fields: &fields, ..Wording::default() };
    let representation = Representation::made(Status::OK, wording, page);
    Loading { representation: Shared::new(representation), source: Source::Listing(format) }
}

/// The first `size` bytes; nothing if the file has become shorter.
pub(crate) fn read(file: &File, size: u64) -> io::Result<Option<Shared<[u8]>>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let homes = Homes::new(place.path());
        let disk = Disk { small_bytes_max: 8, index_files: Vec::new(), homes };
        let unread = |size: Option<u64>| {
            let (file, stat) = opened();
            let stat = Stat { size: size.unwrap_or(stat.size), ..stat };
            let file = Shared::new(file);
            let (media_type, lines) = ("text/plain".into(), Shared::default());
            Unread {
                file,
                stat,
                path: None,
                coding: None,
                varies: false,
                candidate: 0,
                media_type,
                lines,
            }
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
