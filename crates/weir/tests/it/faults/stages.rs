//! Where connections go from stage to stage: none is lost where queues are full, or where the end
//! comes while there are some in each.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::fixture::{DIGITS, Fixture, pattern, write};
use crate::support::in_flight::asked;
use crate::support::load::{Counts, Load};
use crate::support::metrics::{counted, queues};

use crate::support::chosen::on_every_architecture;
use crate::support::combination::{Combination, Program};
use crate::support::slow::{SlowFiles, content, lacks_slow_files};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

pub(super) fn on_pipelines(test: impl Fn(&Combination) + Sync) {
    on_pipelines_of(Program::Weir, test);
}

fn on_pipelines_of(program: Program, test: impl Fn(&Combination) + Sync) {
    on_every_architecture(program, |combination| {
        if combination.row["holder"] == "stages" {
            test(combination);
        }
    });
}

/// Of a stage that makes a mistake others know only that nobody goes on: its process ends, with a
/// line, and the next one serves.
#[test]
fn a_mistake_in_any_stage_ends_its_process_and_the_next_one_serves() {
    let site = Fixture::new();
    on_pipelines_of(Program::Mortal, |combination| {
        let mut server = combination.start(&site.root(), &["--restart-wait-max-ms", "150"]);
        for step in ["found", "loaded", "sent"] {
            let mut others = [0, 1, 2].map(|_| asked(&server));
            // What others have asked for is in memory.
            let target = if step == "loaded" { "/large.bin" } else { "/digits.txt" };
            let mut wire = server.connect();
            wire.get(target, &format!("X-Die-At: {step}\r\n")).expect("sent");
            // Whoever is sent something has it before that is told.
            let answer = wire.reply(false).and_then(|_| wire.reply(false));
            assert!(answer.is_err(), "{combination}: at {step}: alive");
            for other in &mut others {
                assert!(other.reply(false).is_err(), "{combination}: at {step}: a reply more");
            }
            server.await_line("started again ");
            let serves = || server.fetch("/digits.txt").as_deref() == Ok(DIGITS);
            assert!(await_true(PATIENCE, serves), "{combination}: at {step}: nobody follows");
        }
        server.stop();
    });
}

/// A stage that only receives has whoever trickles back with each byte, and others who say nothing
/// stand before him then: his time is over all the same.
#[test]
fn who_trickles_beside_silent_ones_is_cut_off() {
    let site = Fixture::new();
    on_pipelines(|combination| {
        let server = combination.start(&site.root(), &["--head-timeout-ms", "600"]);
        let (mut wire, mut silent) = (server.connect(), Vec::new());
        wire.set_patience(Duration::from_millis(50));
        // The bytes suffice for as long as a server may take on a slow machine.
        let head = b"GET /digits.txt HTTP/1.1\r\nHost: a\r\nX: ".iter().chain([&b'x'; 1200]);
        let mut status = None;
        for (nth, byte) in head.enumerate() {
            if nth % 4 == 0 && nth < 100 {
                silent.push(server.connect());
            }
            if wire.send(&[*byte]).is_err() {
                break;
            }
            if let Ok(head) = wire.head() {
                status = Some(head.status);
                break;
            }
        }
        assert_eq!(status, Some(408), "{combination}: it is waited for");
        server.stop();
    });
}

/// Where others read than look for paths, whoever asks for something new is refused as soon as they
/// have enough to read: what his path leads to could not be refused any more.
#[test]
fn who_would_wait_for_pages_hears_so() {
    if lacks_slow_files() {
        return;
    }
    let narrow = ["--helper-queue", "1", "--load-delay-ms", "3600000"];
    on_pipelines(|combination| {
        // In seda one thread does both.
        if combination.row["name"] != "pipelined" {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &narrow);
        let mut waits = vec![server.asking(server.address, "/slow/a.bin")];
        slow.await_read("a.bin");
        waits.push(server.asking(server.address, "/slow/b.bin"));
        let mut asked = 0;
        let is_refused = || {
            asked += 1;
            let mut wire = server.asking(server.address, &format!("/nothing-{asked}"));
            match wire.reply(false).expect("a reply, whatever it says").0.status {
                404 => false,
                503 => true,
                other => panic!("{combination}: status {other}"),
            }
        };
        assert!(await_true(PATIENCE, is_refused), "{combination}: everyone may wait");
        slow.release();
        for (wire, name) in waits.iter_mut().zip(["a.bin", "b.bin"]) {
            assert!(wire.reply(false).expect("answered").1 == content(name), "{combination}");
        }
        server.stop();
    });
}

/// A helper has one in hand, another waits for it: whoever asks for something new then is refused,
/// and who waits is answered.
#[test]
fn who_finds_the_queue_of_helpers_full_hears_so() {
    if lacks_slow_files() {
        return;
    }
    let own: [&[&str]; 2] = [&["--pool-control", "off"], &[]];
    let narrow = ["--helper-queue", "1", "--load-delay-ms", "3600000", "--admin", "127.0.0.1:0"];
    on_pipelines(|combination| {
        if !combination.takes(&narrow[..2]) {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let names = ["/new-1.txt", "/new-2.txt", "/new-3.txt"];
        names.iter().for_each(|name| write(&site.root().join(&name[1..]), DIGITS));
        let own = own.into_iter().find(|flags| combination.takes(flags)).expect("the last");
        let mut server = combination.start(&site.root(), &[&narrow[..], own].concat());
        let admin = server.await_admin();
        let mut waits = server.asking(server.address, "/slow/small.txt");
        slow.await_read("small.txt");
        let mut new = names.map(|name| server.asking(server.address, name));
        let are_counted = || counted(admin, "load_refusals") >= 2.0;
        assert!(
            await_true(PATIENCE, are_counted),
            "{combination}: {}",
            counted(admin, "load_refusals")
        );
        slow.release();
        let mut statuses = new.each_mut().map(|wire| wire.reply(false).expect("answered").0.status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 503, 503], "{combination}");
        assert!(waits.reply(false).expect("answered").1 == content("small.txt"), "{combination}");
        server.stop();
    });
}

/// Each stage has room for one: who is behind it stops, whoever goes back finds a way, and all
/// requests of all clients are answered in their order.
#[test]
fn who_pipelines_through_full_queues_is_answered() {
    const CLIENTS: usize = 16;
    const REQUESTS: usize = 40;
    let site = Fixture::new();
    on_pipelines(|combination| {
        let narrow = ["--stage-queue", "1"];
        let flags = if combination.takes(&narrow) { &narrow[..] } else { &[] };
        let server = combination.start(&site.root(), flags);
        let all = b"GET /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(REQUESTS);
        let mut wires: Vec<Wire> = (0..CLIENTS).map(|_| server.connect()).collect();
        for wire in &mut wires {
            wire.send(&all).expect("sent");
        }
        for wire in &mut wires {
            for n in 0..REQUESTS {
                let (head, body) = wire.reply(false).expect("answered");
                assert!(head.status == 200 && body == DIGITS, "{combination}: request {n}");
            }
        }
        server.stop();
    });
}

/// Idle ones are ended; within a head, within a reply and while a disk is read they have their
/// reply first.
#[test]
fn an_end_finds_some_in_each_stage_and_loses_none() {
    if lacks_slow_files() {
        return;
    }
    let large = pattern(4 << 20);
    on_pipelines(|combination| {
        let site = Fixture::small();
        write(&site.root().join("huge.bin"), &large);
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let mut server = combination.start(&site.root(), &[]);
        let mut idle = server.connect();
        idle.get("/digits.txt", "").expect("sent");
        assert_eq!(idle.reply(false).expect("answered").1, DIGITS, "{combination}");
        let mut reads = Wire::narrow(server.address, 0, 4096).expect("a connection");
        reads.get("/huge.bin", "").expect("sent");
        let head = reads.head().expect("a head");
        let mut waits = server.connect();
        waits.get("/slow/a.bin", "").expect("sent");
        slow.await_read("a.bin");
        server.signal(Signal::TERM);
        server.await_line("draining for at most");
        idle.end().expect("an end, and no reset");
        if combination.row["stalls"] == "all" {
            slow.release();
        }
        let body = reads.bytes(head.length().expect("a length")).expect("the rest");
        assert!(body == large, "{combination}: another content");
        slow.release();
        let (head, body) = waits.reply(false).expect("the slow file, in the end");
        assert!(head.status == 200 && body == content("a.bin"), "{combination}: a slow file");
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: not drained");
    });
}

/// Who is let in and asks again does not keep out who has only come.
#[test]
fn newcomers_are_answered_beside_many_who_keep_asking() {
    let site = Fixture::new();
    on_pipelines(|combination| {
        let server = combination.start(&site.root(), &[]);
        let busy = Load::start(server.address, "/digits.txt", 32, true);
        assert!(busy.await_answered(100), "{combination}: nobody is answered");
        for newcomer in 0..20 {
            let answer = server.fetch("/digits.txt");
            assert_eq!(answer.as_deref(), Ok(DIGITS), "{combination}: newcomer {newcomer}");
        }
        let counts = busy.stop();
        for failed in [&counts.unanswered, &counts.broken, &counts.refused] {
            assert_eq!(Counts::of(failed), 0, "{combination}: {counts:?}");
        }
        server.stop();
    });
}

/// The only place is taken by who is idle; those behind him wait in the kernel, and a drain lets
/// them in.
#[test]
fn who_waits_for_the_only_place_is_served_by_a_drain() {
    let site = Fixture::new();
    on_pipelines(|combination| {
        let one = ["--connections-max", "1", "--make-room", "off"];
        let mut server = combination.start(&site.root(), &one);
        let mut idle = asked(&server);
        let mut others = [0, 1, 2].map(|_| server.asking(server.address, "/digits.txt"));
        server.signal(Signal::TERM);
        idle.end().expect("an end, and no reset");
        for other in &mut others {
            let body = other.reply(false).map(|(_, body)| body);
            assert_eq!(body.as_deref(), Ok(DIGITS), "{combination}");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: not drained");
    });
}

/// SEDA's controller begins with a hundred requests a second: one client asks for more at once.
#[test]
fn who_is_not_admitted_hears_so() {
    const ASKED: usize = 500;
    let site = Fixture::new();
    let asks = "GET /digits.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(ASKED);
    on_pipelines(|combination| {
        // A machine that answers fewer in a second is slower than this.
        let own = ["--stage-admission", "response", "--response-target-ms", "1"];
        let own = [&own[..], &["--admin", "127.0.0.1:0"]].concat();
        if !combination.takes(&own) {
            return;
        }
        let mut server = combination.start(&site.root(), &own);
        let admin = server.await_admin();
        let is_refused = || {
            let mut wire = server.connect();
            wire.send(asks.as_bytes()).expect("sent");
            (0..ASKED).any(|_| {
                let (head, body) = wire.reply(false).expect("a reply, whatever it says");
                match head.status {
                    200 => assert_eq!(body, DIGITS, "{combination}"),
                    503 => assert!(head.closes(), "{combination}: it is to go"),
                    other => panic!("{combination}: status {other}"),
                }
                head.status == 503
            })
        };
        assert!(await_true(PATIENCE, is_refused), "{combination}: everyone is admitted");
        let is_counted = || counted(admin, "load_refusals") >= 1.0;
        assert!(await_true(PATIENCE, is_counted), "{combination}: nobody counts");
        // The other way to admit stays off.
        let mut operator = Wire::connect(admin, 0).expect("the admin port");
        let turn = "POST /set?knob=admit-percent&value=auto HTTP/1.1";
        let request = format!("{turn}\r\nHost: {admin}\r\nX-Weir: 1\r\n\r\n");
        operator.send(request.as_bytes()).expect("sent");
        assert_eq!(operator.head().expect("a reply").status, 400, "{combination}");
        server.stop();
    });
}

/// A slow file holds the only helper, as many ask for what is not in memory as a controller adds a
/// thread for, and then nobody comes any more.
#[test]
fn another_helper_comes_also_where_nobody_does() {
    if lacks_slow_files() {
        return;
    }
    let control = ["--pool-control", "on"];
    on_pipelines(|combination| {
        if !combination.takes(&control) {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let names: Vec<String> = (0..12).map(|n| format!("/cold-{n}.txt")).collect();
        for name in &names {
            write(&site.root().join(&name[1..]), DIGITS);
        }
        let server = combination.start(&site.root(), &["--load-delay-ms", "3600000"]);
        let mut waits = server.asking(server.address, "/slow/a.bin");
        slow.await_read("a.bin");
        let ask = |name: &String| server.asking(server.address, name);
        let mut cold: Vec<Wire> = names.iter().map(ask).collect();
        for wire in &mut cold {
            assert_eq!(wire.reply(false).expect("answered").1, DIGITS, "{combination}");
        }
        slow.release();
        assert!(waits.reply(false).expect("the slow file").1 == content("a.bin"), "{combination}");
        server.stop();
    });
}

/// A helper reads a slow file, and as many wait for the same as a controller adds a thread for:
/// that one is free for others.
#[test]
fn who_asks_for_the_same_path_takes_no_other_helper() {
    if lacks_slow_files() {
        return;
    }
    let two = ["--threads", "2", "--pool-control", "on", "--helper-queue", "1"];
    // The default: who comes while the helper waits is refused.
    let two = [&two[..], &["--load-delay-ms", "200"]].concat();
    on_pipelines(|combination| {
        if !combination.takes(&two) {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &two);
        let ask = || server.asking(server.address, "/slow/small.txt");
        let mut waiting = vec![ask()];
        slow.await_read("small.txt");
        waiting.extend((0..12).map(|_| ask()));
        // Refused (503) until that one has come.
        let is_served = || server.fetch("/digits.txt").as_deref() == Ok(DIGITS);
        assert!(await_true(PATIENCE, is_served), "{combination}: no helper is free");
        slow.release();
        for wire in &mut waiting {
            let body = wire.reply(false).map(|(_, body)| body);
            assert!(body == Ok(content("small.txt")), "{combination}");
        }
        server.stop();
    });
}

/// A writer of WatPipe waits for the disk, and who waits to be asked whether he takes bytes waits
/// for it, too: others stay in the kernel's queue, however many one accept phase may take.
#[test]
fn who_finds_a_queue_full_is_not_accepted() {
    /// The default of `--stage-queue`, which WatPipe does not take.
    const ROOM: usize = 1024;
    const OTHERS: usize = 16;
    if lacks_slow_files() {
        return;
    }
    let flags = ["--accept-limit", "inf", "--admin", "127.0.0.1:0"];
    // Many systems let a process begin with fewer.
    let _ = os::limits::descriptors();
    on_pipelines(|combination| {
        if combination.row["stalls"] != "all" {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let mut waits = server.asking(server.address, "/slow/a.bin");
        slow.await_read("a.bin");
        let ask = |_| server.asking(server.address, "/digits.txt");
        let mut others: Vec<Wire> = (0..ROOM).map(ask).collect();
        let are_queued = || counted(admin, "requests") >= (1 + ROOM) as f64;
        assert!(await_true(PATIENCE, are_queued), "{combination}: {}", counted(admin, "requests"));
        let queued = Instant::now();
        others.extend((0..OTHERS).map(ask));
        for _ in 0..10 {
            let left = queues(admin)[0]["length"].as_u64();
            assert_eq!(left, Some(OTHERS as u64), "{combination}: others were accepted");
        }
        let least = queued.elapsed().as_secs_f64();
        slow.release();
        for other in &mut others {
            assert_eq!(other.reply(false).expect("answered").1, DIGITS, "{combination}");
        }
        assert!(waits.reply(false).expect("the slow file").1 == content("a.bin"), "{combination}");
        // Who was queued first has waited for longer.
        let waited = || counted(admin, "stage_delay_seconds");
        assert!(await_true(PATIENCE, || waited() >= least), "{combination}: {}", waited());
        server.stop();
    });
}
