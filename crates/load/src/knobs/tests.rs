use super::*;

const SECONDS: &str =
    "has to be a number of seconds above 0, up to 31622400, as 3, 3s, 500ms or 2m";
const RATE: &str = "a rate is a number from 0.00001 to 10000000 in a second";
const READS: &str = "has to be a whole number from 1 to 1048576, or none";
const HOST: &str = "has to be a host, as example.org or example.org:8080";
const PORTS: &str = "has to be FROM-TO, two ports from 1 to 65535";

/// A knob, a value, and what it shows then or what it wants instead.
type Row = (&'static str, &'static str, Result<&'static str, &'static str>);

const ROWS: &[Row] = &[
    ("rate", "100", Ok("100")),
    ("rate", "0.5", Ok("0.5")),
    ("rate", "0", Err(RATE)),
    ("rate", "-1", Err(RATE)),
    ("rate", "many", Err(RATE)),
    ("rate", "NaN", Err(RATE)),
    ("gaps", "poisson", Ok("poisson")),
    ("gaps", "wide", Err("has to be one of fixed, poisson")),
    ("steps", "100:10,0:5", Ok("100:10,0:5")),
    ("steps", "100:10s,50:1m", Ok("100:10,50:60")),
    ("steps", "100", Err("has to be RATE:SECONDS, with commas")),
    ("steps", "100:0", Err(SECONDS)),
    ("steps", "", Err("has to be RATE:SECONDS, with commas")),
    ("ramp", "0:100:10", Ok("0:100:10")),
    ("ramp", "0:100:500ms", Ok("0:100:0.5")),
    ("ramp", "0:100", Err("has to be RATE:RATE:SECONDS")),
    ("clients", "5", Ok("5")),
    ("clients", "0", Err("has to be a whole number from 1 to 1000000")),
    ("rest", "0.5", Ok("0.5")),
    ("rest", "50ms", Ok("0.05")),
    ("rest", "exponential:2s", Ok("exponential:2")),
    ("rest", "exponential:2", Ok("exponential:2")),
    ("rest", "exponential:0", Err(SECONDS)),
    ("duration", "2.5", Ok("2.5")),
    ("duration", "3s", Ok("3")),
    ("duration", "500ms", Ok("0.5")),
    ("duration", "2m", Ok("120")),
    ("duration", "1h", Ok("3600")),
    ("duration", "0", Err(SECONDS)),
    ("duration", "0s", Err(SECONDS)),
    ("duration", "", Err(SECONDS)),
    ("duration", "s", Err(SECONDS)),
    ("duration", "3 s", Err(SECONDS)),
    ("duration", "3sec", Err(SECONDS)),
    ("duration", "9000h", Err(SECONDS)),
    ("duration", "NaN", Err(SECONDS)),
    ("duration", "1e99", Err(SECONDS)),
    ("sessions", "1", Ok("1")),
    ("sessions", "0", Err("has to be a whole number from 1 to 18446744073709551615")),
    ("requests-max", "1", Ok("1")),
    ("requests-max", "0", Err("has to be a whole number from 1 to 18446744073709551615")),
    ("requests-max", "10k", Err("has to be a whole number from 1 to 18446744073709551615")),
    ("warm-up", "0", Ok("0")),
    ("warm-up", "1m", Ok("60")),
    (
        "warm-up",
        "-1",
        Err("has to be a number of seconds from 0 to 31622400, as 3, 3s, 500ms or 2m"),
    ),
    ("cool-down", "1.5", Ok("1.5")),
    ("header", "accept:*/*", Ok("accept: */*")),
    ("header", "gzip", Err("has to be NAME: VALUE, as in 'Accept-Encoding: gzip'")),
    ("header", "Host: a", Err("each request names its host; say --host NAME")),
    ("host", "a.example:8080", Ok("a.example:8080")),
    ("host", "", Err(HOST)),
    ("host", "http://a/", Err(HOST)),
    ("method", "HEAD", Ok("HEAD")),
    ("method", "POST", Ok("POST")),
    ("method", "post", Err("has to be one of GET, HEAD, POST, PUT, DELETE, OPTIONS")),
    ("method", "", Err("has to be one of GET, HEAD, POST, PUT, DELETE, OPTIONS")),
    ("body", "/dev/null", Ok("/dev/null")),
    (
        "body",
        "/nowhere",
        Err("/nowhere: No such file or directory (os error 2); name a file to send"),
    ),
    ("body", "/dev/zero", Err("/dev/zero holds more than 1048576 bytes; send less")),
    ("patience", "none", Ok("none")),
    ("patience", "1", Ok("1")),
    ("patience", "250ms", Ok("0.25")),
    (
        "connect-max",
        "x",
        Err(
            "has to be a number of seconds above 0, up to 31622400, as 3, 3s, 500ms or 2m, or none",
        ),
    ),
    ("send-max", "1", Ok("1")),
    ("first-byte-max", "1", Ok("1")),
    ("progress-max", "1", Ok("1")),
    ("reads-kb-per-s", "100", Ok("100")),
    ("reads-kb-per-s", "1048576", Ok("1048576")),
    ("reads-kb-per-s", "none", Ok("none")),
    ("reads-kb-per-s", "0", Err(READS)),
    ("reads-kb-per-s", "-1", Err(READS)),
    ("reads-kb-per-s", "0.5", Err(READS)),
    ("reads-kb-per-s", "1048577", Err(READS)),
    ("reads-kb-per-s", "slow", Err(READS)),
    ("gives-up-by", "fin", Ok("fin")),
    ("retries", "2", Ok("2")),
    ("retries", "101", Err("has to be a whole number from 0 to 100")),
    ("keeps", "session", Ok("session")),
    ("pipelined", "on", Ok("on")),
    ("parallel", "4", Ok("4")),
    ("parallel", "0", Err("has to be a whole number from 1 to 64")),
    ("conditional", "0.28", Ok("0.28")),
    ("verified", "1.1", Err("has to be a share from 0 to 1")),
    ("sources", "127.0.0.1-127.0.0.2,::1", Ok("127.0.0.1,127.0.0.2,::1")),
    ("sources", "a", Err("has no IP address in \"a\"")),
    ("ports", "40000-40001", Ok("40000-40001")),
    ("ports", "40000", Err(PORTS)),
    ("ports", "0-5", Err(PORTS)),
    ("ports", "2-1", Err(PORTS)),
    ("ports", "1-65536", Err(PORTS)),
    ("connections-max", "0", Err("has to be a whole number from 1 to 1073741824")),
    ("probe", "off", Ok("off")),
    ("probe", "", Err("has to be one of on, off")),
    ("processes", "2", Ok("2")),
    ("spins", "on", Ok("on")),
    ("spins", "fast", Err("has to be one of on, off")),
    ("seed", "7", Ok("7")),
    ("interval", "0.1", Ok("0.1")),
    ("lag-max", "20ms", Ok("0.02")),
    (
        "lag-max",
        "0",
        Err("has to be a number of seconds above 0, up to 31622400, as 3, 3s, 500ms or 2m"),
    ),
    ("expect", "p99 < 50ms", Ok("p99<50ms")),
    ("expect", "p99<50", Err("has to be a time with its unit, us, ms, s or m, as in 'p99<50ms'")),
    ("find", "p99 < 50ms", Ok("p99<50ms")),
    ("json", "a", Ok("a")),
    ("json", "", Err("has to be a file")),
    ("hgrm", "a", Ok("a")),
    ("records", "a", Ok("a")),
    ("records", "-", Err("has to be a file; it is --json that knows the standard output")),
    ("begins", "a", Ok("a")),
    ("begins", "-", Err("has to be a file; it is --json that knows the standard output")),
];

#[test]
fn a_knob_takes_what_it_says() {
    for (name, value, expected) in ROWS {
        let mut choices = Choices::default();
        let told = choices.set(name, value);
        let show = KNOBS.iter().find(|knob| knob.name == *name).expect("it exists").show;
        let seen = told.map(|()| show(&choices));
        let expected = match expected {
            Ok(shown) => Ok(String::from(*shown)),
            Err(wanted) => Err(format!("--{name} {value}: {wanted}")),
        };
        assert_eq!(seen, expected, "--{name} {value}");
    }
    for knob in KNOBS {
        assert!(ROWS.iter().any(|(name, ..)| *name == knob.name), "{} has no row", knob.name);
    }
    let told = Choices::default().set("header", "A: b\r\nC: d").expect_err("two lines");
    assert!(told.starts_with("--header A: b\\r\\nC: d: has to be NAME: VALUE"), "{told}");
    let told = Choices::default().set("depth", "1");
    assert_eq!(told, Err(String::from("there is no knob depth")));
}

#[test]
fn what_is_shown_can_be_set() {
    let defaults = Choices::default();
    let words = ["none", "its own", "descriptors", "the kernel's", "the URL's"];
    for knob in KNOBS {
        let shown = (knob.show)(&defaults);
        let mut choices = Choices::default();
        if !words.contains(&shown.as_str()) {
            (knob.set)(&mut choices, &shown).expect("its own default");
            assert_eq!((knob.show)(&choices), shown, "--{}", knob.name);
        }
    }
}

#[test]
fn a_short_form_is_of_a_knob_that_tells_of_it() {
    for (letter, name) in SHORT_FORMS {
        let knob = KNOBS.iter().find(|knob| knob.name == *name).expect(name);
        assert!(knob.reason.contains(&format!("(-{letter})")), "-{letter}: {}", knob.reason);
    }
}

#[test]
fn no_two_knobs_share_a_name() {
    let workloads = crate::workload::settings::KNOBS.iter().map(|knob| knob.name);
    let mut names: Vec<&str> = KNOBS.iter().map(|knob| knob.name).chain(workloads).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
}
