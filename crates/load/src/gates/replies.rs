//! What came in reply: whether there was any, whether it was right, and how much was lost.

use super::{Limits, TIMEOUTS_MAX, Verdict, at_most};
use crate::collector::counts::Counts;
use crate::collector::results::{Results, Share};
use crate::record::{Outcome, Step};
use crate::units;

/// The server says that it has too much to do: it sheds load, which is no wrong answer.
const SHED: [u16; 2] = [429, 503];

pub(super) fn answered(results: &Results, _: &Limits) -> (Verdict, String) {
    let counts = &results.requests.counts;
    match (replies(counts), counts.total()) {
        (0, 1..) if counts.of(Outcome::Refused) == counts.total() => {
            let words = "no reply came whole: each connection was refused, so nothing listens \
                         there; start the server, or say another port";
            (Verdict::Fails, String::from(words))
        }
        (0, 1..) => {
            let mend =
                "is the server there, and does it speak HTTP? The outcomes say how it failed";
            (Verdict::Fails, format!("no reply came whole: {mend}"))
        }
        (came, _) => (Verdict::Holds, format!("{} replies came", units::count(came))),
    }
}

/// All that came, right or wrong. A reset may be the kernel's, of a server that had no time to read
/// on; a reply that is ended in good order is one that the server takes for whole.
fn replies(counts: &Counts) -> u64 {
    let others = [Outcome::Malformed, Outcome::Unread, Outcome::Ended(Step::Reply)];
    others.into_iter().fold(counts.replies(), |sum, of| sum.saturating_add(counts.of(of)))
}

pub(super) fn correct(results: &Results, _: &Limits) -> (Verdict, String) {
    let counts = &results.requests.counts;
    let (wrong, malformed) = (counts.of(Outcome::Wrong), counts.of(Outcome::Malformed));
    let cut = counts.of(Outcome::Ended(Step::Reply));
    let all = replies(counts);
    let replies = units::count(all);
    if all == 0 {
        return (Verdict::Told, String::from("there was no reply to look at"));
    }
    let (shed, others): (Vec<_>, Vec<_>) =
        counts.statuses().partition(|(status, _)| SHED.contains(status));
    let shed = shed.iter().fold(0_u64, |sum, &(_, count)| sum.saturating_add(count));
    let mut faults = Vec::new();
    if wrong > 0 {
        faults.push(format!("{} were of wrong length or content", units::count(wrong)));
    }
    if cut > 0 {
        faults.push(format!("{} ended before they were whole", units::count(cut)));
    }
    if malformed > 0 {
        faults.push(format!("{} were none of HTTP", units::count(malformed)));
    }
    for (status, count) in others {
        faults.push(format!("{} had the status {status}", units::count(count)));
    }
    if !faults.is_empty() {
        let mend = "the server does not serve this workload; compare its files with the workload's";
        return (Verdict::Fails, format!("of {replies} replies {}: {mend}", faults.join(", ")));
    }
    let unread = counts.of(Outcome::Unread);
    if unread > 0 {
        let unread = units::count(unread);
        let words = format!("of {replies} replies {unread} were more than the generator reads");
        return (Verdict::Fails, format!("{words}, so that none of them is judged"));
    }
    if counts.of(Outcome::Good) == 0 {
        let mend = "nothing of the server was measured; lower the load";
        return (Verdict::Fails, format!("each of {replies} replies shed load: {mend}"));
    }
    let words = match shed {
        0 => format!("each of {replies} replies was right"),
        _ => {
            format!("{} of {replies} replies shed load, the others were right", units::count(shed))
        }
    };
    // A verdict on replies whose content was not compared would be read as one on all replies.
    match results.verified {
        Some(all) if all >= 1.0 => (Verdict::Holds, format!("{words} in length and content")),
        Some(none) if none <= 0.0 => {
            (Verdict::Told, format!("{words} in length; no content was compared"))
        }
        Some(share) => {
            let words = format!("{words} in length, and where it was compared, in content");
            (Verdict::Holds, format!("{words}: of {}", units::share(share)))
        }
        None => {
            let words = format!("{words} in status");
            (Verdict::Told, format!("{words}; what they should contain nobody knows"))
        }
    }
}

pub(super) fn losses(results: &Results, _: &Limits) -> (Verdict, String) {
    let counts = &results.requests.counts;
    let lost = Share { count: counts.losses(), of: counts.total() };
    match (lost.count, replies(counts)) {
        (0, _) => return (Verdict::Holds, String::from("no connection was refused or dropped")),
        (_, 0) => return (Verdict::Told, String::from("there was no reply at all")),
        _ => {}
    }
    at_most(
        "the share of requests whose connection was refused or dropped is",
        lost.ratio(),
        TIMEOUTS_MAX,
        "the server, or what is before it, drops connections, and what it answers says nothing of \
         the others; look into its log, or lower the load",
    )
}
