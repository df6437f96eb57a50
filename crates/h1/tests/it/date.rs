//! How a second is written.

use h1::Date;

#[test]
fn seconds_have_three_spellings() {
    let rows = [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT", "01/Jan/1970:00:00:00", "1970-01-01T00:00:00Z"),
        (
            784_111_777,
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "06/Nov/1994:08:49:37",
            "1994-11-06T08:49:37Z",
        ),
        (
            1_709_251_199,
            "Thu, 29 Feb 2024 23:59:59 GMT",
            "29/Feb/2024:23:59:59",
            "2024-02-29T23:59:59Z",
        ),
        (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT", "31/Dec/9999:23:59:59", "9999-12-31T23:59:59Z"),
    ];
    for (seconds, fixdate, common, internet) in rows {
        let date = Date::new(seconds);
        assert_eq!(str::from_utf8(date.text()), Ok(fixdate));
        assert_eq!(date.common_log(), format!("{common} +0000"));
        assert_eq!(date.rfc3339(), internet);
    }
}
