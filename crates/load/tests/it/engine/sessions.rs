//! Sessions: bursts, thinking, pipelining, parallel connections, conditions, content.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};

use load::behaviour::Keeps;
use load::files::{File, Files};
use load::record::Outcome::{Ended, Good, Wrong};
use load::record::Step;
use measure::Duration;

use crate::engine::server::{BYTES, Client, Same, answer, made, outcomes, plan, reply, run, serve};

#[test]
fn a_session_keeps_its_connection_if_it_is_to() {
    for (keeps, connections) in [(Keeps::Request, 30), (Keeps::Session, 5)] {
        let mut plan = plan(serve(answer));
        plan.behaviour.keeps = keeps;
        let (records, summary) = run(&plan, &mut Same::bursts(&[3, 1, 2]));
        assert_eq!(outcomes(&records), [Good; 30]);
        assert_eq!(summary.connections, connections, "{keeps:?}");
        let connected = records.iter().filter(|record| record.connected.is_some());
        assert_eq!(connected.count() as u64, connections, "{keeps:?}");
        let thought = Duration::from_millis(1);
        for session in 0..5 {
            let of = records.iter().filter(|record| record.session == session);
            let of: Vec<_> = of.collect();
            let places: Vec<u32> = of.iter().map(|record| record.place).collect();
            assert_eq!(places, [0, 1, 2, 3, 4, 5]);
            assert_eq!(of[1].intended, of[0].ended, "one after the other");
            assert_eq!(of[3].intended, of[2].ended + thought);
            assert_eq!(of[4].intended, of[3].ended + thought);
        }
    }
}

/// Whoever ends a connection first keeps its port for a minute, and that is to be the server.
#[test]
fn the_last_request_asks_the_server_to_end_its_connection() {
    let rows = [
        (Keeps::Request, [true, true, true]),
        (Keeps::Session, [false, false, true]),
        (Keeps::Client, [false, false, false]),
    ];
    for (keeps, expected) in rows {
        let (tell, told) = mpsc::channel();
        let mut plan = plan(serve(move |mut client: Client| {
            while let Some(head) = client.asks() {
                let closes = head.contains("Connection: close\r\n");
                tell.send(closes).unwrap();
                client.tell(reply(&made(head.split(' ').nth(1).unwrap(), BYTES)));
                if closes {
                    break;
                }
            }
        }));
        plan.behaviour.keeps = keeps;
        plan.stop.sessions_max = Some(1);
        let (records, _) = run(&plan, &mut Same::bursts(&[1, 2]));
        assert_eq!(outcomes(&records), [Good; 3]);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), expected, "{keeps:?}");
    }
}

/// The server answers the second and the third request of a burst when it has both.
#[test]
fn requests_are_pipelined_behind_the_first() {
    let mut plan = plan(serve(|mut client: Client| {
        for group in [vec!["/0"], vec!["/1", "/2"]] {
            let asked: Vec<_> = group.iter().map_while(|_| client.asks()).collect();
            assert_eq!(asked.len(), group.len());
            let replies = group.iter().map(|target| reply(&made(target, BYTES)));
            client.tell(replies.collect::<Vec<_>>().concat());
        }
        client.wait();
    }));
    plan.behaviour.pipelines = true;
    let (records, summary) = run(&plan, &mut Same::bursts(&[3]));
    assert_eq!(outcomes(&records), [Good; 15]);
    assert_eq!(summary.connections, 5);
}

/// The server ends the connection behind the second reply: the third request is lost, or made again
/// on another connection.
#[test]
fn a_pipeline_may_break() {
    for (retries, last, connections) in [(0, Ended(Step::FirstByte), 1), (1, Good, 2)] {
        let mut plan = plan(serve(|mut client: Client| {
            if client.number > 0 {
                return answer(client);
            }
            for target in ["/0", "/1"] {
                client.asks();
                client.tell(reply(&made(target, BYTES)));
            }
            // All has been heard, or the end would be a reset.
            client.asks();
        }));
        plan.behaviour.pipelines = true;
        plan.behaviour.retries = retries;
        plan.stop.sessions_max = Some(1);
        let (records, summary) = run(&plan, &mut Same::bursts(&[3]));
        assert_eq!(outcomes(&records), [Good, Good, last]);
        assert_eq!(summary.connections, connections);
    }
}

/// The server answers those behind the first request when it has as many at once as there may be
/// connections.
#[test]
fn a_browser_has_several_connections() {
    for parallel in [1, 2, 4] {
        let all = Barrier::new(parallel);
        let is_first = AtomicBool::new(true);
        let (tell, told) = mpsc::channel();
        let mut plan = plan(serve(move |mut client: Client| {
            while let Some(head) = client.asks() {
                tell.send(client.peer()).unwrap();
                if !is_first.swap(false, Ordering::Relaxed) {
                    all.wait();
                }
                client.tell(reply(&made(head.split(' ').nth(1).unwrap(), BYTES)));
                if head.contains("Connection: close") {
                    break;
                }
            }
        }));
        plan.behaviour.parallel = parallel as u16;
        plan.stop.sessions_max = Some(1);
        let (records, summary) = run(&plan, &mut Same::bursts(&[1 + 2 * parallel]));
        assert_eq!(outcomes(&records), vec![Good; 1 + 2 * parallel]);
        let (all, most) = (summary.connections as usize, summary.connections_open);
        assert_eq!([all, most], [parallel; 2]);
        let peers: BTreeSet<_> = told.try_iter().collect();
        assert_eq!(peers.len(), parallel);
    }
}

#[test]
fn connections_come_from_all_addresses_in_turn() {
    let (tell, told) = mpsc::channel();
    let mut plan = plan(serve(move |client: Client| {
        tell.send(client.peer().ip()).unwrap();
        answer(client);
    }));
    let sources = [[127, 0, 0, 2], [127, 0, 0, 3]].map(IpAddr::from);
    plan.behaviour.sources = sources.to_vec();
    let (records, _) = run(&plan, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&records), [Good; 5]);
    let mut peers: Vec<IpAddr> = told.try_iter().collect();
    peers.sort_unstable();
    let [two, three] = sources;
    assert_eq!(peers, [two, two, two, three, three]);
}

/// What the server says of its file is what it is asked about the next time.
#[test]
fn a_condition_names_the_copy_that_came() {
    let (tell, told) = mpsc::channel();
    let mut plan = plan(serve(move |mut client: Client| {
        while let Some(head) = client.asks() {
            let is_current = head.contains("If-None-Match: \"tag\"\r\n");
            tell.send((is_current, head.contains("If-Modified-Since: "))).unwrap();
            if is_current {
                client.tell("HTTP/1.1 304 Not Modified\r\nETag: \"tag\"\r\n\r\n");
            } else {
                let head = "HTTP/1.1 200 OK\r\nETag: \"tag\"\r\nContent-Length: 100\r\n\r\n";
                client.tell([head.as_bytes(), &made("/0", BYTES)].concat());
            }
        }
    }));
    plan.stop.sessions_max = Some(1);
    let mut workload = Same::bursts(&[1, 1, 1]);
    for burst in &mut workload.session.bursts {
        burst.requests[0].is_conditional = true;
    }
    let (records, _) = run(&plan, &mut workload);
    assert_eq!(outcomes(&records), [Good; 3]);
    // Before anything has come, copies are as old as the run.
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told, [(false, true), (true, false), (true, false)]);
}

/// More than fits into any buffer, compared on its way.
#[test]
fn large_content_is_compared() {
    const LARGE: u64 = 8 << 20;
    for (changed, expected) in [(None, Good), (Some(5 << 20), Wrong)] {
        let mut plan = plan(serve(move |mut client: Client| {
            while client.asks().is_some() {
                let mut content = made("/large", LARGE);
                if let Some(at) = changed {
                    content[at] ^= 1;
                }
                client.tell(reply(&content));
            }
        }));
        plan.stop.sessions_max = Some(2);
        let mut workload = Same::bursts(&[1]);
        let file = File { target: "/large".into(), bytes: Some(LARGE), class: 0 };
        workload.files = Files::new(vec![file], true);
        let (records, _) = run(&plan, &mut workload);
        assert_eq!(outcomes(&records), [expected; 2]);
        assert!(records.iter().all(|record| record.bytes > LARGE));
    }
}

/// Which replies are compared does not depend on which requests have a condition.
#[test]
fn what_is_verified_is_drawn_by_itself() {
    let wrong = |conditional| {
        let mut plan = plan(serve(|mut client: Client| {
            while client.asks().is_some() {
                client.tell(reply(&[b'x'; BYTES as usize]));
            }
        }));
        plan.behaviour.verified = 0.5;
        plan.behaviour.conditional = conditional;
        let (records, _) = run(&plan, &mut Same::bursts(&[8]));
        let wrong = records.iter().filter(|record| record.outcome == Wrong);
        wrong.map(|record| (record.session, record.place)).collect::<BTreeSet<_>>()
    };
    let compared = wrong(0.0);
    assert!((8..32).contains(&compared.len()), "{compared:?}");
    for conditional in [1e-6, 0.5, 1.0] {
        assert_eq!(wrong(conditional), compared, "{conditional}");
    }
}

/// A server that has ended a connection while its client was thinking is asked by another one.
#[test]
fn an_idle_connection_may_end() {
    let mut plan = plan(serve(|mut client: Client| {
        let head = client.asks().unwrap();
        client.tell(reply(&made(head.split(' ').nth(1).unwrap(), BYTES)));
    }));
    plan.stop.sessions_max = Some(1);
    let mut workload = Same::bursts(&[1, 1, 1]);
    for burst in &mut workload.session.bursts {
        // Far longer than the server takes to end the connection behind its reply.
        burst.think = Duration::from_secs(3);
    }
    let (records, summary) = run(&plan, &mut workload);
    assert_eq!((outcomes(&records), summary.connections), (vec![Good; 3], 3));
}
