use h1::{Answer, Connection, Content, Found, Loaded, Lookup, Now, Shared, Status, Want};
use os::File;

use crate::{Hint, Site};

/// What somebody gets who asks for a path, from an address that is let in, and says no password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Of the reply.
    pub status: Status,
    /// How many bytes it would contain; nothing: those that a bare status has.
    pub bytes: Option<u64>,
    /// What the operator may have meant otherwise.
    pub hint: Option<Hint>,
}

impl Site {
    /// Asks for a path of a host, without query, as a client would, and looks on the disk; nothing:
    /// these are no request's. May block.
    #[must_use]
    pub fn asked(&self, host: &str, path: &str, now: &Now) -> Option<Asked> {
        let mut connection = Connection::<File>::new(Shared::default(), now.at);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        connection.received(request.as_bytes(), now);
        let Want::Find(_, head) = connection.want() else { return None };
        let head = head.sent_by(self.someone(&head));
        Some(match self.find(&head, now) {
            Found::Answer(answer) => Asked::of(&answer),
            Found::Miss(lookup) => self.loaded(&lookup, now),
            Found::Status(status) => Asked::bare(status),
        })
    }

    fn loaded(&self, lookup: &Lookup, now: &Now) -> Asked {
        let mut opening = self.open(lookup);
        self.read(&mut opening);
        let hint = opening.hint().cloned();
        let asked = match self.keep(opening, now) {
            Loaded::Answer(answer) => Asked::of(&answer),
            Loaded::Status(status) => Asked::bare(status),
            Loaded::Pages | Loaded::More(_) => unreachable!("a path was looked up"),
        };
        Asked { hint, ..asked }
    }
}

impl Asked {
    fn of(answer: &Answer<File>) -> Self {
        let bytes = match &answer.representation.content {
            Content::Bytes(chunk) => chunk.bytes().len() as u64,
            Content::File { length, .. } => *length,
        };
        Self { status: answer.representation.status, bytes: Some(bytes), hint: None }
    }

    const fn bare(status: Status) -> Self {
        Self { status, bytes: None, hint: None }
    }
}
