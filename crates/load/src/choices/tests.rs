use super::*;
use crate::workload::{self, settings::Settings};

const TO: ([u8; 4], u16) = ([127, 0, 0, 1], 80);

fn plan(flags: &[(&str, &str)], name: &str) -> Result<Plan, String> {
    let mut choices = Choices::default();
    for (name, value) in flags {
        choices.set(name, value)?;
    }
    let workload = workload::make(name, &Settings::default()).expect("it can be made");
    choices.plan((TO.into(), "localhost"), &*workload, 1_000)
}

#[test]
fn a_run_lasts_as_long_as_what_it_is_made_of() {
    type Flags<'f> = &'f [(&'f str, &'f str)];
    /// The seconds of the whole run and of the warm-up.
    type Told = Result<(u64, u64), &'static str>;
    let rows: [(Flags<'_>, Told); 13] = [
        (&[], Ok((10, 0))),
        (&[("warm-up", "5")], Ok((15, 5))),
        (&[("rate", "1"), ("duration", "3"), ("warm-up", "2")], Ok((5, 2))),
        (&[("steps", "1:20,2:30")], Ok((50, 0))),
        // For a year: until there are so many.
        (&[("sessions", "5")], Ok((366 * 24 * 3600, 0))),
        (&[("sessions", "5"), ("duration", "3")], Ok((3, 0))),
        (&[("requests-max", "5")], Ok((366 * 24 * 3600, 0))),
        (&[("requests-max", "5"), ("duration", "3s")], Ok((3, 0))),
        (&[("steps", "1:20,2:30"), ("warm-up", "20")], Ok((50, 20))),
        (&[("steps", "1:20"), ("duration", "5")], Ok((5, 0))),
        (&[("rate", "1"), ("duration", "5"), ("cool-down", "15")], Ok((20, 0))),
        (&[("ramp", "0:9:30")], Ok((30, 0))),
        (
            &[("ramp", "0:9:30"), ("warm-up", "30")],
            Err("--warm-up 30 --cool-down 0: without a --duration the run is over after 30 s"),
        ),
    ];
    for (flags, expected) in rows {
        let stop = plan(flags, "one-packet").map(|plan| plan.stop);
        let told = stop.map(|stop| (stop.after.as_secs(), stop.warm_up.as_secs()));
        assert_eq!(told, expected.map_err(String::from), "{flags:?}");
    }
    let few = Choices::default().plan((TO.into(), "a"), &workload::one_url::OneUrl::new("/"), 64);
    assert!(few.expect_err("no connection is left").contains("64 descriptors open (ulimit -n)"));
}

#[test]
fn connections_are_kept_as_the_workload_has_it() {
    use Keeps::{Client, Request, Session};
    // With a rate, and with clients.
    let rows = [
        ("specweb99", Session, Session),
        ("one-packet", Request, Request),
        ("webstone", Request, Request),
        ("browser", Session, Session),
        ("surge", Session, Session),
    ];
    for (name, open, closed) in rows {
        let keeps = |flag| plan(&[flag], name).expect("a plan").behaviour.keeps;
        assert_eq!(keeps(("rate", "1")), open, "{name}");
        assert_eq!(keeps(("clients", "1")), closed, "{name}");
        let said = plan(&[("keeps", "client")], name).expect("a plan").behaviour.keeps;
        assert_eq!(said, Client, "{name}");
    }
    let one = workload::one_url::OneUrl::new("/");
    let keeps = |arrivals| Choices::default().keeps(&arrivals, &one);
    assert_eq!(keeps(Arrivals::Open(Gaps::Fixed { rate: 1.0 })), Request);
    assert_eq!(keeps(Arrivals::Closed { clients: 1, think: Draw::Constant(0.0) }), Client);
}

#[test]
fn a_plan_is_made_of_choices() {
    let s = Duration::from_secs;
    let made = plan(&[("warm-up", "2"), ("duration", "3")], "one-packet").expect("a plan");
    assert_eq!((made.stop.after, made.stop.warm_up), (s(5), s(2)));
    assert_eq!(made.behaviour.connections_max, 1_000 - SPARE_DESCRIPTORS as usize);
    assert_eq!(made.host, "localhost");
    assert_eq!(plan(&[("host", "a:81")], "one-packet").expect("a plan").host, "a:81");
    let rest = Draw::Constant(0.0);
    assert_eq!(made.arrivals, Arrivals::Closed { clients: 64, think: rest });
    let drawn = plan(&[("rate", "5"), ("gaps", "poisson")], "one-packet").expect("a plan");
    assert_eq!(drawn.arrivals, Arrivals::Open(Gaps::Poisson(Box::new(Gaps::Fixed { rate: 5.0 }))));
    for fits in [[("clients", "1872"), ("processes", "2")], [("clients", "937"), ("rest", "1")]] {
        plan(&fits, "one-packet").expect("a plan");
    }
    let stop = |flag| plan(&[flag], "one-packet").expect("a plan").stop.sessions_max;
    assert_eq!(stop(("requests-max", "7")), Some(7), "of one request each");
    assert_eq!(stop(("sessions", "7")), Some(7));
    let browser = plan(&[], "browser").expect("a plan").behaviour.parallel;
    assert!(browser > 1, "a browser's own");
    assert_eq!(plan(&[("parallel", "1")], "browser").expect("a plan").behaviour.parallel, 1);
}

#[test]
fn what_excludes_each_other_is_told() {
    type Flags<'f> = &'f [(&'f str, &'f str)];
    let rows: [(Flags<'_>, &str); 8] = [
        (
            &[("requests-max", "1"), ("sessions", "1")],
            "--requests-max 1: a run has one of --requests-max",
        ),
        (&[("rate", "1"), ("clients", "1")], "--clients 1: a run has one of --rate, --steps"),
        (&[("gaps", "poisson")], "--gaps poisson: gaps are those of a --rate"),
        (&[("clients", "1"), ("gaps", "poisson")], "--gaps poisson: gaps are those of a --rate"),
        (&[("rate", "1"), ("rest", "1")], "--rest: it is --clients that rest"),
        (&[("connections-max", "1000")], "--connections-max 1000: a process may have 1000"),
        (&[("clients", "937")], "937 clients of a process have 936 connections"),
        (&[("connections-max", "1")], "64 clients of a process have 1 connections"),
    ];
    for (flags, expected) in rows {
        let told = plan(flags, "one-packet").expect_err(expected);
        assert!(told.starts_with(expected) && !told.contains('\n'), "{told}");
    }
    let several = plan(&[("requests-max", "5")], "specweb99").expect_err("sessions of several");
    assert!(several.contains("several requests; say how many --sessions"), "{several}");
}

#[test]
fn sources_are_addresses_and_ranges() {
    let rows = [
        ("127.0.0.2", Ok(1)),
        ("127.0.0.2-127.0.0.5", Ok(4)),
        ("::1-::4", Ok(4)),
        ("127.0.0.1-127.0.1.1", Err("has more than 256 addresses")),
        ("::1-ffff::", Err("has more than 256 addresses")),
        ("127.0.0.2-127.0.0.1", Err("ends before it begins")),
        ("127.0.0.2-::1", Err("has to be of one family")),
        ("localhost", Err("has no IP address in \"localhost\"")),
    ];
    for (text, expected) in rows {
        let told = sources(text).map(|all| all.len());
        assert_eq!(told, expected.map_err(String::from), "{text}");
    }
}
