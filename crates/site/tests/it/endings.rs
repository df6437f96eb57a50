//! Rules by ending, against a model that looks at each rule by itself, and against files: what is
//! closed under one name shows under no other.

use crate::counter::{Counter, auth, field, host, redirect};
use h1::Status;
use proptest::prelude::*;
use proptest::sample::select;
use site::rules::{Effect, Host, Rule, Rules};
use site::{Applied, Settings, Site};

/// That of `secret`, as cheap as it may be.
const HASH: &str = "$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";

const CODINGS: [&str; 3] = [".br", ".zst", ".gz"];

fn gone() -> Effect {
    Effect::Answer(Status::GONE)
}

fn site(host: Host) -> Site {
    let settings = Settings { rules: Rules { hosts: vec![host] }, ..Settings::default() };
    Site::new("/no such root".as_ref(), &settings).unwrap()
}

/// The lines of the rules that a path has, the one that answers last.
fn explained(site: &Site, path: &str) -> String {
    let told = site.explain("a", path).into_iter().map(|(rule, applied)| {
        format!("{}{}", line(rule), if applied == Applied::Sets { "s" } else { "a" })
    });
    told.collect::<Vec<_>>().join(" ")
}

fn line(rule: &Rule) -> u32 {
    rule.origin.place.expect("a place").line
}

#[test]
fn endings_hold_beneath_their_prefix() {
    let rules = vec![
        ("/*.css", field("X", "1")),
        ("/assets/*.min.js", field("X", "2")),
        ("/assets/*.js", field("X", "3")),
        ("/*.html", field("X", "4")),
        ("/a.css/*.css", field("X", "5")),
        ("/*.well", field("X", "6")),
        ("/", gone()),
    ];
    let site = site(host(&["a"], rules));
    let rows = [
        ("/a.css", "1s 7a"),
        ("/deep/down/a.css", "1s 7a"),
        ("/a.css.map", "7a"),
        ("/acss", "7a"),
        ("/a.CSS", "7a"),
        ("/css", "7a"),
        ("/a%2Ecss", "1s 7a"),
        ("/a.css/", "4s 7a"),
        ("/a.css/b", "7a"),
        ("/a.css/b.css", "1s 5s 7a"),
        ("/x.min.js", "7a"),
        ("/assets", "7a"),
        ("/assets/", "4s 7a"),
        ("/assets/x.min.js", "2s 3s 7a"),
        ("/assets/v1/x.min.js", "2s 3s 7a"),
        ("/assets/x.js", "3s 7a"),
        ("/assets.min.js", "7a"),
        ("/", "4s 7a"),
        ("/index.html", "4s 7a"),
        ("/index", "7a"),
        ("/docs/", "4s 7a"),
        ("/docs", "7a"),
        ("/.well-known/a.well", "6s 7a"),
    ];
    for (path, told) in rows {
        assert_eq!(explained(&site, path), told, "{path}");
    }
}

#[test]
fn rules_by_ending_that_no_request_meets() {
    let set = || Effect::Listing(true);
    let homes = || Effect::UserDirectories("www".into());
    let rows = [
        (vec![("/*.css", gone()), ("/", gone())], ""),
        (vec![("/*.css", gone()), ("/a/*.css", set()), ("/*.min.css", set())], "2<1 3<1"),
        (vec![("/*.min.css", gone()), ("/*.css", set()), ("/a.min.css", set())], ""),
        (vec![("/a", gone()), ("/a/*.css", set()), ("/*.css", set())], "2<1"),
        (vec![("/a.css", gone()), ("/*.css", set()), ("/a.css/*.css", set())], "3<1"),
        (vec![("/*.html", gone()), ("/", set()), ("/index.html", set())], ""),
        (vec![("/", homes()), ("/~a/*.css", set()), ("/*.css", set())], "2<1"),
        (vec![("/", homes()), ("/", gone()), ("/*.css", set())], "3<2"),
    ];
    for (rules, expected) in rows {
        let told = format!("{rules:?}");
        let site = site(host(&["a"], rules));
        let unreached = site.unreached();
        let lines = unreached.map(|lost| format!("{}<{}", line(lost.rule), line(lost.before)));
        assert_eq!(lines.collect::<Vec<_>>().join(" "), expected, "{told}");
    }
}

#[test]
fn endings_that_cannot_be() {
    let misplaced = "has a star where none may stand";
    let rest = "needs the rest of a path";
    let many: Vec<_> = (0..65).map(|n| format!("/*.{n}")).collect();
    let all = |count: usize| many[..count].iter().map(|at| (&**at, gone())).collect::<Vec<_>>();
    let rows = [
        (vec![("/*css", gone())], misplaced),
        (vec![("/*.", gone())], misplaced),
        (vec![("/a*.css", gone())], misplaced),
        (vec![("/*/a.css", gone())], misplaced),
        (vec![("/*.css/a", gone())], misplaced),
        (vec![("/*.css/", gone())], misplaced),
        (vec![("/**.css", gone())], misplaced),
        (vec![("/*.c*s", gone())], misplaced),
        (vec![("/a*b", gone())], misplaced),
        (vec![("/*", gone())], "\"/*\" needs no star; write \"/\""),
        (vec![("/a/*", gone())], "\"/a/*\" needs no star; write \"/a\""),
        (vec![("*.css", gone())], "begin it with a slash"),
        (vec![("/*.css", Effect::Root("/".into()))], rest),
        (vec![("/*.css", Effect::UserDirectories("www".into()))], rest),
        (vec![("/*.css", redirect("/a", 301))], rest),
        (all(65), "65 endings in one host are more than 64"),
        (all(64), ""),
        ([all(64), all(64)].concat(), ""),
    ];
    for (rules, says) in rows {
        let told = format!("{rules:?}");
        let line = rules.len();
        let said = match Counter::with(&[], |_| vec![host(&["a"], rules)]) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said.is_empty(), says.is_empty(), "{told}: {said}");
        let begins = said.is_empty() || said.starts_with(&format!("weir.toml:{line}:1: "));
        assert!(begins && said.contains(says), "{told}: {said}");
    }
}

/// Which rules a path has, by looking at each of them.
struct Model<'m> {
    rules: &'m [Rule],
    /// Whether URLs may be clean.
    is_clean: bool,
}

impl<'m> Model<'m> {
    fn new(rules: &'m [Rule]) -> Self {
        let is_clean = rules.iter().any(|rule| rule.effect == Effect::CleanUrls(true));
        Self { rules, is_clean }
    }

    fn explained(&self, path: &str) -> String {
        let mut told = Vec::new();
        for rule in self.rules.iter().filter(|rule| self.holds(rule, path)) {
            let is_answer = match rule.effect {
                Effect::UserDirectories(_) => {
                    let rest = &path[rule.at.trim_end_matches('/').len()..];
                    let is_user = rest
                        .strip_prefix("/~")
                        .is_some_and(|name| !name.is_empty() && !name.starts_with('/'));
                    if !is_user {
                        continue;
                    }
                    true
                }
                Effect::Answer(_) => true,
                _ => false,
            };
            told.push(format!("{}{}", line(rule), if is_answer { "a" } else { "s" }));
            if is_answer {
                break;
            }
        }
        told.join(" ")
    }

    fn holds(&self, rule: &Rule, path: &str) -> bool {
        self.is_of(&rule.at, path) || is_closing(rule) && self.is_shown_as(&rule.at, path)
    }

    /// Whether the path is one that the operator has written the rule for.
    fn is_of(&self, at: &str, path: &str) -> bool {
        let Some((prefix, ending)) = at.split_once('*') else { return is_prefix(at, path) };
        let (_, name) = path.rsplit_once('/').expect("a slash");
        let counts_as = match name {
            "" => "index.html".into(),
            _ if self.is_clean && !name.contains('.') => format!("{name}.html"),
            _ => String::from(name),
        };
        path.starts_with(prefix) && counts_as.ends_with(ending)
    }

    /// Whether the path may show what the rule closes.
    fn is_shown_as(&self, at: &str, path: &str) -> bool {
        if at.contains('*') {
            return CODINGS.iter().any(|coding| self.is_of(&format!("{at}{coding}"), path));
        }
        let (around, name) = at.trim_end_matches('/').rsplit_once('/').unwrap_or_default();
        let pages = self.pages(name);
        let coded = pages.iter().flat_map(|page| CODINGS.map(|coding| format!("{page}{coding}")));
        let mut names = pages.iter().cloned().chain(coded).filter(|name| !name.is_empty());
        names.any(|name| is_prefix(&format!("{around}/{name}"), path))
            || pages.iter().any(|page| page == "index.html") && path == format!("{around}/")
    }

    /// A name, with and without its ending.
    fn pages(&self, name: &str) -> Vec<String> {
        let bare = name.strip_suffix(".html").unwrap_or(name);
        if !self.is_clean || bare.contains('.') || bare.is_empty() {
            return vec![name.into()];
        }
        vec![bare.into(), format!("{bare}.html")]
    }
}

fn is_closing(rule: &Rule) -> bool {
    matches!(rule.effect, Effect::Auth { .. } | Effect::Answer(_))
}

fn is_prefix(at: &str, path: &str) -> bool {
    let rest = path.strip_prefix(at.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

const NAMES: &[&str] = &[
    "a",
    "a.css",
    "a.css.gz",
    "b.min.js",
    "b.js",
    "index",
    "index.html",
    "index.html.br",
    "about",
    "about.html",
    "about.html.gz",
    "about.gz",
    "~a",
    "~a.css",
    "x.y.gz",
    "x.gz.br",
];

const ENDINGS: &[&str] =
    &[".css", ".css.gz", ".min.js", ".js", ".html", ".html.br", ".gz", ".y", ".css.gz.br"];

/// A prefix, perhaps with an ending.
fn at() -> impl Strategy<Value = String> {
    let names = prop::collection::vec(select(NAMES), 0..3);
    (names, prop::option::of(select(ENDINGS))).prop_map(|(names, ending)| {
        let prefix: String = names.iter().map(|name| format!("/{name}")).collect();
        match ending {
            Some(ending) => format!("{prefix}/*{ending}"),
            None if prefix.is_empty() => "/".into(),
            None => prefix,
        }
    })
}

fn path() -> impl Strategy<Value = String> {
    (prop::collection::vec(select(NAMES), 0..4), any::<bool>()).prop_map(|(names, ends)| {
        let path: String = names.iter().map(|name| format!("/{name}")).collect();
        if ends || path.is_empty() { path + "/" } else { path }
    })
}

fn rules(
    effects: &'static [fn() -> Effect],
    count_max: usize,
) -> impl Strategy<Value = Vec<(String, Effect)>> {
    let effect = select(effects).prop_map(|effect| effect());
    let rule = (at(), effect).prop_map(|(at, effect)| match effect {
        // It is for prefixes alone.
        Effect::UserDirectories(_) => (at.split("/*").next().unwrap_or_default().into(), effect),
        _ => (at, effect),
    });
    let rule = rule.prop_map(|(at, effect)| (if at.is_empty() { "/".into() } else { at }, effect));
    prop::collection::vec(rule, 0..count_max)
}

fn numbered(rules: &[(String, Effect)]) -> Host {
    host(&["a"], rules.iter().map(|(at, effect)| (&**at, effect.clone())).collect())
}

const EFFECTS: &[fn() -> Effect] = &[
    || field("X", "y"),
    || Effect::Listing(true),
    || Effect::CleanUrls(true),
    || Effect::CleanUrls(false),
    gone,
    || auth("r", &[("x", HASH)]),
    || Effect::UserDirectories("www".into()),
];

proptest! {
    #[test]
    fn rules_by_ending_are_those_of_the_model(
        rules in rules(EFFECTS, 8),
        paths in prop::collection::vec(path(), 1..20),
    ) {
        let host = numbered(&rules);
        let model = Model::new(&host.rules);
        let site = site(host.clone());
        for path in &paths {
            prop_assert_eq!(explained(&site, path), model.explained(path), "{}", path);
        }
        for lost in site.unreached() {
            for path in paths.iter().filter(|path| model.is_of(&lost.rule.at, path)) {
                let mut met = site.explain("a", path).into_iter();
                prop_assert!(met.all(|(rule, _)| !std::ptr::eq(rule, lost.rule)), "{}", path);
            }
        }
    }
}

/// Each holds its own name; siblings are not older than what they stand for.
const FILES: &[(&str, &str)] = &[
    ("index.html", "/index.html"),
    ("index.html.br", "/index.html.br"),
    ("a.css", "/a.css"),
    ("a.css.gz", "/a.css.gz"),
    ("a.css.br", "/a.css.br"),
    ("b.min.js", "/b.min.js"),
    ("b.min.js.gz", "/b.min.js.gz"),
    ("about.html", "/about.html"),
    ("about.html.gz", "/about.html.gz"),
    ("about/index.html", "/about/index.html"),
    ("about/index.html.br", "/about/index.html.br"),
    ("about/a.css", "/about/a.css"),
    ("about/a.css.gz", "/about/a.css.gz"),
    ("about/about", "/about/about"),
    ("about/about.html", "/about/about.html"),
    ("about/about.html.zst", "/about/about.html.zst"),
    ("x.y.gz", "/x.y.gz"),
];

/// What may show one of them.
const PATHS: &[&str] = &[
    "/",
    "/index",
    "/about",
    "/about/",
    "/about/index",
    "/about/about",
    "/about/about/",
    "/a.css/",
    "/x.y",
    "/b.min",
];

const DOORS: &[fn() -> Effect] =
    &[gone, gone, gone, || Effect::CleanUrls(true), || Effect::Listing(true)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_closed_under_one_name_shows_under_no_other(rules in rules(DOORS, 5)) {
        let town = Counter::new(FILES, |place| {
            let root = (String::from("/"), Effect::Root(place.into()));
            vec![numbered(&[&rules[..], &[root]].concat())]
        });
        let host = numbered(&rules);
        let model = Model::new(&host.rules);
        let names = || FILES.iter().map(|(_, name)| *name);
        for path in names().chain(PATHS.iter().copied()) {
            for codings in ["", "\nAccept-Encoding: br, zstd, gzip"] {
                let reply = town.ask(&format!("GET {path} HTTP/1.1\nHost: a{codings}"));
                let closes = |rule: &Rule| is_closing(rule) && model.holds(rule, path);
                let is_open = !host.rules.iter().any(closes);
                prop_assert_eq!(reply.starts_with("HTTP/1.1 410 "), !is_open, "{}", path);
                let is_file = is_open && names().any(|name| name == path);
                prop_assert!(!is_file || reply.starts_with("HTTP/1.1 200 "), "{} {}", path, reply);
                let shown = reply.split_once("\n\n").expect("a whole head").1;
                let Some(file) = names().find(|name| *name == shown) else { continue };
                let original = CODINGS.iter().find_map(|coding| file.strip_suffix(coding));
                for name in original.into_iter().chain([file]) {
                    let mut closing = host.rules.iter().filter(|rule| is_closing(rule));
                    let closed = closing.find(|rule| model.is_of(&rule.at, name));
                    prop_assert!(closed.is_none(), "{} shows {}: {:?}", path, file, closed);
                }
            }
        }
    }
}
