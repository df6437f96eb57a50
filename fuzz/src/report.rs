use load::collector::results::Results;
use load::gates::{Limits, findings};
use load::report::{About, Report, hgrm, json, summary};

/// Results, with a zero byte between those of one process and the next: what is read of them is
/// told, written and read again as it was, and taken together or refused with nothing changed.
///
/// # Panics
/// Where one of these does not hold.
pub fn report(data: &[u8]) {
    let texts = data.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let mut read = texts.filter_map(|text| json::read(text).ok());
    let Some(mut results) = read.next() else { return };
    let report =
        Report { about: &About::default(), results: &results, findings: &[], expected: &[] };
    assert_eq!(json::read(&json::text(&report)).as_ref(), Ok(&results));
    tell(&results);
    let again = results.clone();
    results.merge(again).expect("results are of one run with themselves");
    for other in read {
        let before = results.clone();
        if results.merge(other).is_err() {
            assert_eq!(results, before);
        }
    }
    tell(&results);
}

fn tell(results: &Results) {
    let findings = findings(results, &Limits::default());
    let report = Report { about: &About::default(), results, findings: &findings, expected: &[] };
    assert!(!summary::text(&report).is_empty());
    assert!(!json::text(&report).is_empty());
    assert!(!hgrm::text(&results.requests.whole).is_empty());
}
