//! What knobs take, and which of them may be turned.

use cache::PolicyKind;
use servers::dials::Dials;
use servers::knobs::{self, knob};
use servers::settings::Settings;

#[test]
fn every_default_is_a_value_its_knob_takes() {
    for knob in knobs::all() {
        let shown = (knob.show)(&Settings::default());
        let set = (knob.set)(&mut Settings::default(), &shown);
        assert_eq!(set, Ok(()), "{} = {shown}", knob.name);
    }
}

/// Whoever adds a policy says so where it is chosen, and for whom it is.
#[test]
fn every_policy_can_be_chosen_and_has_its_reason() {
    let knob = knob("cache-policy").unwrap();
    let names: Vec<_> = PolicyKind::ALL.iter().map(|policy| policy.name()).collect();
    let mut words = knob.words();
    words.sort_by_key(|word| names.iter().position(|name| name == word));
    assert_eq!(words, names);
    for name in names {
        assert!(knob.reason.contains(name), "{name}");
        let mut settings = Settings::default();
        assert_eq!((knob.set)(&mut settings, name), Ok(()));
        assert_eq!((knob.show)(&settings), name);
    }
}

#[test]
fn a_bad_value_is_told_what_would_do() {
    let check = |name: &str, value: &str, told: &str| {
        let set = knob(name).unwrap().set;
        assert_eq!(set(&mut Settings::default(), value), Err(String::from(told)), "{name}");
    };
    check("accept-limit", "0", "a number from 1, or inf");
    check("backlog", "0", "a number from 1 to 65535, or auto");
    check("admit-percent", "101", "a number from 1 to 100, or auto");
    check("queue-delay-ms", "0", "a number from 1 to 1000");
    check("passes", "3", "a number from 1 to 2");
    check("poller", "kqueue", "select, poll or epoll");
    check("sendfile", "yes", "nonblocking, nonblocking-polled, blocking or off");
    check("work-on-accepted", "1", "on or off");
    check("log-level", "all", "error, warn, info, debug");
    check("threads", "-1", "a number from 1 to 32768, or auto");
    check("cache-locks", "0", "a number from 1 to 256, or entry");
    check("gather", "yes", "on or off");
    check("pid-file", "stdout", "a file's name, as ./stdout is, or off");
    let error_log = "a file's name, as ./off is, stderr or stdout; --log-level says how much";
    check("error-log", "off", error_log);
    let format = "json is a format (--log-format json), and a file of that name is ./json";
    check("access-log", "json", format);
    let networks = "addresses or networks as 10.0.0.0/8, with commas";
    for value in ["10.0.0.0/33", "host", "", "10.0.0.1,", "10.0.0.1,off", "unix:"] {
        check("proxy-protocol", value, networks);
        check("trusted-proxies", value, &format!("{networks}, or unix"));
    }
    check("proxy-protocol", "unix", networks);
    check("send-buffer-kb", "3", "a number from 4 to 1048576, or auto");
    check("processes", "0", "a number from 1 to 1024, or auto");
    check("processes-min", "auto", "a number from 1 to 1024");
    check("send-buffer-kb", "off", "a number from 4 to 1048576, or auto");
}

#[test]
fn a_dial_stands_at_what_was_set_last() {
    let rows = [
        ("accept-limit", "auto", "8", "8"),
        ("accept-limit", "auto", "inf", "inf"),
        ("accept-limit", "auto", "auto", "auto"),
        ("backlog", "auto", "64", "64"),
        ("admit-percent", "auto", "50", "50"),
        ("queue-delay-ms", "20", "5", "5"),
        ("phase-ms", "5", "2", "2"),
        ("work-kb-max", "256", "16", "16"),
        ("processes", "auto", "3", "3"),
        ("passes", "2", "1", "2"),
    ];
    for (name, before, value, after) in rows {
        let settings = Settings::default();
        let dials = Dials::new(&settings, 4).unwrap();
        let knob = knob(name).unwrap();
        assert_eq!((knob.show)(&dials.in_force(&settings)), before, "{name}");
        let mut wanted = dials.in_force(&settings);
        (knob.set)(&mut wanted, value).unwrap();
        dials.turn(name, &wanted);
        assert_eq!((knob.show)(&dials.in_force(&settings)), after, "{name} {value}");
    }
}

/// What is shared has rows for as many workers as there were at the start.
#[test]
fn workers_are_turned_down_to_a_minimum_and_up_to_what_they_were() {
    let refused = Err(String::from("a number from 2 to 4 until a reload"));
    let rows = [("1", refused.clone(), 4), ("2", Ok(()), 2), ("4", Ok(()), 4), ("5", refused, 4)];
    let settings = Settings { processes: Some(4), processes_min: 2, ..Settings::default() };
    for (value, judged, serve) in rows {
        let dials = Dials::new(&settings, 4).unwrap();
        let mut wanted = dials.in_force(&settings);
        (knob("processes").unwrap().set)(&mut wanted, value).unwrap();
        assert_eq!(dials.judge("processes", &wanted), judged, "{value}");
        assert_eq!(dials.judge("passes", &wanted), Ok(()), "{value}");
        if judged.is_ok() {
            dials.turn("processes", &wanted);
        }
        assert_eq!(dials.workers(), serve, "{value}");
    }
    assert_eq!(Dials::new(&Settings::default(), 3).unwrap().workers(), 3, "as suits who serves");
}
