use crate::negotiation::prefers;
use crate::{Head, Status};

/// What a reply that says no more than its status looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A line, to who is not asked: nothing but the status is known of the request.
    Text,
    /// A line, to a program.
    Line,
    /// A page, to a browser that shows it.
    Page,
}

/// Before the code and the phrase that are the title, between these and those that are shown, ...
const PAGE: [&[u8]; 4] = [
    b"<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
      <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
    concat!("</title>\n<style>\n", include_str!("page.css"), "</style>\n<h1>").as_bytes(),
    b"</h1>\n<p>",
    b"</p>\n",
];

impl Form {
    /// What whoever asks would rather have: an error as a page where HTML is named and counts more
    /// than text.
    pub(super) fn of(status: Status, head: &Head<'_>) -> Self {
        if status.0 < 400 {
            return Self::Text;
        }
        if prefers(head, "text/html", "text/plain") { Self::Page } else { Self::Line }
    }

    /// The content, in pieces.
    pub(super) const fn content<'p>(self, code: &'p [u8], phrase: &'p [u8]) -> [&'p [u8]; 9] {
        match self {
            Self::Page => {
                let [begin, shown, between, end] = PAGE;
                [begin, code, b" ", phrase, shown, code, between, phrase, end]
            }
            Self::Text | Self::Line => [code, b" ", phrase, b"\n", b"", b"", b"", b"", b""],
        }
    }

    pub(super) const fn media_type(self) -> &'static [u8] {
        match self {
            Self::Text | Self::Line => b"text/plain",
            Self::Page => b"text/html; charset=utf-8",
        }
    }

    /// Header lines: a cache must not give one client what another has asked for.
    pub(super) const fn lines(self) -> &'static [u8] {
        match self {
            Self::Text => b"",
            Self::Line | Self::Page => b"Vary: Accept\r\n",
        }
    }
}
