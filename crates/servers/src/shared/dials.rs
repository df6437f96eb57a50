//! Knobs that may be turned while workers serve: words of the supervisor, read once a round.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use os::Notices;

use crate::shared::settings::Settings;

/// The words of one generation of workers.
pub struct Dials {
    words: Notices,
    /// The architecture's own.
    accept_limit_auto: u32,
}

const ACCEPT_LIMIT: usize = 0;
const WORK_BYTES_MAX: usize = 1;

/// A knob that is such a word: how its value gets from the settings there, and back.
struct Dial {
    knob: &'static str,
    word: usize,
    read: fn(&Settings, accept_limit_auto: u32) -> u64,
    write: fn(&mut Settings, u64),
}

const DIALS: &[Dial] = &[
    Dial {
        knob: "accept-limit",
        word: ACCEPT_LIMIT,
        read: |s, auto| s.accept_limit.unwrap_or(auto).into(),
        write: |s, word| s.accept_limit = Some(word as u32),
    },
    Dial {
        knob: "work-kb-max",
        word: WORK_BYTES_MAX,
        read: |s, _| s.work_bytes_max,
        write: |s, word| s.work_bytes_max = word,
    },
];

impl Dials {
    /// At what the settings say, and the architecture where they say nothing.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn new(settings: &Settings, accept_limit_auto: u32) -> io::Result<Self> {
        let dials = Self { words: Notices::new(DIALS.len())?, accept_limit_auto };
        DIALS.iter().for_each(|dial| dials.set(dial, settings));
        Ok(dials)
    }

    /// Whether a knob may be turned while workers serve.
    #[must_use]
    pub fn has(knob: &str) -> bool {
        DIALS.iter().any(|dial| dial.knob == knob)
    }

    /// Takes over what has been set in `settings`; what is no dial is left as it is.
    pub fn turn(&self, knob: &str, settings: &Settings) {
        DIALS.iter().filter(|dial| dial.knob == knob).for_each(|dial| self.set(dial, settings));
    }

    fn set(&self, dial: &Dial, settings: &Settings) {
        self.words.words()[dial.word].store((dial.read)(settings, self.accept_limit_auto), Relaxed);
    }

    /// Settings as they are in force: what was turned stands at its present value.
    #[must_use]
    pub fn in_force(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        for dial in DIALS {
            (dial.write)(&mut settings, self.words.load(dial.word, Relaxed));
        }
        settings
    }

    /// Connections taken consecutively.
    #[must_use]
    pub fn accept_limit(&self) -> u32 {
        self.words.load(ACCEPT_LIMIT, Relaxed) as u32
    }

    /// Bytes sent to one connection before the others' turn.
    #[must_use]
    pub fn work_bytes_max(&self) -> u64 {
        self.words.load(WORK_BYTES_MAX, Relaxed)
    }
}
