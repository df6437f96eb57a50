//! When sessions begin, and for how long.

use measure::Duration;

use crate::arrivals::Stage;
use crate::choices::{Choices, DURATION as DURATION_DEFAULT, Pace};
use crate::knob::Knob;
use crate::knob::values::{self, RATE_MIN};

const GROUP: &str = "When sessions begin";

/// Each is a client of its own, with a session in memory.
const CLIENTS_MAX: u32 = 1_000_000;

/// A schedule of more is a ramp.
const STEPS_MAX: usize = 1_000;

pub(super) const RATE: Knob<Choices> = Knob {
    name: "rate",
    group: GROUP,
    value: "R",
    reason: "open loop: so many sessions begin in a second (-r), whatever the server does; with a \
             URL or a list of them, each session is one request on a connection of its own",
    set: |choices, value| pace(choices, Pace::Rate(values::rate(value, RATE_MIN)?)),
    show: |choices| match choices.pace {
        Some(Pace::Rate(rate)) => rate.to_string(),
        _ => String::from(values::NONE),
    },
};

pub(super) const GAPS: Knob<Choices> = Knob {
    name: "gaps",
    group: GROUP,
    value: "fixed|poisson",
    reason: "between the sessions of a rate, of steps or of a ramp: all the same, which shows a \
             server at its best and repeats best, or as of many clients that know nothing of each \
             other",
    set: |choices, value| {
        choices.is_poisson = values::word(value, &GAPS_WORDS)?;
        Ok(())
    },
    show: |choices| values::shown_word(&choices.is_poisson, &GAPS_WORDS),
};

const GAPS_WORDS: [(&str, bool); 2] = [("fixed", false), ("poisson", true)];

pub(super) const STEPS: Knob<Choices> = Knob {
    name: "steps",
    group: GROUP,
    value: "R:S[,R:S]...",
    reason: "open loop: each rate for so many seconds, and the last one from then on",
    set: |choices, value| pace(choices, Pace::Steps(steps(value)?)),
    show: |choices| match &choices.pace {
        Some(Pace::Steps(stages)) => {
            let shown = |stage: &Stage| format!("{}:{}", stage.rate, values::shown(stage.lasts));
            stages.iter().map(shown).collect::<Vec<_>>().join(",")
        }
        _ => String::from(values::NONE),
    },
};

pub(super) const RAMP: Knob<Choices> = Knob {
    name: "ramp",
    group: GROUP,
    value: "FROM:TO:S",
    reason: "open loop: from one rate to another, evenly, in so many seconds; then it stays",
    set: |choices, value| pace(choices, ramp(value)?),
    show: |choices| match &choices.pace {
        Some(Pace::Ramp { from, to, over }) => format!("{from}:{to}:{}", values::shown(*over)),
        _ => String::from(values::NONE),
    },
};

pub(super) const CLIENTS: Knob<Choices> = Knob {
    name: "clients",
    group: GROUP,
    value: "N",
    reason: "closed loop: so many clients (-c), each of which begins its next session when the \
             one before is over; 64 where neither a pace nor a log says anything else",
    set: |choices, value| pace(choices, Pace::Clients(values::whole(value, 1, CLIENTS_MAX)?)),
    show: |choices| match choices.pace {
        Some(Pace::Clients(clients)) => clients.to_string(),
        Some(_) => String::from(values::NONE),
        None => String::from("64"),
    },
};

pub(super) const REST: Knob<Choices> = Knob {
    name: "rest",
    group: GROUP,
    value: "S|exponential:S",
    reason: "seconds that a client of a closed loop rests between two sessions, always or on the \
             average; none, as it is a server's capacity that closed loops are for",
    set: |choices, value| {
        choices.rest = values::pause(value)?;
        Ok(())
    },
    show: |choices| values::shown_pause(choices.rest),
};

pub(super) const DURATION: Knob<Choices> = Knob {
    name: "duration",
    group: GROUP,
    value: "S",
    reason: "seconds that are measured (-d); like all times it may have a unit: 500ms, 3s, 2m, \
             1h; without it --steps, --ramp, the times of a log, --requests-max and --sessions \
             last as long as they do, warm-up included",
    set: |choices, value| {
        choices.duration = Some(values::some_seconds(value)?);
        Ok(())
    },
    show: |choices| values::shown(choices.duration.unwrap_or(DURATION_DEFAULT)),
};

pub(super) const SESSIONS: Knob<Choices> = Knob {
    name: "sessions",
    group: GROUP,
    value: "N",
    reason: "ends the run earlier, behind so many sessions",
    set: |choices, value| {
        choices.sessions_max = Some(values::whole(value, 1, u64::MAX)?);
        Ok(())
    },
    show: |choices| match choices.sessions_max {
        Some(most) => most.to_string(),
        None => String::from(values::NONE),
    },
};

pub(super) const REQUESTS_MAX: Knob<Choices> = Knob {
    name: "requests-max",
    group: GROUP,
    value: "N",
    reason: "the same, behind so many requests (-n), where a session is one: with a URL or a list \
             of them",
    set: |choices, value| {
        choices.requests_max = Some(values::whole(value, 1, u64::MAX)?);
        Ok(())
    },
    show: |choices| match choices.requests_max {
        Some(most) => most.to_string(),
        None => String::from(values::NONE),
    },
};

pub(super) const WARM_UP: Knob<Choices> = Knob {
    name: "warm-up",
    group: GROUP,
    value: "S",
    reason: "seconds before those that are measured, in which caches fill and sessions overlap as \
             they will; none, as only whoever knows the server and the workload knows how many",
    set: |choices, value| {
        choices.warm_up = values::seconds(value)?;
        Ok(())
    },
    show: |choices| values::shown(choices.warm_up),
};

pub(super) const COOL_DOWN: Knob<Choices> = Knob {
    name: "cool-down",
    group: GROUP,
    value: "S",
    reason: "seconds behind those that are measured, in which clients go on to come: in a flood \
             who was refused comes again by himself, and would be served when it is over. As long \
             as --patience, where clients wait for more than a second",
    set: |choices, value| {
        choices.cool_down = values::seconds(value)?;
        Ok(())
    },
    show: |choices| values::shown(choices.cool_down),
};

/// There is one.
fn pace(choices: &mut Choices, pace: Pace) -> Result<(), String> {
    if choices.pace.is_some() {
        return Err(String::from("a run has one of --rate, --steps, --ramp and --clients"));
    }
    choices.pace = Some(pace);
    Ok(())
}

fn steps(text: &str) -> Result<Vec<Stage>, String> {
    let stage = |text: &str| {
        let (rate, seconds) = text.split_once(':').ok_or("has to be RATE:SECONDS, with commas")?;
        Ok(Stage { rate: values::rate(rate, 0.0)?, lasts: values::some_seconds(seconds)? })
    };
    let stages: Vec<Stage> = text.split(',').map(stage).collect::<Result<_, String>>()?;
    match stages.len() {
        1..=STEPS_MAX => Ok(stages),
        _ => Err(format!("has to be at most {STEPS_MAX} steps")),
    }
}

fn ramp(text: &str) -> Result<Pace, String> {
    let mut parts = text.split(':');
    let [Some(from), Some(to), Some(over), None] = std::array::from_fn(|_| parts.next()) else {
        return Err(String::from("has to be RATE:RATE:SECONDS"));
    };
    let (from, to) = (values::rate(from, 0.0)?, values::rate(to, 0.0)?);
    let over: Duration = values::some_seconds(over)?;
    Ok(Pace::Ramp { from, to, over })
}
