//! What of the site is kept in memory, and what the operator is told of it.

use std::fs;
use std::io;
use std::path::Path;

use cache::PolicyKind;
use site::{Hints, Missing, Site};

use crate::architectures::{Architecture, Holder};
use crate::shared::failure::Failure;
use crate::shared::settings::{CacheLocks, Settings};
use crate::supervisor::split::Split;
use crate::supervisor::voice::Voice;

/// How often the disk is asked for hints when the server starts: that takes some ten milliseconds
/// from memory, and seconds from a disk; and a list that is wrong is wrong at its beginning.
const HINTS_ASKED_FOR: usize = 1_000;

/// More than as many paths as there can be have.
const HINTS_BYTES_MAX: usize = 64 << 20;

/// Knobs of the cache that contradict each other.
pub(super) fn contradictions(settings: &Settings) -> Vec<String> {
    let (policy, mut mistakes) = (settings.cache_policy, Vec::new());
    if settings.cache_locks == CacheLocks::Entry && !policy.hits_are_local() {
        let said = settings.said("cache-locks", settings.cache_locks);
        let local = PolicyKind::ALL.iter().filter(|policy| policy.hits_are_local());
        let local: Vec<_> = local.map(|policy| policy.name()).collect();
        mistakes.push(format!(
            "{said}: a hit of --cache-policy {} changes more than its entry; these can have it: {}",
            policy.name(),
            local.join(", ")
        ));
    }
    if let Some(file) = &settings.cache_hints
        && policy.class() != cache::Class::Hint
    {
        let said = settings.said("cache-hints", file.display());
        mistakes.push(format!("{said}: takes --cache-policy hinted"));
    }
    mistakes
}

/// Whether there is memory for such a cache.
pub(super) fn judge(settings: &Settings, split: &Split) -> Result<(), Failure> {
    let bytes = u64::from(settings.cache_mb) << 20;
    match split.memory.filter(|memory| bytes > memory.bytes) {
        None => Ok(()),
        Some(memory) => {
            let said = settings.said("cache-mb", settings.cache_mb);
            let mib = memory.bytes >> 20;
            Err(Failure::Machine(format!("{said}: there are {mib} MiB of memory; give less")))
        }
    }
}

/// What the file says will be asked for.
///
/// # Errors
/// It cannot be read so: why, and a line for the operator.
pub(super) fn hints(settings: &Settings) -> Result<Hints, (io::ErrorKind, String)> {
    let Some(file) = &settings.cache_hints else { return Ok(Hints::default()) };
    let said = settings.said("cache-hints", file.display());
    let text = text_of(file).map_err(|e| (e.kind(), format!("{said}: cannot be read: {e}")))?;
    Hints::parse(&text)
        .map_err(|(line, why)| (io::ErrorKind::InvalidData, format!("{said}:{line}: {why}")))
}

fn text_of(file: &Path) -> io::Result<String> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file with lines"));
    }
    let bytes = os::read_file(file, HINTS_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no UTF-8"))
}

/// What is served, with a cache as the settings say.
pub(super) fn site(
    settings: &Settings,
    architecture: &Architecture,
    split: &Split,
    voice: &mut Voice<'_>,
) -> Result<Site, Failure> {
    let (shards, entry_locks) = match settings.cache_locks {
        _ if architecture.threads(settings) == 1 => (1, false),
        CacheLocks::Entry => (1, true),
        CacheLocks::Parts(parts) => (parts as usize, false),
    };
    let hints = hints(settings).map_err(|(_, line)| Failure::Operator(line))?;
    let site_settings = site::Settings {
        cache_bytes: bytes(settings, architecture),
        cache_files: split.files as usize,
        shards,
        entry_locks,
        policy: settings.cache_policy,
        hints: hints.clone(),
        head_cache: settings.head_cache,
        small_bytes_max: u64::from(settings.small_file_kb) << 10,
        answer_age: settings.answer_age,
        rules: settings.rules.clone(),
        ..site::Settings::default()
    };
    let site = Site::new(&settings.root, &site_settings)
        .map_err(|e| Failure::Operator(settings.refused(&e)))?;
    tell(settings, &site_settings, voice);
    tell_missing(settings, &site, &hints, voice);
    Ok(site)
}

/// Of one worker: hundreds of caches are to take no more memory than one.
pub(super) fn bytes(settings: &Settings, architecture: &Architecture) -> u64 {
    let caches = match architecture.holder {
        Holder::Process => architecture.workers_max(settings),
        _ => 1,
    };
    (u64::from(settings.cache_mb) << 20) / u64::from(caches)
}

/// Says what is never kept.
fn tell(settings: &Settings, site: &site::Settings, voice: &mut Voice<'_>) {
    let said = settings.said("cache-mb", settings.cache_mb);
    if site.cache_bytes == 0 {
        voice.tell(&format!("{said}: nothing is kept, and each request opens its file anew"));
        return;
    }
    let parts = site.shards.next_power_of_two();
    if settings.cache_files > 0 && site.cache_files < parts {
        let said = settings.said("cache-files", settings.cache_files);
        voice.warn(&format!(
            "{said}: no file is kept open, as {parts} parts share them; give more, or fewer \
             --cache-locks"
        ));
    }
    let largest = site.largest_bytes();
    if site.small_bytes_max > largest {
        let (small, largest) = (settings.small_file_kb, largest >> 10);
        let (why, fewer) = match parts {
            1 => (String::from("there is no more for answers"), ""),
            parts => (format!("each of its {parts} parts has no more"), ", fewer --cache-locks"),
        };
        voice.warn(&format!(
            "{said}: files above {largest} KiB are not kept, as {why}; give more{fewer}, or less \
             than --small-file-kb {small}"
        ));
    }
}

/// A list of what is hot is soon wrong.
fn tell_missing(settings: &Settings, site: &Site, hints: &Hints, voice: &mut Voice<'_>) {
    let Missing { looked_up, nowhere, line } = site.missing(hints, HINTS_ASKED_FOR);
    let (Some(file), Some(line)) = (&settings.cache_hints, line) else { return };
    let said = settings.said("cache-hints", file.display());
    voice.warn(&format!(
        "{said}: of the first {looked_up} paths {nowhere} lead to no file, in line {line} and after"
    ));
}
