//! Knobs that may be turned while workers serve: words beside the counters, read once a round.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use os::SharedWords;

use crate::knobs::Knob;
use crate::registry;
use crate::settings::{ACCEPT_INF, Settings};

/// The words of one generation of workers.
pub struct Dials {
    words: SharedWords,
}

const ACCEPT_LIMIT: usize = 0;
const WORK_BYTES_MAX: usize = 1;

/// A knob that is such a word: how its value gets from the settings there, and back.
struct Dial {
    knob: &'static str,
    word: usize,
    read: fn(&Settings) -> u64,
    write: fn(&mut Settings, u64),
}

const DIALS: &[Dial] = &[
    Dial {
        knob: "accept-limit",
        word: ACCEPT_LIMIT,
        read: |s| {
            let own = registry::architecture(&s.architecture).map(|row| row.accept_limit);
            s.accept_limit.or(own).unwrap_or(ACCEPT_INF).into()
        },
        write: |s, word| s.accept_limit = Some(word as u32),
    },
    Dial {
        knob: "work-kb-max",
        word: WORK_BYTES_MAX,
        read: |s| s.work_bytes_max,
        write: |s, word| s.work_bytes_max = word,
    },
];

impl Dials {
    /// At what the settings say.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn new(settings: &Settings) -> io::Result<Self> {
        let dials = Self { words: SharedWords::new(DIALS.len())? };
        for dial in DIALS {
            dials.words[dial.word].store((dial.read)(settings), Relaxed);
        }
        Ok(dials)
    }

    /// Whether a knob may be turned while workers serve.
    #[must_use]
    pub fn has(knob: &Knob) -> bool {
        DIALS.iter().any(|dial| dial.knob == knob.name)
    }

    /// Takes over what has been set in `settings`; what is no dial is left as it is.
    pub fn turn(&self, knob: &Knob, settings: &Settings) {
        for dial in DIALS.iter().filter(|dial| dial.knob == knob.name) {
            self.words[dial.word].store((dial.read)(settings), Relaxed);
        }
    }

    /// Settings as they are in force: what was turned stands at its present value.
    #[must_use]
    pub fn in_force(&self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        for dial in DIALS {
            (dial.write)(&mut settings, self.words[dial.word].load(Relaxed));
        }
        settings
    }

    /// Connections taken consecutively.
    #[must_use]
    pub fn accept_limit(&self) -> u32 {
        self.words[ACCEPT_LIMIT].load(Relaxed) as u32
    }

    /// Bytes sent to one connection before the others' turn.
    #[must_use]
    pub fn work_bytes_max(&self) -> u64 {
        self.words[WORK_BYTES_MAX].load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::knob;

    #[test]
    fn a_dial_stands_at_what_was_set_last() {
        let rows = [
            ("accept-limit", "inf", "8", "8"),
            ("accept-limit", "inf", "inf", "inf"),
            ("work-kb-max", "256", "16", "16"),
            ("passes", "2", "1", "2"),
        ];
        for (name, before, value, after) in rows {
            let settings = Settings::default();
            let dials = Dials::new(&settings).unwrap();
            let knob = knob(name).unwrap();
            assert_eq!((knob.show)(&dials.in_force(&settings)), before, "{name}");
            let mut wanted = dials.in_force(&settings);
            (knob.set)(&mut wanted, value).unwrap();
            dials.turn(knob, &wanted);
            assert_eq!((knob.show)(&dials.in_force(&settings)), after, "{name} {value}");
        }
    }
}
