//! Searches for a rate.

use crate::load::{UNPROVEN, load, serve};
use crate::support::at_some_scale;
use crate::support::fixture::Fixture;

/// A generator that is late is no reason to judge a run otherwise.
const LATE: [&str; 2] = ["--lag-max", "60"];

/// The bound is a number of replies, between those of two rates that are tried. Replies that come
/// after the end of a short run are too few on a busy machine.
#[test]
fn highest_rate_is_found_between_two_that_are_near() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    for begin in ["100", "400"] {
        at_some_scale(|scale| {
            let duration = (0.5 * f64::from(scale)).to_string();
            let bound = ["--rate", begin, "--find", "replies<146/s", "--duration", &duration];
            let (status, report, told) = load(&[&[url.as_str()], &bound[..], &LATE].concat());
            assert_eq!(status, Some(0), "{begin}: {told}");
            let found = "weir: the highest rate at which it holds: 142/s; at 149/s it does not";
            assert_eq!(told.lines().last(), Some(found), "{begin}: {told}");
            // What is reported is a run at that rate.
            assert!(report.contains("142 sessions/s"), "{report}");
            let of_runs = told.lines().filter(|line| line.contains("/s: replies<146/s "));
            assert_eq!(of_runs.count() + 1, told.lines().count(), "{told}");
        });
    }
}

#[test]
fn what_holds_at_no_rate_is_missed() {
    let site = Fixture::new();
    let server = serve(&site.root());
    let url = format!("http://{}/digits.txt", server.address);
    let bound = ["--rate", "8", "--find", "good>1000000/s", "--duration", "0.5"];
    let (status, report, told) = load(&[&[url.as_str()], &bound[..], &LATE].concat());
    assert!(matches!(status, Some(1 | UNPROVEN)), "{status:?}: {told}");
    assert!(told.ends_with("weir: it holds at no rate that was tried\n"), "{told}");
    assert!(report.contains("good>1000000/s"), "{report}");
}
