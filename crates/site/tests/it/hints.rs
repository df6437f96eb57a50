//! What an operator is told of a 404.

use std::os::unix::fs::symlink;

use crate::counter::{Counter, host};
use h1::{Codings, Lookup, Status};
use site::Hint;
use site::rules::Effect;

#[test]
fn of_directories_and_links() {
    let files = [
        ("www/dir/x", "x"),
        ("www/file", "x"),
        ("www/indexed/index.html", "x"),
        ("www/out-index/x", "x"),
        ("outside/index.html", "secret"),
    ];
    let town = Counter::new(&files, |place| {
        let www = place.join("www");
        symlink("../outside", www.join("out")).unwrap();
        symlink("../../outside/index.html", www.join("out-index/index.html")).unwrap();
        symlink("../../outside", www.join("dir/out")).unwrap();
        symlink("dir", www.join("to-dir")).unwrap();
        symlink("out", www.join("chain")).unwrap();
        symlink("nowhere", www.join("dangling")).unwrap();
        symlink("loop", www.join("loop")).unwrap();
        let plain = host(&["plain"], vec![("/", Effect::Root(www.clone()))]);
        let listed = vec![("/", Effect::Listing(true)), ("/", Effect::Root(www.clone()))];
        let fallback =
            vec![("/", Effect::Fallback("/file".into())), ("/", Effect::Root(www.clone()))];
        vec![plain, host(&["listed"], listed), host(&["fallback"], fallback)]
    });
    let www = town.place.path().join("www");
    let no_index = |name: &str| Some(Hint::NoIndex(www.join(name)));
    let leads_out = |name: &str| Some(Hint::LeadsOut(www.join(name)));
    let too_many = |name: &str| {
        let why = String::from("Too many levels of symbolic links (os error 40)");
        Some(Hint::Failed { status: Status::NOT_FOUND, path: www.join(name), why })
    };
    let too_long = format!("/{}", "x".repeat(256));
    let rows = [
        ("plain", "/loop", too_many("loop")),
        ("plain", "/loop/x1", too_many("loop")),
        ("plain", "/loop/x/y", too_many("loop")),
        ("plain", &too_long, None),
        ("plain", "/dir/", no_index("dir/")),
        ("plain", "/", no_index("")),
        ("plain", "/indexed/", None),
        ("plain", "/dir/y", None),
        ("plain", "/nothing/", None),
        ("plain", "/file/", None),
        ("plain", "/dangling", None),
        // The link itself, or each name that somebody makes up would be a hint of its own.
        ("plain", "/out/index.html", leads_out("out")),
        ("plain", "/out/x1", leads_out("out")),
        ("plain", "/out/x/y/z", leads_out("out")),
        ("plain", "/out/", leads_out("out")),
        ("plain", "/out", leads_out("out")),
        ("plain", "/dir/out/x/y", leads_out("dir/out")),
        ("plain", "/to-dir/out/x/y", leads_out("to-dir/out")),
        ("plain", "/chain/x", leads_out("chain")),
        ("plain", "/out-index/", leads_out("out-index/index.html")),
        ("listed", "/dir/", None),
        ("listed", "/out/", leads_out("out")),
        ("fallback", "/dir/", None),
    ];
    for (host, path, expected) in rows {
        let request = format!("GET {path} HTTP/1.1\nHost: {host}");
        let h1::Found::Miss(lookup) = town.find(&request) else { panic!("{path} is known") };
        let lookup = Lookup { codings: Codings::default(), ..lookup };
        let opening = town.site.open(&lookup);
        assert_eq!(opening.hint(), expected.as_ref(), "{host} {path}");
    }
}
