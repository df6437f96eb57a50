//! The time of day, for people.

/// RFC 3339, in UTC.
#[must_use]
pub fn now() -> String {
    h1::Date::new(os::clock::wall_seconds()).rfc3339()
}
