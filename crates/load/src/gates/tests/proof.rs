//! What a run proves, by the gates that fail.

use super::*;
use crate::gates::proof;

#[test]
fn proof_depends_on_which_gates_fail() {
    let not_started = |number: u64, record: &mut Record| {
        LATE_ONES(number, record);
        if number == 0 {
            record.outcome = Outcome::NotStarted;
        }
    };
    const WRONG: Change = |number, record| {
        if number == 0 {
            record.outcome = Outcome::Wrong;
        }
    };
    let late_and_wrong = |number: u64, record: &mut Record| {
        LATE_ONES(number, record);
        WRONG(number, record);
    };
    let refused = |number: u64, record: &mut Record| {
        LATE_ONES(number, record);
        record.outcome = Outcome::Refused;
    };
    let no_descriptor = |_, record: &mut Record| record.outcome = Outcome::NoDescriptor;
    let unanswered = |number: u64, record: &mut Record| {
        LATE_ONES(number, record);
        record.outcome = Outcome::Impatient(Step::FirstByte);
    };
    let of_long_sessions = |number: u64, record: &mut Record| {
        LATE_ONES(number, record);
        record.place = u32::from(number % 2 == 1);
    };
    let rows: [(Change, Proof); 9] = [
        (WELL, Proof::All),
        (LATE_ONES, Proof::Bounds),
        (not_started, Proof::Nothing),
        (WRONG, Proof::Misses),
        (late_and_wrong, Proof::Nothing),
        (refused, Proof::Misses),
        (no_descriptor, Proof::Nothing),
        (unanswered, Proof::Nothing),
        (of_long_sessions, Proof::Nothing),
    ];
    for (change, expected) in rows {
        let mut results = results(15, change);
        let proof_of = |results: &Results| proof(&findings(results, &Limits::default()), results);
        assert_eq!(proof_of(&results), expected);
        // Clients of a closed loop ask less while the generator is late.
        results.pace = Pace::Closed;
        let of_closed = if expected == Proof::Bounds { Proof::Nothing } else { expected };
        assert_eq!(proof_of(&results), of_closed);
    }
    let mut missed = results(15, WELL);
    missed.ran(Process { missed: 20, ..Process::default() });
    let findings = findings(&missed, &Limits::default());
    assert_eq!(proof(&findings, &missed), Proof::Nothing);
}
