//! How clients behave, whatever they ask.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use measure::Duration;

use crate::session::{Method, Session};

/// See the head of this file.
#[derive(Debug, Clone, PartialEq)]
pub struct Behaviour {
    /// From the intended start of a request to the last byte of its reply; then the client gives
    /// up. Pariag07 3.2: 15 s. `None`: it never does.
    pub patience: Option<Duration>,
    /// The same for each step (httperf's watchdogs); `None`: no limit of its own.
    pub connect_max: Option<Duration>,
    /// Without a byte sent.
    pub send_max: Option<Duration>,
    /// From the request to the first byte of the reply.
    pub first_byte_max: Option<Duration>,
    /// Without a further byte of the reply.
    pub progress_max: Option<Duration>,
    /// KiB that a client takes in a second, on each connection; `None`: whatever has come. The
    /// patience above counts all the same.
    pub reads_kb_per_s: Option<NonZeroU32>,
    /// How a connection ends that a client has given up.
    pub gives_up_by: GivesUpBy,
    /// How long a connection is kept.
    pub keeps: Keeps,
    /// Whether all requests of a burst but the first are sent without waiting.
    pub pipelines: bool,
    /// Connections of one session at the same time (browsers).
    pub parallel: u16,
    /// How often a request is made again whose connection was lost before the first byte.
    pub retries: u16,
    /// Addresses to connect from, by the sessions' numbers in turn: each is a client of its own.
    /// None: the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// Ports of each of them to connect from, within those that the kernel connects from; `None`:
    /// all of these.
    pub ports: Option<RangeInclusive<u16>>,
    /// Connections open at once, over all sessions, those included that only wait for the server to
    /// end them; who comes then is counted as not started.
    pub connections_max: usize,
    /// Sent with each request, beside what makes it one: `NAME: VALUE` each.
    pub headers: Vec<String>,
    /// How files are asked for; `None`: as the workload has it.
    pub method: Option<Method>,
    /// Sent with each request for a file.
    pub body: Option<Body>,
    /// The share of GETs that ask whether the client's copy is current, 0.0 to 1.0, beside those
    /// that a workload makes so.
    pub conditional: f64,
    /// Whose content is compared with what was made: the share of replies, 0.0 to 1.0. Lengths
    /// always are.
    pub verified: f64,
}

impl Behaviour {
    /// The address that a session comes from; `None`: the kernel's choice.
    #[must_use]
    pub fn source(&self, session: u64) -> Option<IpAddr> {
        self.sources.get(self.client(session)).copied()
    }

    /// A session as it is asked: by another method than the workload's, or with a body, where one
    /// was chosen and the request is for a file.
    pub(crate) fn asks(&self, mut session: Session) -> Session {
        let of_body = self.body.as_ref().map(|_| Method::Post);
        let Some(method) = self.method.or(of_body) else { return session };
        let requests = session.bursts.iter_mut().flat_map(|burst| &mut burst.requests);
        for request in requests {
            if matches!(request.method, Method::Get | Method::Head) {
                request.method = method;
                if let Some(body) = &self.body {
                    request.content = Arc::clone(&body.content);
                    request.is_conditional = false;
                }
            }
        }
        session
    }

    /// The place of that address; 0: there is none, or but one.
    pub(crate) fn client(&self, session: u64) -> usize {
        session.checked_rem(self.sources.len() as u64).unwrap_or_default() as usize
    }
}

/// Content of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Where it was read.
    pub file: PathBuf,
    /// It.
    pub content: Arc<[u8]>,
}

impl Body {
    /// It is kept whole in memory.
    const BYTES_MAX: usize = 1 << 20;

    /// What is in a file.
    ///
    /// # Errors
    /// It cannot be read, or holds too much: one line.
    pub(crate) fn read(file: PathBuf) -> Result<Self, String> {
        let read = os::read_file(&file, Self::BYTES_MAX + 1);
        let content = read.map_err(|e| format!("{}: {e}; name a file to send", file.display()))?;
        if content.len() > Self::BYTES_MAX {
            let (file, most) = (file.display(), Self::BYTES_MAX);
            return Err(format!("{file} holds more than {most} bytes; send less"));
        }
        Ok(Self { file, content: content.into() })
    }
}

impl Default for Behaviour {
    /// The patience of Pariag07 3.2, sessions that keep one connection, everything verified.
    fn default() -> Self {
        Self {
            patience: Some(Duration::from_secs(15)),
            connect_max: None,
            send_max: None,
            first_byte_max: None,
            progress_max: None,
            reads_kb_per_s: None,
            gives_up_by: GivesUpBy::Reset,
            keeps: Keeps::Session,
            pipelines: false,
            parallel: 1,
            retries: 0,
            sources: Vec::new(),
            ports: None,
            connections_max: 19_000,
            headers: Vec::new(),
            method: None,
            body: None,
            conditional: 0.0,
            verified: 1.0,
        }
    }
}

/// How long a connection is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// For one request, which asks the server to end it.
    Request,
    /// For a session, whose last request asks the server to end it.
    Session,
    /// In a closed loop, for all sessions of a client, one after the other (wrk). In an open loop
    /// whoever comes takes a connection that another one of his address has left, if there is one:
    /// as many are kept as the rate needs (wrk2 wants to be told).
    Client,
}

/// How a client ends a connection that it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivesUpBy {
    /// RST: what is on its way is lost, and the server hears of it at once.
    Reset,
    /// FIN: the server notices when it has sent everything.
    Fin,
}
