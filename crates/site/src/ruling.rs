use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use h1::{Answer, Block, Lookup, Representation, Shared, Status, Wording};
use os::File;

use crate::guard::Guard;
use crate::listing::Format;
use crate::mime::Types;
use crate::redirect::Redirect;
use crate::sources::Sources;

/// How long a browser need not ask again what a page may do, in seconds: two hours are the most
/// that any of them takes.
const PREFLIGHT_S: u32 = 7200;

/// What is done with all requests of one kind: those whose paths have the same rules, and whose
/// fields lead to the same variant of the reply.
#[derive(Default)]
pub(crate) struct Ruling {
    /// Header lines of all replies.
    pub(crate) lines: Shared<[u8]>,
    /// What replies with a status have as content.
    pub(crate) pages: Vec<(Status, Page)>,
    /// From which addresses requests are answered; nothing: from all.
    pub(crate) sources: Option<Arc<Sources>>,
    pub(crate) guard: Option<Arc<Guard>>,
    /// The root and the path of what is served where there is no file.
    pub(crate) fallback: Option<(u32, Shared<[u8]>)>,
    /// Whether pages of the origin that asks may read replies.
    pub(crate) is_shared: bool,
    pub(crate) outcome: Outcome,
}

/// Content of an error.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) media_type: Cow<'static, str>,
    pub(crate) content: Shared<[u8]>,
}

pub(crate) enum Outcome {
    /// A file, of the path beneath a root.
    Files(Place),
    Redirect(Redirect),
    Answer(Status),
}

/// Where files are.
#[derive(Clone)]
pub(crate) struct Place {
    /// What stands before the path of a lookup in the path that was asked for.
    pub(crate) at: Vec<u8>,
    pub(crate) files: Files,
    /// How a directory without an index file is shown, if at all.
    pub(crate) listing: Option<Format>,
    /// Whether precompressed siblings are shown in the place of files.
    pub(crate) siblings: bool,
    /// Whether a name without a dot also shows the page whose name has an ending more.
    pub(crate) clean_urls: bool,
    pub(crate) types: Types,
}

#[derive(Clone)]
pub(crate) enum Files {
    /// Beneath this directory, and where its links may lead that lead out of it.
    Beneath(PathBuf, Arc<[PathBuf]>),
    /// Beneath a directory of this name in the home of the user whom the path begins with.
    OfUsers(String),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Answer(Status::NOT_FOUND)
    }
}

impl Ruling {
    /// What serves the files beneath a directory, and nothing else.
    pub(crate) fn of_root(root: PathBuf) -> Self {
        let (at, files) = (Vec::new(), Files::Beneath(root, Arc::default()));
        let (listing, types) = (None, Types::default());
        let place = Place { at, files, listing, siblings: true, clean_urls: false, types };
        Self { outcome: Outcome::Files(place), ..Self::default() }
    }

    /// What is looked up where there is nothing under a name.
    pub(crate) fn instead(&self, of: &Lookup) -> Option<Lookup> {
        let (root, path) = self.fallback.as_ref()?;
        let path = Shared::clone(path);
        Some(Lookup { root: *root, path, codings: of.codings, credentials: None })
    }

    /// A reply that says no more than a status, as the operator wants it to look; the bare status
    /// where he does not say.
    pub(crate) fn dressed(&self, status: Status) -> Result<Answer<File>, Status> {
        let page = self.page(status);
        let challenges = status == Status::UNAUTHORIZED && self.guard.is_some();
        if self.lines.is_empty() && page.is_none() && !challenges {
            return Err(status);
        }
        Ok(self.reply(status, page, self.lines.to_vec()))
    }

    /// As [`Self::dressed`], for who is to ask again after so many seconds.
    pub(crate) fn put_off(&self, status: Status, retry_after_s: u32) -> Answer<File> {
        let line = format!("Retry-After: {retry_after_s}\r\n");
        self.reply(status, self.page(status), [&self.lines, line.as_bytes()].concat())
    }

    fn page(&self, status: Status) -> Option<&Page> {
        self.pages.iter().rev().find(|(of, _)| *of == status).map(|(_, page)| page)
    }

    fn reply(&self, status: Status, page: Option<&Page>, mut lines: Vec<u8>) -> Answer<File> {
        match (status, &self.guard) {
            (Status::UNAUTHORIZED, Some(guard)) => lines.extend(guard.challenge().as_bytes()),
            (Status::NO_CONTENT | Status::METHOD_NOT_ALLOWED, _) => lines.extend(ALLOW),
            _ => {}
        }
        let text = || format!("{} {}\n", status.0, status.phrase()).into_bytes();
        let (media_type, content) = match page {
            _ if status == Status::NO_CONTENT => ("", Shared::from([])),
            Some(page) => (&*page.media_type, Shared::clone(&page.content)),
            None if status.0 >= 400 => ("", Shared::from([])),
            None => ("text/plain", Shared::from(text())),
        };
        made(status, media_type, lines, content)
    }

    /// The reply to a browser that asks what a page of another origin may do (Fetch standard,
    /// section 3.3.3). Any field may be sent: none but one makes a difference to what is served,
    /// and that one is not among those that the star stands for.
    pub(crate) fn preflight(&self) -> Result<Answer<File>, Status> {
        if !self.is_shared {
            return self.dressed(Status::NO_CONTENT);
        }
        let methods = format!(
            "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n\
             Access-Control-Allow-Headers: Authorization, *\r\n\
             Access-Control-Max-Age: {PREFLIGHT_S}\r\n"
        );
        let lines = [&self.lines, methods.as_bytes(), ALLOW].concat();
        Ok(made(Status::NO_CONTENT, "", lines, Shared::from([])))
    }

    /// Leads to another place.
    pub(crate) fn redirected(&self, status: Status, location: &[u8]) -> Answer<File> {
        let wording = Wording { location, fields: &self.lines, ..Wording::default() };
        Representation::made(status, wording, Block::default()).into()
    }
}

const ALLOW: &[u8] = b"Allow: GET, HEAD, OPTIONS\r\n";

fn made(status: Status, media_type: &str, lines: Vec<u8>, content: Shared<[u8]>) -> Answer<File> {
    let media_type = media_type.as_bytes();
    let wording = Wording { media_type, fields: &lines, ..Wording::default() };
    Representation::made(status, wording, content).into()
}
