use std::fmt;

use crate::{Block, Coding, Codings, Head, Shared, Status, Wording, Words};

/// Which of a session's requests in hand something belongs to: a number of the session's own, free
/// again when the reply is out and no load of it is. HTTP/1.1 has one request in hand and uses 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tag(pub u8);

/// What a connection wants next. Exactly one thing at a time; asking again gives the same answer.
///
/// `F` is whatever the driver takes for an open file; this crate never looks into it.
#[derive(Debug)]
pub enum Want<'c, F> {
    /// Bytes from the peer.
    Recv,
    /// A lookup that reads memory only: answer with [`Found`]. Whoever knows the site says of each
    /// method whether it is allowed, and whether it has a use for a body.
    Find(Tag, Head<'c>),
    /// Work that may touch the disk: answer with [`Loaded`], or say that it was handed over.
    Load(Tag, Miss<F>),
    /// Bytes for the peer: all of the chunk, then all of the file part.
    Send(&'c Chunk, Option<&'c FilePart<F>>),
    /// Nothing, until a load that was handed over has come back.
    Wait,
    /// A FIN for the peer; what it still sends is then wanted by `Recv` and thrown away.
    Shut,
    /// To be dropped.
    Close,
}

/// What is not in memory, or may not be. Owned, because it may cross to a helper or a stage.
#[derive(Debug)]
pub enum Miss<F> {
    /// A path to translate, open and stat.
    Path(Lookup),
    /// Pages of a file that are about to be sent from it: answer with [`Loaded::Pages`] once they
    /// are in memory, or at once where blocking in `Send` is accepted.
    Pages(FilePart<F>),
    /// Bytes of a file that must pass through memory before they can be sent, because something
    /// re-codes them: answer with [`Loaded::More`].
    More(FilePart<F>),
}

/// What names an answer: the key under which `site` keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// Which root of the site, by index.
    pub root: u32,
    /// The decoded, normalised path beneath that root: starts with a slash, holds no empty, `.` or
    /// `..` segment, no NUL; ends with a slash where a directory is meant. Empty: the root itself,
    /// named without its slash.
    pub path: Shared<[u8]>,
    /// The content codings that the client takes.
    pub codings: Codings,
    /// What the client says to be let in, where that has still to be verified.
    pub credentials: Option<Credentials>,
}

/// A name, a colon and a password (RFC 7617 section 2). They never show where values are printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Credentials(pub Shared<[u8]>);

/// A piece of shared memory: bytes `at..end` of `of`. What is being sent of it has `at` moved on.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The memory.
    pub of: Block,
    /// Its first byte.
    pub at: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A piece of a file: bytes `at..end`.
#[derive(Debug)]
pub struct FilePart<F> {
    /// The open file.
    pub file: Shared<F>,
    /// First byte still to be sent.
    pub at: u64,
    /// One past the last byte.
    pub end: u64,
}

/// The answer to [`Want::Find`].
#[derive(Debug)]
pub enum Found<F> {
    /// In memory, ready to be sent.
    Answer(Answer<F>),
    /// Not in memory: the connection will want it loaded.
    Miss(Lookup),
    /// Refused without looking, the connection stays usable.
    Status(Status),
}

/// The answer to [`Want::Load`].
#[derive(Debug)]
pub enum Loaded<F> {
    /// For [`Miss::Path`]: what the path leads to.
    Answer(Answer<F>),
    /// For [`Miss::Path`]: nothing that may be served, and why.
    Status(Status),
    /// For [`Miss::Pages`]: they can be sent.
    Pages,
    /// For [`Miss::More`]: the bytes. Fewer than asked for means that the file shrank.
    More(Chunk),
}

/// What answers a request.
#[derive(Debug)]
pub struct Answer<F> {
    /// What is served.
    pub representation: Shared<Representation<F>>,
    /// The whole 200 answer to a plain HTTP/1.1 GET on a connection that stays open, made by
    /// [`crate::compose::prebuilt`] within the current second: head, and the content where that is
    /// `Bytes`. Such content may lie in this very block, so that it is in memory only once.
    pub prebuilt: Option<Chunk>,
}

/// One representation of a resource (RFC 9110 section 3.2), with all that its answers need.
#[derive(Debug)]
pub struct Representation<F> {
    /// 200 for files; 301 and the like for answers made by the site. Only a 200 is subject to
    /// conditions and ranges.
    pub status: Status,
    /// Of a precompressed sibling.
    pub coding: Option<Coding>,
    /// Seconds since 1970.
    pub modified: Option<u64>,
    /// Whether `Vary: Accept-Encoding` belongs on it.
    pub varies: bool,
    /// What its head says besides: its type, its tag, where it leads, further lines.
    pub words: Words,
    /// The bytes themselves.
    pub content: Content<F>,
}

/// Where the bytes of a representation are.
#[derive(Debug)]
pub enum Content<F> {
    /// In memory.
    Bytes(Chunk),
    /// In a file.
    File {
        /// The open file.
        file: Shared<F>,
        /// Its length in bytes when it was opened; exactly so many are announced and sent.
        length: u64,
    },
}

impl Chunk {
    /// All of `of`.
    #[must_use]
    pub fn whole(of: impl Into<Block>) -> Self {
        let of = of.into();
        let end = of.len();
        Self { of, at: 0, end }
    }

    /// The bytes themselves.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.of[self.at..self.end]
    }
}

impl<F> FilePart<F> {
    /// Bytes still to be sent.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end - self.at
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.at == self.end
    }
}

impl<F> Representation<F> {
    /// Whether it says no more than its status, an error. The reply then says that in a way that
    /// suits the client.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.status.0 >= 400 && self.words.media_type().is_empty()
    }

    /// Content in memory that no file stands for, so that nothing tells when it has changed.
    #[must_use]
    pub fn made(status: Status, wording: Wording<'_>, content: impl Into<Block>) -> Self {
        Self {
            status,
            coding: None,
            modified: None,
            varies: false,
            words: Words::of(wording),
            content: Content::Bytes(Chunk::whole(content)),
        }
    }
}

impl<F> From<Representation<F>> for Answer<F> {
    fn from(representation: Representation<F>) -> Self {
        Self { representation: Shared::new(representation), prebuilt: None }
    }
}

impl<F> Found<F> {
    /// Whether the client is to be refused, whatever else it sends.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Answer(answer) => answer.representation.status >= Status::BAD_REQUEST,
            Self::Miss(_) => false,
            Self::Status(status) => *status >= Status::BAD_REQUEST,
        }
    }
}

impl<F> Content<F> {
    /// Length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(Chunk { at, end, .. }) => (end - at) as u64,
            Self::File { length, .. } => *length,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

// Derived clones would ask that `F` be `Clone`; a handle needs no such thing.
impl<F> Clone for FilePart<F> {
    fn clone(&self) -> Self {
        Self { file: Shared::clone(&self.file), at: self.at, end: self.end }
    }
}

impl<F> Clone for Representation<F> {
    fn clone(&self) -> Self {
        Self {
            status: self.status,
            coding: self.coding,
            modified: self.modified,
            varies: self.varies,
            words: self.words.clone(),
            content: self.content.clone(),
        }
    }
}

impl<F> Clone for Content<F> {
    fn clone(&self) -> Self {
        match self {
            Self::Bytes(chunk) => Self::Bytes(chunk.clone()),
            Self::File { file, length } => {
                Self::File { file: Shared::clone(file), length: *length }
            }
        }
    }
}

impl<F> Clone for Miss<F> {
    fn clone(&self) -> Self {
        match self {
            Self::Path(lookup) => Self::Path(lookup.clone()),
            Self::Pages(part) => Self::Pages(part.clone()),
            Self::More(part) => Self::More(part.clone()),
        }
    }
}

impl<F> Clone for Loaded<F> {
    fn clone(&self) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(answer.clone()),
            Self::Status(status) => Self::Status(*status),
            Self::Pages => Self::Pages,
            Self::More(piece) => Self::More(piece.clone()),
        }
    }
}

impl<F> Clone for Answer<F> {
    fn clone(&self) -> Self {
        Self {
            representation: Shared::clone(&self.representation),
            prebuilt: self.prebuilt.clone(),
        }
    }
}
