//! What a line of a log says, however that is written.

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// The client: a name or an address.
    pub host: &'l [u8],
    /// When its request came, in seconds since 1970.
    pub at_s: i64,
    /// `GET`, where none is logged.
    pub method: &'l [u8],
    /// As logged.
    pub target: &'l [u8],
    /// Three digits.
    pub status: u16,
    /// Of the reply's content; `None`: not logged.
    pub bytes: Option<u64>,
}

/// Seconds since 1970 of a date, whose month is counted from 0, and a time in a zone; `None`: it is
/// none, or before 1970.
pub(super) fn seconds_at(
    (year, month, day): (i64, usize, i64),
    (hour, minute, second): (i64, i64, i64),
    zone: &[u8],
) -> Option<i64> {
    let zone_s = self::zone(zone)?;
    // 60: a leap second.
    let is_one = (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !is_one || month > 11 || year < 1970 {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second - zone_s)
}

/// Seconds east of Greenwich.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let number = value(digits).filter(|_| digits.len() == 4)?;
    Some(sign * (number / 100 * 60 + number % 100) * 60)
}

/// Days from 1970 to the first of a month, counted from 0.
fn days_before(year: i64, month: usize) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // Leap years from 1970 up to the year before, by their rule.
    let leaps = |upto: i64| upto / 4 - upto / 100 + upto / 400;
    let leap_days = leaps(year - 1) - leaps(1969) + i64::from(is_leap && month > 1);
    (year - 1970) * 365 + leap_days + BEFORE[month]
}

/// Of at most four digits: nothing in a date or a status has more.
pub(super) fn value(digits: &[u8]) -> Option<i64> {
    let is_number = digits.len() <= 4 && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}
