//! What is told of them: the rule and who comes first by it, and tables.

use load::units::grouped;

use super::standing::{
    HIT_MOST, IS_TOLD, JUDGED_FROM, LRU, PAIRS, Standing, access, hit_cost, standings,
};
use super::{BYTES_HIT, INSERT, REQUESTS_HIT, REQUESTS_MAX, Row, TOUCH, TRACES};
use crate::curves;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{NONE, Table};
use crate::policies::{BELADY, ENTRIES, SHARES, names};

pub(super) fn question() -> Vec<String> {
    let (requests, traces) = (grouped(REQUESTS_MAX), TRACES.len());
    let shares = SHARES.map(|share| share.to_string()).join(", ");
    vec![
        format!(
            "{traces} traces are replayed, without a server, through the slab that a server has: \
             one pass of each, or {requests} requests. The first half fills the cache; of the \
             second half is told how many requests, and how many of their bytes, found the file in \
             it. A cache has {shares} of the bytes of all files that its trace asks for. An entry \
             weighs its file's bytes and nothing else; a file that is larger than the cache does \
             not come in."
        ),
        String::from(
            "What a whole hit and an entry cost beside other caches, and what a policy brings a \
             server in memory and beside a disk, is in docs/performance.md; what a lock for each \
             entry brings is asked by `weir lab run jaws97-cache`.",
        ),
        String::from(
            "None of the traces is a log. Those of Choi05 are drawn so that they are as hard for \
             LRU as the paper's were, with a popularity that never changes, and one request in ten \
             that repeats a recent one: which is kind to whoever counts how often. In the one with \
             a crawler somebody asks for all files once, in the order of their numbers, in the \
             middle of what is judged.",
        ),
        String::from(
            "hinted is told of the files that were asked for most in the first half, as many as \
             fill the cache, and structured of the directory of each. Directories of these sites \
             have files of like popularity, as their names come in that order, which is kind to \
             structured. none keeps nothing and is left out.",
        ),
        String::from(
            "belady knows what will be asked for: the file goes whose next use is furthest, or, \
             where sizes differ, whose bytes times that distance are most; it may be the one that \
             just came. Where all sizes are equal no policy can have more hits. For other sizes, \
             and for bytes, it is no bound, but the best simple rule that is known.",
        ),
        format!(
            "The rule by which a default is chosen: who has most hits by requests, over all traces \
             at {} to {} of the files' bytes, if telling him of a hit costs at most {HIT_MOST} of \
             what telling {LRU} does. What else a hit costs, its lookup and its reply, is the same \
             for all. {IS_TOLD} is left out: without hints it is {LRU}.",
            SHARES[JUDGED_FROM],
            SHARES[SHARES.len() - 1],
        ),
    ]
}

/// Who is first by the rule; nothing, while not all is known.
pub(super) fn answer(known: &Known<'_>) -> Vec<String> {
    let Some(standings) = standings(known) else { return Vec::new() };
    let told = |of: &Standing| format!("{} {:.2} %", of.of, of.mean_hits());
    let (knowing, policies): (Vec<_>, Vec<_>) = standings.iter().partition(|of| of.of == BELADY);
    let [policies, knowing] = [policies, knowing].map(|of| {
        let all: Vec<String> = of.into_iter().map(told).collect();
        all.join(", ")
    });
    let mut lines = vec![format!(
        "Of all requests, over all traces and caches of {} to {} of the files' bytes, are hits: \
         {policies}. Who knows what will be asked for has more: {knowing}.",
        SHARES[JUDGED_FROM],
        SHARES[SHARES.len() - 1],
    )];
    lines.extend(chosen(known, &standings));
    lines
}

fn chosen(known: &Known<'_>, standings: &[Standing]) -> Option<String> {
    let ranked = standings.iter().filter(|of| ![BELADY, IS_TOLD].contains(&of.of));
    let ranked = ranked.map(|of| Some((of.of, hit_cost(known, of.of)?)));
    let ranked: Vec<(&str, f64)> = ranked.collect::<Option<_>>()?;
    let place = ranked.iter().position(|(_, cost)| *cost <= HIT_MOST)?;
    let (name, cost) = ranked[place];
    let dear = ranked[..place].iter().map(|(name, cost)| format!("{name} (a hit {cost:.2})"));
    let dear: Vec<String> = dear.collect();
    let before = match dear.as_slice() {
        [] => String::from("it has most hits"),
        dear => format!("before it are {}, which cost too much", dear.join(", ")),
    };
    let hits = |name: &str| standings.iter().find(|of| of.of == name).map(Standing::mean_hits);
    let others = ranked[place + 1..].iter().map(|(name, _)| *name);
    let near: Vec<&str> =
        others.filter(|of| hits(name).zip(hits(of)).is_some_and(is_as_good)).collect();
    let near = match near.as_slice() {
        [] => String::new(),
        near => format!(
            " {} has as many hits, as far as one draw of each trace tells: less than {POINTS_TOLD} \
             points fewer.",
            near.join(", ")
        ),
    };
    Some(format!(
        "By the rule {name} is the default: {before}, and to tell it of a hit costs {cost:.2} of \
         what {LRU} costs.{near}"
    ))
}

/// A trace that is drawn anew may change as much.
const POINTS_TOLD: f64 = 0.1;

fn is_as_good((first, second): (f64, f64)) -> bool {
    first - second < POINTS_TOLD
}

/// A row for each over all traces.
pub(super) fn summary(known: &Known<'_>) -> Table {
    let standings = standings(known).unwrap_or_default();
    let judged = &SHARES[JUDGED_FROM..];
    let mut head = vec![String::from("policy")];
    head.extend(judged.iter().map(|share| format!("requests at {share}, %")));
    head.extend(["requests, %", "bytes, %"].map(String::from));
    head.push(format!("more requests than {LRU}, points"));
    head.push(format!("best of {PAIRS}"));
    let lru = standings.iter().find(|of| of.of == LRU).map(Standing::mean_hits);
    let row = |of: &Standing| {
        let mut row = vec![String::from(of.of)];
        let numbers = of.hits.iter().copied().chain([of.mean_hits(), of.mean_bytes()]);
        row.extend(numbers.map(|number| format!("{number:.2}")));
        row.push(lru.map_or_else(none, |lru| format!("{:+.2}", of.mean_hits() - lru)));
        row.push(if of.of == BELADY { none() } else { of.best.to_string() });
        row
    };
    Table {
        title: String::from("All traces together"),
        rows: standings.iter().map(row).collect(),
        head,
        notes: vec![format!(
            "Means over {} traces; without a size they are also over the {} sizes. Best is who has \
             as many hits as any other policy, of {} traces with {} sizes.",
            TRACES.len(),
            judged.len(),
            TRACES.len(),
            SHARES.len()
        )],
    }
}

/// What it costs to tell a policy.
pub(super) fn costs(known: &Known<'_>) -> Table {
    let row = |of: &'static str| {
        let cell = access(known, of).filter(|cell| curves::is_known(cell))?;
        let hit = hit_cost(known, of).map_or_else(none, |cost| format!("{cost:.2}"));
        let told = [&TOUCH, &INSERT].map(|metric| curves::told(cell, metric));
        Some([[of.into()].as_slice(), &told, &[hit]].concat())
    };
    let hit = format!("a hit, of what {LRU} costs");
    Table {
        title: String::from("Cost of an access"),
        head: vec!["policy".into(), TOUCH.heading(), INSERT.heading(), hit],
        rows: names().filter_map(row).collect(),
        notes: vec![format!(
            "Measured on this machine, and so not the same in two runs, as all else here is: \
             medians of rounds over all policies in turn, with the lowest and the highest. Over \
             the slab alone, with {} entries whose index is known; ten are asked for, by Zipf, for \
             each that comes in.",
            grouped(&ENTRIES.to_string())
        )],
    }
}

/// A row for each of one trace.
pub(super) fn table(row: &Row, known: &Known<'_>) -> Table {
    let line = |of: &'static str| {
        let cell = row.cell(known, of).filter(|cell| curves::is_known(cell))?;
        let pairs = REQUESTS_HIT.iter().zip(&BYTES_HIT);
        let told = pairs.map(|(requests, bytes)| {
            let [requests, bytes] = [requests, bytes].map(|metric| two_digits(cell, metric));
            curves::marked(format!("{requests} / {bytes}"), cell.is_failed())
        });
        Some([String::from(of)].into_iter().chain(told).collect())
    };
    let shares = SHARES.iter().map(|share| format!("{share}, % / %"));
    Table {
        title: row.title.into(),
        head: [String::from("policy")].into_iter().chain(shares).collect(),
        rows: names().chain([BELADY]).filter_map(line).collect(),
        notes: vec![String::from("Hits, of requests / of bytes, by the size of the cache.")],
    }
}

fn two_digits(cell: &Cell<'_>, metric: &Metric) -> String {
    cell.spread(metric).map_or_else(none, |spread| format!("{:.2}", spread.median))
}

fn none() -> String {
    NONE.into()
}
