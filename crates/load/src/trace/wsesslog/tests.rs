use proptest::prelude::*;

use super::*;
use crate::files::{File, FileId};
use crate::workload::{self, settings::Settings};

/// One request: its burst within the session, target, method, content; and the burst's pause.
type Plain<'s> = (usize, &'s str, Method, &'s str, u128);

fn plain(log: &Wsesslog) -> Vec<Vec<Plain<'_>>> {
    let mut all = Vec::new();
    for session in &log.sessions {
        let mut plain = Vec::new();
        for (at, burst) in session.bursts.iter().enumerate() {
            for request in &burst.requests {
                let target = log.files.file(request.file).target.as_ref();
                let content = str::from_utf8(&request.content).unwrap();
                plain.push((at, target, request.method, content, burst.think.as_millis()));
            }
        }
        all.push(plain);
    }
    all
}

fn read(text: &[u8]) -> Result<Wsesslog, Fault> {
    Wsesslog::read(text, Duration::from_secs(3))
}

#[test]
fn a_log_is_read_as_httperf_reads_it() {
    let (get, post) = (Method::Get, Method::Post);
    let rows: [(&str, &[&[Plain<'_>]]); 10] = [
        ("/a", &[&[(0, "/a", get, "", 3000)]]),
        (
            "# comment\n/a think=1.5\n\t/b\n  /c\n/d\n",
            &[&[
                (0, "/a", get, "", 1500),
                (0, "/b", get, "", 1500),
                (0, "/c", get, "", 1500),
                (1, "/d", get, "", 3000),
            ]],
        ),
        // Several blank lines are as one; a comment ends nothing; CRLF is an end of a line.
        (
            "\r\n \n/a\r\n#x\r\n/b\r\n\t\r\n\n/c\r\n\n",
            &[&[(0, "/a", get, "", 3000), (1, "/b", get, "", 3000)], &[(0, "/c", get, "", 3000)]],
        ),
        // A burst has one pause, wherever it is written; the first line may be indented.
        ("\t/a\n\t/b think=0", &[&[(0, "/a", get, "", 0), (0, "/b", get, "", 0)]]),
        (" #x\n", &[&[(0, "%23x", get, "", 3000)]]),
        ("a\x01b", &[&[(0, "a%01b", get, "", 3000)]]),
        (
            "/a  method=POST contents='a \"b\"\\n\\'' think=.5",
            &[&[(0, "/a", post, "a \"b\"\n'", 500)]],
        ),
        // Quotes within a word; an end of a line that is escaped.
        ("/a contents=a\"b c\"d'e'", &[&[(0, "/a", get, "ab cde", 3000)]]),
        ("/a contents=\"b\\\nc\\\\\" method=PUT", &[&[(0, "/a", Method::Put, "b\nc\\", 3000)]]),
        ("/a\\\n/b", &[&[(0, "/a%5C", get, "", 3000), (1, "/b", get, "", 3000)]]),
    ];
    for (text, expected) in rows {
        let log = read(text.as_bytes()).unwrap();
        assert_eq!(plain(&log), expected, "{text}");
    }
}

#[test]
fn a_wrong_line_is_named() {
    let long = "/".repeat(70_000);
    let rows = [
        ("", "there is no session in it: each line is"),
        ("# only\n\n", "there is no session in it: each line is"),
        ("/a\n/b method=BREW", "record 2: the method `BREW` is none of GET, HEAD, POST"),
        ("/a method=GETX", "record 1: the method `GETX`"),
        ("/a think=-1", "record 1: think=-1 is no pause of 0 to 86400 seconds"),
        ("/a think=nan", "think=nan"),
        ("/a think=1s", "think=1s"),
        ("/a think=1e9", "think=1e9"),
        ("/a patience=1", "`patience=1` is none of method=, think= and contents="),
        ("/a contents='b", "the contents have no closing '"),
        ("/a contents=b\\", "the file ends where its contents go on"),
        (long.as_str(), "longer than"),
        (&long[..60_000], "the target is longer"),
    ];
    for (text, expected) in rows {
        let fault = read(text.as_bytes()).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}, not {expected}");
    }
    let content = format!("/a contents={}x", "x\\\n".repeat(CONTENT_BYTES_MAX / 2));
    let fault = read(content.as_bytes()).unwrap_err().to_string();
    assert!(fault.contains("the contents have more"), "{fault}");
}

#[test]
fn sessions_come_in_turn() {
    let mut log = read(b"/a\n\n/b\n").unwrap();
    let (mut one, mut other) = (Stream::new(1, 1), Stream::new(1, 2));
    let files: Vec<u32> = (0..5)
        .map(|number| log.session(number, &mut one, &mut other).bursts[0].requests[0].file.0)
        .collect();
    assert_eq!(files, [0, 1, 0, 1, 0]);
}

/// Each request of a session, and when it comes if each reply takes no time.
fn timeline(files: &Files, session: &Session) -> Vec<(String, Duration)> {
    let mut at = Duration::ZERO;
    let mut all = Vec::new();
    for burst in &session.bursts {
        for request in &burst.requests {
            at += request.pause;
            all.push((files.file(request.file).target.to_string(), at));
        }
        at += burst.think;
    }
    all
}

#[test]
fn any_workload_is_written_with_all_its_pauses() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let log = b"/a think=1\n\t/b\n/c\n\n/d\n";
    std::fs::write(file.path(), log).unwrap();
    let own = format!("wsesslog:{}", file.path().display());
    let rows = [("specweb99", 50), ("surge", 50), ("one-packet", 50), ("choi-nasa", 50), (&own, 2)];
    for (name, expected) in rows {
        let mut of = workload::make(name, &Settings::default()).unwrap();
        let mut text = Vec::new();
        write_of(&mut *of, 50, 3, &mut text).unwrap();
        let log = Wsesslog::read(text.as_slice(), Duration::ZERO).unwrap();
        assert_eq!(log.sessions.len(), expected, "{name}");
        for (number, written) in (0..).zip(&log.sessions) {
            let (mut asking, mut thinking) = workload::draws(3, number);
            let session = of.session(number, &mut asking, &mut thinking);
            let times = timeline(of.files(), &session);
            assert_eq!(timeline(&log.files, written), times, "{name}, session {number}");
        }
    }
}

fn request() -> impl Strategy<Value = (u8, usize, Vec<u8>)> {
    (0_u8..5, 0..Method::NAMES.len(), prop::collection::vec(any::<u8>(), 0..20))
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        sessions in prop::collection::vec(
            prop::collection::vec(
                (prop::collection::vec(request(), 1..5), 0_u64..86_400_000_000_000),
                1..4,
            ),
            1..5,
        ),
    ) {
        // In the order of their first use, as a reader numbers them.
        let mut targets: Vec<Box<str>> = Vec::new();
        let mut id = |name: u8| {
            let target = format!("/{name}?a=%20").into_boxed_str();
            let known = targets.iter().position(|known| *known == target);
            FileId(known.unwrap_or_else(|| {
                targets.push(target);
                targets.len() - 1
            }) as u32)
        };
        let mut request = |(name, method, content): (u8, usize, Vec<u8>)| Request {
            method: Method::NAMES[method].1,
            content: content.into(),
            ..Request::get(id(name))
        };
        let mut burst = |(requests, think_ns): (Vec<_>, u64)| Burst {
            requests: requests.into_iter().map(&mut request).collect(),
            think: Duration::from_nanos(think_ns),
        };
        let sessions: Vec<Session> = sessions
            .into_iter()
            .map(|session| Session { bursts: session.into_iter().map(&mut burst).collect() })
            .collect();
        let files = Files::new(targets.into_iter().map(File::unknown).collect(), false);
        let mut text = Vec::new();
        write(&files, &sessions, &mut text).unwrap();
        let log = Wsesslog::read(text.as_slice(), Duration::ZERO).unwrap();
        prop_assert_eq!(log, Wsesslog { files, sessions });
    }
}
