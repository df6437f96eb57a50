//! What one client does: bursts of requests with pauses between them (httperf's words).

use std::sync::Arc;

use measure::Duration;

use crate::files::FileId;

/// The visit of one client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// One after the other; none: nothing is asked.
    pub bursts: Vec<Burst>,
}

/// Requests that belong together: a page and what is in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Burst {
    /// The first is sent alone; when it is answered the others are sent, all at the same time, or
    /// one after the other where pipelining is off.
    pub requests: Vec<Request>,
    /// From the last reply to the next burst.
    pub think: Duration,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// For what.
    pub file: FileId,
    /// How.
    pub method: Method,
    /// From the reply before it, or from the start of its burst: for pauses within a page.
    pub pause: Duration,
    /// Whether the client has a copy and asks whether that is still current.
    pub is_conditional: bool,
    /// Sent as its content; mostly nothing.
    pub content: Arc<[u8]>,
}

/// A method of HTTP that workloads use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
}

impl Method {
    /// All methods by their names. TRACE, PROPFIND and REPORT, which httperf knows as well, request
    /// nothing that a static site has.
    pub(crate) const NAMES: [(&str, Self); 6] = [
        ("GET", Self::Get),
        ("HEAD", Self::Head),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("DELETE", Self::Delete),
        ("OPTIONS", Self::Options),
    ];
}

impl Request {
    /// A GET of a file, at once.
    #[must_use]
    pub fn get(file: FileId) -> Self {
        let (pause, content) = (Duration::ZERO, Arc::default());
        Self { file, method: Method::Get, pause, is_conditional: false, content }
    }
}

impl Session {
    /// How many requests it makes.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.bursts.iter().map(|burst| burst.requests.len()).sum()
    }
}
