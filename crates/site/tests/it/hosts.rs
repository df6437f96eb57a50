//! Which host and which rules a request has, against a model that looks at everything in order.

use crate::counter::{field, host, redirect};
use h1::{Connection, Date, Limits, Now, Shared, Status, Want};
use measure::Instant;
use os::File;
use proptest::prelude::*;
use proptest::sample::select;
use site::rules::{Effect, Host, Rule, Rules};
use site::{Applied, COUNTED_HOSTS_MAX, Settings, Site};

fn site(hosts: Vec<Host>) -> Site {
    let settings = Settings { rules: Rules { hosts }, ..Settings::default() };
    Site::new("/no such root".as_ref(), &settings).unwrap()
}

/// The first [`COUNTED_HOSTS_MAX`] by their first names; the others, `other` and `*` as 0.
#[test]
fn hosts_are_counted_by_their_first_names() {
    let many: Vec<String> = (0..COUNTED_HOSTS_MAX + 3).map(|n| format!("h{n}.example")).collect();
    let mut all = vec![host(&["A.example.org", "b.example.org"], Vec::new())];
    all.extend(many.iter().map(|name| host(&[name], Vec::new())));
    all.splice(1..1, [host(&["other", "o.example"], Vec::new())]);
    all.push(host(&["*"], Vec::new()));
    let site = site(all);
    let counted = site.counted_hosts();
    assert_eq!(counted.len(), COUNTED_HOSTS_MAX);
    assert_eq!(counted[..2], ["a.example.org", "h0.example"]);
    let rows = [
        ("a.example.org", 1),
        ("B.example.org:80", 1),
        ("h0.example", 2),
        ("h62.example", COUNTED_HOSTS_MAX as u8),
        ("h63.example", 0),
        ("h66.example", 0),
        ("o.example", 0),
        ("unknown.example", 0),
    ];
    for (name, expected) in rows {
        let now = Now { at: Instant::ORIGIN, date: Date::new(0) };
        let mut connection = Connection::<File>::new(Shared::new(Limits::default()), now.at);
        connection.received(format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n").as_bytes(), &now);
        let Want::Find(_, head) = connection.want() else { panic!("{name}") };
        assert_eq!(site.host_number(&head), expected, "{name}");
    }
}

/// The first host in written order is meant, whichever kind of name it has.
#[test]
fn the_first_host_that_matches() {
    let all = [
        vec!["one.example.org", "two.example.org"],
        vec!["*.example.org"],
        vec!["exact.example.org"],
        vec!["example.org", "[::1]"],
        vec!["*.org"],
    ];
    let some = site(all.iter().map(|names| host(names, Vec::new())).collect());
    let every = site(all.iter().map(|n| host(n, vec![])).chain([host(&["*"], vec![])]).collect());
    let rows = [
        ("one.example.org", "one.example.org"),
        ("TWO.example.ORG:8080", "one.example.org"),
        ("one.example.org.", "one.example.org"),
        ("one.example.org.:80", "one.example.org"),
        ("a.b.example.org", "*.example.org"),
        ("exact.example.org", "*.example.org"),
        ("example.org", "example.org"),
        ("[::1]:80", "example.org"),
        ("[::1]", "example.org"),
        ("other.org", "*.org"),
        (".example.org", "*.org"),
        ("org", ""),
        (".org", ""),
        ("", ""),
        ("xexample.com", ""),
        ("[::2]", ""),
    ];
    let name = |site: &Site, asked| site.host(asked).map_or("", |h| h.names[0].as_str()).to_owned();
    for (asked, meant) in rows {
        assert_eq!(name(&some, asked), meant, "{asked}");
        assert_eq!(name(&every, asked), if meant.is_empty() { "*" } else { meant }, "{asked}");
    }
    let long = format!("{}.org", "a".repeat(300));
    assert_eq!(name(&some, &long), "");
    assert_eq!(name(&every, &long), "*");
}

#[test]
fn an_explanation_says_what_sets_and_what_answers() {
    let rules = vec![
        ("/", field("X-A", "1")),
        ("/docs/", redirect("/d", 302)),
        ("/docs/a", field("X-B", "2")),
        ("/", Effect::UserDirectories("www".into())),
        ("/~bob/x", Effect::Listing(true)),
        ("/", Effect::Answer(Status::GONE)),
        ("/", field("X-C", "3")),
    ];
    let site = site(vec![host(&["a"], rules)]);
    let rows = [
        ("/docs", "1s 2a"),
        ("/docs/", "1s 2a"),
        ("/docs/a", "1s 2a"),
        ("/%64ocs/../docs/x", "1s 2a"),
        ("/docsa", "1s 6a"),
        ("/", "1s 6a"),
        ("/~bob", "1s 4a"),
        ("/~", "1s 6a"),
        ("/~bob/x/y", "1s 4a"),
        ("/x/~bob", "1s 6a"),
        ("/..", ""),
    ];
    for (path, told) in rows {
        assert_eq!(explained(&site, "a:80", path), told, "{path}");
    }
    assert_eq!(explained(&site, "b", "/"), "");
}

#[test]
fn rules_that_no_request_meets() {
    let gone = || Effect::Answer(Status::GONE);
    let homes = || Effect::UserDirectories("www".into());
    let rows = [
        (vec![("/", gone())], ""),
        (vec![("/a", gone()), ("/", gone()), ("/", field("X", "y"))], "3<2"),
        (vec![("/", gone()), ("/a/b", gone()), ("/c", Effect::Listing(true))], "2<1 3<1"),
        (vec![("/a", gone()), ("/a/b", gone()), ("/ab", gone())], "2<1"),
        (vec![("/a/b", gone()), ("/a/", gone()), ("/a", gone())], "3<2"),
        (vec![("/", homes()), ("/~bob", gone()), ("/", gone())], "2<1"),
        (vec![("/", homes()), ("/", homes()), ("/a", gone())], "2<1"),
        (vec![("/", gone()), ("/", homes())], "2<1"),
    ];
    for (rules, expected) in rows {
        let told = format!("{rules:?}");
        let site = site(vec![host(&["a"], Vec::new()), host(&["b"], rules)]);
        let unreached = site.unreached();
        let lines = unreached.map(|lost| format!("{}<{}", line(lost.rule), line(lost.before)));
        assert_eq!(lines.collect::<Vec<_>>().join(" "), expected, "{told}");
    }
}

fn explained(site: &Site, host: &str, path: &str) -> String {
    let told = site.explain(host, path).into_iter().map(|(rule, applied)| {
        let does = if applied == Applied::Sets { "s" } else { "a" };
        format!("{}{does}", line(rule))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// What `explained` should say, by looking at every host, name and rule in order.
fn expected(hosts: &[Host], asked: &str, path: &str) -> String {
    let matches = |name: &String| match name.strip_prefix('*') {
        Some("") => true,
        Some(end) => asked.ends_with(end) && asked.len() > end.len(),
        None => asked == name,
    };
    let Some(host) = hosts.iter().find(|host| host.names.iter().any(matches)) else {
        return String::new();
    };
    let mut told = Vec::new();
    for rule in &host.rules {
        let Some(rest) = behind(path, &rule.at) else { continue };
        match rule.effect {
            Effect::UserDirectories(_) => {
                let next = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
                if !next.starts_with('~') || next.len() == 1 {
                    continue;
                }
            }
            Effect::Answer(_) => {}
            _ => {
                told.push(format!("{}s", line(rule)));
                continue;
            }
        }
        told.push(format!("{}a", line(rule)));
        break;
    }
    told.join(" ")
}

fn behind<'p>(path: &'p str, at: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(at.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn hosts() -> impl Strategy<Value = Vec<Host>> {
    let names = ["a", "b.a", "c.b.a", "*.a", "*.b.a", "*", "d"];
    let name = select(names.to_vec()).prop_map(String::from);
    let names = prop::collection::vec(name, 1..3);
    prop::collection::vec((names, rules()), 0..5)
        .prop_map(|hosts| hosts.into_iter().map(|(names, rules)| Host { names, rules }).collect())
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let effects = [
        field("X", "y"),
        Effect::Listing(true),
        Effect::Answer(Status::GONE),
        Effect::UserDirectories("www".into()),
    ];
    prop::collection::vec((path(), select(effects.to_vec())), 0..8).prop_map(|rules| {
        let rules = rules.iter().map(|(at, effect)| (at.as_str(), effect.clone()));
        host(&[], rules.collect()).rules
    })
}

fn path() -> impl Strategy<Value = String> {
    let segment = select(&["/a", "/ab", "/b", "/~a", "/~", "/"][..]);
    // As translated paths are: no empty segment but the last.
    prop::collection::vec(segment, 1..5).prop_map(|segments| {
        let path: String = segments.concat();
        let ends = path.ends_with('/');
        let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
        let path = format!("/{}", names.join("/"));
        if ends && path.len() > 1 { path + "/" } else { path }
    })
}

proptest! {
    #[test]
    fn hosts_and_rules_are_those_of_the_model(
        hosts in hosts(),
        asked in select(&["a", "b.a", "c.b.a", "x.b.a", "xb.a", "d", "e", ""][..]),
        paths in prop::collection::vec(path(), 1..10),
    ) {
        let any = Settings { rules: Rules { hosts: hosts.clone() }, ..Settings::default() };
        // Without hosts a site needs a root.
        let site = Site::new("/".as_ref(), &any).unwrap();
        for lost in site.unreached() {
            let met = paths.iter().flat_map(|path| hosts.iter().flat_map(|host| {
                site.explain(&host.names[0].replace('*', "x"), path)
            }));
            prop_assert!(met.into_iter().all(|(rule, _)| !std::ptr::eq(rule, lost.rule)));
        }
        for path in paths {
            let told = explained(&site, asked, &path);
            prop_assert_eq!(told, expected(&hosts, asked, &path), "{}", path);
        }
    }
}

fn line(rule: &Rule) -> u32 {
    rule.origin.place.expect("a place").line
}
