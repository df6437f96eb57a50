//! Who is let in.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use crate::counter::{Counter, auth, error_page, field, host, redirect};
use argon2::{Argon2, Params, PasswordHasher};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use h1::{Content, Found, Loaded, Status};
use site::rules::Effect;

const FILES: &[(&str, &str)] =
    &[("www/index.html", "front"), ("www/a.txt", "text"), ("www/401.html", "<p>who?")];

/// As cheap as they may be.
fn bcrypt(password: &str) -> String {
    bcrypt::hash(password, 4).unwrap()
}

fn argon2(password: &str) -> String {
    let params = Params::new(Params::MIN_M_COST, 1, 1, None).unwrap();
    let hasher = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    hasher.hash_password_with_salt(password.as_bytes(), b"saltsaltsalt").unwrap().to_string()
}

fn root(place: &Path) -> Effect {
    Effect::Root(place.join("www"))
}

fn town() -> Counter {
    let (ann, bob) = (argon2("é:x"), bcrypt("bob's"));
    Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/old", redirect("/new", 301)),
            ("/", auth("the \"inner\" court", &[("ann", &ann), ("bob", &bob)])),
            ("/ann", auth("ann's", &[("ann", &ann)])),
            ("/ann", auth("ann's", &[("ann", &ann)])),
            ("/moved", redirect("/new", 302)),
            ("/gone", Effect::Answer(Status::GONE)),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules)]
    })
}

fn with(path: &str, credentials: &str) -> String {
    let encoded = STANDARD.encode(credentials);
    format!("GET {path} HTTP/1.1\nHost: a\nAuthorization: Basic {encoded}")
}

const CHALLENGE: &str =
    "WWW-Authenticate: Basic realm=\"the \\\"inner\\\" court\", charset=\"UTF-8\"\n";

#[test]
fn only_who_knows_a_password_is_let_in() {
    let town = town();
    let rows = [
        (with("/a.txt", "ann:é:x"), 200),
        (with("/a.txt", "bob:bob's"), 200),
        (with("/a.txt", "bob:bob's").replace("Basic", "bASIC"), 200),
        (with("/a.txt", "bob:"), 401),
        (with("/a.txt", "bob:é:x"), 401),
        (with("/a.txt", "ann:bob's"), 401),
        (with("/a.txt", "carl:bob's"), 401),
        (with("/a.txt", ":bob's"), 401),
        (with("/a.txt", "bob"), 401),
        (with("/a.txt", "BOB:bob's"), 401),
        (with("/a.txt", "bob:bob's").replace("Basic ", "Bearer "), 401),
        (with("/a.txt", "bob:bob's").replace("Basic ", "Basic"), 401),
        (with("/a.txt", "bob:bob's") + "!", 401),
        (with("/a.txt", "bob:bob's") + "\nAuthorization: Basic eDp5", 401),
        (with("/missing", "bob:bob's"), 404),
        (with("/missing", "bob:"), 401),
        (with("/gone", "bob:bob's"), 410),
        (with("/gone", "bob:"), 401),
        (with("/moved/x?q", "bob:bob's"), 302),
        (with("/moved/x?q", "bob:"), 401),
        (with("/ann", "bob:bob's"), 401),
        (with("/ann", "ann:é:x"), 404),
        (with("/ann/x", "carl:é:x"), 401),
        // What was answered before any password was asked for.
        ("GET /old HTTP/1.1\nHost: a".into(), 301),
        ("GET /a.txt HTTP/1.1\nHost: a".into(), 401),
        ("GET /ann HTTP/1.1\nHost: a\nAuthorization: Basic".into(), 401),
    ];
    for (request, status) in rows {
        // Anew, and remembered.
        for _ in 0..2 {
            let reply = town.ask(&request);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {reply}");
            assert!(reply.contains("X-A: 1\n"), "{request}: {reply}");
            assert_eq!(reply.contains("WWW-Authenticate: Basic "), status == 401, "{reply}");
        }
    }
    let told = "Location: /new/x?q\n";
    assert!(town.ask(&with("/moved/x?q", "bob:bob's")).contains(told));
    assert!(town.ask("GET / HTTP/1.1\nHost: a").contains(CHALLENGE));
}

/// bcrypt goes round a password and the NUL behind it, so with a NUL in it another one is the same.
/// RFC 7617 section 2 has no control characters.
#[test]
fn no_password_has_control_characters() {
    let town = Counter::new(FILES, |place| {
        let users = &[("bob", &*bcrypt("b")), ("ann", &*argon2("b\tb"))];
        vec![host(&["a"], vec![("/", auth("r", users)), ("/", root(place))])]
    });
    let rows = [
        ("bob:b", 200),
        ("bob:b\0b", 401),
        ("bob:b\0b\0b", 401),
        ("bob:b\0", 401),
        ("ann:b\tb", 401),
        ("bob:b\x7f", 401),
        ("bob\0:b", 401),
    ];
    for (credentials, status) in rows {
        let reply = town.ask(&with("/a.txt", credentials));
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{credentials:?}: {reply}");
    }
}

/// bcrypt looks at 72 bytes: what stands behind them must not be taken for anything else.
#[test]
fn a_password_that_its_hash_does_not_cover_is_refused() {
    let (short, most) = ("x".repeat(71), "x".repeat(72));
    let town = Counter::new(FILES, |place| {
        let hashes = [bcrypt(&short), bcrypt(&most), argon2(&"x".repeat(80))];
        let [short, most, argon] = hashes.each_ref().map(String::as_str);
        let users = &[("short", short), ("most", most), ("argon", argon)];
        vec![host(&["a"], vec![("/", auth("r", users)), ("/", root(place))])]
    });
    let rows = [
        ("short", 71, 200),
        ("short", 72, 401),
        ("short", 73, 401),
        ("most", 71, 401),
        ("most", 72, 200),
        ("most", 73, 401),
        ("most", 200, 401),
        ("argon", 80, 200),
        ("argon", 81, 401),
    ];
    for (user, bytes, status) in rows {
        let reply = town.ask(&with("/a.txt", &format!("{user}:{}", "x".repeat(bytes))));
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{user} {bytes}: {reply}");
    }
}

/// For a minute, whatever it was. Nobody else is let in by it, or refused.
#[test]
fn what_was_verified_is_remembered() {
    let mut town = town();
    let (right, wrong) = (with("/a.txt", "bob:bob's"), with("/a.txt", "bob:bobs"));
    for (request, status) in [(&right, "200"), (&wrong, "401")] {
        let expected = format!("HTTP/1.1 {status} ");
        let before = town.verified.load(Relaxed);
        assert!(!town.is_hit(request));
        assert!(town.ask(request).starts_with(&expected));
        town.wait_ms(59_999);
        assert!(town.ask(request).starts_with(&expected));
        assert_eq!(town.verified.load(Relaxed), before + 1, "{request}");
        town.wait_ms(2);
        assert!(!town.is_hit(request));
        assert!(town.ask(request).starts_with(&expected));
        assert_eq!(town.verified.load(Relaxed), before + 2, "{request}");
    }
    // Without credentials there is nothing to verify, and what others said is theirs.
    assert!(town.is_hit("GET /a.txt HTTP/1.1\nHost: a"));
    assert!(!town.is_hit(&with("/a.txt", "ann:bob's")));
    assert!(!town.is_hit(&with("/a.txt", "ann:é:x")));
    // By all rules that a path has, each set of which asks by itself.
    assert!(town.ask(&with("/", "ann:é:x")).starts_with("HTTP/1.1 200 "));
    assert!(town.is_hit(&with("/moved", "ann:é:x")) && !town.is_hit(&with("/ann", "ann:é:x")));
}

/// Many guesses are forgotten together, and let nobody wait who knows a password.
#[test]
fn guesses_make_no_password_be_forgotten() {
    let town = town();
    let right = with("/a.txt", "bob:bob's");
    town.ask(&right);
    let guess = |n: u32| with("/a.txt", &format!("bob:{n}"));
    for n in 0..4096 {
        let Found::Miss(lookup) = town.find(&guess(n)) else { panic!("{n} is known") };
        let verification = town.site.verification(&lookup).expect("to be verified");
        verification.remember(false, town.now.at);
    }
    assert!(town.is_hit(&right) && town.is_hit(&guess(0)));
    town.ask(&guess(4096));
    assert!(town.is_hit(&right) && town.is_hit(&guess(4096)) && !town.is_hit(&guess(0)));
}

#[test]
fn nothing_is_opened_for_who_was_not_let_in() {
    let town = town();
    let Found::Miss(lookup) = town.find(&with("/a.txt", "bob:bob's")) else { panic!("known") };
    assert!(town.site.compare(&lookup, &town.now).is_none());
    let Loaded::Answer(answer) = town.site.load(&lookup, &town.now) else { panic!("no answer") };
    assert_eq!(answer.representation.status, Status::UNAUTHORIZED);
}

#[test]
fn one_verification_is_for_all_who_say_the_same() {
    let town = town();
    let of = |path, credentials| {
        let Found::Miss(lookup) = town.find(&with(path, credentials)) else { panic!("known") };
        town.site.verification(&lookup).expect("to be verified")
    };
    let one = of("/a.txt", "bob:x");
    let rows = [
        ("/a.txt", "bob:x", true),
        ("/b.txt", "bob:x", true),
        ("/a.txt", "bob:y", false),
        ("/ann", "bob:x", false),
    ];
    for (path, credentials, is_same) in rows {
        assert_eq!(one.is_same(&of(path, credentials)), is_same, "{path} {credentials}");
    }
}

#[test]
fn who_is_put_off_is_told_for_how_long() {
    let town = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", field("X-A", "1")),
            ("/", auth("r", &[("bob", &bcrypt("b"))])),
            ("/", error_page(429, "/401.html")),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules)]
    });
    let Found::Miss(lookup) = town.find(&with("/a.txt", "bob:x")) else { panic!("known") };
    let rows = [
        (Status::TOO_MANY_REQUESTS, "<p>who?"),
        // In what words, the connection says.
        (Status::SERVICE_UNAVAILABLE, ""),
    ];
    for (status, page) in rows {
        let Loaded::Answer(answer) = town.site.put_off(&lookup, status, 3) else { panic!() };
        let representation = &answer.representation;
        let fields = str::from_utf8(representation.words.fields()).expect("ASCII");
        let told = (representation.status, fields);
        assert_eq!(told, (status, "X-A: 1\r\nRetry-After: 3\r\n"));
        let Content::Bytes(content) = &representation.content else { panic!("{status:?}") };
        assert_eq!(content.bytes(), page.as_bytes());
    }
}

#[test]
fn the_page_for_strangers_is_open_to_them() {
    let town = Counter::new(FILES, |place| {
        let rules = vec![
            ("/", auth("r", &[("bob", &bcrypt("b"))])),
            ("/", error_page(401, "/401.html")),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules)]
    });
    let reply = town.get("a", "/a.txt");
    let head = "HTTP/1.1 401 Unauthorized\nContent-Type: text/html; charset=utf-8\n";
    assert!(reply.starts_with(head) && reply.ends_with("\n\n<p>who?"), "{reply}");
    assert!(reply.contains("WWW-Authenticate: Basic realm=\"r\", charset=\"UTF-8\"\n"), "{reply}");
}

/// Browsers ask without credentials (Fetch standard, section 3.3.2).
#[test]
fn a_preflight_needs_no_password() {
    let reply = town()
        .ask("OPTIONS / HTTP/1.1\nHost: a\nOrigin: https://b\nAccess-Control-Request-Method: GET");
    assert!(reply.starts_with("HTTP/1.1 204 No Content\n"), "{reply}");
}

/// A file is shown also under its directory's name, and its siblings hold the same.
#[test]
fn what_holds_for_a_file_holds_for_all_that_shows_it() {
    let files = &[
        ("www/dir/index.html", "index"),
        ("www/dir/index.html.br", "index"),
        ("www/dir/other.html", "other"),
        ("www/secret.html", "secret"),
        ("www/secret.html.gz", "secret"),
        ("www/secret.html.br", "secret"),
        ("www/secret.html.zst", "secret"),
        ("www/secret.html.bak", "open"),
        ("www/gone.css", "gone"),
        ("www/gone.css.gz", "gone"),
        ("www/moved.html.gz", "open"),
        ("www/index.html", "front"),
    ];
    let town = Counter::new(files, |place| {
        let who = &[("bob", &*bcrypt("b"))];
        let rules = vec![
            ("/dir/index.html", auth("r", who)),
            ("/secret.html", auth("r", who)),
            ("/gone.css", Effect::Answer(Status::GONE)),
            ("/moved.html", redirect("/to", 301)),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules)]
    });
    let rows = [
        ("/dir/index.html", 401),
        ("/dir/", 401),
        ("/dir/.", 401),
        ("/x/../dir//", 401),
        ("/dir/index.html.br", 401),
        ("/dir/index.html.gz", 401),
        ("/dir", 301),
        ("/dir/other.html", 200),
        ("/", 200),
        ("/index.html", 200),
        ("/secret.html", 401),
        ("/secret.html.gz", 401),
        ("/secret.html.br", 401),
        ("/secret.html.zst", 401),
        ("/%73ecret.html", 401),
        ("/%73ecret.html%2Egz", 401),
        ("//secret.html.gz", 401),
        ("/x/../secret.html", 401),
        ("/secret.html/", 401),
        ("/secret.html.gz/", 401),
        ("/secret.html.bak", 200),
        ("/gone.css", 410),
        ("/gone.css.gz", 410),
        ("/moved.html", 301),
        ("/moved.html.gz", 200),
    ];
    for (path, status) in rows {
        let reply = town.get("a", path);
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {reply}");
        if status == 401 && !path.contains(".gz") {
            let reply = town.ask(&with(path, "bob:b"));
            assert!(!reply.starts_with("HTTP/1.1 401 "), "{path}: {reply}");
        }
    }
}

/// Of an open file a closed sibling is not shown, and the file stays open.
#[test]
fn a_sibling_with_a_rule_of_its_own_stands_for_no_other() {
    let files = &[
        ("www/report.css", "open"),
        ("www/report.css.gz", "shut"),
        ("www/report.css.br", "shut"),
        ("www/old.css", "open"),
        ("www/old.css.gz", "shut"),
        ("www/dir/index.html", "open"),
        ("www/dir/index.html.gz", "shut"),
        ("www/dir/other.html", "open"),
        ("www/dir/other.html.gz", "packed"),
        ("www/app/index.html", "open"),
        ("www/app/index.html.zst", "shut"),
    ];
    let town = Counter::new(files, |place| {
        let who = &[("bob", &*bcrypt("b"))];
        let rules = vec![
            ("/report.css.gz", auth("r", who)),
            ("/report.css.br", auth("r", who)),
            ("/old.css.gz", Effect::Answer(Status::GONE)),
            ("/dir/index.html.gz", auth("r", who)),
            ("/app/index.html.zst", auth("r", who)),
            ("/app", Effect::Fallback("/app/index.html".into())),
            ("/", root(place)),
        ];
        vec![host(&["a"], rules)]
    });
    let rows = [
        ("/report.css", "open"),
        ("/old.css", "open"),
        ("/dir/", "open"),
        ("/dir/index.html", "open"),
        ("/dir/other.html", "packed"),
        ("/app/", "open"),
        ("/app/missing", "open"),
    ];
    for (path, expected) in rows {
        let request = format!("GET {path} HTTP/1.1\nHost: a\nAccept-Encoding: br, zstd, gzip");
        let reply = town.ask(&request);
        assert!(reply.starts_with("HTTP/1.1 200 "), "{path}: {reply}");
        assert_eq!(reply.split("\n\n").nth(1), Some(expected), "{path}: {reply}");
    }
}

#[test]
fn credentials_do_not_show() {
    let credentials = h1::Credentials(h1::Shared::from(&b"ann:secret"[..]));
    assert_eq!(format!("{credentials:?}"), "Credentials");
}
