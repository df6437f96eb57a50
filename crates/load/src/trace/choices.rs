use measure::Duration;

/// What a log does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choices {
    /// The longest time between two requests of one client on one connection; at most
    /// [`GAP_S_MAX`].
    pub gap: Duration,
    /// How many times as fast as it was logged: 2.0 halves all times. From [`SPEED_LEAST`] to
    /// [`SPEED_MOST`].
    pub speed: f64,
    /// Whether clients pause between two requests as they did.
    pub has_pauses: bool,
    /// Whether the server has files that were made for this log ([`crate::files::content`]), so
    /// that what comes can be compared.
    pub is_made: bool,
}

/// An hour; a pause is kept in 32 bits of microseconds.
pub const GAP_S_MAX: f64 = 3600.0;

/// A log of a day then takes three years.
pub const SPEED_LEAST: f64 = 0.001;

/// A log of ten years then takes five minutes.
pub const SPEED_MOST: f64 = 1e6;

impl Default for Choices {
    /// 15 s: what Apache 1.3 kept a connection open for, and Pariag07's clients their patience.
    fn default() -> Self {
        Self { gap: Duration::from_secs(15), speed: 1.0, has_pauses: true, is_made: false }
    }
}
