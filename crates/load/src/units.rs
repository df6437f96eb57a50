//! Numbers as people read them: three digits, a unit, and a comma between thousands.

use measure::Duration;

/// `1,234,567`.
pub(crate) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// Of something that happens so often in a second: `1,234.5`, `12.35`, `0.00`.
pub(crate) fn rate(rate: f64) -> String {
    grouped(&if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.1}") })
}

/// `12.3 ms`: zero, or in the unit that leaves one to three digits before the point.
pub(crate) fn time(span: Duration) -> String {
    let ns = span.as_nanos() as f64;
    let units = [(1e3, "us"), (1e6, "ms"), (1e9, "s")];
    // What rounds up to a thousand is one of the next unit.
    let fits = |&&(one, _): &&(f64, &str)| ns / one < 999.5;
    let (one, unit) = *units.iter().find(fits).unwrap_or(&units[2]);
    format!("{} {unit}", three(ns / one))
}

/// Of a share from 0.0 to 1.0: `12.3 %`. What is not nothing is not told as nothing,
/// and what is not all not as all.
pub(crate) fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => String::from("0 %"),
        percent if percent < 0.001 => String::from("<0.001 %"),
        percent if percent > 99.999 && percent < 100.0 => String::from(">99.999 %"),
        percent if percent < 1.0 || percent > 99.0 && percent < 100.0 => format!("{percent:.3} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// The difference of two shares: `2.0 points`.
pub(crate) fn points(share: f64) -> String {
    format!("{} points", three(share * 100.0))
}

/// `12.3 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, &["B", "kB", "MB", "GB"])
}

/// Bytes in a second: `12.3 MB/s`.
pub(crate) fn bytes_per_s(rate: f64) -> String {
    scaled(rate, &["B/s", "kB/s", "MB/s", "GB/s"])
}

fn scaled(value: f64, units: &[&str; 4]) -> String {
    let (mut value, mut place) = (value, 0);
    while value >= 999.5 && place < 3 {
        value /= 1000.0;
        place += 1;
    }
    format!("{} {}", three(value), units[place])
}

/// Three significant digits, where there are no more before the point; at most two behind it.
fn three(value: f64) -> String {
    let decimals = match value {
        0.0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// Commas into the whole part of a number that is not negative: `1234.5` is `1,234.5`.
#[must_use]
pub fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::with_capacity(number.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_people() {
        let ns = Duration::from_nanos;
        let rows = [
            (count(0), "0"),
            (count(999), "999"),
            (count(1_000), "1,000"),
            (count(1_234_567), "1,234,567"),
            (rate(0.0), "0.00"),
            (rate(12.345), "12.35"),
            (rate(12_345.67), "12,345.7"),
            (time(ns(0)), "0 us"),
            (time(ns(1_500)), "1.50 us"),
            (time(ns(999_400)), "999 us"),
            (time(ns(999_600)), "1.00 ms"),
            (time(ns(12_345_678)), "12.3 ms"),
            (time(ns(901_000_000)), "901 ms"),
            (time(ns(1_000_000_000)), "1.00 s"),
            (time(ns(5_000_000_000_000)), "5,000 s"),
            (share(0.0), "0 %"),
            (share(0.000_000_1), "<0.001 %"),
            (share(0.000_123), "0.012 %"),
            (share(0.1234), "12.3 %"),
            (share(0.999_97), "99.997 %"),
            (share(0.999_999_9), ">99.999 %"),
            (share(1.0), "100.0 %"),
            (points(0.0234), "2.34 points"),
            (bytes(64_500), "64.5 kB"),
            (bytes(4 << 30), "4.29 GB"),
            (bytes_per_s(999.0), "999 B/s"),
            (bytes_per_s(12_345_678.0), "12.3 MB/s"),
        ];
        for (told, expected) in rows {
            assert_eq!(told, expected);
        }
    }
}
