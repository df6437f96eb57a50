//! The page of replacement policies, of traces that are short enough for a test.

use lab::experiments::experiment;
use lab::known::Known;
use lab::page::Section;
use lab::point::Point;
use lab::policies::{ACCESSES, INSERT_NS, Policies, REQUESTS, TOUCH_NS, names};
use lab::setup::Setup;

/// Of so many requests, where a touch costs so much by `touch_ns`.
fn section(requests: &str, touch_ns: &dyn Fn(&str) -> f64) -> Section {
    let of = experiment("policies").expect("an experiment");
    let setup = Setup { repeats: Some(1), ..Setup::default() };
    let mut policies = Policies::default();
    let mut points = Vec::new();
    for mut spec in (of.plan)(&setup, &Known::default()).specs {
        let scale =
            if spec.load.workload == "specweb99" { ("dirs", "3") } else { ("trace-scale", "0.05") };
        for (flag, value) in [(REQUESTS, requests), scale] {
            spec.load.flags.insert(flag.into(), value.into());
        }
        let mut point = Point::begun("of a test", &spec, 0);
        point.counters = match spec.stage == ACCESSES {
            true => {
                let touch_ns = (TOUCH_NS.into(), touch_ns(&spec.subject.name));
                [touch_ns, (INSERT_NS.into(), 100.0)].into()
            }
            false => policies.counted(&spec).expect("counts"),
        };
        points.push(point);
    }
    (of.sections)(&setup, &Known::of(&points)).remove(0)
}

#[test]
fn a_page_has_every_policy_of_every_trace_and_the_same_twice() {
    let first = section("2000", &|_| 10.0);
    assert_eq!(first, section("2000", &|_| 10.0));
    let all = names().count();
    assert_eq!((first.figures.len(), first.tables.len()), (27, 11));
    assert!(first.figures.iter().all(|figure| figure.series.len() == all + 1));
    let rows: Vec<usize> = first.tables.iter().map(|table| table.rows.len()).collect();
    assert_eq!(rows, [&[all + 1, all][..], &[all + 1; 9]].concat());
}

#[test]
fn the_default_has_most_hits_of_those_that_cost_little() {
    let first = |touch_ns: &dyn Fn(&str) -> f64| section("2000", touch_ns).answer[1].clone();
    let told = first(&|_| 10.0);
    let name = told.strip_prefix("By the rule ").and_then(|rest| rest.split(' ').next());
    let name = name.expect("a name").to_string();
    assert!(told.contains("it has most hits, and to tell it of a hit costs 1.00 of"), "{told}");
    // Telling it costs a fifth more.
    let told = first(&|of| if of == name { 12.1 } else { 10.0 });
    assert!(!told.starts_with(&format!("By the rule {name} ")), "{told}");
    assert!(told.contains(&format!("before it are {name} (a hit 1.21), which")), "{told}");
}
