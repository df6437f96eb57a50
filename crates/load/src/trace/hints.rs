//! What a trace tells a server's cache before anybody asks: which paths were asked for most often.
//!
//! ```text
//! # paths of clf:access.log by requests, most first; for weir serve --cache-hints
//! /index.html
//! /logo.png
//! ```
//!
//! Those counted are the GETs and HEADs that a file was the answer to ([`Workload::asked`]), over
//! the whole trace and not a sample. A path is written as it stands in the request line, escapes
//! and all, but without its query: that is for a script, and a cache of files has one file for all
//! of them.

use std::cmp::Reverse;
use std::fmt;
use std::io;

use crate::description::Unit;
use crate::source::Workload;
use crate::units;

/// As many as a server takes (`site::HINTS_MAX`): 100,000 files of 10 KB, the mean of Choi05's
/// smaller traces, are 1 GB, which is more than most caches hold.
pub const PATHS_MAX: usize = 100_000;

/// One request predicts nothing: most of what is asked for once is never asked for again.
const REQUESTS_LEAST: u32 = 2;

/// The paths of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Hints<'w> {
    /// The most often requested first.
    paths: Vec<&'w str>,
    /// Of all requests for files, those for these paths.
    share: f64,
}

/// Why there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The workload is no record of what was asked.
    Trace,
    /// No path was asked for often enough.
    Paths,
}

impl<'w> Hints<'w> {
    /// Those of a workload.
    ///
    /// # Errors
    /// It has none.
    pub fn of(workload: &'w dyn Workload) -> Result<Self, Missing> {
        let asked = workload.asked().ok_or(Missing::Trace)?;
        let targets = workload.files().iter().map(|(_, file)| &*file.target);
        Self::ranked(targets.zip(asked), PATHS_MAX).ok_or(Missing::Paths)
    }

    /// Of targets and how often each was asked for. Equal ones are in the order of their bytes, so
    /// that a trace always gives the same file.
    fn ranked(asked: impl Iterator<Item = (&'w str, u32)>, most: usize) -> Option<Self> {
        let mut requests = 0;
        let mut paths = Vec::new();
        for (target, count) in asked {
            requests += u64::from(count);
            paths.extend(path(target).map(|path| (path, count)));
        }
        paths.sort_unstable();
        paths.dedup_by(|(path, more), (before, count)| {
            let is_same = path == before;
            if is_same {
                *count += *more;
            }
            is_same
        });
        paths.retain(|(_, count)| *count >= REQUESTS_LEAST);
        paths.sort_unstable_by_key(|(path, count)| (Reverse(*count), *path));
        paths.truncate(most);
        let hinted: u64 = paths.iter().map(|(_, count)| u64::from(*count)).sum();
        let paths: Vec<&str> = paths.into_iter().map(|(path, _)| path).collect();
        (!paths.is_empty()).then_some(Self { paths, share: hinted as f64 / requests as f64 })
    }

    /// Writes them, with the name of the trace in a comment before.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, trace: &str, to: &mut impl io::Write) -> io::Result<()> {
        // A file's name may hold the end of a line, and what follows it would be a hint.
        let trace = trace.replace(char::is_control, "?");
        writeln!(to, "# paths of {trace} by requests, most first; for weir serve --cache-hints")?;
        self.paths.iter().try_for_each(|path| writeln!(to, "{path}"))
    }

    /// What they come to, in one line without its end.
    #[must_use]
    pub fn told(&self, file: &str) -> String {
        let count = units::count(self.paths.len() as u64);
        let noun = if self.paths.len() == 1 { "path" } else { "paths" };
        let share = Unit::Share.told(self.share);
        format!("hints: {count} {noun} in {file}, asked for in {share} of the requests")
    }
}

/// Of a target; `None`: it has none, or one that is no line.
fn path(target: &str) -> Option<&str> {
    let path = target.split('?').next()?;
    (path.starts_with('/') && !path.contains(char::is_control)).then_some(path)
}

impl fmt::Display for Missing {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace => write!(
                to,
                "is no trace, and has no paths that were asked for: say whose hints, as in \
                 --workload clf:FILE"
            ),
            Self::Paths => write!(
                to,
                "has no path that was asked for {REQUESTS_LEAST} times or more: give it more of \
                 the log"
            ),
        }
    }
}

impl std::error::Error for Missing {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::make;
    use crate::workload::settings::Settings;

    /// Targets with their requests, the paths of them, and the percentage of all requests that
    /// these have.
    #[test]
    fn the_most_often_requested_come_first() {
        type Row<'r> = (&'r [(&'r str, u32)], &'r [&'r str], f64);
        let rows: [Row<'_>; 10] = [
            (&[], &[], 0.0),
            (&[("/a", 2), ("/b", 8)], &["/b", "/a"], 100.0),
            // Ties, by bytes.
            (&[("/b", 2), ("/a", 2), ("/B", 2), ("/%41", 2)], &["/%41", "/B", "/a", "/b"], 100.0),
            // What one asks for is no hint, nor what was asked for in vain.
            (&[("/a", 1), ("/b", 3), ("/c", 0)], &["/b"], 75.0),
            (&[("/a", 1), ("/b", 0)], &[], 0.0),
            // Queries are for the same file; those of one request each are more of it together.
            (
                &[("/a?x", 1), ("/b", 3), ("/a", 3), ("/a?y?z", 1), ("/c?", 1), ("/c", 1)],
                &["/a", "/b", "/c"],
                100.0,
            ),
            (&[("/?/..", 2)], &["/"], 100.0),
            // What is no line that could be read again.
            (&[("/a\nb", 2), ("/\r", 2), ("/\0", 2), ("/\u{85}", 2), ("/c", 2)], &["/c"], 20.0),
            (&[("", 2), ("*", 2), ("a", 2), ("#a", 2), ("?/a", 2), ("/#a b", 2)], &["/#a b"], 16.7),
            // More than there is room for.
            (
                &[("/a", 2), ("/b", 3), ("/c", 4), ("/d", 5), ("/e", 6)],
                &["/e", "/d", "/c", "/b"],
                90.0,
            ),
        ];
        for (asked, expected, percent) in rows {
            let hints = Hints::ranked(asked.iter().copied(), 4);
            let (paths, share) = hints.map_or((Vec::new(), 0.0), |it| (it.paths, it.share));
            assert_eq!(paths, expected, "{asked:?}");
            assert!((share * 100.0 - percent).abs() < 0.05, "{asked:?}: {share}");
        }
    }

    #[test]
    fn no_file_has_more_than_are_of_use() {
        let targets: Vec<String> = (0..=PATHS_MAX).map(|number| format!("/{number}")).collect();
        let hints = Hints::ranked(targets.iter().map(|target| (&**target, 2)), PATHS_MAX);
        assert_eq!(hints.map(|hints| hints.paths.len()), Some(PATHS_MAX));
    }

    /// A line of a log.
    fn line(method: &str, target: &str, status: u16) -> String {
        format!("a - - [01/Jul/1995:00:00:10 +0000] \"{method} {target} HTTP/1.0\" {status} 9\n")
    }

    /// What a file of a format holds, and the paths of it or why there are none.
    #[test]
    fn every_kind_of_trace_has_its_paths() {
        let found = |target| [line("GET", target, 200), line("HEAD", target, 304)].concat();
        let answered: String = [200, 201, 204, 206, 304, 404]
            .iter()
            .flat_map(|status| ["GET", "HEAD", "POST"].map(|method| (method, *status)))
            .map(|(method, status)| line(method, &format!("/{status}"), status))
            .collect();
        let once = line("GET", "/a", 200);
        let absolute = [found("http://host/a%20b?c"), found("/x y")].concat();
        let object = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 2, 0, 0];
        type Row<'r> = (&'r str, &'r [u8], Result<&'r [&'r str], Missing>);
        let rows: [Row<'_>; 9] = [
            ("clf", answered.as_bytes(), Ok(&["/200", "/206", "/304"])),
            ("clf", absolute.as_bytes(), Ok(&["/a%20b", "/x%20y"])),
            ("clf", once.as_bytes(), Err(Missing::Paths)),
            ("wc98", &object.repeat(2), Ok(&["/wc98/3"])),
            ("wc98", &object, Err(Missing::Paths)),
            ("ucb", &ucb().repeat(2), Ok(&["/1.2.3.4/7.html"])),
            ("wsesslog", b"/a\n\t/b\n\n/b method=HEAD\n/a method=POST\nc\nc\n", Ok(&["/b"])),
            ("wsesslog", b"/a\n", Err(Missing::Paths)),
            ("urls", b"/a\n/a\n", Err(Missing::Trace)),
        ];
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (name, content, expected) in rows {
            std::fs::write(file.path(), content).expect("it can be written");
            check(&format!("{name}:{}", file.path().display()), expected);
        }
        check("surge", Err(Missing::Trace));
        check("synthetic", Err(Missing::Trace));
    }

    fn check(workload: &str, expected: Result<&[&str], Missing>) {
        let made = make(workload, &Settings::default()).expect("a workload");
        let paths = Hints::of(&*made).map(|hints| hints.paths);
        assert_eq!(paths.as_deref().map_err(|missing| *missing), expected, "{workload}");
    }

    /// A record of a GET that brought 9 bytes.
    fn ucb() -> Vec<u8> {
        use crate::trace::ucb::{Record, Stamp};
        let stamp = Stamp { seconds: 847_000_000, micros: 0 };
        let request = b"GET 7.html HTTP/1.0";
        let record = Record {
            asked: stamp,
            first_byte: stamp,
            last_byte: stamp,
            client: [9, 9, 9, 9].into(),
            client_port: 1024,
            server: [1, 2, 3, 4].into(),
            server_port: 80,
            client_fields: 0,
            server_fields: 0,
            modified_since: None,
            expires: None,
            last_modified: None,
            head_bytes: Some(100),
            content_bytes: Some(9),
            line_bytes: request.len() as u16,
        };
        [&record.to_bytes()[..], request].concat()
    }

    #[test]
    fn a_file_says_what_it_is_of() {
        let rows = [
            ("clf:a.log", vec!["/a", "/b"], "clf:a.log", "2 paths in out, asked for in 50.00 %"),
            ("clf:a\n/etc\r", vec!["/a"], "clf:a?/etc?", "1 path in out, asked for in 50.00 %"),
        ];
        for (trace, paths, named, told) in rows {
            let lines: String = paths.iter().map(|path| format!("{path}\n")).collect();
            let hints = Hints { paths, share: 0.5 };
            let mut written = Vec::new();
            hints.write(trace, &mut written).expect("a vector takes all");
            let head = "by requests, most first; for weir serve --cache-hints";
            let expected = format!("# paths of {named} {head}\n{lines}");
            assert_eq!(String::from_utf8_lossy(&written), expected);
            assert_eq!(hints.told("out"), format!("hints: {told} of the requests"));
        }
    }
}
