//! Everything that can be done to a connection, in each of its states.

use h1::state::{EVENTS, STATES, State, diagram, next};
use h1::{Field, Found, Loaded, Shared, Status, Want};
use measure::Duration;

use crate::connection::driver::{Driver, crlf, find, get, load};

type Call = (&'static str, fn(&mut Driver), &'static str);

/// What a driver may do, then what is wanted after it from each state, in the order of [`STATES`]:
/// Recv, Find, Load, Wait, Send, sHut, Close. A wrong or late call changes nothing.
const CALLS: [Call; 16] = [
    // Idle, Head, Find, Continue, Body, Load, Pages, Wait, Send, Shut, Linger, Closed
    ("a part of a head", |d| received(d, "G"), "RRFSRLLWSHRC"),
    ("a request", |d| received(d, &get("/small")), "FFFSSLLWSHRC"),
    ("bytes without sense", |d| received(d, "\n"), "SSFSRLLWSHRC"),
    ("the end", |d| d.connection.ended(&d.now), "CCFSCLLWSHCC"),
    ("an answer, if wanted", answered, "RRSSRSSSSHRC"),
    ("a miss, or no pages", missed, "RRLSRSSWSHRC"),
    ("a late answer", |d| d.connection.loaded(load_of("/loaded"), &d.now), "RRFSRSCSSHRC"),
    ("a hand-over", |d| d.connection.handed_over(), "RRFSRWWWSHRC"),
    ("nothing sent", |d| sent(d, 0), "RRFSRLLWSHRC"),
    ("a byte sent", |d| sent(d, 1), "RRFSRLLWSHRC"),
    ("all sent", |d| sent(d, u64::MAX), "RRFRRLLWRHRC"),
    ("the FIN sent", |d| d.connection.shut(&d.now), "RRFSRLLWSRRC"),
    ("a break", |d| d.connection.failed(), "CCCCCCCCCCCC"),
    ("a refusal", |d| d.connection.refuse(Status::SERVICE_UNAVAILABLE, &d.now), "SSSSSSSSSHRC"),
    ("to drain", |d| d.connection.drain(), "CRFSRLLWSHRC"),
    ("time without end", waited, "CCFCSLLWCHCC"),
];

#[test]
fn every_call_in_every_state() {
    for (call, act, wants) in CALLS {
        for (state, wanted) in STATES.into_iter().zip(wants.chars()) {
            let mut driver = in_state(state);
            act(&mut driver);
            let want = match driver.wants() {
                "Shut" => 'H',
                other => other.chars().next().unwrap_or_default(),
            };
            assert_eq!(want, wanted, "{call} in {state:?}");
            // Whatever was done, it comes to its end.
            for _ in 0..10 {
                answered(&mut driver);
                sent(&mut driver, u64::MAX);
                driver.connection.shut(&driver.now);
                driver.connection.ended(&driver.now);
            }
            assert_eq!(driver.wants(), "Close", "after {call} in {state:?}");
        }
    }
}

#[test]
fn every_state_is_reached() {
    for state in STATES {
        let driver = in_state(state);
        let wanted = match state {
            State::Idle | State::Head | State::Body | State::Linger => "Recv",
            State::Find => "Find",
            State::Load | State::Pages => "Load",
            State::Wait => "Wait",
            State::Continue | State::Send => "Send",
            State::Shut => "Shut",
            State::Closed => "Close",
        };
        assert_eq!(driver.wants(), wanted, "{state:?}");
        assert_eq!(driver.connection.is_idle(), state == State::Idle, "{state:?}");
        let has_request = !matches!(
            state,
            State::Idle | State::Head | State::Shut | State::Linger | State::Closed
        );
        assert_eq!(driver.connection.request_line().is_some(), has_request, "{state:?}");
        let host = driver.connection.request_field(Field::Host);
        assert_eq!(host.is_some(), has_request, "{state:?}");
    }
}

#[test]
fn the_diagram_shows_the_table() {
    let diagram = diagram();
    for state in STATES {
        for event in EVENTS {
            let Some(to) = next(state, event) else { continue };
            let arrow = format!("    {state:?} --> {to:?}: ");
            let events = diagram.lines().find_map(|line| line.strip_prefix(&arrow));
            let name = format!("{event:?}");
            let is_shown = events.is_some_and(|events| events.split(", ").any(|e| e == name));
            assert_eq!(is_shown, name != "Over", "{state:?}, {event:?}");
        }
    }
}

#[test]
fn drained_connections_finish_what_is_in_hand() {
    let drained = |mut driver: Driver| {
        driver.connection.drain();
        driver.run().told()
    };
    let mut new = Driver::new();
    new.connection.drain();
    assert_eq!(new.peer_sends(get("/small").as_bytes()).told(), "200+5c, Shut");
    assert_eq!(drained(in_state(State::Idle)), "200+5, Close");
    assert_eq!(drained(Driver::new().asked("/small")), "200+5c, Shut");
    assert_eq!(drained(Driver::new().asked("/large")), "200+3500c, Shut");
    assert_eq!(drained(in_state(State::Load)), "200+6c, Shut");
    // It was told already that the connection stays: what is on its way for that is answered.
    let mut told = in_state(State::Send);
    told.connection.drain();
    assert_eq!(told.run().told(), "200+5, Recv");
    assert_eq!(told.peer_sends(get("/small").as_bytes()).told(), "200+5 200+5c, Shut");
    assert_eq!(drained(in_state(State::Pages)), "200+3500, Recv");
    let mut many = Driver::new();
    many.connection.received(get("/small").repeat(3).as_bytes(), &many.now);
    assert_eq!(drained(many), "200+5c, Shut");
}

#[test]
fn refused_connections_close() {
    for (state, told) in [
        (State::Idle, "200+5 503c, Shut"),
        (State::Head, "503c, Shut"),
        (State::Body, "503c, Shut"),
        (State::Find, "503c, Shut"),
        (State::Load, "503c, Shut"),
        (State::Wait, "503c, Shut"),
        (State::Pages, "503c, Shut"),
        (State::Send, "200+5, Recv"),
    ] {
        let mut driver = in_state(state);
        driver.connection.refuse(Status::SERVICE_UNAVAILABLE, &driver.now);
        // A helper's answer may still come.
        driver.connection.loaded(load_of("/loaded"), &driver.now);
        assert_eq!(driver.run().told(), told, "{state:?}");
    }
}

#[test]
fn pages_that_cannot_be_had() {
    let fail = |driver: &mut Driver| {
        let status = Loaded::Status(Status::INTERNAL_SERVER_ERROR);
        driver.connection.loaded(status, &driver.now);
        driver.run().told()
    };
    // Before its first byte a reply can be another.
    assert_eq!(fail(&mut in_state(State::Pages)), "500c, Shut");
    // Later it must not look complete.
    let mut driver = in_state(State::Pages);
    while driver.step() && driver.wants() != "Load" {}
    assert_eq!(fail(&mut driver), "Close");
}

fn in_state(state: State) -> Driver {
    let body = "GET /small HTTP/1.1\nHost: a\nContent-Length: 3\n";
    let mut driver = Driver::new();
    match state {
        State::Head => {}
        State::Idle => received(&mut driver, &get("/small")),
        State::Body => looked_up(&mut driver, &crlf(&format!("{body}\n"))),
        State::Continue => {
            looked_up(&mut driver, &crlf(&format!("{body}Expect: 100-continue\n\n")));
        }
        State::Find => driver = driver.asked("/small"),
        State::Load => {
            driver = driver.asked("/loaded");
            driver.step();
        }
        State::Pages => {
            driver = driver.asked("/large");
            driver.step();
        }
        State::Wait => {
            driver = driver.asked("/loaded");
            driver.step();
            driver.connection.handed_over();
        }
        State::Send => {
            driver = driver.asked("/small");
            driver.step();
        }
        State::Shut | State::Linger => {
            driver.peer_sends(b"\n");
            if state == State::Linger {
                driver.connection.shut(&driver.now);
            }
        }
        State::Closed => driver.connection.failed(),
    }
    if state == State::Idle {
        driver.run();
    }
    driver
}

fn waited(driver: &mut Driver) {
    driver.pass(Duration::from_secs(1 << 20));
}

fn received(driver: &mut Driver, text: &str) {
    driver.connection.received(text.as_bytes(), &driver.now);
}

fn looked_up(driver: &mut Driver, text: &str) {
    received(driver, text);
    driver.step();
}

fn sent(driver: &mut Driver, n: u64) {
    driver.connection.sent(n, &driver.now);
}

/// What belongs to the want.
fn answered(driver: &mut Driver) {
    if let Want::Load(_, miss) = driver.connection.want() {
        return driver.connection.loaded(load(&miss), &driver.now);
    }
    if let Want::Wait = driver.connection.want() {
        return driver.connection.loaded(load_of("/loaded"), &driver.now);
    }
    driver.connection.found(find(b"/small"), &driver.now);
}

fn missed(driver: &mut Driver) {
    if let Want::Load(..) = driver.connection.want() {
        return driver.connection.loaded(Loaded::Status(Status::NOT_FOUND), &driver.now);
    }
    driver.connection.found(find(b"/nowhere"), &driver.now);
}

fn load_of(path: &str) -> Loaded<()> {
    let Found::Miss(lookup) = find(path.as_bytes()) else { unreachable!("nothing is there") };
    load(&h1::Miss::Path(h1::Lookup { path: Shared::clone(&lookup.path), ..lookup }))
}
