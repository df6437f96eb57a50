//! What a listing costs that is made anew: prints milliseconds of a processor per page of ten
//! thousand entries, in each format and for names of several shapes, and the most memory that the
//! process took so far.
//!
//!     cargo run --release -p site --example listing_cost

use std::fs;
use std::path::Path;

use h1::{Connection, Date, Found, Loaded, Now, Shared, Want};
use measure::Duration;
use os::File;
use site::rules::{Effect, Host, Origin, Rule, Rules};
use site::{Settings, Site};

const ENTRIES: usize = 10_000;
/// Pages per row.
const PAGES: u32 = 40;

/// The name of an entry.
type Name = fn(usize) -> String;

const SHAPES: [(&str, Name); 4] = [
    ("short", |n| format!("photo-{n}.jpg")),
    ("long", |n| format!("{}{n:05}", "x".repeat(235))),
    ("mixed", |n| format!("{}{n:05}", ["aA", "Aa"][n % 2].repeat(117))),
    ("digits", |n| format!("{}{n:05}", "1a".repeat(117))),
];

const FORMATS: [(&str, &str, &str); 4] = [
    ("by name", "/", "text/html"),
    ("by size", "/?sort=size", "text/html"),
    ("by date", "/?sort=date", "text/html"),
    ("JSON", "/", "application/json"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = std::env::temp_dir().join(format!("listing_cost-{}", std::process::id()));
    for (shape, name) in SHAPES {
        fs::create_dir_all(&place)?;
        for n in 0..ENTRIES {
            fs::write(place.join(name(n * 7919 % ENTRIES)), vec![b'x'; n % 3000])?;
        }
        for (format, target, accept) in FORMATS {
            let (user, system) = cost(&place, target, accept)?;
            let status = fs::read_to_string("/proc/self/status")?;
            let most = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
            println!("{shape:7} {format:8}: {user:5.1} ms user, {system:5.1} ms system; {most}");
        }
        fs::remove_dir_all(&place)?;
    }
    Ok(())
}

fn cost(root: &Path, target: &str, accept: &str) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let effects = [Effect::Listing(true), Effect::Root(root.to_path_buf())];
    let rule = |effect| Rule { at: "/".into(), effect, origin: Origin::flag("example") };
    let rules = effects.into_iter().map(rule).collect();
    let hosts = vec![Host { names: vec!["a".into()], rules }];
    let site = Site::new(root, &Settings { rules: Rules { hosts }, ..Settings::default() })?;
    let date = Date::new(os::clock::wall_seconds());
    let mut now = Now { at: os::clock::monotonic(), date };
    let mut connection = Connection::<File>::new(Shared::default(), now.at);
    let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n");
    connection.received(request.as_bytes(), &now);
    let Want::Find(_, head) = connection.want() else { panic!("a whole request") };
    let before = processor_ms()?;
    for _ in 0..PAGES {
        now.at = now.at + Duration::from_millis(1000);
        let Found::Miss(lookup) = site.find(&head, &now) else { panic!("it is old") };
        assert!(matches!(site.load(&lookup, &now), Loaded::Answer(_)));
    }
    let after = processor_ms()?;
    let each = |n: usize| (after[n] - before[n]) / f64::from(PAGES);
    Ok((each(0), each(1)))
}

/// What this process has used: itself, and the kernel for it.
fn processor_ms() -> Result<[f64; 2], Box<dyn std::error::Error>> {
    /// Linux counts in ticks of this for programs, on all machines.
    const TICK_MS: f64 = 10.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Fields 14 and 15 (proc_pid_stat(5)), counted from behind the name.
    let (_, rest) = stat.rsplit_once(") ").unwrap_or_default();
    let times: Vec<f64> =
        rest.split(' ').skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok([times[0] * TICK_MS, times[1] * TICK_MS])
}
