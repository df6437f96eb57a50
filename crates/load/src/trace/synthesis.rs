//! Requests that a cache finds as hard as those of a trace of which only a few figures are known.
//!
//! Files are drawn by Zipf: the weight of the file of rank `n` is `n^-exponent`. That is the
//! independent reference model, which explains most of what caches of web pages see (Breslau and
//! others, INFOCOM 1999). A share of all requests repeats one of the last instead: that much more
//! often than popularity explains is a file asked for that has just been (Almeida and others, PDIS
//! 1996). How many requests ago that was falls as its reciprocal. Such a repeat is a hit in any
//! cache that is worth the name, so of a locality of `hits` popularity has to bring
//! `(hits - recency) / (1 - recency)`, and the exponent that does is found by Che's approximation.
//!
//! Each request has draws of its own, so what was asked so many requests ago is drawn again and not
//! remembered: a request is the same whichever process makes it.
//!
//! Sizes are SURGE's (Barford and Crovella, SIGMETRICS 1998), scaled to the mean: lognormal, with
//! a Pareto tail. They are independent of popularity, but that the most popular files are not
//! large ones.

use std::fmt;

use measure::Duration;
use measure::draw::{Draw, Stream, Weighted};

use super::locality::Ranks;
use super::names::FILES_MAX;
use crate::Purpose;
use crate::behaviour::Keeps;
use crate::files::{File, FileId, Files, size_class};
use crate::session::{Burst, Request, Session};
use crate::source::Workload;
use crate::source::model::{self, Popularity};
use crate::units;

/// What is known of a trace, or wanted of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// How many; at most four million.
    pub files: u32,
    /// Of their sizes.
    pub mean_bytes: f64,
    /// Of the whole trace: what one pass is. The workload goes on after it.
    pub requests: u64,
    /// Of the cache that the locality is told for.
    pub cache_bytes: u64,
    /// The locality: the share of requests that a warm LRU cache of that size answers, 0.0 to 1.0.
    pub hits: f64,
    /// The share of requests that repeat a recent one, 0.0 to 1.0.
    pub recency: f64,
    /// Of one session, one after the other without a pause.
    pub session_requests: u16,
}

/// A trace that never was, without end.
#[derive(Debug, Clone)]
pub struct Synthesis {
    model: Model,
    files: Files,
    exponent: f64,
    popularity: Weighted,
    /// The largest distance of a repeat.
    recent: u32,
}

impl Synthesis {
    /// Finds sizes and popularity; the same seed gives the same files.
    ///
    /// # Errors
    /// A figure is out of its range, or nothing in between has that locality.
    pub fn new(model: Model, seed: u64) -> Result<Self, Impossible> {
        model.judge()?;
        let sizes = sizes(&model, &mut Stream::new(seed, Purpose::Synthesis as u64));
        let by_popularity = (model.hits - model.recency) / (1.0 - model.recency);
        let exponent = Ranks::new(&sizes).exponent(by_popularity, model.cache_bytes);
        let exponent = exponent.map_err(|(least, most)| {
            let whole = |share: f64| model.recency + (1.0 - model.recency) * share;
            Impossible::Hits { least: whole(least), most: whole(most) }
        })?;
        let files = sizes.iter().enumerate().map(|(rank, &bytes)| File {
            target: format!("/synthetic/{:04}/{rank:07}", rank / FOLDER_FILES).into(),
            bytes: Some(bytes),
            class: size_class(bytes),
        });
        Ok(Self {
            model,
            files: Files::new(files.collect(), true),
            exponent,
            popularity: Weighted::zipf(model.files, exponent),
            recent: recent(&model),
        })
    }

    /// What it was made from.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Of its popularity, as found: 0 is all alike.
    #[must_use]
    pub const fn exponent(&self) -> f64 {
        self.exponent
    }

    /// The file of a request, by its number: 0 is the first one. `draws` is of the purpose that
    /// requests are drawn for; which one of it does not matter.
    pub fn file(&self, number: u64, draws: &Stream) -> FileId {
        let mut number = number;
        let mut from = draws.sibling(number);
        for _ in 0..REPEATS_MAX {
            let repeats = from.unit() < self.model.recency;
            let back = if repeats { self.back(&mut from) } else { 0 };
            // Before the first request nothing was asked.
            let Some(before) = number.checked_sub(back).filter(|_| back > 0) else { break };
            number = before;
            from = draws.sibling(number);
        }
        FileId(self.popularity.draw(&mut from) as u32)
    }

    /// How many requests ago a file was asked for: the longer, the rarer, in proportion.
    fn back(&self, from: &mut Stream) -> u64 {
        f64::from(self.recent).powf(from.unit()) as u64
    }
}

impl Workload for Synthesis {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, number: u64, sessions: &mut Stream, _: &mut Stream) -> Session {
        let count = u64::from(self.model.session_requests);
        let first = number.wrapping_mul(count);
        let burst = |place| {
            let file = self.file(first.wrapping_add(place), sessions);
            Burst { requests: vec![Request::get(file)], think: Duration::ZERO }
        };
        Session { bursts: (0..count).map(burst).collect() }
    }

    fn pass(&self) -> Option<u64> {
        Some(self.model.requests.div_ceil(self.model.session_requests.into()))
    }

    fn notes(&self) -> Option<String> {
        let Model { requests, cache_bytes, hits, .. } = self.model;
        Some(format!(
            "synthetic: drawn so that a cache of {} that keeps what was used last, once warm, \
             has {:.2} % of what is asked; one pass is {} requests",
            units::bytes(cache_bytes),
            hits * 100.0,
            units::count(requests),
        ))
    }

    /// A repeat is as likely for each file as what it repeats.
    fn model(&self) -> model::Model {
        let shares = (0..self.files.count()).map(|file| self.popularity.probability(file));
        model::Model {
            shares: shares.collect(),
            popularity: Some(Popularity { exponent: self.exponent, ..Popularity::FILES }),
            requests: Some(self.model.session_requests.into()),
            connections: Some(1.0),
            conditional: Some(0.0),
            // One request is on a connection of its own (Choi05 table 3).
            keeps: (self.model.session_requests == 1).then_some(Keeps::Request),
            ..model::Model::default()
        }
    }
}

/// For the sizes of files that are made for a server: the seed of a run does not change them.
pub const SEED: u64 = 1;

/// Of a smaller mean many files would have less than a byte.
pub const MEAN_BYTES_LEAST: f64 = 100.0;

/// No file has more, the less their mean.
pub const MEAN_BYTES_MAX: f64 = 1e12;

/// Repeats of repeats that are followed: of the presets one in ten to the power of it has more.
const REPEATS_MAX: u32 = 32;

/// Files in one folder of the made site: listings of more are slow on every file system.
const FOLDER_FILES: usize = 256;

/// A cache of fewer files of mean size is none that Che's approximation describes.
const CACHED_LEAST: f64 = 64.0;

impl Model {
    /// A trace as local as this one with so many times its files, cache and requests: for a machine
    /// that has not the memory or the disk.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            files: (f64::from(self.files) * factor).round() as u32,
            requests: (self.requests as f64 * factor).round() as u64,
            cache_bytes: (self.cache_bytes as f64 * factor).round() as u64,
            ..self
        }
    }

    fn judge(&self) -> Result<(), Impossible> {
        let is_share = |share: f64| (0.0..1.0).contains(&share);
        let cached = self.cache_bytes as f64 / self.mean_bytes;
        let rows = [
            ((1..=FILES_MAX).contains(&self.files), "files: have to be from 1 to 4194304"),
            (
                (MEAN_BYTES_LEAST..=MEAN_BYTES_MAX).contains(&self.mean_bytes),
                "mean bytes: have to be from 100 to 10^12",
            ),
            (cached >= CACHED_LEAST, "cache: has to hold at least 64 files of mean size"),
            (cached < f64::from(self.files), "cache: has to be smaller than all files together"),
            (is_share(self.hits), "hits: have to be from 0 to below 1"),
            (is_share(self.recency), "recency: has to be from 0 to below 1"),
            (self.session_requests > 0, "session requests: have to be at least 1"),
        ];
        match rows.iter().find(|(holds, _)| !holds) {
            Some(&(_, what)) => Err(Impossible::Figure(what)),
            None => Ok(()),
        }
    }
}

/// Why there is no such trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Impossible {
    /// A figure is out of its range.
    Figure(&'static str),
    /// The locality is: it is above `most` for no popularity, and below `least` only if files that
    /// were just asked for were avoided.
    Hits {
        /// With files that are all alike.
        least: f64,
        /// With the steepest popularity.
        most: f64,
    },
}

impl fmt::Display for Impossible {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(what) => write!(to, "{what}"),
            Self::Hits { least, most } => {
                // Inwards, so that both can be had.
                let (least, most) = ((least * 1e4).ceil() / 1e4, (most * 1e4).floor() / 1e4);
                write!(
                    to,
                    "hits: have to be from {least} to {most} with these files, that cache and \
                     that recency"
                )
            }
        }
    }
}

impl std::error::Error for Impossible {}

/// One in so many ranks is called popular: it has no large file.
const POPULAR_ONE_IN: usize = 100;

/// Tries to find a smaller file for a popular rank; nearly all files are.
const TRIES_MAX: u32 = 64;

/// Until the mean is met: each pass gives back what the limit of the one before cut off.
const PASSES_MAX: u32 = 32;

/// One for each rank, from the most popular on, with the model's mean.
fn sizes(model: &Model, from: &mut Stream) -> Vec<u64> {
    const BODY: f64 = 0.93;
    let (body, tail) = (
        Draw::LogNormal { mu: 9.357, sigma: 1.318 },
        Draw::Pareto { least: 133_000.0, shape: 1.1 },
    );
    let mut drawn: Vec<f64> = Vec::with_capacity(model.files as usize);
    for _ in 0..model.files {
        let is_body = from.unit() < BODY;
        let part = if is_body { body } else { tail };
        drawn.push(part.draw(from));
    }
    // The tail has no variance. Without a limit one file may be half of all, and whether the few
    // largest happen to be in a cache would sway its locality for as long as anybody looks.
    let total = model.mean_bytes * f64::from(model.files);
    let limit = (total / 256.0).min(model.cache_bytes as f64 / 4.0).max(4.0 * model.mean_bytes);
    let mut scale = 1.0;
    for _ in 0..PASSES_MAX {
        let sum: f64 = drawn.iter().map(|bytes| (bytes * scale).min(limit)).sum();
        scale *= total / sum;
        if (total / sum - 1.0).abs() < 1e-6 {
            break;
        }
    }
    let scaled = drawn.iter().map(|bytes| (bytes * scale).min(limit).round().max(1.0) as u64);
    let mut sizes: Vec<u64> = scaled.collect();
    let large = (2.0 * model.mean_bytes) as u64;
    let popular = sizes.len() / POPULAR_ONE_IN;
    for rank in 0..popular {
        for _ in 0..TRIES_MAX {
            if sizes[rank] <= large {
                break;
            }
            let other = popular + from.below(model.files - popular as u32) as usize;
            sizes.swap(rank, other);
        }
    }
    sizes
}

/// A page with its pictures, some times over. What lies longer ago is not told from popularity.
const RECENT_MAX: u32 = 128;

/// An eighth of the files in the cache at most, so that a repeat is a hit.
fn recent(model: &Model) -> u32 {
    let cached = model.cache_bytes as f64 / model.mean_bytes;
    RECENT_MAX.min((cached / 8.0) as u32)
}

#[cfg(test)]
mod tests;
