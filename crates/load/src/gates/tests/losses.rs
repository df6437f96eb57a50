//! Connections that are refused or dropped.

use super::*;

/// A tenth, and one more: each by another end.
const LOST: Change = |number, record| {
    const ENDS: [Outcome; 5] = [
        Outcome::Reset(Step::FirstByte),
        Outcome::Refused,
        Outcome::Ended(Step::FirstByte),
        Outcome::TimedOut,
        Outcome::Unreachable,
    ];
    if number % 10 == 1 || number == 2 {
        record.outcome = ENDS[number as usize / 10 % ENDS.len()];
    }
};

#[test]
fn losses_above_a_tenth_make_a_run_invalid() {
    let what = |refused, dropped| {
        format!(
            "the share of requests whose connection was refused ({refused}) or dropped \
             ({dropped}) is"
        )
    };
    let above = what(20, 81)
        + " 10.1 %, 0.10 points above the limit of 10.0 %: the server, or what is before it, \
         drops connections, and what it answers says nothing of the others; look into its log, or \
         lower the load";
    let within = what(0, 100) + " 10.0 %, of 10.0 % at most";
    let none = String::from("no connection was refused or dropped");
    let rows = [
        (WELL, Verdict::Holds, none),
        (DROPPED, Verdict::Holds, within),
        (LOST, Verdict::Fails, above),
    ];
    for (change, verdict, words) in rows {
        assert_eq!(found(&results(15, change), "losses"), (verdict, words));
    }
}

#[test]
fn more_lost_requests_than_wrong_replies_are_reported_first() {
    let is_first = |change: Change| {
        let findings = findings(&results(15, change), &Limits::default());
        let mut both = findings.iter().map(|finding| finding.gate);
        both.find(|gate| matches!(*gate, "losses" | "correct"))
    };
    // The server is killed: one reply breaks off, and later connections are refused.
    let stops = |number, record: &mut Record| match number {
        600 => record.outcome = Outcome::Ended(Step::Reply),
        601.. => record.outcome = Outcome::Refused,
        _ => {}
    };
    assert_eq!(is_first(stops), Some("losses"));
    let (_, words) = found(&results(15, stops), "losses");
    assert!(words.contains("(399) or dropped (1)") && words.contains("any more"), "{words}");
    assert_eq!(is_first(|_, record| record.outcome = Outcome::Status(404)), Some("correct"));
    assert_eq!(is_first(|_, record| record.outcome = Outcome::Ended(Step::Reply)), Some("correct"));
}

#[test]
fn failing_gate_for_answers_is_reported_first() {
    let end = |outcome| move |_, record: &mut Record| record.outcome = outcome;
    let late = |_, record: &mut Record| {
        record.started = record.intended + Duration::from_millis(3);
        record.outcome = Outcome::Refused;
    };
    let first = |results: &Results| {
        let findings = findings(results, &Limits::default());
        assert_eq!(findings.len(), GATES.len());
        (findings[0].gate, findings[0].words.clone())
    };
    let (gate, words) = first(&results(15, late));
    assert!(gate == "answered" && words.contains("nothing listens there"), "{gate}: {words}");
    let (gate, words) = first(&results(15, end(Outcome::Reset(Step::FirstByte))));
    assert!(gate == "answered" && words.contains("does it speak HTTP?"), "{gate}: {words}");
    assert_eq!(first(&results(15, end(Outcome::Good))).0, "measured");
}
