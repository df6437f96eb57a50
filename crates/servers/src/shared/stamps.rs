//! Seconds as logs write them.

use h1::Date;

/// `06/Nov/1994:08:49:37 +0000`
pub(crate) fn clf(date: &Date) -> String {
    let Parts { day, month, year, time } = Parts::of(date);
    format!("{day}/{month}/{year}:{time} +0000")
}

/// `1994-11-06T08:49:37Z` (RFC 3339)
#[must_use]
pub fn rfc3339(date: &Date) -> String {
    let Parts { day, month, year, time } = Parts::of(date);
    let number = MONTHS.iter().position(|name| *name == month).unwrap_or_default() + 1;
    format!("{year}-{number:02}-{day}T{time}Z")
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Of `Sun, 06 Nov 1994 08:49:37 GMT`, each at its place (RFC 9110 section 5.6.7).
struct Parts<'d> {
    day: &'d str,
    month: &'d str,
    year: &'d str,
    time: &'d str,
}

impl<'d> Parts<'d> {
    fn of(date: &'d Date) -> Self {
        let text = str::from_utf8(date.text()).unwrap_or_default();
        let part = |at, end| text.get(at..end).unwrap_or_default();
        Self { day: part(5, 7), month: part(8, 11), year: part(12, 16), time: part(17, 25) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_two_spellings() {
        let check = |seconds, common: &str, internet: &str| {
            let date = Date::new(seconds);
            assert_eq!((clf(&date).as_str(), rfc3339(&date).as_str()), (common, internet));
        };
        check(0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00Z");
        check(784_111_777, "06/Nov/1994:08:49:37 +0000", "1994-11-06T08:49:37Z");
        check(1_709_251_199, "29/Feb/2024:23:59:59 +0000", "2024-02-29T23:59:59Z");
        check(u64::MAX, "31/Dec/9999:23:59:59 +0000", "9999-12-31T23:59:59Z");
    }
}
