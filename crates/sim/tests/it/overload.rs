//! More clients than a server has time for: what is dropped, who gives up, and what of a server's
//! work is in vain then.

use crate::plain::run;
use load::behaviour::Keeps;
use measure::Duration;
use sim::clients::Drops;
use sim::models::{MODELS, Model};
use sim::run::{
    ACCEPT_QUEUE_FULL, DROP_REQUEST, Figure, GIVEN_UP, LISTEN_OVERFLOW, Run, SYN_QUEUE_FULL,
};
use sim::scenario::Scenario;

/// More clients than any of these has at a time.
fn scenario(model: &'static Model, rate: f64, set: &[(&str, &str)]) -> Scenario {
    Scenario {
        clients: 100_000,
        warm_up: Duration::from_secs(1),
        measured: Duration::from_secs(20),
        ..crate::plain::scenario(model, rate, set)
    }
}

const CLASSES: [Figure; 4] = [SYN_QUEUE_FULL, DROP_REQUEST, ACCEPT_QUEUE_FULL, LISTEN_OVERFLOW];

/// By the queue that is full, and by what came to it.
#[test]
fn drops_have_the_classes_of_linux() {
    let sped = Model::named("sped").expect("a model");
    let only = |of: Drops| {
        [of.syn_queue_full, of.drop_request, of.accept_queue_full, of.listen_overflow]
            .map(|count| count > 0)
    };
    for (what, set, expected) in [
        ("a queue for all", &[][..], [false; 4]),
        ("a short one", &[("backlog", "5")], [false, false, true, false]),
        (
            "handshakes take their time",
            &[("backlog", "5"), ("round-trip", "100")],
            [false, false, true, true],
        ),
        (
            "and may not be half open in any number",
            &[("backlog", "100"), ("round-trip", "100"), ("half-open", "4000")],
            [true, false, false, false],
        ),
        (
            "or are to be few",
            &[("backlog", "3000"), ("round-trip", "100"), ("half-open", "100")],
            [false, true, false, false],
        ),
    ] {
        let mut scenario = scenario(sped, 1_500.0, set);
        // So that who is in the queue for long is there at the end.
        scenario.measured = Duration::from_secs(4);
        let run = run(&scenario);
        let tally = run.whole.tally;
        assert_eq!(only(tally.drops), expected, "{what}: {tally:?}");
        // What is told of each run says the same.
        let told = CLASSES.map(|class| class.of(&run));
        assert_eq!(told.map(|share| share > 0.0), expected, "{what}: {told:?}");
        let dropped = told.iter().sum::<f64>() * tally.asked as f64;
        assert_eq!(dropped.round() as u64, tally.drops.all(), "{what}: {told:?}");
    }
}

/// A request that finds the queue full behind its handshake is there a fifth of a second later.
#[test]
fn what_overflows_is_sent_again() {
    let sped = Model::named("sped").expect("a model");
    let set = [("backlog", "1"), ("round-trip", "10"), ("receive", "50000")];
    let mut scenario = scenario(sped, 5.0, &set);
    scenario.measured = Duration::from_secs(200);
    let Run { results, whole, .. } = run(&scenario);
    let tally = whole.tally;
    assert!(tally.drops.listen_overflow > 0, "{tally:?}");
    assert_eq!(tally.given_up, 0, "{tally:?}");
    // A SYN that is dropped is sent again a second later.
    let quantile_s = |of: u32| results.requests.whole.quantile(f64::from(of) / 1e3).as_secs_f64();
    let soon = (0..=1_000).map(quantile_s).any(|response_s| (0.25..0.7).contains(&response_s));
    assert!(soon, "{} to {} s", quantile_s(900), quantile_s(1_000));
}

/// At twice its capacity with a queue that is longer than anybody waits most of what is done is
/// done too late.
#[test]
fn a_long_queue_serves_who_has_gone() {
    for model in MODELS {
        for (keeps, link) in [(Keeps::Request, "0"), (Keeps::Request, "100"), (Keeps::Client, "0")]
        {
            let patience = Some(Duration::from_millis(500));
            let scenario = scenario(model, 2_000.0, &[("link-rate", link)]);
            let run = run(&Scenario { patience, keeps: Some(keeps), ..scenario });
            let (name, tally) = (model.name, run.whole.tally);
            let given_up = tally.given_up as f64 / tally.asked as f64;
            assert!(given_up > 0.0 && GIVEN_UP.of(&run) == given_up, "{name}: {given_up}");
            let asking = tally.asked - tally.replied - tally.given_up;
            assert!(asking < 1_100, "{name} {keeps:?}: {asking} wait half a second");
            let work_s = run.whole.busy[0].work_ns as f64 / 1e9;
            let in_vain = 1.0 - tally.replied as f64 / (work_s * 1e3);
            // Whoever has a connection that is kept is served by MP and MT, and nobody else.
            let is_open_to_all = keeps == Keeps::Request;
            assert!(in_vain > 0.5 || !is_open_to_all, "{name} {link}: {in_vain}, {tally:?}");
            let slowest = run.results.requests.whole.quantile(1.0).as_secs_f64();
            assert!(slowest <= 0.51, "{name}: {slowest}");
        }
    }
}

/// The same with a queue that is shorter than that: who is let in is answered in time.
#[test]
fn a_short_queue_serves_who_waits() {
    let patience = Some(Duration::from_millis(500));
    let sped = Model::named("sped").expect("a model");
    let scenario = scenario(sped, 2_000.0, &[("backlog", "100")]);
    let run = run(&Scenario { patience, ..scenario });
    let replies_per_s = run.whole.tally.replied as f64 / (run.whole.lasts_ns as f64 / 1e9);
    assert!(replies_per_s > 950.0, "{replies_per_s}");
}

/// Who gives up in the midst of a reply has got a part of it, which nobody else gets.
#[test]
fn a_reply_that_is_given_up_is_lost() {
    for model in MODELS {
        for buffer in ["0", "4096"] {
            let set = [
                ("receive", "10"),
                // So that some give up while their connection is being closed.
                ("close", "1000"),
                ("link-rate", "8"),
                ("send-buffer", buffer),
            ];
            let mut scenario = scenario(model, 200.0, &set);
            scenario.workload = String::from("choi-clarknet");
            scenario.set("trace-scale", "0.1").expect("a scale");
            for keeps in [Keeps::Request, Keeps::Client] {
                let patience = Some(Duration::from_millis(300));
                let run = run(&Scenario { patience, keeps: Some(keeps), ..scenario.clone() });
                let (name, tally) = (model.name, run.whole.tally);
                assert!(tally.lost_bytes > 100_000, "{name} {keeps:?} {buffer}: {tally:?}");
                assert!(tally.replied > 100, "{name} {keeps:?} {buffer}: {tally:?}");
                // Whoever is gone has left nothing open behind him.
                assert!(run.whole.open < 700, "{name} {keeps:?}: {} are open", run.whole.open);
            }
        }
    }
}
