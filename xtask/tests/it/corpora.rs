//! Replays the corpora of the fuzz targets, and mutations of them, on stable Rust.
//!
//! What a mutation does follows from a fixed seed, so a failure comes back in the next run; its
//! input is printed and belongs into the corpus.

use std::{fs, panic, path::Path};

/// For each target; some seconds in a build without optimisation.
const MUTATIONS: usize = 20_000;

/// A corpus of few inputs would test little.
const INPUTS_MIN: usize = 30;

/// Larger ones are cut: they cost time and find nothing that smaller ones do not.
const BYTES_MAX: usize = 32 << 10;

#[test]
fn head() {
    replay("head", fuzz::head);
}

#[test]
fn accept() {
    replay("accept", fuzz::accept);
}

#[test]
fn body() {
    replay("body", fuzz::body);
}

#[test]
fn clf() {
    replay("clf", fuzz::clf);
}

#[test]
fn client() {
    replay("client", fuzz::client);
}

#[test]
fn connection() {
    replay("connection", fuzz::connection);
}

#[test]
fn credentials() {
    replay("credentials", fuzz::credentials);
}

#[test]
fn dates() {
    replay("dates", fuzz::dates);
}

#[test]
fn forwarded() {
    replay("forwarded", fuzz::forwarded);
}

#[test]
fn path() {
    replay("path", fuzz::path);
}

#[test]
fn proxy() {
    replay("proxy", fuzz::proxy);
}

#[test]
fn range() {
    replay("range", fuzz::range);
}

#[test]
fn records() {
    replay("records", fuzz::records);
}

#[test]
fn report() {
    replay("report", fuzz::report);
}

#[test]
fn results() {
    replay("results", fuzz::results);
}

#[test]
fn wsesslog() {
    replay("wsesslog", fuzz::wsesslog);
}

#[test]
fn hints() {
    replay("hints", fuzz::hints);
}

#[test]
fn urls() {
    replay("urls", fuzz::urls);
}

fn replay(target: &str, check: fn(&[u8])) {
    let corpus = corpus(target);
    assert!(corpus.len() >= INPUTS_MIN, "{} inputs for {target}", corpus.len());
    for input in &corpus {
        run(target, check, input);
    }
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    for _ in 0..MUTATIONS {
        run(target, check, &mutated(&corpus, &mut draws));
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).expect("there is a corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    // The order of a folder is not the same everywhere.
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("it can be read")).collect()
}

fn run(target: &str, check: fn(&[u8]), input: &[u8]) {
    if let Err(cause) = panic::catch_unwind(|| check(input)) {
        println!("{target} fails on b\"{}\"", input.escape_ascii());
        panic::resume_unwind(cause);
    }
}

fn mutated(corpus: &[Vec<u8>], draws: &mut Draws) -> Vec<u8> {
    let mut input = corpus[draws.below(corpus.len())].clone();
    for _ in 0..=draws.below(4) {
        mutate(&mut input, corpus, draws);
    }
    input.truncate(BYTES_MAX);
    input
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], draws: &mut Draws) {
    /// What parsers of this protocol stumble over.
    const TOKENS: [&[u8]; 14] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b",",
        b"/",
        b"..",
        b"%2e",
        b"0",
        b"\x80",
        b"18446744073709551615",
    ];
    let at = draws.below(input.len() + 1);
    let end = at + draws.below(input.len() + 1 - at);
    match draws.below(6) {
        0 => drop(input.drain(at..end)),
        1 => input.extend_from_within(at..end),
        2 => drop(input.splice(at..at, TOKENS[draws.below(TOKENS.len())].iter().copied())),
        3 => drop(input.splice(at..end.min(at + 4), [draws.byte()])),
        4 => {
            let other = &corpus[draws.below(corpus.len())];
            let from = draws.below(other.len() + 1);
            drop(input.splice(at..end, other[from..].iter().copied()));
        }
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << draws.below(8);
            }
        }
    }
}

/// Marsaglia's xorshift: the same draws on every machine.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0. The bias of the remainder does not matter here.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}
