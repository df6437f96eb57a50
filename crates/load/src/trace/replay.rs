use measure::Duration;
use measure::draw::Stream;

use super::choices::Choices;
use super::tally::Tally;
use super::visits::Sessions;
use crate::arrivals::Gaps;
use crate::behaviour::Keeps;
use crate::files::Files;
use crate::session::{Burst, Session};
use crate::source::Workload;
use crate::source::model::Model;

/// Below that, requests belong to one page: SURGE's limit between pauses of a browser and of its
/// user (Barford and Crovella 1998).
const PAGE_GAP_US: u32 = 1_000_000;

/// The sessions of a log, in the order in which they began, and from the first one again after the
/// last.
///
/// The log tells when requests came, and a client pauses after a reply: the time that the server of
/// the log took is a part of the pauses here. With the sessions' own times ([`Workload::times`])
/// the log is replayed; with any others its sessions come as often as one likes.
#[derive(Debug, Clone)]
pub struct TraceWorkload {
    files: Files,
    /// Never none.
    sessions: Sessions,
    /// When the first session of the whole log began.
    origin_us: i64,
    speed: f64,
    has_pauses: bool,
    tally: Tally,
}

impl TraceWorkload {
    pub(crate) fn new(files: Files, sessions: Sessions, choices: &Choices, tally: Tally) -> Self {
        let Choices { speed, has_pauses, .. } = *choices;
        assert!(!sessions.visits.is_empty(), "requests without a session");
        let origin_us = sessions.visits[0].at_us;
        Self { files, sessions, origin_us, speed, has_pauses, tally }
    }

    /// Sessions until they begin again.
    #[must_use]
    pub const fn sessions(&self) -> usize {
        self.sessions.visits.len()
    }

    /// What became of the log's lines.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// From the first session on.
    fn begins(&self, at_us: i64) -> Duration {
        Duration::from_secs_f64((at_us - self.origin_us) as f64 / 1e6 / self.speed)
    }

    fn pause(&self, pause_us: u32) -> Duration {
        if !self.has_pauses {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(f64::from(pause_us) / 1e6 / self.speed)
    }
}

impl Workload for TraceWorkload {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, number: u64, _: &mut Stream, _: &mut Stream) -> Session {
        let Sessions { visits, requests } = &self.sessions;
        let visit = visits[(number % visits.len() as u64) as usize];
        let mut bursts: Vec<Burst> = Vec::new();
        for kept in &requests[visit.requests()] {
            let mut request = kept.way.request(kept.file);
            let pause = self.pause(kept.pause_us);
            match bursts.last_mut() {
                Some(page) if kept.pause_us < PAGE_GAP_US => {
                    request.pause = pause;
                    page.requests.push(request);
                }
                before => {
                    if let Some(page) = before {
                        page.think = pause;
                    }
                    bursts.push(Burst { requests: vec![request], think: Duration::ZERO });
                }
            }
        }
        Session { bursts }
    }

    /// By the log and the speed.
    fn lasts(&self) -> Option<Duration> {
        let Sessions { visits, requests } = &self.sessions;
        let lasts = visits.iter().map(|visit| {
            let pauses = requests[visit.requests()].iter().map(|kept| self.pause(kept.pause_us));
            self.begins(visit.at_us) + pauses.sum::<Duration>()
        });
        lasts.max()
    }

    fn asked(&self) -> Option<Vec<u32>> {
        let mut asked = vec![0; self.files.count()];
        for kept in self.sessions.requests.iter().filter(|kept| kept.way.is_of_file()) {
            asked[kept.file.0 as usize] += 1;
        }
        Some(asked)
    }

    fn pass(&self) -> Option<u64> {
        Some(self.sessions() as u64)
    }

    /// Those of a client with no long gap between them, as they came, on one connection.
    fn model(&self) -> Model {
        Model { keeps: Some(Keeps::Session), ..Model::default() }
    }

    fn notes(&self) -> Option<String> {
        Some(self.tally.to_string())
    }

    /// By the log and the speed.
    fn times(&self) -> Option<Gaps> {
        let times = self.sessions.visits.iter().map(|visit| self.begins(visit.at_us));
        Some(Gaps::Times(times.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileId;
    use crate::session::{Method, Request};
    use crate::trace::{Choices, Fault, Format, read};

    const LOG: &str = "\
a - - [01/Jul/1995:00:00:10 +0000] \"GET /a HTTP/1.0\" 200 100
a - - [01/Jul/1995:00:00:10 +0000] \"GET /b HTTP/1.0\" 200 200
b - - [01/Jul/1995:00:00:14 +0000] \"HEAD /a HTTP/1.0\" 200 -
a - - [01/Jul/1995:00:00:14 +0000] \"GET /a HTTP/1.0\" 304 0
a - - [01/Jul/1995:00:01:10 +0000] \"GET /c HTTP/1.0\" 200 -
";

    fn replay(speed: f64) -> TraceWorkload {
        let choices = Choices { speed, ..Choices::default() };
        read(Format::Clf, LOG.as_bytes(), &choices).unwrap()
    }

    fn sessions(of: &mut TraceWorkload, count: usize) -> Vec<Session> {
        let (mut one, mut other) = (Stream::new(1, 1), Stream::new(1, 2));
        (0..count as u64).map(|number| of.session(number, &mut one, &mut other)).collect()
    }

    fn times_ms(of: &TraceWorkload) -> Vec<u128> {
        let Some(Gaps::Times(times)) = of.times() else { panic!("no times") };
        times.iter().map(Duration::as_millis).collect()
    }

    #[test]
    fn sessions_without_pauses_begin_as_logged() {
        let choices = Choices { has_pauses: false, ..Choices::default() };
        let mut replay = read(Format::Clf, LOG.as_bytes(), &choices).unwrap();
        assert_eq!(times_ms(&replay), [0, 4000, 60_000]);
        assert_eq!(replay.lasts(), Some(Duration::from_secs(60)));
        let all = sessions(&mut replay, 3);
        let bursts = all.iter().flat_map(|session| &session.bursts);
        let pauses = bursts.flat_map(|burst| burst.requests.iter().map(|request| request.pause));
        assert!(
            pauses.chain(all.iter().map(|session| session.bursts[0].think)).all(|of| of.is_zero())
        );
    }

    /// As Weir writes it and as Caddy does, and one line that is broken.
    #[test]
    fn a_log_of_json_is_replayed() {
        const JSON: &str = r#"
{"time":"1995-07-01T00:00:10Z","peer":"a","method":"GET","target":"/a","status":200,"bytes":100}
{"ts":804556814.5,"request":{"remote_ip":"b","method":"HEAD","uri":"/a"},"status":200,"size":0}
{"ts":804556814.5,"request":{"remote_ip":"b","meth
"#;
        let replay = read(Format::Clf, JSON.as_bytes(), &Choices::default()).unwrap();
        assert_eq!((replay.sessions(), times_ms(&replay)), (2, vec![0, 4000]));
        assert_eq!(replay.tally().unreadable, 1);
    }

    #[test]
    fn a_log_is_replayed() {
        let mut replay = replay(2.0);
        assert_eq!(replay.sessions(), 3);
        assert_eq!(times_ms(&replay), [0, 2000, 30_000]);
        assert_eq!(replay.lasts(), Some(Duration::from_secs(30)));
        let known = |(_, file): (FileId, &crate::files::File)| (file.target.clone(), file.bytes);
        let files: Vec<_> = replay.files().iter().map(known).collect();
        let of = |target: &str, bytes| (Box::<str>::from(target), bytes);
        assert_eq!(files, [of("/a", Some(100)), of("/b", Some(200)), of("/c", None)]);

        let ms = Duration::from_millis;
        let get = |file| Request::get(FileId(file));
        let burst = |requests: &[Request], think| Burst { requests: requests.to_vec(), think };
        let first = Session {
            bursts: vec![
                burst(&[get(0), Request { pause: ms(250), ..get(1) }], ms(2000)),
                burst(&[Request { is_conditional: true, ..get(0) }], ms(0)),
            ],
        };
        let head = Request { method: Method::Head, ..get(0) };
        let second = Session { bursts: vec![burst(&[head], ms(0))] };
        let third = Session { bursts: vec![burst(&[get(2)], ms(0))] };
        let expected = [first.clone(), second, third, first];
        assert_eq!(sessions(&mut replay, 4), expected);
    }

    #[test]
    fn a_log_lasts_until_its_last_request() {
        let last = "a - - [01/Jul/1995:00:01:20 +0000] \"GET /c HTTP/1.0\" 200 -\n";
        let log = [LOG, last].concat();
        let replay = read(Format::Clf, log.as_bytes(), &Choices::default()).unwrap();
        assert_eq!(times_ms(&replay), [0, 4000, 60_000]);
        assert_eq!(replay.lasts(), Some(Duration::from_secs(70)));
    }

    #[test]
    fn a_log_is_replayed_against_the_site_that_is_made_of_it() {
        const ODD: &str = "\
a - - [01/Jul/1995:00:00:10 +0000] \"GET /unknown HTTP/1.0\" 304 -
a - - [01/Jul/1995:00:00:12 +0000] \"GET / HTTP/1.0\" 200 100
a - - [01/Jul/1995:00:00:14 +0000] \"GET /docs?page=1 HTTP/1.0\" 200 200
a - - [01/Jul/1995:00:00:16 +0000] \"GET /.git/config HTTP/1.0\" 200 300
a - - [01/Jul/1995:00:00:18 +0000] \"GET //docs/caf\\xe9.html HTTP/1.0\" 200 400
a - - [01/Jul/1995:00:00:19 +0000] \"GET /index.html HTTP/1.0\" 304 -
b - - [01/Jul/1995:00:00:20 +0000] \"GET /unknown HTTP/1.0\" 304 -
";
        let replayed = |is_made| {
            let choices = Choices { is_made, ..Choices::default() };
            let mut replay = read(Format::Clf, ODD.as_bytes(), &choices).unwrap();
            let count = replay.sessions();
            let all = sessions(&mut replay, count);
            let requests = all.iter().flat_map(|session| &session.bursts);
            let targets: Vec<String> = requests
                .flat_map(|burst| &burst.requests)
                .map(|request| replay.files().file(request.file).target.to_string())
                .collect();
            (replay, targets)
        };
        let (own, targets) = replayed(false);
        assert_eq!(targets.len(), 7);
        assert_eq!(targets[2], "/docs?page=1");
        assert!(!own.files().is_made && own.tally().not_made == 0);
        let (made, targets) = replayed(true);
        // The copy of /index.html that was current is one of the file that / is.
        let expected = ["/index.html", "/docs/index.html", "/docs/caf%C3%A9.html", "/index.html"];
        assert_eq!(targets, expected);
        assert_eq!((made.tally().kept, made.tally().not_made), (4, 3));
        assert!(made.notes().is_some_and(|notes| notes.contains("3 more left out: their size")));
        let dir = tempfile::tempdir().unwrap();
        let go_on = |_| std::ops::ControlFlow::Continue(());
        let progress = crate::site_files::make(made.files(), dir.path(), go_on).unwrap();
        assert_eq!((progress.files, progress.bytes), (3, 700));
        assert!(dir.path().join("docs/caf\u{e9}.html").is_file());

        let choices = Choices { is_made: true, ..Choices::default() };
        let nothing = ODD.lines().next().unwrap().as_bytes();
        let fault = read(Format::Clf, nothing, &choices).unwrap_err();
        assert!(matches!(fault, Fault::Unmade), "{fault}");
    }

    #[test]
    fn a_log_that_cannot_be_replayed_says_so() {
        let choice = |speed| Choices { speed, ..Choices::default() };
        let cases: [(&[u8], f64, &str); 5] = [
            (b"", 1.0, "there is no request in it"),
            (b"nonsense\n", 1.0, "(1 lines or records are unreadable, 0 are"),
            (b"\x1f\x8b\x08", 1.0, "zcat"),
            (LOG.as_bytes(), 0.0, "a speed is a number from 0.001 to 1000000"),
            (LOG.as_bytes(), f64::NAN, "a speed"),
        ];
        for (text, speed, expected) in cases {
            let fault: Fault = read(Format::Clf, text, &choice(speed)).unwrap_err();
            assert!(fault.to_string().contains(expected), "{fault}");
        }
    }
}
