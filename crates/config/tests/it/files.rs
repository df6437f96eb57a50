//! What good files come to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use config::{Flags, explain, summary};
use h1::{Date, Now, Status};
use measure::Instant;
use proptest::prelude::*;
use servers::architectures::ARCHITECTURES;
use servers::knobs::{self, Knob};
use servers::settings::{LogTo, Settings};
use site::rules::Effect;

fn shown(settings: &Settings) -> Vec<String> {
    knobs::all().map(|knob| format!("{} {}", knob.name, (knob.show)(settings))).collect()
}

#[test]
fn an_empty_file_says_the_defaults() {
    let folder = Folder::new();
    for text in ["", "\n", "# nothing\n"] {
        let settings = folder.text(text).expect("good");
        assert_eq!(shown(&settings), shown(&Settings::default()));
        assert_eq!(settings.root, PathBuf::from("."));
        assert!(settings.rules.hosts.is_empty());
    }
}

/// An architecture that takes a knob.
fn taker(knob: &Knob) -> &'static str {
    knob.takers().first().expect("an architecture for each knob")
}

#[test]
fn every_default_can_be_written() {
    let folder = Folder::new();
    for knob in knobs::all() {
        let default = (knob.show)(&Settings::default());
        let architecture = taker(knob);
        let mut texts = vec![format!("{default:?}")];
        texts.extend(default.parse::<u32>().ok().map(|_| default.clone()));
        texts.extend(matches!(&*default, "on" | "off").then(|| (default == "on").to_string()));
        for text in texts {
            let lines = if knob.name == "architecture" {
                String::new()
            } else {
                format!("architecture = {architecture:?}\n")
            };
            let text = format!("{lines}{} = {text}\n", knob.name);
            let settings = folder.text(&text).expect(&text);
            assert_eq!((knob.show)(&settings), default, "{text}");
        }
    }
}

/// Values that a knob may take, from how it says what they look like.
fn candidates(knob: &Knob) -> Vec<String> {
    let form = knob.value.split(' ').next().unwrap_or_default();
    let mut values: Vec<String> = form.split('|').map(String::from).collect();
    if let Some((least, most)) = form.split_once("..") {
        values.extend([least, most].map(String::from));
    }
    values.extend(ARCHITECTURES.iter().map(|row| String::from(row.name)));
    values.extend(["127.0.0.1:80", "127.0.0.1"].map(String::from));
    values.push("/some/file".into());
    values
}

#[test]
fn every_knob_can_be_written() {
    let folder = Folder::new();
    for knob in knobs::all() {
        let default = (knob.show)(&Settings::default());
        let mut others = candidates(knob).into_iter().filter_map(|value| {
            let mut settings = Settings::default();
            (knob.set)(&mut settings, &value).ok()?;
            let shown = (knob.show)(&settings);
            (shown != default).then_some((value, shown))
        });
        let (value, expected) = others.next().unwrap_or_else(|| panic!("a value: {}", knob.name));
        let flags = Flags { architecture: Some(taker(knob)), root: None };
        let path = folder.write("weir.toml", format!("{} = {value:?}\n", knob.name));
        let settings = folder.read(&path, flags).expect(knob.name);
        assert_eq!((knob.show)(&settings), expected, "{} = {value}", knob.name);
    }
}

#[test]
fn values_have_several_spellings() {
    let rows = [
        ("cache-mb = 0x10", "cache-mb", "16"),
        ("cache-mb = 1_000", "cache-mb", "1000"),
        ("cache-mb = \"16\"", "cache-mb", "16"),
        ("work-on-accepted = true", "work-on-accepted", "on"),
        ("work-on-accepted = \"on\"", "work-on-accepted", "on"),
        ("access-log = false", "access-log", "off"),
        ("accept-limit = \"inf\"", "accept-limit", "inf"),
        ("listen = 80", "listen", ":80"),
        ("listen = [80, \"127.0.0.1:0\"]", "listen", ":80, 127.0.0.1:0"),
        ("listen = \"unix:/a\"", "listen", "unix:/a"),
        ("access-log = \"/a\"", "access-log", "/a"),
        ("proxy-protocol = \"10.0.0.1,fd00::/8\"", "proxy-protocol", "10.0.0.1/32,fd00::/8"),
        ("proxy-protocol = [\"10.0.0.1\", \"::/0\"]", "proxy-protocol", "10.0.0.1/32,::/0"),
        ("proxy-protocol = false", "proxy-protocol", "off"),
        ("trusted-proxies = \"unix,fd00::/8\"", "trusted-proxies", "unix,fd00::/8"),
        ("trusted-proxies = [\"10.0.0.1\", \"unix\"]", "trusted-proxies", "10.0.0.1/32,unix"),
        ("trusted-proxies = false", "trusted-proxies", "off"),
    ];
    let folder = Folder::new();
    for (text, name, expected) in rows {
        let knob = servers::knobs::knob(name).expect("a knob");
        assert_eq!((knob.show)(&folder.text(text).expect(text)), expected, "{text}");
    }
}

#[test]
fn paths_are_relative_to_their_file_and_the_last_file_wins() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/www")).expect("a directory");
    folder.write("in/a.toml", "root = \"www\"\naccess-log = \"a.log\"\nbacklog = 5\nlisten = 1");
    let settings = folder.text("include = \"in/a.toml\"\nbacklog = 6\nlisten = \"unix:s\"");
    let settings = settings.expect("good");
    assert_eq!(settings.root, folder.path("in/www"));
    assert_eq!(settings.access_log, Some(LogTo::File(folder.path("in/a.log"))));
    assert_eq!(settings.backlog, Some(6));
    let [address] = &settings.listen[..] else { panic!("{:?}", settings.listen) };
    assert_eq!(address.to_string(), format!("unix:{}", folder.path("s").display()));
}

#[test]
fn flags_win() {
    let folder = Folder::new();
    let path = folder.write("weir.toml", "threads = 4\nroot = \"site\"");
    let flags = Flags { architecture: Some("mt"), root: Some(Path::new("/srv")) };
    let settings = folder.read(&path, flags).expect("good");
    assert_eq!((settings.threads, settings.root), (Some(4), PathBuf::from("/srv")));
    let flags = Flags { architecture: Some("amped"), root: None };
    let told = folder.read(&path, flags).map(|_| ());
    let expected = "weir.toml:1:1: threads: amped does not take it (sped, mt, thread-per-request, \
                    watpipe, pipelined, seda, proactor, tux would); leave it out";
    assert_eq!(told, Err(vec![String::from(expected)]));
}

#[test]
fn addresses_are_known_by_any_spelling() {
    let folder = Folder::new();
    let text = "[[host]]\nnames = [\"[0:0::0001]\", \"[2001:DB8::]\"]";
    let hosts = folder.text(text).expect("good").rules.hosts;
    assert_eq!(hosts[0].names, ["[::1]", "[2001:db8::]"]);
}

#[test]
fn a_root_beside_hosts_is_for_all_other_names() {
    let folder = Folder::new();
    let path = folder.write("weir.toml", "root = \"site\"\n[[host]]\nnames = \"A.org\"");
    for (root, expected) in [(None, folder.path("site")), (Some("/srv"), PathBuf::from("/srv"))] {
        let flags = Flags { architecture: None, root: root.map(Path::new) };
        let hosts = folder.read(&path, flags).expect("good").rules.hosts;
        let names: Vec<_> = hosts.iter().flat_map(|host| &host.names).collect();
        assert_eq!(names, ["a.org", "*"]);
        assert_eq!(hosts[1].rules[0].effect, Effect::Root(expected));
    }
}

#[test]
fn a_rule_may_set_several_things() {
    let folder = Folder::new();
    let text = "[[host]]\nnames = \"*\"\n[[host.rule]]\nat = \"/a\"\nlisting = true\n\
                cors = \"*\"\nfields = { A = \"1\", B = \"2\" }\nfollow-links = [\"site\"]\n\
                types = { \"*\" = \"a/b\" }\n";
    let hosts = folder.text(text).expect("good").rules.hosts;
    let field = |name: &str, value: &str| Effect::Field { name: name.into(), value: value.into() };
    let cors = Effect::Cors { origins: vec!["*".into()] };
    let links = Effect::FollowLinks(vec![folder.path("site")]);
    let mut rules: Vec<_> = hosts[0].rules.iter().map(|rule| (&*rule.at, &rule.effect)).collect();
    let types = Effect::Types(vec![("*".into(), "a/b".into())]);
    let fields = [field("A", "1"), field("B", "2")];
    for effect in [Effect::Listing(true), cors, links, types].into_iter().chain(fields) {
        let place = rules.iter().position(|rule| *rule == ("/a", &effect));
        rules.remove(place.unwrap_or_else(|| panic!("{effect:?} in {rules:?}")));
    }
    assert_eq!(rules, []);
}

#[test]
fn rules_about_addresses_are_shown_and_explained() {
    let folder = Folder::new();
    folder.write("site/a", "a");
    let host = "[[host]]\nnames = \"*\"\nroot = \"site\"\n";
    let rule = "[[host.rule]]\nat = \"/\"\nallow = [\"10.0.0.0/8\", \"::ffff:11.0.0.1\"]\n";
    let other = "[[host.rule]]\nat = \"/x\"\ndeny = \"10.0.0.0/9\"\n";
    let settings = folder.text(&[host, rule, other].concat()).expect("good");
    let shown = summary::summary(&settings);
    for line in ["  /  allow 10.0.0.0/8, 11.0.0.1/32  (", "  /x  deny 10.0.0.0/9  ("] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let site = explain::site(&settings).expect("good");
    let now = Now { at: Instant::from_ms(1), date: Date::new(1 << 31) };
    for (url, lines) in [
        ("/a", ["applies   /  allow 10.0.0.0/8", "a GET of those let in gets 200 OK (1 bytes)"]),
        ("/x/b", ["applies   /x  deny 10.0.0.0/9", "a GET of those let in gets 404 Not Found"]),
    ] {
        let told = explain::explained(&settings, &site, url, &now).expect(url);
        for line in lines {
            assert!(told.contains(line), "{url}: {line}: {told}");
        }
    }
    // Where it was written is said of what only several rules are: here of the one that is left.
    let shut = "[[host.rule]]\nat = \"/x\"\ndeny = [\"10.128.0.0/9\", \"11.0.0.0/8\"]\n";
    let settings = folder.text(&[host, rule, other, shut].concat()).expect("each is good");
    let told = explain::site(&settings).map(|_| ()).expect_err("nobody");
    let expected = "weir.toml:12:8: host.rule.deny: lets nobody in, together with the rules before \
                    it; write `answer = 403` if that is meant";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn rules_by_ending_have_a_short_form() {
    let folder = Folder::new();
    let rows = [
        ("*.css", "/*.css"),
        ("/*.css", "/*.css"),
        ("/a/*.min.js", "/a/*.min.js"),
        ("/a/*.ä%", "/a/*.ä%"),
    ];
    for (written, at) in rows {
        let text =
            format!("[[host]]\nnames = \"*\"\n[[host.rule]]\nat = {written:?}\nanswer = 410\n");
        let settings = folder.text(&text).expect("good");
        assert_eq!(settings.rules.hosts[0].rules[0].at, at);
        let shown = summary::summary(&settings);
        assert!(shown.contains(&format!("  {at}  answer 410")), "{shown}");
    }
}

/// The example of the documentation, with the files that it names.
fn example() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("hosts/blog.toml", "[[host]]\nnames = \"blog.example.org\"\nroot = \"../site\"");
    folder.write("site/missing.html", "not here");
    folder.write("site/manual/start.html", "start");
    folder.write("users", "ann:$2y$04$hu20WBVkT9jG6AItIAcHquC94RQTA6DfsCtkxTtNCrZpcSj1eIMZG\n");
    let text = include_str!("../../../../docs/configuration.md");
    let (_, text) = text.split_once("```toml\n").expect("an example");
    let (text, _) = text.split_once("```").expect("its end");
    (folder, text.into())
}

#[test]
fn the_example_of_the_documentation_is_good() {
    let (folder, text) = example();
    let settings = folder.text(&text).expect("good");
    let effects: Vec<_> = settings.rules.hosts[1].rules.iter().map(|rule| &rule.effect).collect();
    assert_eq!(settings.rules.hosts.len(), 4);
    assert_eq!(
        effects[0],
        &Effect::Field { name: "Referrer-Policy".into(), value: "no-referrer".into() }
    );
    assert_eq!(effects[3], &Effect::Redirect { to: "/archive".into(), status: Status(301) });
    assert_eq!(effects.last(), Some(&&Effect::Root(folder.path("site"))));
    let shown = summary::summary(&settings);
    for line in ["helpers 8", "host *.people.example.org", "/gone  answer 410", "1 user "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("$2y$"), "{shown}");
}

#[test]
fn urls_are_explained() {
    let (folder, text) = example();
    folder.write("site/empty/.keep", "");
    let settings = folder.text(&text).expect("good");
    let site = explain::site(&settings).expect("good");
    let now = Now { at: Instant::from_ms(1), date: Date::new(1 << 31) };
    let rows: [(&str, &[&str]); 20] = [
        ("blog.example.org/nope", &["host blog.example.org", "a GET gets 404 Not Found\n"]),
        ("blog.example.org:80/missing.html", &["a GET gets 200 OK (8 bytes)"]),
        ("/missing.html", &["host blog.example.org", "a GET gets 200 OK (8 bytes)"]),
        ("/empty/", &["a GET gets 404 Not Found\n404 for ", "it has no index.html"]),
        ("/missing.html?a=1", &["host blog.example.org", "a GET gets 200 OK (8 bytes)"]),
        ("example.org/private/", &["a GET gets 401 Unauthorized"]),
        ("http://blog.example.org", &["host blog.example.org", "answers   /  root"]),
        ("http://EXAMPLE.org:8080/old/a?b", &["applies   /  field", "answers   /old  redirect"]),
        ("http://example.org/older", &["answers   /  root"]),
        ("example.org/a.css", &["applies   /*.css  field Cache-Control: max-age=3600"]),
        ("example.org/manual/start", &["applies   /manual  clean-urls on", "200 OK (5 bytes)"]),
        ("https://www.example.org/private/x", &["applies   /private  auth", "answers   /  root"]),
        ("http://example.org/gone/", &["answers   /gone  answer 410"]),
        ("http://example.org/%67one", &["answers   /gone  answer 410"]),
        ("http://a.people.example.org/~ann/x", &["answers   /  user-directories public_html"]),
        ("http://a.people.example.org/ann", &["answers   404"]),
        ("http://people.example.org/", &["host *", "answers   /  redirect"]),
        ("http://127.0.0.1/", &["host *"]),
        ("http://example.org/.git/config", &["answered with 404"]),
        ("http://[::1]:8080/?a", &["host *"]),
    ];
    for (url, lines) in rows {
        let told = explain::explained(&settings, &site, url, &now).expect(url);
        for line in lines {
            assert!(told.contains(line), "{url}: {line}: {told}");
        }
    }
    for url in ["", "?a", "ftp://a/", "http:///a", "http://b@a/", "b@a/"] {
        explain::explained(&settings, &site, url, &now).expect_err(url);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Cut, doubled and changed bytes are told as mistakes or mean something: they never panic, and
    /// each mistake is one line.
    #[test]
    fn mutations_are_survived(
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..40, any::<Option<u8>>()),
            1..5,
        )
    ) {
        let (folder, text) = example();
        let mut bytes = text.into_bytes();
        for (at, length, byte) in edits {
            let at = at.index(bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            match byte {
                Some(byte) => { bytes.splice(at..at.saturating_add(1).min(bytes.len()), [byte]); }
                None if length % 2 == 0 => { bytes.drain(at..end); }
                None => { let part = bytes[at..end].to_vec(); bytes.splice(at..at, part); }
            }
        }
        let path = folder.write("weir.toml", bytes);
        match folder.read(&path, Flags::default()) {
            Ok(settings) => prop_assert!(!summary::summary(&settings).is_empty()),
            Err(told) => for line in told {
                prop_assert!(!line.contains('\n'), "{line}");
            },
        }
    }
}
