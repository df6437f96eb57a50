use std::path::Path;
use std::{io, mem};

use cache::Weight;
use h1::{Codings, FilePart, Found, Head, Loaded, Lookup, Method, Now, Shared, Status};
use os::{Directory, File};

use crate::answers::Answers;
use crate::disk::{Disk, Step, Unread, status_of};
use crate::{Error, Settings, path};

/// The files beneath one root, and what is remembered of them. Shared by all threads.
pub struct Site {
    disk: Disk,
    answers: Answers,
}

/// What [`Site::open`] found, on its way to [`Site::keep`].
pub struct Opening {
    lookup: Lookup,
    outcome: Result<Step, Status>,
}

impl Opening {
    /// The small file whose content is still to be read, for [`Self::read`] or by it.
    #[must_use]
    pub fn unread(&self) -> Option<FilePart<File>> {
        let Ok(Step::Unread(Unread { file, stat, .. })) = &self.outcome else { return None };
        Some(FilePart { file: file.clone(), at: 0, end: stat.size })
    }

    /// Takes what [`Self::unread`] names, or what has come of it. A file that was changed meanwhile
    /// will be sent from its descriptor.
    pub fn read(&mut self, bytes: io::Result<Shared<[u8]>>) {
        let outcome = mem::replace(&mut self.outcome, Err(Status::INTERNAL_SERVER_ERROR));
        self.outcome = match (outcome, bytes) {
            (Ok(Step::Unread(unread)), Ok(bytes)) => {
                let whole = bytes.len() as u64 == unread.stat.size;
                unread.with(whole.then_some(bytes)).map(Step::sent_from_descriptor)
            }
            (Ok(Step::Unread(_)), Err(error)) => Err(status_of(&error)),
            (outcome, _) => outcome,
        };
    }
}

/// What the cache did and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Lookups answered from memory, refusals among them.
    pub hits: u64,
    /// Lookups that led to the disk, if only to compare.
    pub misses: u64,
    /// Answers kept.
    pub entries: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Files that they keep open.
    pub descriptors: u64,
}

impl Site {
    /// A site that serves what lies beneath `root`. The root itself may be a symbolic link, and may
    /// be replaced while it is served. Takes no memory for a cache that is empty.
    ///
    /// # Errors
    /// There is no such directory, or this process may not look into it.
    pub fn new(root: &Path, settings: &Settings) -> Result<Self, Error> {
        let failed = |source| Error { root: root.to_path_buf(), source };
        let absolute = std::path::absolute(root).map_err(failed)?;
        // A kernel that cannot resolve beneath a directory shows it here, not with each request.
        Directory::open(&absolute).and_then(|root| root.stat_beneath(b".")).map_err(failed)?;
        let disk = Disk {
            root: absolute,
            small_bytes_max: settings.small_bytes_max,
            index_files: settings.index_files.clone(),
        };
        let bounds =
            Weight { bytes: settings.cache_bytes, descriptors: settings.cache_files as u64 };
        Ok(Self { disk, answers: Answers::new(bounds, settings.shards) })
    }

    /// Looks a request up; reads memory only.
    pub fn find(&self, head: &Head<'_>, now: &Now) -> Found<File> {
        if head.method() == Method::Options {
            return Found::Status(Status::NO_CONTENT);
        }
        match path::translate(head.path()) {
            Ok(path) => {
                let codings = || Codings::parse(head.values("accept-encoding"));
                self.answers.find(&path, codings, now)
            }
            Err(status) => Found::Status(status),
        }
    }

    /// Asks the disk what a path leads to, and opens it unless the cache has it as it is; what is
    /// in a small file remains to be read. May block; from the cache it takes only what to compare
    /// with.
    #[must_use]
    pub fn open(&self, lookup: &Lookup) -> Opening {
        let outcome = self.disk.open(lookup, self.answers.known(lookup));
        Opening { lookup: lookup.clone(), outcome }
    }

    /// Takes what was opened into the cache, and answers with it. Blocks if it is unread.
    pub fn keep(&self, opening: Opening, now: &Now) -> Loaded<File> {
        let Opening { lookup, outcome } = opening;
        let loading = outcome.and_then(|step| match step {
            Step::Loaded(loading) => Ok(loading),
            Step::Unread(unread) => self.disk.read(unread),
        });
        match loading {
            Ok(loading) => self.answers.keep(&lookup, loading, now),
            Err(status) => self.answers.keep_refusal(&lookup, status, now),
        }
    }

    /// [`Self::open`] and [`Self::keep`] at once, for whoever may block in place.
    pub fn load(&self, lookup: &Lookup, now: &Now) -> Loaded<File> {
        self.keep(self.open(lookup), now)
    }

    /// What the cache did and holds, of all shards.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.answers.statistics()
    }
}
