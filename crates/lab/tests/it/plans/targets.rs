//! What is promised as a ratio, beside servers that keep it, or do not.

use lab::experiments::experiment;
use lab::known::Known;
use lab::setup::Setup;
use lab::spec::Spec;

use super::designs::performed;

/// The verdicts about one of whom the bound is said, where he has so many times as much.
fn verdicts(name: &str, (who, promised): (&str, &str), share: f64) -> Vec<String> {
    let of = experiment(name).expect("an experiment of this name");
    let setup = Setup::default();
    let points = performed(of, &setup, &|spec: &Spec, rate| {
        let subject = spec.subject.to_string();
        let is_it = subject == who
            || (who == "userver-nb-30K-2p"
                && subject.contains("connections-max=990")
                && subject.contains("processes=2"));
        let own = if is_it { 4_000.0 * share } else { 4_000.0 };
        rate.map_or(own, |rate| own.min(rate))
    });
    let section = (of.sections)(&setup, &Known::of(&points)).remove(0);
    let rows = &section.tables[0].rows;
    let of_it = rows.iter().filter(|row| row[1] == who && row[3].starts_with(promised));
    // What costs processor time is told by none of these points.
    of_it.filter_map(|row| row.last()).filter(|of| *of != "not measured").cloned().collect()
}

#[test]
fn a_promise_is_kept_or_not() {
    let rings = ("reply-cost", ("tux", "at least 0.9 of floor-completion"), 2);
    let copies = ("pariag07-processes", ("userver-nb-30K-2p", "at least 1.3 of"), 1);
    let rows = [
        (rings, 1.0, "met"),
        (rings, 0.8, "refuted"),
        (copies, 1.4, "met"),
        (copies, 1.1, "refuted"),
    ];
    for ((name, target, count), share, expected) in rows {
        let verdicts = verdicts(name, target, share);
        assert_eq!(verdicts, vec![expected; count], "{name}, {share} times");
    }
}
