//! What a lookup that hits costs: prints nanoseconds per `Site::find`, with one file asked for
//! again and again, and with many in turn; by a policy other than the default if one is named.
//!
//!     cargo run --release -p site --example find_cost [POLICY]

use std::fs;
use std::hint::black_box;

use cache::PolicyKind;
use h1::{Connection, Date, Found, Loaded, Now, Shared, Want};
use os::File;
use site::{Settings, Site};

/// Lookups per row. All happen at one moment of the given clock, so none is stale.
const FINDS: usize = 2_000_000;

/// What a browser sends, as far as it matters here.
const FIELDS: &str = "HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n\r\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = std::env::temp_dir().join(format!("find_cost-{}", std::process::id()));
    fs::create_dir_all(place.join("assets"))?;
    let now = Now { at: os::clock::monotonic(), date: Date::new(os::clock::wall_seconds()) };
    let named = std::env::args().nth(1).unwrap_or(Settings::default().policy.name().into());
    let policy = PolicyKind::ALL.iter().find(|policy| policy.name() == named);
    let policy = *policy.ok_or("no such policy")?;
    for files in [1, 1_000, 10_000] {
        for (what, ending) in [("", ""), (", varying", ".br")] {
            let site = Site::new(&place, &Settings { policy, ..Settings::default() })?;
            let requests: Vec<_> = (0..files)
                .map(|n| {
                    let name = format!("assets/page-{n}.html");
                    fs::write(place.join(&name), "content")?;
                    fs::write(place.join(format!("{name}{ending}")), "content")?;
                    Ok(request(&format!("/{name}"), &now))
                })
                .collect::<Result<_, std::io::Error>>()?;
            let ns = cost(&site, &requests, &now);
            println!("{files:6} files{what:9}: {ns:6.1} ns per find");
        }
        fs::remove_dir_all(place.join("assets"))?;
        fs::create_dir_all(place.join("assets"))?;
    }
    Ok(fs::remove_dir_all(&place)?)
}

fn request(path: &str, now: &Now) -> Connection<File> {
    let mut connection = Connection::new(Shared::default(), now.at);
    connection.received(format!("GET {path} {FIELDS}").as_bytes(), now);
    connection
}

fn cost(site: &Site, requests: &[Connection<File>], now: &Now) -> f64 {
    let heads: Vec<_> = requests
        .iter()
        .map(|request| match request.want() {
            Want::Find(_, head) => head,
            other => panic!("a whole request wants {other:?}"),
        })
        .collect();
    for head in &heads {
        let Found::Miss(lookup) = site.find(head, now) else { panic!("the cache is empty") };
        assert!(matches!(site.load(&lookup, now), Loaded::Answer(_)));
    }
    let start = os::clock::monotonic();
    for n in 0..FINDS {
        let found = black_box(site.find(black_box(&heads[n % heads.len()]), now));
        assert!(matches!(found, Found::Answer(_)));
    }
    os::clock::monotonic().since(start).as_nanos() as f64 / FINDS as f64
}
