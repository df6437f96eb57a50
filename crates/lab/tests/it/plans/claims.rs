//! What papers say, beside servers that are as they say, or otherwise, or as likely one as the
//! other.

use lab::experiments::experiment;
use lab::known::Known;
use lab::page::Agreement;
use lab::point::Verdict;
use lab::profile::{Accepts, Calls, Part, Profile, Seen, Shares};
use lab::setup::Setup;
use lab::spec::Spec;
use lab::subject::Subject;

use super::designs::performed;
use super::model::Server;

/// What became of the first comparison with a figure.
fn told(name: &str, figure: &str, server: Server<'_>) -> (Agreement, String) {
    let of = experiment(name).expect("an experiment of this name");
    let setup = Setup::default();
    let points = performed(of, &setup, server);
    let sections = (of.sections)(&setup, &Known::of(&points));
    let mut rows = sections.into_iter().flat_map(|section| section.comparisons);
    let row = rows.find(|row| row.of == figure).expect("a comparison with this figure");
    (row.agrees, row.here)
}

fn subjects(texts: &[&str]) -> Vec<Subject> {
    texts.iter().map(|text| text.parse().expect("a subject")).collect()
}

/// Good replies of one that is asked for more than it can do.
fn replies(spec: &Spec, rate: Option<f64>, is_better: impl Fn(&str) -> bool, share: f64) -> f64 {
    const CAPACITY: f64 = 4_000.0;
    let better = if is_better(&spec.subject.to_string()) { share } else { 1.0 };
    rate.map_or(CAPACITY * better, |rate| (CAPACITY * better).min(rate))
}

#[test]
fn a_comparison_says_whether_it_is_as_the_paper_says() {
    // The experiment, the figure, and who has more according to the paper.
    type Row = (&'static str, &'static str, fn(&str) -> bool);
    let rows: [Row; 12] = [
        ("brecht04-one-packet", "Brecht04 figure 8", |of| of.contains("accept-limit=inf")),
        ("brecht04-specweb99", "Brecht04 figure 2", |of| of.contains("accept-limit=inf")),
        ("brecht04-requests-2", "Brecht04 7", |of| of.contains("accept-limit=inf")),
        ("pariag07-blocking", "Pariag07 figure 5", |of| of.contains("connections-max=990")),
        ("pariag07-processes", "Pariag07 figure 4", |of| of.contains("processes=2")),
        ("pariag07-architectures", "Pariag07 figure 7", |of| {
            !of.starts_with("sped:") || of.contains("processes=4")
        }),
        ("jaws97-blackbox", "JAWS97 figure 19", |of| of == "mt:threads=20,threads-min=20"),
        ("jaws97-threads", "JAWS97 figure 14", |of| of == "thread-per-request"),
        ("ablation", "JAWS97 4", |of| of == "mt"),
        ("choi05-architectures", "Choi05 figure 6", |of| of.starts_with("pipelined:")),
        ("choi05-memory", "Choi05 figure 7", |of| of.starts_with("pipelined:")),
        ("choi05-clients", "Choi05 figure 8", |of| of.starts_with("pipelined:")),
    ];
    let is_here = |figure: &str| {
        let needs = [("JAWS97 figure 14", "thread-per-request")];
        let needed = needs.iter().find(|(of, _)| *of == figure);
        needed.is_none_or(|(_, name)| servers::architectures::architecture(name).is_some())
    };
    for (name, figure, is_better) in rows.into_iter().filter(|row| is_here(row.1)) {
        for (share, expected) in
            [(1.4, Agreement::Yes), (0.7, Agreement::No), (1.0, Agreement::Open)]
        {
            let (agrees, here) =
                told(name, figure, &|spec, rate| replies(spec, rate, is_better, share));
            assert_eq!(agrees, expected, "{name}, {figure}, {share} times: {here}");
        }
    }
}

#[test]
fn a_peak_is_looked_for_at_all_rates() {
    let of = experiment("brecht04-one-packet").expect("an experiment of this name");
    let setup = Setup::default();
    let points = performed(of, &setup, &|spec, rate| {
        let rate = rate.unwrap_or(4_000.0);
        match spec.subject.knobs["accept-limit"].as_str() {
            // Its peak is beyond a rate at which the others have more.
            "10" if (4_200.0..4_700.0).contains(&rate) => 3_000.0,
            "10" => rate.min(4_900.0),
            _ => rate.min(4_000.0),
        }
    });
    let sections = (of.sections)(&setup, &Known::of(&points));
    let rows = sections.iter().flat_map(|section| &section.comparisons);
    let peaks: Vec<_> = rows.filter(|row| row.paper.contains("µserver's peak")).collect();
    assert_eq!(peaks.len(), 2);
    for row in peaks {
        assert_eq!(row.agrees, Agreement::Yes, "{}", row.here);
    }
}

#[test]
fn who_is_said_to_be_best_is_set_beside_all() {
    // Of all that are better than the rest, one is better than who should be the best.
    let rows: [(&str, f64, f64, Agreement, &str); 4] = [
        ("JAWS97 figure 19", 2.0, 1.4, Agreement::Yes, "h2o, 42 clients, the most of 5 others"),
        ("JAWS97 figure 19", 1.4, 2.0, Agreement::No, "h2o, 42 clients, the most of 5 others"),
        ("JAWS97 figure 19", 1.4, 1.4, Agreement::Open, "too close to call: h2o, 42 clients"),
        ("JAWS97 figure 3", 1.4, 1.45, Agreement::Open, "too close to call: h2o, 42 clients"),
    ];
    for (figure, mt, h2o, expected, told_of) in rows {
        let server = |spec: &Spec, rate: Option<f64>| {
            let own = match &*spec.subject.name {
                "mt" => mt,
                "h2o" => h2o,
                _ => 1.0,
            };
            replies(spec, rate, |_| true, own)
        };
        let (agrees, here) = told("jaws97-blackbox", figure, &server);
        assert_eq!(agrees, expected, "{figure}: {here}");
        assert!(here.contains(told_of), "{figure}: {here}");
    }
}

/// A rival that failed, or was never measured, may have been the one that has more; who has more
/// for certain settles it.
#[test]
fn beside_all_is_beside_those_of_whom_nothing_is_known_too() {
    let of = experiment("jaws97-blackbox").expect("an experiment of this name");
    let setup = Setup::default();
    let why = || vec![String::from("why")];
    let rows = [
        (Verdict::Good, 1.0, Agreement::Yes),
        (Verdict::Failed(why()), 1.0, Agreement::Open),
        (Verdict::Invalid(why()), 1.0, Agreement::Open),
        (Verdict::Failed(why()), 2.0, Agreement::No),
    ];
    for (verdict, nginx, expected) in rows {
        let mut points = performed(of, &setup, &|spec, rate| {
            let own = match &*spec.subject.name {
                "mt" => 1.4,
                "nginx" => nginx,
                _ => 1.0,
            };
            replies(spec, rate, |_| true, own)
        });
        for point in points.iter_mut().filter(|point| point.spec.subject.name == "h2o") {
            point.verdict = verdict.clone();
        }
        let sections = (of.sections)(&setup, &Known::of(&points));
        let mut rows = sections.iter().flat_map(|section| &section.comparisons);
        let row = rows.find(|row| row.of == "JAWS97 figure 19").expect("a comparison");
        assert_eq!(row.agrees, expected, "{verdict}: {}", row.here);
        let is_silent = row.here.contains("without figures that count: h2o");
        assert_eq!(is_silent, !verdict.is_good(), "{}", row.here);
    }
}

#[test]
fn only_savings_that_are_told_from_none_are_named() {
    let of = experiment("ablation").expect("an experiment of this name");
    let setup = Setup { subjects: subjects(&["mt"]), ..Setup::default() };
    // What is left without cached heads, and without a cached date; repeats vary by a tenth.
    let rows = [
        (0.5, 0.7, "mt loses most connections/s without: pre-computed heads 50.0 %, cached date"),
        (0.95, 0.7, "mt loses most connections/s without: cached date 30.0 %."),
        (0.95, 1.3, "mt: no saving makes a clear difference."),
    ];
    for (heads, date, expected) in rows {
        let points = performed(of, &setup, &|spec, rate| {
            let own = match spec.subject.to_string() {
                of if of.contains("head-cache") => heads,
                of if of.contains("date-cache") => date,
                _ => 1.0,
            };
            let noise = [1.0, 1.05, 0.95][spec.repeat as usize % 3];
            replies(spec, rate, |_| true, own * noise)
        });
        let answer = (of.sections)(&setup, &Known::of(&points)).remove(0).answer;
        assert!(answer.len() == 1 && answer[0].starts_with(expected), "{answer:?}");
    }
}

#[test]
fn a_list_says_who_may_be_as_good_as_its_first() {
    let of = experiment("jaws97-threads").expect("an experiment of this name");
    let expected = [
        (1, " Too close to the first to rank: mt threads 9; mt threads 6."),
        (3, " Too close to the first to rank: mt threads 9."),
    ];
    for (repeats, expected) in expected {
        let texts = ["mt:threads=6", "mt:threads=9", "mt:threads=20"];
        let setup =
            Setup { subjects: subjects(&texts), repeats: Some(repeats), ..Setup::default() };
        let points = performed(of, &setup, &|spec, rate| {
            let own = match &*spec.subject.knobs["threads"] {
                "6" => 1.0,
                "9" => 1.37,
                _ => 1.4,
            };
            replies(spec, rate, |_| true, own)
        });
        let answer = (of.sections)(&setup, &Known::of(&points)).remove(0).answer;
        assert!(answer[0].ends_with(expected), "{answer:?}");
    }
}

/// What the machine does to both of a pair is no difference between them.
#[test]
fn noise_is_told_from_a_difference_where_it_meets_both() {
    for (is_shared, expected) in [(true, Agreement::Yes), (false, Agreement::Open)] {
        let noisy = |spec: &Spec, rate: Option<f64>| {
            let is_inf = |of: &str| of.contains("accept-limit=inf");
            let turn = usize::from(!is_shared && is_inf(&spec.subject.to_string()));
            let noise = [1.0, 1.3, 0.8][(spec.repeat as usize + turn) % 3];
            noise * replies(spec, rate, is_inf, 1.1)
        };
        let (agrees, here) = told("brecht04-one-packet", "Brecht04 figure 8", &noisy);
        assert_eq!(agrees, expected, "{here}");
    }
}

#[test]
fn shares_of_one_look_tell_nothing() {
    let of = experiment("pariag07-profile").expect("an experiment of this name");
    let subjects = subjects(&["sped:passes=1,poller=poll", "sped:passes=1"]);
    for (repeats, more, less, expected) in [
        (1, 10.0, 1.0, Agreement::Open),
        (3, 0.3, 0.29, Agreement::Open),
        (3, 10.0, 1.0, Agreement::Yes),
        (3, 1.0, 10.0, Agreement::No),
    ] {
        let setup =
            Setup { subjects: subjects.clone(), repeats: Some(repeats), ..Setup::default() };
        let mut points = performed(of, &setup, &|spec, rate| replies(spec, rate, |_| false, 1.0));
        for point in points.iter_mut().filter(|point| point.spec.profile.is_some()) {
            let is_poll = point.spec.subject.to_string().contains("poll");
            let noise = 1.0 + 0.01 * f64::from(point.spec.repeat);
            let share = noise * if is_poll { more } else { less };
            let percent = [(Part::EventNotification, share)].into();
            let shares = Shares { percent, samples: 3_600, ..Shares::default() };
            let seen = Seen::Shares(shares);
            point.profile = Some(Ok(Profile { window_us: 1, faults: Vec::new(), seen }));
        }
        let sections = (of.sections)(&setup, &Known::of(&points));
        let rows = &sections[0].comparisons;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].agrees, expected, "{}", rows[0].here);
        let is_once = rows[0].here.ends_with("; one repeat says nothing");
        assert_eq!(is_once, repeats == 1, "{}", rows[0].here);
    }
}

/// Figures are told with their ratio, or what is missing of them.
#[test]
fn a_comparison_says_what_was_measured() {
    let told = |inf: f64, one: f64| {
        let server = |spec: &Spec, rate: Option<f64>| {
            let is_inf = spec.subject.to_string().contains("accept-limit=inf");
            replies(spec, rate, |_| true, if is_inf { inf } else { one })
        };
        told("brecht04-one-packet", "Brecht04 figure 8", &server).1
    };
    let rows = [
        (1.4, 1.0, "µserver-Inf is 1.40 (1.40 to 1.40) times µserver-1: 5,600 and 4,000 replies/s"),
        (
            0.7,
            1.0,
            "µserver-Inf is 0.700 (0.700 to 0.700) times µserver-1: 2,800 and 4,000 replies/s",
        ),
    ];
    for (inf, one, expected) in rows {
        let here = told(inf, one);
        assert_eq!(here, format!("replies at 1.5 of the capacity: {expected}"));
    }
}

/// As connections of the load are counted, however long the server was looked at beside it.
#[test]
fn accepted_connections_are_counted_over_the_measured_time() {
    let of = experiment("jaws97-whitebox").expect("an experiment of this name");
    let subjects = subjects(&["mt", "proactor"]);
    let setup = Setup { subjects, repeats: Some(1), ..Setup::default() };
    // A tenth of a second.
    let mut points = performed(of, &setup, &|_, _| 400.0);
    for point in points.iter_mut().filter(|point| point.spec.profile.is_some()) {
        // A ring's are not calls, but for a first one.
        let connections = if point.spec.subject.name == "mt" { 40 } else { 1 };
        let accepts = Accepts { connections, phases: connections.div_ceil(4) };
        let seen = Seen::Calls(Calls { accepts, ..Calls::default() });
        let measured = point.load.as_ref().expect("a load").measured;
        let window_us = measured.as_micros() as u64 + 900_000;
        point.profile = Some(Ok(Profile { window_us, faults: Vec::new(), seen }));
    }
    let sections = (of.sections)(&setup, &Known::of(&points));
    let mut tables = sections.iter().flat_map(|section| &section.tables);
    let table = tables.find(|table| table.title.contains("equation 1")).expect("a table");
    assert_eq!(table.rows, [["mt", "400", "100", "4.00"].map(String::from)]);
}

#[test]
fn what_was_not_measured_is_open_and_says_so() {
    let (agrees, here) = told("brecht04-one-packet", "Brecht04 figure 9", &|_, rate| {
        rate.unwrap_or(100.0).min(100.0)
    });
    // A formula has no kernel that counts drops.
    assert_eq!((agrees, &*here), (Agreement::Open, "not measured"));
}

/// Replies by processors are made up: PIPELINED's advantage over MT is so many times as great with
/// 16 as with 4, whatever either has.
#[test]
fn an_advantage_that_grows_is_told_from_one_that_is_great() {
    let of = experiment("choi05").expect("an experiment of this name");
    let setup = Setup { repeats: Some(4), ..Setup::default() };
    let check = |(with_4, with_16, expected)| {
        let points = performed(of, &setup, &|spec, _| {
            let processors = spec.factors["processors"];
            let times = match (&*spec.subject.name, processors) {
                ("pipelined", 4.0) => with_4,
                ("pipelined", 16.0) => with_16,
                _ => 1.0,
            };
            1_000.0 * processors * times * (1.0 + 0.01 * f64::from(spec.repeat))
        });
        let sections = (of.sections)(&setup, &Known::of(&points));
        let mut rows = sections.iter().flat_map(|section| &section.comparisons);
        let grows = rows.find(|row| row.paper.contains("over MT grows with processors"));
        let grows = grows.expect("it is judged");
        assert_eq!(grows.agrees, expected, "{with_4} {with_16}: {}", grows.here);
    };
    let rows = [(1.0, 1.5, Agreement::Yes), (1.5, 1.5, Agreement::Open), (2.0, 1.5, Agreement::No)];
    std::thread::scope(|scope| {
        for row in rows {
            scope.spawn(move || check(row));
        }
    });
}
