//! Slow readers: what they take is whole, comes no faster than they read, and waits at the server.

use std::num::NonZeroU32;
use std::sync::mpsc;

use load::behaviour::{GivesUpBy, Keeps};
use load::files::{File, Files};
use load::record::Outcome::{Good, Impatient};
use load::record::Record;
use measure::Duration;

use crate::engine::server::{Client, PATIENCE, Same, made, outcomes, plan, reply, run, serve};

/// How a server says where a reply ends.
type Frame = fn(&[u8]) -> Vec<u8>;

/// Times are judged from below alone: a slow machine makes them longer.
#[test]
fn a_reply_is_not_read_faster_than_its_rate_allows() {
    check("its length", reply, 300, 600, &[1]);
    check("in chunks", chunked, 300, 600, &[1]);
    check("up to the end of the connection", unframed, 300, 600, &[1]);
    // A tenth of the rate is more than is received at once.
    check("fast", reply, 2000, 4000, &[1]);
    // Less than the least receive buffer holds.
    check("little", reply, 1, 2, &[1]);
    check("less than is taken at once", reply, 1, 600, &[1]);
    check("one reply behind the other", reply, 50, 400, &[4]);
}

/// Clients that read so many KiB in a second, and sessions of requests for so many each.
fn check(name: &str, frame: Frame, kb: u64, kb_per_s: u32, bursts: &[usize]) {
    let bytes = kb << 10;
    let mut plan = plan(serve(move |mut client: Client| {
        while let Some(head) = client.asks() {
            client.tell(frame(&made(target(&head), bytes)));
            if head.contains("Connection: close") {
                break;
            }
        }
    }));
    plan.behaviour.reads_kb_per_s = NonZeroU32::new(kb_per_s);
    let (records, _) = run(&plan, &mut of_size(bytes, bursts));
    let requests: usize = bursts.iter().sum();
    assert_eq!(outcomes(&records), vec![Good; 5 * requests], "{name}");
    for session in 0..5 {
        let of = |record: &&Record| record.session == session;
        let ours: Vec<&Record> = records.iter().filter(of).collect();
        let taken: u64 = ours.iter().map(|record| record.bytes).sum();
        assert!(taken >= bytes * requests as u64, "{name}: {taken}");
        let first = ours.iter().filter_map(|record| record.first_byte).min().unwrap();
        let last = ours.iter().map(|record| record.ended).max().unwrap();
        assert!(last - first >= least(taken, kb_per_s), "{name}: {:?}", last - first);
    }
}

fn target(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

/// For so many bytes at this rate: what is taken last comes at once.
fn least(bytes: u64, kb_per_s: u32) -> Duration {
    let bytes_per_s = f64::from(kb_per_s) * 1024.0;
    Duration::from_secs_f64((bytes as f64 / bytes_per_s - 0.1).max(0.0))
}

fn of_size(bytes: u64, bursts: &[usize]) -> Same {
    let file = |number| File { target: format!("/{number}").into(), bytes: Some(bytes), class: 0 };
    Same { files: Files::new((0..3).map(file).collect(), true), ..Same::bursts(bursts) }
}

fn unframed(content: &[u8]) -> Vec<u8> {
    [b"HTTP/1.1 200 OK\r\n\r\n", content].concat()
}

fn chunked(content: &[u8]) -> Vec<u8> {
    let mut all = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in content.chunks(10_000) {
        all.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        all.extend_from_slice(piece);
        all.extend_from_slice(b"\r\n");
    }
    all.extend_from_slice(b"0\r\n\r\n");
    all
}

/// Who is too slow for his own patience gives up, and until then what he has not taken is left with
/// the server, whose own buffer holds little here.
#[test]
fn what_is_not_read_stays_with_the_server() {
    const SEND_BUFFER_BYTES: usize = 4 << 10;
    /// Twice what the buffers of both ends were set to, which is what the kernel makes of it, and
    /// as much again.
    const HELD_MAX_BYTES: u64 = 32 << 10;
    let (tell, told) = mpsc::channel();
    let mut plan = plan(serve(move |mut client: Client| {
        client.keeps_little(SEND_BUFFER_BYTES);
        client.asks();
        tell.send(client.tells_while_taken(&reply(&made("/0", 1 << 20)))).unwrap();
    }));
    plan.behaviour.reads_kb_per_s = NonZeroU32::new(1);
    plan.behaviour.patience = Some(Duration::from_millis(500));
    let (records, _) = run(&plan, &mut of_size(1 << 20, &[1]));
    let is_slow = |record: &Record| matches!(record.outcome, Impatient(_));
    assert!(records.len() == 5 && records.iter().all(is_slow), "{records:?}");
    let most = records.iter().map(|record| record.bytes).max().unwrap() + HELD_MAX_BYTES;
    for _ in 0..5 {
        let sent = told.recv_timeout(PATIENCE).unwrap();
        assert!(sent <= most, "{sent} of {most}");
    }
}

/// The server's end comes while the client pauses, and is not told again: behind the last piece the
/// client ends the connection, too, and does not wait for it until it has to reset.
#[test]
fn an_end_that_came_in_a_pause_is_known() {
    let (tell, told) = mpsc::channel();
    let mut plan = plan(serve(move |mut client: Client| {
        let head = client.asks().unwrap();
        client.tell(reply(&made(target(&head), 3 << 10)));
        client.tells_no_more();
        tell.send(client.end()).unwrap();
    }));
    plan.behaviour.keeps = Keeps::Request;
    plan.behaviour.reads_kb_per_s = NonZeroU32::new(10);
    let mut workload = of_size(3 << 10, &[1, 1]);
    // Longer than it would wait; a run that is over ends all.
    workload.session.bursts[0].think = Duration::from_secs(2);
    let (records, _) = run(&plan, &mut workload);
    assert_eq!(outcomes(&records), [Good; 10]);
    let ends: Vec<_> = (0..10).map_while(|_| told.recv_timeout(PATIENCE).ok()).collect();
    assert_eq!(ends, [GivesUpBy::Fin; 10]);
}
