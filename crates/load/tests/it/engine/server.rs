//! Servers of a few lines, and runs against them.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use load::arrivals::{Arrivals, Gaps};
use load::behaviour::{Behaviour, GivesUpBy, Keeps};
use load::engine::{self, Plan, Summary};
use load::files::{self, File, FileId, Files};
use load::record::{Outcome, Record};
use load::session::{Burst, Request, Session};
use load::stop::Stop;
use load::workload::Workload;
use measure::Duration;
use measure::draw::Stream;

/// Longer than anything here takes: only a failure waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A connection as its server sees it.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    /// How many came before.
    pub(crate) number: usize,
}

impl Client {
    /// The head of its next request; nothing when it has gone.
    pub(crate) fn asks(&mut self) -> Option<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        Some(head)
    }

    /// It may have gone, which is its own affair.
    pub(crate) fn tell(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.reader.get_mut().write_all(bytes.as_ref());
    }

    /// Sends FIN.
    pub(crate) fn tells_no_more(&self) {
        self.reader.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// Has the kernel keep little of what is told.
    pub(crate) fn keeps_little(&self, bytes: usize) {
        rustix::net::sockopt::set_socket_send_buffer_size(self.reader.get_ref(), bytes).unwrap();
    }

    /// As [`Self::tell`]; says how many bytes the kernel took before the client went.
    pub(crate) fn tells_while_taken(&mut self, bytes: &[u8]) -> u64 {
        let mut sent = 0;
        while sent < bytes.len()
            && let Ok(count) = self.reader.get_mut().write(&bytes[sent..])
        {
            sent += count;
        }
        sent as u64
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.reader.get_ref().peer_addr().unwrap()
    }

    /// Ends the connection by RST.
    pub(crate) fn reset(self) {
        os::Socket::from(OwnedFd::from(self.reader.into_inner())).reset_on_close();
    }

    /// Waits until the client ends the connection; says by what. Nothing more is to be
    /// asked.
    pub(crate) fn end(mut self) -> GivesUpBy {
        match self.reader.fill_buf() {
            Ok(bytes) => {
                assert!(bytes.is_empty(), "it asks on");
                GivesUpBy::Fin
            }
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
                GivesUpBy::Reset
            }
        }
    }

    /// Waits until the client ends the connection.
    pub(crate) fn wait(mut self) {
        while self.asks().is_some() {}
    }
}

/// A server that does this with every connection, in a thread for each.
pub(crate) fn serve(with: impl Fn(Client) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let with = Arc::new(with);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (with, reader) = (Arc::clone(&with), BufReader::new(stream.unwrap()));
            std::thread::spawn(move || with(Client { reader, number }));
        }
    });
    address
}

/// Where nobody listens, for as long as the socket is kept: it holds the port, so that nobody else
/// takes it and no connection is made from it.
pub(crate) fn nobody() -> (OwnedFd, SocketAddr) {
    use rustix::net;
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = net::getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

/// A good reply with this content.
pub(crate) fn reply(content: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", content.len());
    [head.as_bytes(), content].concat()
}

/// The content of a made file.
pub(crate) fn made(target: &str, bytes: u64) -> Vec<u8> {
    let mut all = Vec::new();
    files::content(target, bytes, |piece| all.extend_from_slice(piece));
    all
}

/// Answers whatever is asked, correctly and until the client goes or asks to be sent away.
pub(crate) fn answer(mut client: Client) {
    while let Some(head) = client.asks() {
        let target = head.split(' ').nth(1).unwrap();
        client.tell(reply(&made(target, BYTES)));
        if head.contains("Connection: close") {
            break;
        }
    }
}

/// Of the made files that are asked for here.
pub(crate) const BYTES: u64 = 100;

/// The same session again and again.
pub(crate) struct Same {
    pub(crate) files: Files,
    pub(crate) session: Session,
}

impl Workload for Same {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, _: &mut Stream, _: &mut Stream) -> Session {
        self.session.clone()
    }
}

impl Same {
    /// Of bursts of so many requests each, for files in turn.
    pub(crate) fn bursts(counts: &[usize]) -> Self {
        let file =
            |number| File { target: format!("/{number}").into(), bytes: Some(BYTES), class: 0 };
        let files = Files::new((0..3).map(file).collect(), true);
        let request = |number: usize| Request::get(FileId(number as u32 % 3));
        let burst = |count: &usize| Burst {
            requests: (0..*count).map(request).collect(),
            think: Duration::from_millis(1),
        };
        Self { files, session: Session { bursts: counts.iter().map(burst).collect() } }
    }
}

/// Each session asks for the file of its own number, and then, perhaps, for one that is drawn.
pub(crate) struct Numbered {
    pub(crate) files: Files,
    pub(crate) goes_on: bool,
}

impl Workload for Numbered {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, number: u64, asking: &mut Stream, thinking: &mut Stream) -> Session {
        let drawn = asking.below(self.files.count() as u32);
        let pause = Duration::from_micros(thinking.below(1000).into());
        let mut requests = vec![Request::get(FileId(number as u32))];
        if self.goes_on {
            requests.push(Request { pause, ..Request::get(FileId(drawn)) });
        }
        Session { bursts: vec![Burst { requests, think: Duration::ZERO }] }
    }
}

impl Numbered {
    /// For so many sessions at most.
    pub(crate) fn new(sessions: u32, goes_on: bool) -> Self {
        let file =
            |number| File { target: format!("/{number}").into(), bytes: Some(BYTES), class: 0 };
        Self { files: Files::new((0..sessions).map(file).collect(), true), goes_on }
    }
}

/// Five arrivals, a millisecond apart, of clients that keep a connection.
pub(crate) fn plan(to: SocketAddr) -> Plan {
    let times = (0..5).map(Duration::from_millis).collect();
    Plan {
        to,
        host: to.to_string(),
        arrivals: Arrivals::Open(Gaps::Times(times)),
        behaviour: Behaviour {
            patience: Some(PATIENCE),
            keeps: Keeps::Session,
            connections_max: 100,
            ..Behaviour::default()
        },
        stop: Stop {
            after: PATIENCE,
            sessions_max: None,
            warm_up: Duration::ZERO,
            cool_down: Duration::ZERO,
            interval: Duration::from_secs(1),
        },
        seed: 1,
        begin: os::clock::monotonic(),
        part: engine::Part::WHOLE,
        spins: false,
    }
}

pub(crate) fn run(plan: &Plan, workload: &mut dyn Workload) -> (Vec<Record>, Summary) {
    let mut records = Vec::new();
    let summary =
        engine::run(plan, workload, &mut |record: &Record| records.push(*record)).unwrap();
    for record in &records {
        let mut times = vec![record.intended, record.started];
        times.extend(record.connected);
        times.extend(record.first_byte);
        times.push(record.ended);
        assert!(times.is_sorted(), "out of order: {record:?}");
    }
    (records, summary)
}

pub(crate) fn outcomes(records: &[Record]) -> Vec<Outcome> {
    records.iter().map(|record| record.outcome).collect()
}
