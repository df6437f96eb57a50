//! What is asked of Choi05's models as servers.

use lab::experiments::{beside, experiment};
use lab::known::Known;
use lab::page::Agreement;
use lab::schedule::{costs, missing};
use lab::setup::{OnDisk, Setup};
use lab::spec::Spec;
use lab::testbed::Disk;
use load::trace::presets::PRESETS;

use super::designs::performed;

/// Those with a disk, and how great a part of the set their memory holds, in percent.
const WITH_DISK: [(&str, std::ops::RangeInclusive<f64>); 3] = [
    ("choi05-architectures", 68.0..=74.0),
    ("choi05-memory", 25.0..=75.0),
    ("choi05-clients", 35.0..=35.0),
];

fn specs(name: &str, setup: &Setup) -> Vec<Spec> {
    missing(experiment(name).expect("an experiment"), setup, &[]).0
}

#[test]
fn no_piece_takes_half_an_hour() {
    for name in ["choi05-architectures", "choi05-memory", "choi05-clients", "choi05-processes"] {
        let takes_s = costs(&specs(name, &Setup::default()));
        assert!((300.0..1_800.0).contains(&takes_s), "{name}: {takes_s} s");
    }
}

#[test]
fn memory_holds_as_great_a_part_of_a_trace_as_the_paper_s() {
    let asked = Setup { memory_percent: Some(40), ..Setup::default() };
    let rows = WITH_DISK.map(|(name, range)| (name, Setup::default(), range));
    for (name, setup, range) in
        rows.into_iter().chain([("choi05-architectures", asked, 40.0..=40.0)])
    {
        for spec in specs(name, &setup) {
            let preset = PRESETS.iter().find(|of| of.name == spec.load.workload);
            let scale: f64 = spec.load.flags["trace-scale"].parse().expect("a number");
            let model = preset.expect("one of the paper's traces").model.scaled(scale);
            let set_bytes = model.mean_bytes * f64::from(model.files);
            assert!((160e6..190e6).contains(&set_bytes), "{name}: {set_bytes}");
            let memory = spec.layout.memory_bytes.expect("a limit") as f64;
            let percent = (1e3 * memory / set_bytes).round() / 10.0;
            assert!(range.contains(&percent), "{name}, {}: {percent} %", spec.load.workload);
        }
    }
}

#[test]
fn the_disk_is_the_paper_s_or_the_operator_s() {
    let paper_s: Disk = "delay-us=0,seek-us=0,turn-us=5980,mb-per-s=150".parse().expect("a disk");
    let slow = Disk { delay_us: 700, arm: None };
    let rows = [
        (None, Some(paper_s), "the fast one of table 2"),
        (Some(OnDisk::Itself), None, "the machine's own"),
        (Some(OnDisk::Slow(slow)), Some(slow), "as the operator says: delay-us=700."),
    ];
    for (name, _) in WITH_DISK {
        for (disk, expected, words) in rows {
            let setup = Setup { disk, ..Setup::default() };
            assert!(specs(name, &setup).iter().all(|spec| spec.layout.disk == expected), "{name}");
            let of = experiment(name).expect("an experiment");
            let told = (of.sections)(&setup, &Known::default()).remove(0).question.join(" ");
            assert!(told.contains(words), "{name}: {told}");
        }
    }
}

/// Twice the processes and threads, and twice the time.
#[test]
fn for_two_processors_there_is_twice_of_all() {
    let rows = [
        ("mp", "processes", ["16", "32"]),
        ("mt", "threads", ["64", "128"]),
        ("sped", "processes", ["1", "2"]),
        ("amped", "processes", ["1", "2"]),
        ("pipelined", "threads", ["1", "2"]),
    ];
    for (name, _) in WITH_DISK {
        for spec in specs(name, &Setup::default()) {
            let of = &spec.subject;
            let (_, knob, values) = rows.iter().find(|row| row.0 == of.name).expect("a model");
            let on = spec.factors["processors"] as usize;
            assert_eq!(spec.layout.quota_percent, Some(15 * on as u32), "{name}: {of}");
            let is_crowd = of.knobs[*knob] == "1024";
            assert!(is_crowd || of.knobs[*knob] == values[on - 1], "{name}: {of} on {on}");
        }
    }
}

/// What is said of a model in two places, beside servers that gain by memory or by processors, or
/// do not.
#[test]
fn a_model_is_set_beside_itself() {
    let drastically = "with 2 GB PIPELINED answers drastically more than with 1";
    let no_more = "with 1 GB the disk is the limit: PIPELINED answers no more with more processors";
    let most = "most is answered with WorldCup98's trace";
    type Gains<'g> = &'g dyn Fn(&Spec) -> bool;
    let by_memory: Gains<'_> = &|spec| spec.stage != "25 %";
    let by_processors: Gains<'_> = &|spec| spec.factors["processors"] == 2.0;
    let by_trace: Gains<'_> = &|spec| spec.load.workload == "choi-worldcup98";
    let rows = [
        ("choi05-memory", drastically, by_memory, Agreement::Yes),
        ("choi05-memory", drastically, by_processors, Agreement::Open),
        ("choi05-memory", no_more, by_memory, Agreement::Yes),
        ("choi05-memory", no_more, by_processors, Agreement::No),
        ("choi05-architectures", most, by_trace, Agreement::Yes),
        ("choi05-architectures", most, by_processors, Agreement::Open),
    ];
    for (name, words, gains, expected) in rows {
        let (of, setup) = (experiment(name).expect("an experiment"), Setup::default());
        let points = performed(of, &setup, &|spec, _| if gains(spec) { 3_000.0 } else { 1_500.0 });
        let section = (of.sections)(&setup, &Known::of(&points)).remove(0);
        let row = section.comparisons.iter().find(|row| row.paper == words);
        let row = row.expect("a comparison with these words");
        assert_eq!(row.agrees, expected, "{name}: {}", row.here);
    }
}

/// Shares of PIPELINED's replies are the same where they are simulated and where they are measured,
/// but SPED's.
#[test]
fn what_was_measured_stands_beside_what_is_simulated() {
    let setup = Setup { repeats: Some(3), ..Setup::default() };
    let [simulated, measured] =
        [("choi05", 0.8), ("choi05-architectures", 1.2)].map(|(name, of_sped)| {
            let of = experiment(name).expect("an experiment");
            performed(of, &setup, &|spec, _| match &*spec.subject.name {
                "pipelined" => 1_000.0,
                "sped" => 1_000.0 * of_sped,
                _ => 900.0 + 10.0 * f64::from(spec.repeat),
            })
        });
    let known = Known::of(&simulated);
    let table = beside("choi05", &setup, &known, &Known::of(&measured)).expect("a table");
    assert_eq!(table.rows.len(), 6 * 2 * 4, "traces, processors, models");
    for row in &table.rows {
        let expected = if row[2] == "SPED" { "no" } else { "yes" };
        assert_eq!(row.last().map(String::as_str), Some(expected), "{row:?}");
    }
    assert_eq!(beside("choi05-memory", &setup, &known, &known), None);
    let none = beside("choi05", &setup, &known, &Known::default()).expect("a table");
    assert!(none.rows.is_empty(), "nothing was measured");
}
