//! What a cache costs one thread: Weir's bookkeeping with each of its policies, beside crates that
//! do the same. Their keys, values, hasher and requests are the same, and all entries weigh alike.
//! Measured are a hit, where all names fit; a miss and the mixture, where a tenth does; and bytes
//! of the heap for each entry.
//!
//!     cargo run --release --manifest-path bench/caches/Cargo.toml -- [--rounds N] [--names N]
//!
//! Each round measures all caches, in an order that rotates, for a machine is never as fast as it
//! was: so caches are compared within a round, and the ratios' medians tell more than the times do.
//! Printed is a Markdown table for each skew of the requests, with the least and the greatest of
//! all rounds in brackets.
#![forbid(unsafe_code)]

mod allocations;
mod runs;
mod subjects;
mod trace;

use std::env;
use std::process::ExitCode;

use cache::{Lru, PolicyKind, S3Fifo, Sieve, WTinyLfu};

use crate::runs::{Figures, Subject};
use crate::subjects::Weir;
use crate::trace::Trace;

/// Skews of Zipf's law: as web caches see it, and as single sites do.
const SKEWS: [f64; 2] = [0.8, 1.0];

/// The others are compared with these.
const QUICK_CACHE: &str = "quick_cache";
const OUR_LRU: &str = "weir lru";

fn main() -> ExitCode {
    let flags = match Flags::parse(env::args().skip(1)) {
        Ok(flags) => flags,
        Err(wrong) => {
            eprintln!("caches: {wrong}; known are --rounds N and --names N");
            return ExitCode::FAILURE;
        }
    };
    let subjects = subjects();
    for skew in SKEWS {
        let trace = Trace::zipf(flags.names, skew);
        let mut rounds = vec![Vec::new(); subjects.len()];
        for turn in 0..flags.rounds {
            for place in 0..subjects.len() {
                let number = (turn + place) % subjects.len();
                rounds[number].push((subjects[number].measure)(&trace));
            }
        }
        println!("\n{} names, Zipf {skew:.1}, {} rounds:\n", flags.names, flags.rounds);
        print_table(&subjects, &rounds);
    }
    ExitCode::SUCCESS
}

struct Flags {
    rounds: usize,
    names: usize,
}

impl Flags {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut flags = Self { rounds: 9, names: 100_000 };
        while let Some(flag) = words.next() {
            // A tenth of the names is to make a cache, and each takes some 900 bytes.
            let (value, bounds) = match &*flag {
                "--rounds" => (&mut flags.rounds, 1..=1000),
                "--names" => (&mut flags.names, 100..=5_000_000),
                _ => return Err(format!("`{flag}` is not known")),
            };
            let given = words.next().and_then(|word| word.parse().ok());
            let given = given.filter(|given| bounds.contains(given));
            *value = given.ok_or(format!("{flag} takes a number in {bounds:?}"))?;
        }
        Ok(flags)
    }
}

fn subjects() -> Vec<Subject> {
    // Nobody can ask for a hit of the one that keeps nothing.
    let kinds = PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None);
    // A server's choice is made when it starts; the four that follow show what that costs.
    let chosen = kinds.map(|kind| {
        let make = |capacity| Weir::new(*kind, *kind, capacity);
        Subject::new(&format!("weir {}", kind.name()), make)
    });
    let others = [
        Subject::new("weir lru, compiled in", |all| Weir::new(Lru, PolicyKind::Lru, all)),
        Subject::new("weir sieve, compiled in", |all| Weir::new(Sieve, PolicyKind::Sieve, all)),
        Subject::new("weir s3-fifo, compiled in", |all| Weir::new(S3Fifo, PolicyKind::S3Fifo, all)),
        Subject::new("weir w-tinylfu, compiled in", |all| {
            Weir::new(WTinyLfu, PolicyKind::WTinyLfu, all)
        }),
        Subject::new(QUICK_CACHE, subjects::quick_cache),
        Subject::new("lru", subjects::lru_crate),
        Subject::new("mini-moka", subjects::mini_moka),
    ];
    chosen.chain(others).collect()
}

/// One row for each subject, of which each has as many rounds as any.
fn print_table(subjects: &[Subject], rounds: &[Vec<Figures>]) {
    let number = |name| subjects.iter().position(|subject| subject.name == name).expect(name);
    let (quick_cache, our_lru) = (&rounds[number(QUICK_CACHE)], &rounds[number(OUR_LRU)]);
    println!(
        "| cache | all fit: ns/hit | hit ÷ {QUICK_CACHE} | hit ÷ {OUR_LRU} | bytes/entry \
         | a tenth fits: ns/request | hits | ns/miss | bytes/entry |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (subject, rounds) in subjects.iter().zip(rounds) {
        let ratios = |to: &[Figures]| {
            let pairs = rounds.iter().zip(to);
            spread(pairs.map(|(figures, to)| figures.hit_ns / to.hit_ns), 2)
        };
        let of = |figure: fn(&Figures) -> f64| spread(rounds.iter().map(figure), 1);
        // These hardly differ from round to round.
        let last = rounds.last().expect("a round");
        println!(
            "| {} | {} | {} | {} | {:.1} | {} | {:.1} % | {} | {:.1} |",
            subject.name,
            of(|figures| figures.hit_ns),
            ratios(quick_cache),
            ratios(our_lru),
            last.entry_bytes,
            of(|figures| figures.request_ns),
            last.hits_percent,
            of(|figures| figures.miss_ns),
            last.entry_bytes_full,
        );
    }
}

/// The median of all, and in brackets the least and the greatest.
fn spread(all: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    let (least, median, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
    format!("{median:.digits$} ({least:.digits$}..{most:.digits$})")
}
