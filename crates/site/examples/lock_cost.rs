//! What locks of the cache cost threads that only find something, as JAWS97 figure 15 asks: one
//! lock for all, one for each part, or one for each entry. Prints nanoseconds per `Site::find` of
//! one thread, the median of the rounds with the lowest and the highest; kinds of locks take turns.
//!
//!     cargo run --release -p site --example lock_cost [ROUNDS]

use std::fs;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

use cache::PolicyKind;
use h1::{Connection, Date, Found, Loaded, Now, Shared, Want};
use os::File;
use site::{Settings, Site};

const FILES: usize = 1_000;
/// Lookups of each thread in a round. All happen at one moment of the given clock.
const FINDS: usize = 300_000;
const ROUNDS: usize = 15;
/// As many as the machines at hand have processors, and one that waits beside them.
const THREADS: [usize; 3] = [1, 2, 3];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let place = std::env::temp_dir().join(format!("lock_cost-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    for n in 0..FILES {
        fs::write(place.join(format!("page-{n}.html")), "content")?;
    }
    let now = Now { at: os::clock::monotonic(), date: Date::new(os::clock::wall_seconds()) };
    let kinds = [("one lock", 1, false), ("256 locks", 256, false), ("entry locks", 1, true)];
    let site = |shards, entry_locks| {
        let policy = PolicyKind::Sieve;
        let settings = Settings { shards, entry_locks, policy, ..Settings::default() };
        let site = Site::new(&place, &settings)?;
        load(&site, &now);
        Ok(site)
    };
    let sites = kinds.iter().map(|(_, shards, entry_locks)| site(*shards, *entry_locks));
    let sites: Vec<Site> = sites.collect::<Result<_, site::Error>>()?;
    for threads in THREADS {
        let mut costs = kinds.map(|_| Vec::new());
        for _ in 0..rounds {
            for (site, costs) in sites.iter().zip(&mut costs) {
                costs.push(cost(site, threads, &now));
            }
        }
        for ((name, ..), costs) in kinds.iter().zip(&mut costs) {
            costs.sort_by(f64::total_cmp);
            let (least, most) = (costs[0], costs[costs.len() - 1]);
            let median = costs[costs.len() / 2];
            println!("{threads} threads, {name:11}: {median:6.1} ns ({least:.1} to {most:.1})");
        }
    }
    Ok(fs::remove_dir_all(&place)?)
}

fn requests(now: &Now) -> Vec<Connection<File>> {
    let request = |n: usize| {
        let mut connection = Connection::new(Shared::default(), now.at);
        let head = format!("GET /page-{n}.html HTTP/1.1\r\nHost: localhost\r\n\r\n");
        connection.received(head.as_bytes(), now);
        connection
    };
    (0..FILES).map(request).collect()
}

fn load(site: &Site, now: &Now) {
    for request in &requests(now) {
        let Want::Find(_, head) = request.want() else { panic!("a whole request") };
        let Found::Miss(lookup) = site.find(&head, now) else { panic!("the cache is empty") };
        assert!(matches!(site.load(&lookup, now), Loaded::Answer(_)));
    }
}

/// Of one find, where so many threads do nothing else: the mean over them.
fn cost(site: &Site, threads: usize, now: &Now) -> f64 {
    let start = Barrier::new(threads);
    let find = |thread: usize| {
        let requests = requests(now);
        start.wait();
        let began = os::clock::monotonic();
        for n in 0..FINDS {
            // Each begins elsewhere, so that all meet at the same entry only by chance.
            let request = &requests[(n + thread * FILES / threads) % FILES];
            let Want::Find(_, head) = request.want() else { panic!("a whole request") };
            assert!(matches!(black_box(site.find(black_box(&head), now)), Found::Answer(_)));
        }
        os::clock::monotonic().since(began).as_nanos() as f64 / FINDS as f64
    };
    thread::scope(|scope| {
        let find = &find;
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || find(thread))).collect();
        all.into_iter().map(|one| one.join().expect("a thread")).sum::<f64>() / threads as f64
    })
}
