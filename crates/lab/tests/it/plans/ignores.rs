//! Which knobs of a run make no difference to an experiment, as it says itself.

use lab::experiment::Experiment;
use lab::experiments::EXPERIMENTS;
use lab::knobs::KNOBS;
use lab::setup::Setup;

use super::designs::performed;

/// Of the experiments, so many are asked at each change.
const DRAWN: usize = 4;

#[test]
fn an_experiment_says_which_knobs_change_nothing() {
    // Two values, as one may be the experiment's own.
    let rows = [
        ("subject", ["sped:backlog=7", "amped"]),
        ("workload", ["one-packet", "webstone"]),
        ("seconds", ["0.7", "7.5"]),
        ("warm-up", ["0.7", "steady:7"]),
        ("repeats", ["2", "3"]),
        ("paper", ["on", "on"]),
        ("loopback", ["on", "on"]),
        ("quota", ["33", "66"]),
        ("round-trip-ms", ["7", "8"]),
        ("wire-mbit", ["7", "8"]),
        ("wire-mtu", ["1000", "2000"]),
        ("disk", ["itself", "delay-us=700"]),
        ("memory-percent", ["40", "80"]),
    ];
    let names = EXPERIMENTS.iter().map(|of| of.name).collect();
    let drawn = harness::all_or_some("knobs that change nothing in", names, DRAWN);
    std::thread::scope(|scope| {
        for of in EXPERIMENTS.iter().filter(|of| drawn.contains(&of.name)) {
            scope.spawn(|| {
                let ignored = ignored_of(of, &rows);
                // A search cannot begin with what one has found.
                let ignores = of.ignores.iter().copied().filter(|name| *name != "tuning");
                assert_eq!(ignored, ignores.collect::<Vec<_>>(), "{}", of.name);
            });
        }
    });
    // A plan does not see `attempts` and `anyway`; `peer` and `tuning` choose servers, as `subject`
    // does.
    assert_eq!(rows.len() + 4, KNOBS.len());
}

/// Which of these knobs change nothing, whichever of their values they have.
fn ignored_of(of: &Experiment, rows: &[(&'static str, [&'static str; 2])]) -> Vec<&'static str> {
    // One subject is enough for all but itself.
    let one = [("subject", "sped")];
    let (of_all, of_one) = (asked(of, &[]), asked(of, &one));
    let is_ignored = |(name, values): &&(&'static str, [&'static str; 2])| {
        let (first, own) =
            if *name == "subject" { (&[][..], &of_all) } else { (&one[..], &of_one) };
        values.iter().all(|value| asked(of, &[first, &[(*name, *value)]].concat()) == *own)
    };
    rows.iter().filter(is_ignored).map(|(name, _)| *name).collect()
}

/// All that an experiment asks for when this is said beside it.
fn asked(of: &Experiment, said: &[(&str, &str)]) -> Vec<String> {
    let mut setup = Setup { repeats: Some(1), ..Setup::default() };
    for (name, value) in said {
        let knob = KNOBS.iter().find(|knob| knob.name == *name).expect("a knob");
        (knob.set)(&mut setup, value).expect("a value");
    }
    let points = performed(of, &setup, &|_, rate| rate.unwrap_or(1_000.0).min(1_000.0));
    points.iter().map(|point| serde_json::to_string(&point.spec).expect("text for keys")).collect()
}
