//! The connection's states and what leads from one to another: one table.
//!
//! The diagram in ARCHITECTURE.md and the tests are made of it. It decides nothing: whoever moves a
//! [`crate::Connection`] makes the new state with the data that it needs, and every build asserts
//! that the table has that move.

/// What a connection is doing; each state has one want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Between two requests: wants `Recv`.
    Idle,
    /// Part of a head has come, or the connection is new: wants `Recv`.
    Head,
    /// The head is whole: wants `Find`.
    Find,
    /// It is known what the reply will be, and the client awaits our word before it sends its body:
    /// wants `Send`.
    Continue,
    /// It is known what the reply will be, and a body is read away before it: wants `Recv`.
    Body,
    /// What it names is not in memory: wants `Load`.
    Load,
    /// The next pages of its file may not be: wants `Load`.
    Pages,
    /// One of these two was handed over: wants `Wait`.
    Wait,
    /// A reply goes out: wants `Send`.
    Send,
    /// The last reply is out, bytes may still come: wants `Shut`.
    Shut,
    /// What still comes is thrown away: wants `Recv`.
    Linger,
    /// Wants `Close`.
    Closed,
}

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Bytes of a head have come, not its end.
    HeadPart,
    /// A head is whole.
    HeadWhole,
    /// It was looked up, and a body follows.
    BodyAhead,
    /// It was looked up, and the client waits to be told to send the body.
    BodyOffered,
    /// The word to go on is out.
    Continued,
    /// A reply is ready: an answer, a status, a refusal.
    Reply,
    /// A reply is ready, but pages of its file are wanted first.
    ReplyOfPages,
    /// It is not in memory.
    Missed,
    /// Somebody else loads it.
    HandedOver,
    /// The pages are there.
    PagesCame,
    /// What was to be sent is out, and further pages are wanted.
    PagesWanted,
    /// The reply is out, the connection stays.
    Stays,
    /// The reply is out, the connection closes, and bytes may still come.
    Shuts,
    /// The reply is out, the connection closes, and the client sends no more.
    Closes,
    /// FIN is out.
    FinSent,
    /// The client sent FIN while bytes were wanted, or was silent for too long, or broke off, or
    /// there is nothing more to wait for.
    Over,
}

/// All states.
pub const STATES: [State; 12] = [
    State::Idle,
    State::Head,
    State::Find,
    State::Continue,
    State::Body,
    State::Load,
    State::Pages,
    State::Wait,
    State::Send,
    State::Shut,
    State::Linger,
    State::Closed,
];

/// All events.
pub const EVENTS: [Event; 16] = [
    Event::HeadPart,
    Event::HeadWhole,
    Event::BodyAhead,
    Event::BodyOffered,
    Event::Continued,
    Event::Reply,
    Event::ReplyOfPages,
    Event::Missed,
    Event::HandedOver,
    Event::PagesCame,
    Event::PagesWanted,
    Event::Stays,
    Event::Shuts,
    Event::Closes,
    Event::FinSent,
    Event::Over,
];

/// The table: where an event leads, or nothing where it cannot happen.
#[must_use]
pub const fn next(state: State, event: Event) -> Option<State> {
    use {Event as E, State as S};
    Some(match (state, event) {
        (S::Idle | S::Head, E::HeadPart) => S::Head,
        (S::Idle | S::Head, E::HeadWhole) => S::Find,
        (S::Find, E::BodyAhead) => S::Body,
        (S::Find, E::BodyOffered) => S::Continue,
        (S::Continue, E::Continued) => S::Body,
        (S::Find | S::Body, E::Missed) => S::Load,
        (S::Load | S::Pages, E::HandedOver) => S::Wait,
        (S::Find | S::Body | S::Load | S::Wait, E::ReplyOfPages) => S::Pages,
        // A refusal may cut in wherever no reply has begun; before its first pages none has.
        (S::Idle | S::Head | S::Find | S::Body, E::Reply) => S::Send,
        (S::Load | S::Pages | S::Wait, E::Reply) => S::Send,
        (S::Pages | S::Wait, E::PagesCame) => S::Send,
        (S::Send, E::PagesWanted) => S::Pages,
        (S::Send, E::Stays) => S::Idle,
        // In a drain also who asks nothing: what is on its way then meets no reset.
        (S::Send | S::Idle | S::Head, E::Shuts) => S::Shut,
        (S::Send, E::Closes) => S::Closed,
        (S::Shut, E::FinSent) => S::Linger,
        (S::Closed, _) => return None,
        (_, E::Over) => S::Closed,
        _ => return None,
    })
}

/// What a state wants, for the diagram.
const fn want(state: State) -> &'static str {
    match state {
        State::Idle | State::Head | State::Body | State::Linger => "Recv",
        State::Find => "Find",
        State::Load | State::Pages => "Load",
        State::Wait => "Wait",
        State::Continue | State::Send => "Send",
        State::Shut => "Shut",
        State::Closed => "Close",
    }
}

/// The table as a Mermaid diagram. `Over`, which leads from everywhere to `Closed`, is left out.
#[must_use]
pub fn diagram() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> Head: accepted\n");
    for state in STATES {
        text.push_str(&format!("    {state:?}: {state:?} (wants {})\n", want(state)));
    }
    for state in STATES {
        for to in STATES {
            let events = EVENTS.into_iter().filter(|&event| event != Event::Over);
            let leading = events.filter(|&event| next(state, event) == Some(to));
            let names: Vec<String> = leading.map(|event| format!("{event:?}")).collect();
            if !names.is_empty() {
                text.push_str(&format!("    {state:?} --> {to:?}: {}\n", names.join(", ")));
            }
        }
    }
    text.push_str("    Closed --> [*]\n```\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_event_is_decided() {
        let mut legal = 0;
        for state in STATES {
            for event in EVENTS {
                match next(state, event) {
                    Some(_) if state == State::Closed => panic!("{event:?} leads out of Closed"),
                    Some(State::Closed) => {
                        assert!(matches!(event, Event::Over | Event::Closes), "{event:?}");
                        legal += 1;
                    }
                    Some(_) => legal += 1,
                    None => assert!(event != Event::Over || state == State::Closed),
                }
            }
        }
        assert_eq!(legal, 42);
    }

    #[test]
    fn every_state_is_reached_and_left() {
        for state in STATES {
            let reached = STATES.iter().any(|&from| {
                from != state && EVENTS.iter().any(|&event| next(from, event) == Some(state))
            });
            assert!(reached, "{state:?}");
            let left = EVENTS.iter().any(|&event| next(state, event).is_some_and(|to| to != state));
            assert_eq!(left, state != State::Closed, "{state:?}");
        }
    }
}
