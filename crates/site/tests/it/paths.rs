//! Path translation: against a naive model, and against a table of hostile paths.

use h1::Status;
use proptest::prelude::*;
use site::path::translate;

/// Split, decode, fold; nothing clever.
fn model(raw: &[u8]) -> Result<Vec<u8>, Status> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut ends_in_name = false;
    let Some(b'/') = raw.first() else { return Err(Status::BAD_REQUEST) };
    let segments: Option<Vec<_>> = raw[1..].split(|b| *b == b'/').map(decode_segment).collect();
    for segment in segments.ok_or(Status::BAD_REQUEST)? {
        ends_in_name = !matches!(&segment[..], b"" | b"." | b"..");
        match &segment[..] {
            b"" | b"." => {}
            b".." => {
                names.pop().ok_or(Status::BAD_REQUEST)?;
            }
            _ => names.push(segment),
        }
    }
    let hides = |(depth, name): (usize, &Vec<u8>)| {
        name.starts_with(b".") && !(depth == 0 && name == b".well-known")
    };
    if names.iter().enumerate().any(hides) {
        return Err(Status::NOT_FOUND);
    }
    let mut path: Vec<u8> = names.iter().flat_map(|name| [b"/", &name[..]].concat()).collect();
    if !ends_in_name {
        path.push(b'/');
    }
    Ok(path)
}

fn decode_segment(raw: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        if raw[at] == b'%' {
            let digits = raw.get(at + 1..at + 3)?;
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            name.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            at += 3;
        } else {
            name.push(raw[at]);
            at += 1;
        }
    }
    let has_no_place = name.iter().any(|byte| b"/\0".contains(byte)) || raw.contains(&b'\\');
    (!has_no_place).then_some(name)
}

fn check(raw: &[u8]) {
    let translated = translate(raw).map(std::borrow::Cow::into_owned);
    assert_eq!(translated, model(raw), "{}", raw.escape_ascii());
    let Ok(path) = translated else { return };
    assert!(path.starts_with(b"/") && !path.starts_with(b"//"));
    let mut names = path[1..].split(|b| *b == b'/').rev();
    names.next();
    assert!(names.all(|name| !matches!(name, b"" | b"." | b"..")), "{}", path.escape_ascii());
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("/"),
        Just("."),
        Just(".."),
        Just("a"),
        Just("b.html"),
        Just("%2e"),
        Just("%2E"),
        Just("%2f"),
        Just("%61"),
        Just("%25"),
        Just("%"),
        Just("%4"),
        Just("%zz"),
        Just("%00"),
        Just("%c3%a4"),
        Just("%c0%af"),
        Just("%c3"),
        Just("\\"),
        Just("%5c"),
        Just(".well-known"),
        Just("%7f"),
        Just("~"),
        Just("+"),
        Just(";"),
        Just("%20"),
        Just("ä"),
        Just("\u{85}"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn likely_paths_are_as_the_model_says(raw in pieces()) {
        check(&raw);
        check(&[b"/", &raw[..]].concat());
    }

    #[test]
    fn any_bytes_are_as_the_model_says(raw in prop::collection::vec(any::<u8>(), 0..40)) {
        check(&raw);
        check(&[b"/", &raw[..]].concat());
    }
}

#[test]
fn hostile_paths() {
    let bad = Err(Status::BAD_REQUEST);
    let hidden = Err(Status::NOT_FOUND);
    type Row = (&'static [u8], Result<&'static [u8], Status>);
    let rows: &[Row] = &[
        (b"/", Ok(b"/")),
        (b"/a/b.html", Ok(b"/a/b.html")),
        (b"/a/", Ok(b"/a/")),
        (b"/a%20b", Ok(b"/a b")),
        (b"/%61", Ok(b"/a")),
        (b"/a/./b/../c", Ok(b"/a/c")),
        (b"/a/b/..", Ok(b"/a/")),
        (b"/a/.", Ok(b"/a/")),
        (b"/a%2ehtml", Ok(b"/a.html")),
        (b"/%2e%2E/a", bad),
        (b"/a/%2e%2e/b", Ok(b"/b")),
        (b"//a//b//", Ok(b"/a/b/")),
        (b"//evil.example/..", Ok(b"/")),
        (b"///", Ok(b"/")),
        (b"/...", hidden),
        (b"/a..b", Ok(b"/a..b")),
        (b"/..", bad),
        (b"/../etc/passwd", bad),
        (b"/a/../../etc/passwd", bad),
        (b"/a/../../root/a", bad),
        (b"/..%2fetc", bad),
        (b"/a..%5cetc", Ok(b"/a..\\etc")),
        (b"/..%5cetc", hidden),
        (b"/..\\etc", bad),
        (b"/a%2Fb", bad),
        (b"/%00", bad),
        (b"/a.html%00.png", bad),
        (b"/a%0d%0aSet-Cookie:x", Ok(b"/a\r\nSet-Cookie:x")),
        (b"/%7f", Ok(b"/\x7f")),
        (b"/%c2%85", Ok(b"/\xc2\x85")),
        (b"/%", bad),
        (b"/%4", bad),
        (b"/%+1", bad),
        (b"/%zz", bad),
        (b"/%252e%252e/a", Ok(b"/%2e%2e/a")),
        (b"/%c0%ae%c0%ae/a", Ok(b"/\xc0\xae\xc0\xae/a")),
        (b"/%c0%af", Ok(b"/\xc0\xaf")),
        (b"/%ed%a0%80", Ok(b"/\xed\xa0\x80")),
        (b"/%ff", Ok(b"/\xff")),
        (b"/\xff", Ok(b"/\xff")),
        (b"/%c3%a4", Ok("/ä".as_bytes())),
        (b"/.git/config", hidden),
        (b"/%2egit/config", hidden),
        (b"/a/.htaccess", hidden),
        (b"/.git/../a", Ok(b"/a")),
        (b"/.well-known/acme", Ok(b"/.well-known/acme")),
        (b"/.well-known/", Ok(b"/.well-known/")),
        (b"/.well-known/.secret", hidden),
        (b"/.well-known2", hidden),
        (b"/a/.well-known/b", hidden),
        (b"", bad),
        (b"*", bad),
        (b"a", bad),
        (b"http:/a", bad),
    ];
    for (raw, expected) in rows {
        let translated = translate(raw);
        assert_eq!(translated.as_deref(), expected.as_deref(), "{}", raw.escape_ascii());
        check(raw);
    }
}

#[test]
fn nothing_is_copied_where_nothing_is_to_be_decoded() {
    for raw in ["/", "/index.html", "/a/b/c.d/e~f;g=h", "/dir/"] {
        assert!(matches!(translate(raw.as_bytes()), Ok(std::borrow::Cow::Borrowed(_))), "{raw}");
    }
}
