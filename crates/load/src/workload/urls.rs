//! The URLs of a list: a text with one on each line, whole (`http://host/path`) or from its path on
//! (`/path?query`). Empty lines and lines that begin with `#` are passed over.
//!
//! Each session asks once, for a line that is drawn; one that stands there twice is asked twice as
//! often. Drawn and not in order, so that several processes do not all ask the same at the same
//! time.

use std::collections::HashMap;
use std::io::{BufRead, Read as _};

use measure::draw::Stream;

use crate::files::{File, FileId, Files};
use crate::session::{Burst, Request, Session};
use crate::source::model::Model;
use crate::source::{Made, Workload};
use crate::trace::Fault;

use super::settings::Settings;

/// The list is kept in memory; so long a list is a trace.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// What servers take at least, as RFC 9110 4.1 recommends.
const TARGET_BYTES_MAX: usize = 8_000;

/// See the head of this file.
pub struct Urls {
    files: Files,
    /// The file of each line.
    lines: Vec<FileId>,
}

impl Urls {
    /// Reads a list.
    ///
    /// # Errors
    /// A line is no URL of HTTP, is of another host than those before, or there is none at all: the
    /// line, and what is wrong.
    pub fn parse(list: &[u8]) -> Result<Self, String> {
        let mut seen = HashMap::new();
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        let mut host = None;
        for (number, line) in (1_u64..).zip(list.split(|byte| *byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let target = target(line, &mut host).map_err(|why| format!("line {number}: {why}"))?;
            let id = *seen.entry(target.clone()).or_insert_with(|| {
                all.push(File::unknown(target));
                // A list of so many bytes has fewer lines than that.
                FileId(all.len() as u32 - 1)
            });
            lines.push(id);
        }
        if lines.is_empty() {
            return Err(String::from("there is no URL in it"));
        }
        Ok(Self { files: Files::new(all, false), lines })
    }
}

/// The target of a line. All whole URLs are of one `host`: a run asks one server.
fn target<'l>(line: &'l [u8], host: &mut Option<&'l str>) -> Result<String, String> {
    // What is asked goes out as it is; a byte that is none of a URL would be another request.
    if let Some(byte) = line.iter().find(|byte| !byte.is_ascii_graphic()) {
        return Err(format!("the byte \"{}\" is none of a URL", byte.escape_ascii()));
    }
    // Graphic bytes are ASCII.
    let line = str::from_utf8(line).map_err(|_| String::from("it is no text"))?;
    let line = line.split_once('#').map_or(line, |(before, _)| before);
    let target = match line.split_once("://") {
        Some((scheme, rest)) if !line.starts_with('/') => {
            if !scheme.eq_ignore_ascii_case("http") {
                return Err(format!("{scheme} is not spoken, http is"));
            }
            let (of, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let first = *host.get_or_insert(of);
            if of.is_empty() || !first.eq_ignore_ascii_case(of) {
                return Err(format!("the host is \"{of}\", that of the lines before \"{first}\""));
            }
            target
        }
        _ if !line.starts_with('/') => {
            return Err(String::from("a URL begins with http:// or with a slash"));
        }
        _ => line,
    };
    let slash = if target.starts_with('/') { "" } else { "/" };
    if slash.len() + target.len() > TARGET_BYTES_MAX {
        return Err(format!("longer than {TARGET_BYTES_MAX} bytes"));
    }
    Ok(format!("{slash}{target}"))
}

impl Workload for Urls {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, sessions: &mut Stream, _: &mut Stream) -> Session {
        let file = self.lines[sessions.below(self.lines.len() as u32) as usize];
        Session { bursts: vec![Burst { requests: vec![Request::get(file)], ..Burst::default() }] }
    }

    fn model(&self) -> Model {
        let mut shares = vec![0.0; self.files.count()];
        self.lines.iter().for_each(|id| shares[id.0 as usize] += 1.0 / self.lines.len() as f64);
        let one = Some(1.0);
        Model { shares, requests: one, connections: one, ..Model::default() }
    }
}

pub(super) fn make(from: &mut dyn BufRead, _: &Settings) -> Made {
    let mut list = Vec::new();
    let read = from.take(LIST_BYTES_MAX + 1).read_to_end(&mut list);
    read.map_err(|error| Fault::Io(error).to_string())?;
    if list.len() as u64 > LIST_BYTES_MAX {
        return Err(format!("larger than {} MiB", LIST_BYTES_MAX >> 20));
    }
    Ok(Box::new(Urls::parse(&list)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list, and the targets of its lines or what is wrong.
    #[test]
    fn lists_are_read() {
        let long = format!("/{}", "a".repeat(TARGET_BYTES_MAX));
        let rows: [(&str, Result<&[&str], &str>); 17] = [
            ("/a\n/b\n/a\n", Ok(&["/a", "/b", "/a"])),
            ("# a list\r\n\r\n  /a?b=c  \r\n/d", Ok(&["/a?b=c", "/d"])),
            ("http://h/a\nhttp://H/b\n/c\n", Ok(&["/a", "/b", "/c"])),
            ("HTTP://h:80\nhttp://h:80?x=/\n", Ok(&["/", "/?x=/"])),
            ("http://[::1]:8080/a#part\n", Ok(&["/a"])),
            ("/go?to=http://other/\n", Ok(&["/go?to=http://other/"])),
            ("//double", Ok(&["//double"])),
            ("", Err("there is no URL in it")),
            ("\n# nothing\n", Err("there is no URL in it")),
            ("/a\nb\n", Err("line 2: a URL begins with http:// or with a slash")),
            ("#\nhttps://h/\n", Err("line 2: https is not spoken, http is")),
            ("http://a/\nhttp://b/\n", Err("line 2: the host is \"b\", that of the lines before")),
            ("http:///a\n", Err("line 1: the host is \"\"")),
            ("/a b\n", Err("line 1: the byte \" \" is none of a URL")),
            ("/a\r/b\n", Err("line 1: the byte \"\\r\" is none of a URL")),
            ("/\u{e9}\n", Err("line 1: the byte \"\\xc3\" is none of a URL")),
            (&long, Err("line 1: longer than 8000 bytes")),
        ];
        for (list, expected) in rows {
            match (Urls::parse(list.as_bytes()), expected) {
                (Ok(urls), Ok(targets)) => {
                    let lines = urls.lines.iter().map(|id| &*urls.files.file(*id).target);
                    assert_eq!(lines.collect::<Vec<_>>(), targets, "{list:?}");
                }
                (Err(told), Err(expected)) => assert!(told.starts_with(expected), "{told}"),
                (parsed, _) => panic!("{list:?}: {:?}", parsed.err()),
            }
        }
    }

    #[test]
    fn a_line_that_stands_twice_is_asked_twice_as_often() {
        let mut urls = Urls::parse(b"/a\n/b\n/a\n").expect("a list");
        let model = urls.model();
        assert!((model.shares[0] - 2.0 / 3.0).abs() < 1e-9, "{:?}", model.shares);
        let (mut sessions, mut thinking) = (Stream::new(4, 2), Stream::new(4, 3));
        let drawn = (0..30_000).map(|_| urls.session(0, &mut sessions, &mut thinking));
        let first = drawn.filter(|drawn| drawn.bursts[0].requests[0].file == FileId(0)).count();
        assert!((19_500..20_500).contains(&first), "{first}");
    }
}
