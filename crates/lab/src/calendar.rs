//! The time of day, for people.

/// RFC 3339, in UTC.
#[must_use]
pub fn now() -> String {
    servers::stamps::rfc3339(&h1::Date::new(os::clock::wall_seconds()))
}
