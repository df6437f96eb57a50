//! The workloads there are, each by its name. Those that are built in are a file of this folder
//! each, which says where its numbers are from; [`crate::trace`] has the others.

pub mod browser;
pub mod one_packet;
pub mod one_url;
pub mod pages;
mod registry;
pub mod settings;
pub mod specweb99;
pub mod surge;
pub mod urls;
pub mod webstone;

use std::fs;
use std::io::{self, BufRead, BufReader};

use crate::trace::Fault;
use crate::trace::input::refuse_compressed;

use self::settings::Settings;

pub use self::registry::{Named, Origin, WORKLOADS, knobs_markdown, markdown, named, spellings};
pub use crate::source::{Made, Workload, draws};

/// The workload that `--workload` asks for: a name, or a name, a colon and a file; the file `-` is
/// the standard input.
///
/// # Errors
/// There is none of that name, it takes a file or none, or it cannot be made: one line, with the
/// file's name.
pub fn make(asked: &str, settings: &Settings) -> Made {
    let (name, file) = match asked.split_once(':') {
        Some((name, file)) => (name, Some(file)),
        None => (asked, None),
    };
    let Some(row) = named(name) else {
        return Err(format!("there is no workload {name}; there are: {}", spellings().join(", ")));
    };
    match (row.origin, file.filter(|file| !file.is_empty())) {
        (Origin::BuiltIn(make), None) => make(settings),
        (Origin::Synthesised(trace), None) => {
            let made = trace(settings).map_err(|why| format!("{name}: {why}"));
            Ok(Box::new(made?))
        }
        (Origin::File(read), Some(file)) => {
            let made = open(file).and_then(|mut from| read(&mut *from, settings));
            made.map_err(|why| format!("{}: {why}", shown(file)))
        }
        (Origin::File(_), None) => Err(format!("{name} is read from a file: {name}:FILE")),
        (_, Some(_)) => Err(format!("{name} is built in and takes no file")),
    }
}

/// The name of the standard input, as with most programs.
const STANDARD_INPUT: &str = "-";

fn shown(file: &str) -> &str {
    if file == STANDARD_INPUT { "standard input" } else { file }
}

fn open(file: &str) -> Result<Box<dyn BufRead>, String> {
    let mut from: Box<dyn BufRead> = match file {
        STANDARD_INPUT => Box::new(io::stdin().lock()),
        path => {
            let opened = fs::File::open(path).map_err(|error| Fault::Io(error).to_string())?;
            Box::new(BufReader::new(opened))
        }
    };
    refuse_compressed(&mut *from).map_err(|fault| fault.to_string())?;
    Ok(from)
}

#[cfg(test)]
mod tests {
    use measure::draw::Stream;

    use super::*;
    use crate::files::FileId;

    #[test]
    fn whoever_asks_wrongly_is_told_in_one_line() {
        let rows = [
            ("specweb98", "there is no workload specweb98; there are: one-packet, specweb99"),
            ("", "there is no workload ; there are: "),
            ("urls", "urls is read from a file: urls:FILE"),
            ("urls:", "urls is read from a file: urls:FILE"),
            ("urls:/does/not/exist", "/does/not/exist: cannot be read: No such file"),
            ("clf:/", "/: cannot be read: Is a directory"),
            ("surge:a", "surge is built in and takes no file"),
            ("choi-ucb:a", "choi-ucb is built in and takes no file"),
        ];
        for (asked, expected) in rows {
            let told = make(asked, &Settings::default()).err().expect("it is refused");
            assert!(told.starts_with(expected) && !told.contains('\n'), "{asked}: {told}");
        }
    }

    #[test]
    fn what_no_workload_can_be_is_told_in_one_line() {
        type Row<'r> = (&'r str, &'r [(&'r str, &'r str)], &'r str);
        let rows: [Row<'_>; 8] = [
            ("choi-nasa", &[("trace-scale", "0.001")], "cache: has to hold at least 64 files of"),
            ("synthetic", &[("cache-mb", "33")], "cache: has to be smaller than all files"),
            ("synthetic", &[("cache-mb", "1")], "cache: has to hold at least 64 files of mean"),
            ("synthetic", &[("hits", "1")], "hits: have to be from 0 to below 1"),
            ("synthetic", &[("hits", "0.2")], "hits: have to be from 0.3"),
            ("synthetic", &[("hits", "0.9"), ("recency", "0.95")], "hits: have to be from 0.96"),
            ("surge", &[("files", "20001")], "--files 20001: has to be from 1 to 20000 for this"),
            ("browser", &[("files", "20001")], "--files 20001: has to be from 1 to 20000 for"),
        ];
        for (name, knobs, expected) in rows {
            let mut settings = Settings::default();
            for (knob, value) in knobs {
                settings.set(knob, value).expect("a knob");
            }
            let told = make(name, &settings).err().expect("it is refused");
            let why = told.strip_prefix(&format!("{name}: ")).unwrap_or(&told);
            assert!(why.starts_with(expected) && !told.contains('\n'), "{name}: {told}");
        }
    }

    #[test]
    fn a_trace_of_ones_own_has_the_figures_it_was_told() {
        let mut settings = Settings::default();
        let knobs = [
            ("files", "30000"),
            ("mean-bytes", "2000"),
            ("requests", "5000"),
            ("cache-mb", "10"),
            ("hits", "0.7"),
            ("session-requests", "3"),
        ];
        knobs.iter().for_each(|(knob, value)| settings.set(knob, value).expect("a knob"));
        let mut made = make("synthetic", &settings).expect("it can be made");
        assert_eq!((made.files().count(), made.pass()), (30_000, Some(1_667)));
        let bytes: u64 = made.files().iter().filter_map(|(_, file)| file.bytes).sum();
        assert!((59_900_000..60_100_000).contains(&bytes), "{bytes}");
        let notes = made.notes().expect("it is synthetic");
        assert!(notes.contains("a cache of 10.0 MB") && notes.contains("has 70.00 %"), "{notes}");
        let (mut sessions, mut thinking) = draws(1, 0);
        assert_eq!(made.session(0, &mut sessions, &mut thinking).requests(), 3);
        assert_eq!(made.model().keeps, None, "its requests share a connection");
    }

    const CLF: &[u8] = b"a - - [01/Jul/1995:00:00:10 +0000] \"GET /a HTTP/1.0\" 200 100\n";

    /// What a file holds, and its first target or what is wrong with it.
    #[test]
    fn files_are_read_by_their_formats() {
        let wc98 = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 2, 0, 0];
        let gzip = b"\x1f\x8b\x08";
        let rows: [(&str, &[u8], Result<&str, &str>); 14] = [
            ("urls", b"/u\n", Ok("/u")),
            ("wsesslog", b"/w\n", Ok("/w")),
            ("clf", CLF, Ok("/a")),
            ("wc98", &wc98, Ok("/wc98/3")),
            ("urls", b"", Err("there is no URL in it")),
            ("wsesslog", b"", Err("there is no session in it: each line is what is asked for")),
            ("clf", b"", Err("there is no request in it")),
            ("ucb", b"", Err("there is no request in it")),
            ("wsesslog", b"/a think=x\n", Err("line or record 1: think=x is no pause")),
            ("clf", b"x\n", Err("no request in it can be replayed (1 lines or records are")),
            ("wc98", b"x\n", Err("no request in it can be replayed (1 lines or records are")),
            ("ucb", b"x\n", Err("no request in it can be replayed (1 lines or records are")),
            ("urls", gzip, Err("is compressed")),
            ("ucb", gzip, Err("is compressed")),
        ];
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        for (name, content, expected) in rows {
            fs::write(&path, content).expect("it can be written");
            let made = make(&format!("{name}:{path}"), &Settings::default());
            match (made, expected) {
                (Ok(made), Ok(target)) => {
                    assert_eq!(&*made.files().file(FileId(0)).target, target, "{name}");
                    assert_eq!(made.times().is_some(), name == "clf" || name == "wc98", "{name}");
                }
                (Err(told), Err(why)) => {
                    assert!(told.starts_with(&format!("{path}: {why}")), "{name}: {told}");
                    assert!(!told.contains('\n'), "{told}");
                }
                (made, _) => panic!("{name}: {:?}", made.err()),
            }
        }
    }

    #[test]
    fn knobs_change_what_is_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().display().to_string();
        let first = |name: &str, content: &[u8], knobs: &[(&str, &str)]| {
            fs::write(&path, content).expect("it can be written");
            let mut settings = Settings::default();
            for (knob, value) in knobs {
                settings.set(knob, value).expect("a knob");
            }
            let mut made = make(&format!("{name}:{path}"), &settings).expect("it is read");
            let (mut sessions, mut thinking) = draws(1, 0);
            let first = made.session(0, &mut sessions, &mut thinking);
            (first.bursts.len(), first.bursts[0].think.as_millis(), made.files().is_made)
        };
        let pair = CLF.repeat(2);
        let text = str::from_utf8(&pair).expect("ASCII").replacen(":10 ", ":00 ", 1);
        let (log, sessions) = (text.as_bytes(), b"/a\n/b think=1\n");
        type Row<'r> = (&'r str, &'r [u8], &'r [(&'r str, &'r str)], (usize, u128, bool));
        let rows: [Row<'_>; 7] = [
            ("clf", log, &[], (2, 10_000, false)),
            ("clf", log, &[("session-gap", "9.5")], (1, 0, false)),
            ("clf", log, &[("speed", "4")], (2, 2_500, false)),
            ("clf", log, &[("site", "made")], (2, 10_000, true)),
            ("wsesslog", sessions, &[], (2, 0, false)),
            ("wsesslog", sessions, &[("default-think", "2")], (2, 2_000, false)),
            (
                "wsesslog",
                sessions,
                &[("default-think", "2"), ("think-scale", "0.5")],
                (2, 1_000, false),
            ),
        ];
        for (name, content, knobs, expected) in rows {
            assert_eq!(first(name, content, knobs), expected, "{name} {knobs:?}");
        }
    }

    #[test]
    fn every_row_is_whole() {
        for row in WORKLOADS {
            let unknown = row.knobs.len() - row.knobs().count();
            assert_eq!(unknown, 0, "{} names a knob that is not in the table", row.name);
            if row.takes_file() {
                continue;
            }
            let mut workload = make(row.name, &Settings::default()).expect("it can be made");
            let is_synthetic = workload.notes().is_some_and(|notes| notes.starts_with("synthetic"));
            assert_eq!(is_synthetic, matches!(row.origin, Origin::Synthesised(_)), "{}", row.name);
            let streams = || (Stream::new(1, 2), Stream::new(1, 3));
            let (mut sessions, mut thinking) = streams();
            let first = workload.session(0, &mut sessions, &mut thinking);
            assert!(first.requests() > 0, "{}", row.name);
            let (mut sessions, mut thinking) = streams();
            let again = workload.session(0, &mut sessions, &mut thinking);
            assert_eq!(first, again, "{}: the same draws, another session", row.name);
            let shares = workload.model().shares;
            assert_eq!(shares.len(), workload.files().count(), "{}", row.name);
            let sum: f64 = shares.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", row.name);
            assert!(workload.files().is_made, "{}", row.name);
        }
    }

    #[test]
    fn what_is_asked_does_not_depend_on_thinking() {
        for name in ["specweb99", "surge"] {
            let asked = ["constant", "drawn", "none"].map(|think| {
                let mut settings = Settings::default();
                settings.set("think", think).expect("a way to think");
                let mut workload = make(name, &settings).expect("it can be made");
                let (mut sessions, mut thinking) = (Stream::new(5, 2), Stream::new(5, 3));
                let drawn = (0..100).map(|_| workload.session(0, &mut sessions, &mut thinking));
                let bursts = drawn.flat_map(|session| session.bursts);
                let requests = bursts.flat_map(|burst| burst.requests);
                requests.map(|request| request.file).collect::<Vec<_>>()
            });
            assert!(asked.windows(2).all(|two| two[0] == two[1]), "{name}");
        }
    }
}
