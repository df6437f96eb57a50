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

const OTHER_FILES: &str =
    "the server does not serve this workload; compare its files with the workload's";

const BREAKS_OFF: &str = "the server was stopped, or breaks off; its log says why";
const NO_LISTENER: &str =
    "nothing listens there any more, or only now and then; look into the server's log";
const DROPS: &str = "the server, or what is before it, drops connections, and what it answers says \
     nothing of the others; look into its log, or lower the load";
const NO_HTTP: &str = "is it a port for HTTPS, or for something else?";

/// What to do about replies of a status.
fn mend(status: u16, results: &Results) -> &'static str {
    match status {
        300..=399 => "ask for the place where they lead",
        401 | 407 => "say a name and a password (--header)",
        403 => "the server does not permit this request; its log says why",
        500.. => "that is the server's own error; its log says why",
        405 => "the server does not take this method; say another --method",
        413 => "the server takes no such --body; send less",
        421 => "the server has no host of this name; say --host NAME",
        // A server that was given the files of a workload has all of them.
        _ if results.verified.is_some() => OTHER_FILES,
        404 | 410 => "the server has nothing by that name; ask for what it has",
        _ => "the server does not take this request; its log may say why",
    }
}

/// All that came, right or wrong. A reset may be the kernel's, of a server that had no time to read
/// on; a reply that is ended in good order is one that the server takes for whole.
fn replies(counts: &Counts) -> u64 {
    let others = [Outcome::Malformed, Outcome::Unread, Outcome::Ended(Step::Reply)];
    others.into_iter().fold(counts.replies(), |sum, of| sum.saturating_add(counts.of(of)))
}

/// Whether more requests were lost than were answered wrongly. A reply that broke off is both.
pub(super) fn are_mostly_lost(counts: &Counts) -> bool {
    let others = counts.statuses().filter(|(status, _)| !SHED.contains(status));
    let wrong = [Outcome::Wrong, Outcome::Malformed, Outcome::Ended(Step::Reply)];
    let wrong = wrong.into_iter().map(|of| counts.of(of)).chain(others.map(|(_, count)| count));
    counts.losses() > wrong.fold(0, u64::saturating_add)
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
    let others = others
        .into_iter()
        .map(|(status, count)| (count, format!("had the status {status}"), mend(status, results)));
    let mut faults = vec![
        (wrong, String::from("were of wrong length or content"), OTHER_FILES),
        (cut, String::from("ended before they were whole"), BREAKS_OFF),
        (malformed, String::from("were none of HTTP"), NO_HTTP),
    ];
    faults.extend(others);
    faults.retain(|(count, ..)| *count > 0);
    // The remedy is that of the most frequent fault.
    faults.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    if let Some((_, _, mend)) = faults.first() {
        let told = faults.iter().map(|(count, what, _)| format!("{} {what}", units::count(*count)));
        let told = told.collect::<Vec<_>>().join(", ");
        return (Verdict::Fails, format!("of {replies} replies {told}: {mend}"));
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
    let refused = counts.of(Outcome::Refused);
    let dropped = lost.count - refused;
    let [told_refused, told_dropped] = [refused, dropped].map(units::count);
    let what = format!(
        "the share of requests whose connection was refused ({told_refused}) or dropped \
         ({told_dropped}) is"
    );
    let mend = if refused > dropped { NO_LISTENER } else { DROPS };
    at_most(&what, lost.ratio(), TIMEOUTS_MAX, mend)
}
