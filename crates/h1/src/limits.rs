use measure::Duration;

/// What a client may ask of a connection, and what is saved on its replies. The server has a knob
/// for everything that an operator may want to move, and the reason for its default stands in the
/// table of knobs.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request line's target; more is 414.
    pub target_bytes_max: usize,
    /// Bytes of a whole head; more is 431, and so are 64 KiB whatever stands here.
    pub head_bytes_max: usize,
    /// Header fields of a head; more is 431, and so are more than 128 whatever stands here: they
    /// are split on the stack. The precedent is 100 (Apache); browsers send 20.
    pub fields_max: usize,
    /// Bytes of a request's body that are read away; more is 413. No method here has a use for
    /// one, and a socket's buffer holds about as much.
    pub body_bytes_max: u64,
    /// Ranges of one request after which `Range` is ignored: many small ones cost the server more
    /// than the client (CVE-2011-3192).
    pub ranges_max: usize,
    /// Bytes of a file sent before its next pages are wanted: enough for a disk to read ahead, and
    /// no memory is held for them.
    pub window_bytes: u64,
    /// From the first byte of a head (or from accept) to its last, in total.
    pub head_timeout: Duration,
    /// Between two requests.
    pub idle_timeout: Duration,
    /// Between two requests, once others serve in this one's place.
    pub idle_grace: Duration,
    /// Without a single byte while a body is received or an answer is sent.
    pub stall_timeout: Duration,
    /// How often the rate of a body or an answer is judged.
    pub rate_window: Duration,
    /// Bytes per second that a body or an answer must make on the whole, its first window left out.
    pub rate_min: u64,
    /// Bytes per second below which a body or an answer can be ended when its connection's place is
    /// wanted for another; 0 for none.
    pub crowded_rate_min: u64,
    /// How long a connection is silent, after a refusal or the last reply, before it is closed: a
    /// few round trips. What still comes is read and discarded, or a reset could overtake the reply
    /// (RFC 9112 section 9.6).
    pub linger_timeout: Duration,
    /// How long bytes are discarded in all, however many come: enough for a client to finish most
    /// uploads, or to notice the reply.
    pub linger_max: Duration,
    /// Whether `Date` is taken from [`crate::Now`] as it was formatted there (JAWS97 3.2.2); if
    /// not it is formatted for each reply.
    pub date_cache: bool,
    /// Whether content in memory leaves with its head, by one send (JAWS97 4); if not each leaves
    /// by one of its own.
    pub gather: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            target_bytes_max: 8 << 10,
            head_bytes_max: 16 << 10,
            fields_max: 100,
            body_bytes_max: 64 << 10,
            ranges_max: 16,
            window_bytes: 1 << 20,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            idle_grace: Duration::from_secs(5),
            stall_timeout: Duration::from_secs(60),
            rate_window: Duration::from_secs(5),
            rate_min: 500,
            crowded_rate_min: 4 << 10,
            linger_timeout: Duration::from_secs(1),
            linger_max: Duration::from_secs(5),
            date_cache: true,
            gather: true,
        }
    }
}
