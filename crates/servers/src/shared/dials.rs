//! Knobs that may be turned while workers serve: words of the supervisor, read once a round.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use control::admission::{ALL, Share};
use measure::Duration;
use os::Notices;

use crate::shared::settings::Settings;

/// The words of one generation of workers.
pub struct Dials {
    words: Notices,
    /// Workers that there may be: what they share has rows for so many.
    workers_max: u32,
}

/// Places of the words, in the order of [`DIALS`].
const ACCEPT_LIMIT: usize = 0;
const WORK_BYTES_MAX: usize = 1;
const BACKLOG: usize = 2;
const ADMIT_PERCENT: usize = 3;
const QUEUE_DELAY_NS: usize = 4;
const PHASE_NS: usize = 5;
const PROCESSES: usize = 6;

/// A knob that is such a word: how its value gets from the settings there, and back. Of those that
/// can be `auto` 0 says so.
struct Dial {
    knob: &'static str,
    read: fn(&Settings) -> u64,
    write: fn(&mut Settings, u64),
}

const DIALS: &[Dial] = &[
    Dial {
        knob: "accept-limit",
        read: |s| s.accept_limit.unwrap_or(0).into(),
        write: |s, word| s.accept_limit = number(word),
    },
    Dial {
        knob: "work-kb-max",
        read: |s| s.work_bytes_max,
        write: |s, word| s.work_bytes_max = word,
    },
    Dial {
        knob: "backlog",
        read: |s| s.backlog.unwrap_or(0).into(),
        write: |s, word| s.backlog = number(word),
    },
    Dial {
        knob: "admit-percent",
        read: |s| s.admit_percent.unwrap_or(0).into(),
        write: |s, word| s.admit_percent = number(word),
    },
    Dial {
        knob: "queue-delay-ms",
        read: |s| s.queue_delay.as_nanos() as u64,
        write: |s, word| s.queue_delay = Duration::from_nanos(word),
    },
    Dial {
        knob: "phase-ms",
        read: |s| s.phase.as_nanos() as u64,
        write: |s, word| s.phase = Duration::from_nanos(word),
    },
    Dial {
        knob: "processes",
        read: |s| s.processes.unwrap_or(0).into(),
        write: |s, word| s.processes = number(word),
    },
];

/// Connections that may wait in the kernel where the operator does not say: net.core.somaxconn's
/// default.
pub(crate) const BACKLOG_AUTO: u32 = 4096;

impl Dials {
    /// At what the settings say, for so many workers at most.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn new(settings: &Settings, workers_max: u32) -> io::Result<Self> {
        let dials = Self { words: Notices::new(DIALS.len())?, workers_max };
        (0..DIALS.len()).for_each(|word| dials.set(word, settings));
        Ok(dials)
    }

    /// Whether a knob may be turned while workers serve.
    #[must_use]
    pub fn has(knob: &str) -> bool {
        DIALS.iter().any(|dial| dial.knob == knob)
    }

    /// Whether these workers can be turned to what is set in `settings`.
    ///
    /// # Errors
    /// What would do.
    pub fn judge(&self, knob: &str, settings: &Settings) -> Result<(), String> {
        let (least, most) = (settings.processes_min, self.workers_max);
        let is_bound = knob == "processes" && least <= most;
        match settings.processes.filter(|n| is_bound && !(least..=most).contains(n)) {
            Some(_) => Err(format!("a number from {least} to {most} until a reload")),
            None => Ok(()),
        }
    }

    /// Takes over what has been set in `settings`; what is no dial is left as it is.
    pub fn turn(&self, knob: &str, settings: &Settings) {
        let word = DIALS.iter().position(|dial| dial.knob == knob);
        word.into_iter().for_each(|word| self.set(word, settings));
    }

    fn set(&self, word: usize, settings: &Settings) {
        self.words.words()[word].store((DIALS[word].read)(settings), Relaxed);
    }

    /// Settings as they are in force: what was turned stands at its present value.
    #[must_use]
    pub fn in_force(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        for (word, dial) in DIALS.iter().enumerate() {
            (dial.write)(&mut settings, self.word(word));
        }
        settings
    }

    /// Connections taken consecutively; nothing: the architecture's own, and fewer in a flood.
    #[must_use]
    pub fn accept_limit(&self) -> Option<u32> {
        number(self.word(ACCEPT_LIMIT))
    }

    /// Bytes sent to one connection before the others' turn.
    #[must_use]
    pub fn work_bytes_max(&self) -> u64 {
        self.word(WORK_BYTES_MAX)
    }

    /// Connections that may wait at a listening socket; nothing: fewer in a flood.
    #[must_use]
    pub fn backlog(&self) -> Option<u32> {
        number(self.word(BACKLOG))
    }

    /// So many may wait at most.
    #[must_use]
    pub fn backlog_max(&self) -> u32 {
        self.backlog().unwrap_or(BACKLOG_AUTO)
    }

    /// Of those who knock, how many are admitted; nothing: fewer in a flood.
    #[must_use]
    pub fn admitted(&self) -> Option<Share> {
        number(self.word(ADMIT_PERCENT)).map(|percent| percent * ALL / 100)
    }

    /// The wait to be accepted that is aimed at in a flood.
    #[must_use]
    pub fn queue_delay(&self) -> Duration {
        Duration::from_nanos(self.word(QUEUE_DELAY_NS))
    }

    /// How long accepting in a flood, and the work that comes of it, may take in a round.
    #[must_use]
    pub fn phase(&self) -> Duration {
        Duration::from_nanos(self.word(PHASE_NS))
    }

    /// Workers that are to serve: of those that there may be the first.
    #[must_use]
    pub fn workers(&self) -> u32 {
        number(self.word(PROCESSES)).unwrap_or(self.workers_max).min(self.workers_max)
    }

    fn word(&self, word: usize) -> u64 {
        self.words.load(word, Relaxed)
    }
}

fn number(word: u64) -> Option<u32> {
    Some(word as u32).filter(|number| *number > 0)
}
