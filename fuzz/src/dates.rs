use h1::conditional::{Validators, Verdict, judge, range_holds};
use h1::{Date, Head, Limits, Request};

/// A value of `If-Modified-Since` and its kin. Whatever it is, it is read without a panic. A date
/// that is understood is written as one that is the same, and those in the form that is to be sent
/// are written as they came, but for the day of the week. The conditions judge as the dates say.
///
/// # Panics
/// Where one of these does not hold.
pub fn dates(data: &[u8]) {
    if let Some(eight) = data.first_chunk() {
        round(u64::from_le_bytes(*eight));
    }
    let parsed = Date::parse(data);
    if let Some(seconds) = parsed {
        round(seconds);
        let written = Date::new(seconds);
        // In this form the year has four digits, so it is one that can be written.
        if data.len() == written.text().len() && data.ends_with(b" GMT") && data[3] == b',' {
            let words = (data[3..].to_ascii_lowercase(), written.text()[3..].to_ascii_lowercase());
            assert_eq!(words.0, words.1, "{}", data.escape_ascii());
        }
    }
    conditions(data);
}

/// Written and read again, a date is the same; what cannot be written is the last that can.
fn round(seconds: u64) {
    let written = Date::new(seconds);
    assert!(written.seconds <= seconds);
    assert_eq!(Date::parse(written.text()), Some(written.seconds), "{seconds}");
}

fn conditions(value: &[u8]) {
    const FIELDS: [&str; 3] = ["If-Modified-Since", "If-Unmodified-Since", "If-Range"];
    let [since, unless, range] = FIELDS.map(|name| {
        [format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: ").as_bytes(), value, b"\r\n\r\n"].concat()
    });
    let seen = Date::parse(value.trim_ascii());
    let moments = seen.into_iter().flat_map(|at| [at.saturating_sub(1), at, at.saturating_add(1)]);
    for modified in moments.chain([0, 784_111_777, u64::MAX]) {
        let current = Validators { etag: None, modified: Some(modified) };
        let is = |bytes: &[u8], expected| {
            with(bytes, |head| assert_eq!(judge(head, current), expected, "{modified}, {seen:?}"));
        };
        let is_unchanged = seen.is_some_and(|seen| modified <= seen);
        is(&since, if is_unchanged { Verdict::NotModified } else { Verdict::Proceed });
        let is_newer = seen.is_some_and(|seen| modified > seen);
        is(&unless, if is_newer { Verdict::Failed } else { Verdict::Proceed });
        let now = Date::new(2_000_000_000);
        let holds = seen == Some(modified) && modified < now.seconds;
        with(&range, |head| assert_eq!(range_holds(head, current, &now), holds, "{modified}"));
    }
}

/// Looks at a head, if the value can stand in one.
fn with(bytes: &[u8], look: impl FnOnce(&Head<'_>)) {
    // A value that ends its own line says more than one field does.
    if bytes.windows(2).filter(|two| two == b"\r\n").count() != 4 {
        return;
    }
    if let Ok(request) = Request::judge(bytes, &Limits::default()) {
        look(&Head::new(bytes, &request));
    }
}
