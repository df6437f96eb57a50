//! What a report says of its run beside its results.

use std::collections::BTreeMap;

use clap::ArgMatches;
use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Behaviour;
use load::choices::Choices;
use load::engine::Plan;
use load::report::About;
use load::url::Url;
use load::workload::Workload;
use load::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use load::{knobs, machine};

use super::flags;

pub(super) fn about(
    (url, name, workload): (&Url, Option<&str>, &dyn Workload),
    choices: &Choices,
    plan: &Plan,
    flags: &ArgMatches,
) -> About {
    let settings = flags::settings(flags).unwrap_or_default();
    let headers = flags.get_many::<String>("header").unwrap_or_default();
    let headers: Vec<&str> = headers.map(String::as_str).collect();
    let used = used(choices, plan);
    let mut knobs: BTreeMap<String, String> =
        knobs::KNOBS.iter().map(|knob| (knob.name.into(), (knob.show)(&used))).collect();
    if matches!(plan.arrivals, Arrivals::Open(Gaps::Times(_))) {
        // A log's, for which there is no word but its own.
        knobs.insert(String::from("clients"), String::from("none"));
    }
    knobs.extend(name.map(|name| (String::from("workload"), name.into())));
    let of_workload = name.into_iter().flat_map(|name| of_workload(name, &settings));
    let of_workload: Vec<(&str, String)> = of_workload.collect();
    knobs.extend(of_workload.iter().map(|(name, value)| (String::from(*name), value.clone())));
    let requests = of_requests(&used);
    let said = of_workload.iter().chain(&requests);
    let said = said.map(|(name, value)| format!(", {name} {value}"));
    About {
        target: url.to_string(),
        command: command(std::env::args(), &headers),
        workload: name.unwrap_or("one URL").to_owned() + &said.collect::<String>(),
        notes: workload.notes(),
        load: load(plan, choices.processes),
        began: h1::Date::new(os::clock::wall_seconds()).rfc3339(),
        seed: choices.seed,
        knobs,
        machine: machine::facts(),
        versions: machine::versions(),
    }
}

/// What requests were told to say.
fn of_requests(choices: &Choices) -> Vec<(&'static str, String)> {
    let of = |name: &'static str| {
        let knob = knobs::KNOBS.iter().find(|knob| knob.name == name)?;
        let (now, before) = ((knob.show)(choices), (knob.show)(&Choices::default()));
        (now != before).then(|| (name, now.replace('\n', ", header ")))
    };
    ["method", "body", "host", "header"].into_iter().filter_map(of).collect()
}

/// Fields whose values are secrets. Reports are handed on: they say that there was one.
const SECRET: [&str; 3] = ["Authorization", "Cookie", "Proxy-Authorization"];

/// A header as a report has it.
fn without_secret(header: &str) -> String {
    match header.split_once(':') {
        Some((name, _)) if SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name)) => {
            format!("{name}: (hidden)")
        }
        _ => String::from(header),
    }
}

/// The call, with these headers in it, as a shell reads it again.
fn command(arguments: impl Iterator<Item = String>, headers: &[&str]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = |word: String| {
        // However the flag is written: `-H`, `--header`, with `=` or without.
        let hidden = |word: String, header: &&str| word.replace(header, &without_secret(header));
        let word = headers.iter().fold(word, hidden);
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    arguments.map(quoted).collect::<Vec<_>>().join(" ")
}

/// The choices with what was left to the workload, and without secrets.
fn used(choices: &Choices, plan: &Plan) -> Choices {
    let Plan { behaviour, stop, .. } = plan;
    let headers = choices.behaviour.headers.iter().map(|header| without_secret(header));
    Choices {
        behaviour: Behaviour { headers: headers.collect(), ..choices.behaviour.clone() },
        duration: Some(stop.after.saturating_sub(stop.warm_up)),
        keeps: Some(behaviour.keeps),
        parallel: Some(behaviour.parallel),
        connections_max: Some(behaviour.connections_max),
        ..choices.clone()
    }
}

/// What a workload was told, and what it takes by default.
fn of_workload(name: &str, settings: &Settings) -> Vec<(&'static str, String)> {
    let row = load::workload::named(name.split(':').next().unwrap_or(name));
    let takes = |name: &str| row.is_some_and(|row| row.knobs.contains(&name));
    let taken = WORKLOAD_KNOBS.iter().filter(|knob| takes(knob.name));
    taken.map(|knob| (knob.name, (knob.show)(settings))).collect()
}

/// How the load is made, in a few words.
fn load(plan: &Plan, processes: u32) -> String {
    let arrivals = match &plan.arrivals {
        Arrivals::Open(gaps) => rates(gaps),
        Arrivals::Closed { clients: 1, .. } => String::from("1 client, closed loop"),
        Arrivals::Closed { clients, .. } => format!("{clients} clients, closed loop"),
    };
    match processes {
        1 => arrivals,
        _ => format!("{arrivals}, {processes} processes"),
    }
}

fn rates(gaps: &Gaps) -> String {
    match gaps {
        Gaps::Fixed { rate: 1.0 } => String::from("1 session/s"),
        Gaps::Fixed { rate } => format!("{rate} sessions/s"),
        Gaps::Steps(stages) => {
            let rates = || stages.iter().map(|stage| stage.rate);
            let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
            format!("{} steps, {least} to {most} sessions/s", stages.len())
        }
        Gaps::Ramp { from, to, .. } => format!("{from} to {to} sessions/s, evenly"),
        Gaps::Times(times) => format!("{} sessions at their times", times.len()),
        Gaps::Poisson(mean) => format!("{}, Poisson", rates(mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_again_by_a_shell() {
        let words = ["weir", "load", "a:80/x?y&z", "-H", "X: it's", "--host", ""];
        let told = command(words.into_iter().map(String::from), &["X: it's"]);
        assert_eq!(told, r"weir load 'a:80/x?y&z' -H 'X: it'\''s' --host ''");
    }

    #[test]
    fn a_command_has_no_secrets() {
        let rows = [
            ("authorization:secret", "authorization: (hidden)"),
            ("Proxy-Authorization: Basic secret", "Proxy-Authorization: (hidden)"),
            ("Cookie: a=secret; b=secret", "Cookie: (hidden)"),
            ("Cookies: none", "Cookies: none"),
        ];
        for (header, expected) in rows {
            for flag in ["", "-H", "--header="] {
                let words = [format!("{flag}{header}")].into_iter();
                assert_eq!(command(words, &[header]), format!("'{flag}{expected}'"));
            }
        }
    }
}
