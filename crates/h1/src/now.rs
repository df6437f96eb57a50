use measure::Instant;

/// The present, as handed to every method that needs it.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// For deadlines.
    pub at: Instant,
    /// For the `Date` field; formatted once a second, not once a reply (JAWS97 3.2.2), unless
    /// [`crate::Limits::date_cache`] says otherwise.
    pub date: Date,
}

/// An IMF-fixdate (RFC 9110 section 5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`, and the second that it
/// names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Seconds since 1970.
    pub seconds: u64,
    text: [u8; 29],
}

impl Date {
    /// Formats `seconds` since 1970. Years beyond 9999 are not expressible and become 9999.
    #[must_use]
    pub fn new(seconds: u64) -> Self {
        const YEAR_9999_ENDS: u64 = 253_402_300_799;
        let seconds = seconds.min(YEAR_9999_ENDS);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let mut text = [0; 29];
        text.copy_from_slice(httpdate::fmt_http_date(time).as_bytes());
        Self { seconds, text }
    }

    /// The 29 bytes.
    #[must_use]
    pub const fn text(&self) -> &[u8; 29] {
        &self.text
    }

    /// Reads any of the three formats of RFC 9110 section 5.6.7 as seconds since 1970; nothing for
    /// a date before 1970 or one that is malformed.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<u64> {
        let time = httpdate::parse_http_date(str::from_utf8(text).ok()?).ok()?;
        Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs())
    }

    /// As the Common Log Format has it: `06/Nov/1994:08:49:37 +0000`.
    #[must_use]
    pub fn common_log(&self) -> String {
        let Parts { day, month, year, time } = Parts::of(self);
        format!("{day}/{month}/{year}:{time} +0000")
    }

    /// As RFC 3339 has it: `1994-11-06T08:49:37Z`.
    #[must_use]
    pub fn rfc3339(&self) -> String {
        let Parts { day, month, year, time } = Parts::of(self);
        let number = MONTHS.iter().position(|name| *name == month).unwrap_or_default() + 1;
        format!("{year}-{number:02}-{day}T{time}Z")
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Of an IMF-fixdate, each at its place.
struct Parts<'d> {
    day: &'d str,
    month: &'d str,
    year: &'d str,
    time: &'d str,
}

impl<'d> Parts<'d> {
    fn of(date: &'d Date) -> Self {
        let text = str::from_utf8(&date.text).unwrap_or_default();
        let part = |at, end| text.get(at..end).unwrap_or_default();
        Self { day: part(5, 7), month: part(8, 11), year: part(12, 16), time: part(17, 25) }
    }
}
