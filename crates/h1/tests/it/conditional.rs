//! Conditions in the order of RFC 9110 section 13.2.2, and lists of entity tags against a model.

use h1::{
    Date, Head, Limits, Request,
    conditional::{
        Validators,
        Verdict::{self, Failed, NotModified, Proceed},
        judge, range_holds,
    },
};
use proptest::prelude::*;

const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
const MODIFIED_SECONDS: u64 = 784_111_777;

const BOTH: Validators<'_> = Validators { etag: Some(b"\"a\""), modified: Some(MODIFIED_SECONDS) };
const NEITHER: Validators<'_> = Validators { etag: None, modified: None };

#[test]
fn without_conditions() {
    check("", BOTH, Proceed);
    check("range: bytes=0-0", BOTH, Proceed);
    check("if-range: \"b\"", BOTH, Proceed);
}

#[test]
fn if_match() {
    check("if-match: \"a\"", BOTH, Proceed);
    check("If-Match: *", BOTH, Proceed);
    check("if-match: *", NEITHER, Proceed);
    check("if-match: \"b\", \"a\"", BOTH, Proceed);
    check("if-match: \"b\"\r\nif-match: \"a\"", BOTH, Proceed);
    check("if-match: \"b\"", BOTH, Failed);
    check("if-match: \"A\"", BOTH, Failed);
    check("if-match: W/\"a\"", BOTH, Failed);
    check("if-match: \"a\"", NEITHER, Failed);
    check("if-match: a", BOTH, Failed);
    check("if-match: \"a", BOTH, Failed);
    check("if-match: ", BOTH, Failed);
    // A field that is no list matches nothing, whatever stands in it.
    check("if-match: \"a\"b", BOTH, Failed);
    check("if-match: \"a\", b", BOTH, Failed);
    check("if-match: \"a\" \"b\"", BOTH, Failed);
    check("if-match: \"a\"\r\nif-match: b", BOTH, Failed);
    check("if-match: \"a\", \"b c\"", BOTH, Failed);
    check("if-match: *, \"a\"", BOTH, Failed);
    check("if-match: *\r\nif-match: \"a\"", BOTH, Failed);
    check("if-match: *\r\nif-match: *", BOTH, Failed);
}

#[test]
fn if_unmodified_since() {
    check(&format!("if-unmodified-since: {BEFORE}"), BOTH, Failed);
    check(&format!("if-unmodified-since: {MODIFIED}"), BOTH, Proceed);
    check(&format!("if-unmodified-since: {AFTER}"), BOTH, Proceed);
    check(&format!("if-unmodified-since: {BEFORE}"), NEITHER, Proceed);
    check(&format!("if-unmodified-since: {BEFORE}, {BEFORE}"), BOTH, Proceed);
    check("if-unmodified-since: yesterday", BOTH, Proceed);
    check("if-unmodified-since: Sunday, 06-Nov-94 08:49:36 GMT", BOTH, Failed);
    check("if-unmodified-since: Sun Nov  6 08:49:36 1994", BOTH, Failed);
    check(&format!("if-match: \"a\"\r\nif-unmodified-since: {BEFORE}"), BOTH, Proceed);
}

#[test]
fn if_none_match() {
    check("if-none-match: \"a\"", BOTH, NotModified);
    check("if-none-match: W/\"a\"", BOTH, NotModified);
    check("if-none-match: *", BOTH, NotModified);
    check("if-none-match: *", NEITHER, NotModified);
    check("if-none-match: \"b,\" ,, W/\"c\", \"a\"", BOTH, NotModified);
    check("if-none-match: \"b\"\r\nif-none-match: \"a\"", BOTH, NotModified);
    check("if-none-match: \"b\"", BOTH, Proceed);
    check("if-none-match: \"a\"", NEITHER, Proceed);
    check("if-none-match: w/\"a\"", BOTH, Proceed);
    check("if-none-match: nonsense, \"a\"", BOTH, Proceed);
    check("if-none-match: \"a\"nonsense", BOTH, Proceed);
    check("if-none-match: \"a\" nonsense", BOTH, Proceed);
    check("if-none-match: \"a\", nonsense", BOTH, Proceed);
    check("if-none-match: \"a\"W/\"b\"", BOTH, Proceed);
    check("if-none-match: \"a\", W/", BOTH, Proceed);
    check("if-none-match: \"a\", W/ \"b\"", BOTH, Proceed);
    check("if-none-match: \"a\"\r\nif-none-match: nonsense", BOTH, Proceed);
    check("if-none-match: \"a\", \"b\tc\"", BOTH, Proceed);
    check("if-none-match: \"a\", \"\u{e4}\"", BOTH, NotModified);
    check("if-none-match: *, *", BOTH, Proceed);
    check("if-none-match: \"a\", *", BOTH, Proceed);
    check("if-none-match: *\r\nif-none-match: \"a\"", BOTH, Proceed);
    check("if-none-match: ,\t,\"a\",", BOTH, NotModified);
}

#[test]
fn if_modified_since() {
    check(&format!("if-modified-since: {BEFORE}"), BOTH, Proceed);
    check(&format!("if-modified-since: {MODIFIED}"), BOTH, NotModified);
    check(&format!("if-modified-since: {AFTER}"), BOTH, NotModified);
    check(&format!("if-modified-since: {AFTER}"), NEITHER, Proceed);
    check(&format!("if-modified-since: {AFTER}\r\nif-modified-since: {AFTER}"), BOTH, Proceed);
    check("if-modified-since: 784111777", BOTH, Proceed);
    check(&format!("if-none-match: \"b\"\r\nif-modified-since: {AFTER}"), BOTH, Proceed);
    check(&format!("if-none-match: \"a\"\r\nif-modified-since: {BEFORE}"), BOTH, NotModified);
}

#[test]
fn the_first_condition_that_decides() {
    check("if-match: \"b\"\r\nif-none-match: \"a\"", BOTH, Failed);
    check("if-match: \"a\"\r\nif-none-match: \"a\"", BOTH, NotModified);
    let dates = format!("if-unmodified-since: {BEFORE}\r\nif-modified-since: {AFTER}");
    check(&dates, BOTH, Failed);
}

#[test]
fn if_range() {
    let later = MODIFIED_SECONDS + 1;
    check_range("", BOTH, later, true);
    check_range("if-range: \"a\"", BOTH, later, true);
    check_range("if-range: \"b\"", BOTH, later, false);
    check_range("if-range: W/\"a\"", BOTH, later, false);
    check_range("if-range: \"a\", \"a\"", BOTH, later, false);
    check_range("if-range: \"a\"\r\nif-range: \"a\"", BOTH, later, false);
    check_range("if-range: *", BOTH, later, false);
    check_range("if-range: \"a\"b", BOTH, later, false);
    check_range("if-range: b\"a\"", BOTH, later, false);
    check_range("if-range: \"a\",", BOTH, later, false);
    check_range(&format!("if-range: {MODIFIED}x"), BOTH, later, false);
    check_range(&format!("if-range: {MODIFIED} x"), BOTH, later, false);
    check_range("if-range: \"a\"", NEITHER, later, false);
    check_range(&format!("if-range: {MODIFIED}"), BOTH, later, true);
    check_range(&format!("if-range: {MODIFIED}"), BOTH, MODIFIED_SECONDS, false);
    check_range(&format!("if-range: {BEFORE}"), BOTH, later, false);
    check_range(&format!("if-range: {AFTER}"), BOTH, later, false);
    check_range(&format!("if-range: {MODIFIED}"), NEITHER, later, false);
    check_range("if-range: ", BOTH, later, false);
}

fn check(fields: &str, current: Validators<'_>, expected: Verdict) {
    for method in ["GET", "HEAD"] {
        let verdict = with_head(method, fields, |head| judge(head, current));
        assert_eq!(verdict, expected, "{method} {fields}");
    }
}

fn check_range(fields: &str, current: Validators<'_>, seconds: u64, expected: bool) {
    let holds = with_head("GET", fields, |head| range_holds(head, current, &Date::new(seconds)));
    assert_eq!(holds, expected, "{fields} at {seconds}");
}

fn with_head<T>(method: &str, fields: &str, look: impl FnOnce(&Head<'_>) -> T) -> T {
    let end = if fields.is_empty() { "\r\n" } else { "\r\n\r\n" };
    let request = format!("{method} / HTTP/1.1\r\nhost: a\r\n{fields}{end}");
    let judged = Request::judge(request.as_bytes(), &Limits::default()).expect("a good request");
    look(&Head::new(request.as_bytes(), &judged))
}

/// Whether a tag is weak, and its text between the quotes.
type Tag = (bool, String);

proptest! {
    #[test]
    fn lists_agree_with_a_search(lines in prop::collection::vec(
        prop::collection::vec((any::<bool>(), "[ab,]{0,2}"), 0..4),
        1..4,
    )) {
        let tags: Vec<&Tag> = lines.iter().flatten().collect();
        let has_strong = tags.iter().any(|(is_weak, text)| !is_weak && text == "a");
        let has_any = tags.iter().any(|(_, text)| text == "a");
        let if_match = with_head("GET", &written("if-match", &lines), |head| judge(head, BOTH));
        prop_assert_eq!(if_match, if has_strong { Proceed } else { Failed });
        let if_none = with_head("GET", &written("if-none-match", &lines), |head| judge(head, BOTH));
        prop_assert_eq!(if_none, if has_any { NotModified } else { Proceed });
    }

    #[test]
    fn any_value_is_taken(value in "[ -~]{0,40}") {
        for name in ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"] {
            with_head("GET", &format!("{name}: {value}"), |head| judge(head, BOTH));
        }
        check_range(&format!("if-range: {value}"), NEITHER, MODIFIED_SECONDS, false);
    }
}

fn written(name: &str, lines: &[Vec<Tag>]) -> String {
    let tag = |(is_weak, text): &Tag| format!("{}\"{text}\"", if *is_weak { "W/" } else { "" });
    let line = |tags: &Vec<Tag>| tags.iter().map(tag).collect::<Vec<_>>().join(" , ");
    lines.iter().map(|tags| format!("{name}: {}", line(tags))).collect::<Vec<_>>().join("\r\n")
}
