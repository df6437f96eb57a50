//! Proof that a name is true, from outside: one client asks for a file that is slow to read, and
//! the others show who waits with it. Everybody where the loop itself reads; one of N where threads
//! do; nobody else where helpers or the kernel's ring do.
//!
//! The slow file lies on a file system that answers when this test lets it. So "is served
//! meanwhile" is an event, and only "is not served meanwhile" needs a bounded wait. No duration is
//! judged but what the server says of itself: for how long it was held up.

mod path;
mod refused;
mod stage;

use std::time::{Duration, Instant};

use crate::support::chosen::{
    on_every, on_every_poller, on_mechanisms, on_mechanisms_alone, on_mechanisms_where,
};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture, pattern, write};
use crate::support::metrics::counted;
use crate::support::slow::{Operation, SlowFiles, content, lacks_slow_files};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, at_some_scale, await_true};
use stage::{SILENCE, Stage};

/// How long a client keeps asking for what is in memory: an answer is compared with the disk when
/// it is 900 ms old.
const SEVERAL_AGES: Duration = Duration::from_secs(3);

/// More than the server keeps in memory.
const SENT_FROM_FILE_BYTES: usize = 48 << 10;

/// Bytes of a file after which the next are wanted, where the registry says nothing else.
const WINDOW_BYTES: u64 = 1 << 20;

/// What was asked for once needs no disk for as long as a test lasts, on a slow machine, too.
const KNOWN: &[&str] = &["--answer-age-ms", "3600000"];

#[test]
fn who_stalls_is_as_the_registry_says() {
    if lacks_slow_files() {
        return;
    }
    on_every_program(|combination| {
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &[flags(combination), KNOWN].concat());
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        stage.warm();
        let mut waits = vec![stage.ask_slow("a.bin")];
        match combination.row["stalls"].as_str() {
            Some("all") => stage.expect_all_stall(),
            Some("one of N") => {
                // Whoever is free has what is asked for in memory by then.
                stage.expect_served();
                waits.push(stage.ask_slow("b.bin"));
                stage.expect_all_stall();
            }
            Some("nobody") => {
                stage.expect_served();
                // Pages of it are on their way now.
                waits.push(stage.ask("/slow/a.bin"));
                stage.expect_served();
                waits.push(stage.ask_slow_too("b.bin"));
                stage.expect_served();
                slow.release();
            }
            other => panic!("{combination}: the registry says that {other:?} stall"),
        }
        waits.iter_mut().for_each(|wire| stage.expect_slow(wire, "a.bin"));
        server.stop();
    });
}

/// Of several loops in one process a disk holds up the one that reads: whom another accepts is
/// served.
#[test]
fn of_several_loops_one_stalls() {
    if lacks_slow_files() {
        return;
    }
    on_each(|combination| {
        let two = ["--threads", "2"];
        if combination.row["holder"] != "loop" || !combination.takes(&two) {
            return;
        }
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &two);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        stage.warm();
        let mut waits = vec![stage.ask_slow("a.bin")];
        stage.expect_served();
        waits.push(stage.ask_slow("b.bin"));
        if combination.row["stalls"] == "all" {
            stage.expect_all_stall();
        } else {
            stage.expect_served();
            slow.release();
        }
        waits.iter_mut().for_each(|wire| stage.expect_slow(wire, "a.bin"));
        server.stop();
    });
}

/// Whoever asks for what is being loaded waits with the first, and it is read once for all of them.
#[test]
fn what_many_ask_for_is_loaded_once() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms_alone(Program::Weir, |combination| {
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &[]);
        let mut wires: Vec<Wire> = (0..6).map(|_| server.connect()).collect();
        for wire in &mut wires {
            wire.get("/slow/small.txt", "Connection: close\r\n").expect("sent");
        }
        slow.await_read("small.txt");
        // There is nothing to wait for but time in which others could begin.
        std::thread::sleep(SILENCE);
        assert_eq!(slow.reads(), 0, "{combination}: read twice");
        slow.release();
        for mut wire in wires {
            let (head, body) = wire.reply(false).expect("the slow file, in the end");
            assert_eq!((head.status, body), (200, content("small.txt")), "{combination}");
        }
        assert_eq!(slow.reads(), 0, "{combination}: read again");
        server.stop();
    });
}

/// The disk's time is nobody's fault: neither of who asked for the slow file, nor of who came with
/// a request while a loop was waiting for it.
#[test]
fn a_slow_disk_is_no_slow_client() {
    if lacks_slow_files() {
        return;
    }
    // A client may be slow on a slow machine, too, and then it has more time at a larger scale.
    let check = |combination: &Combination, scale: u32| {
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let (ms, rate) = ((300 * scale).to_string(), (1_000_000 / scale).to_string());
        let patience = ["--head-timeout-ms", &ms, "--stall-timeout-ms", &ms];
        let window = ["--rate-window-ms", &ms, "--rate-min", &rate];
        let flags = [&patience[..], &window, flags(combination)].concat();
        let server = combination.start(&site.root(), &flags);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        stage.warm();
        let mut waits = stage.ask_slow("a.bin");
        let mut meanwhile = server.connect();
        meanwhile.get("/digits.txt", "Connection: close\r\n").expect("sent");
        // Longer than any patience of the server: there is nothing to wait for but time.
        std::thread::sleep(SILENCE * 4 * scale);
        slow.release();
        stage.expect_slow(&mut waits, "a.bin");
        let (head, _) = meanwhile.reply(false).expect("who came meanwhile is answered");
        assert_eq!(head.status, 200, "{combination}");
        server.stop();
    };
    on_each(|combination| at_some_scale(|scale| check(combination, scale)));
}

/// What is known answers also when it is older than it may be without a look at the disk, and
/// nobody is free to look who might have to wait.
#[test]
fn what_is_in_memory_is_answered_while_every_helper_waits() {
    if lacks_slow_files() {
        return;
    }
    let stalls_nobody = |combination: &Combination| combination.row["stalls"] == "nobody";
    on_mechanisms_where(Program::Weir, stalls_nobody, |combination| {
        let site = Fixture::small();
        write(&site.root().join("hot.bin"), &pattern(SENT_FROM_FILE_BYTES));
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &[]);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        // What was changed a moment ago has to be read again: its times do not tell yet.
        stage.expect_hot_for(SEVERAL_AGES);
        let names = ["a.bin", "b.bin", "c.bin", "d.bin"];
        let mut waits = names.map(|name| stage.ask_slow_too(name));
        stage.expect_hot_for(SEVERAL_AGES);
        slow.release();
        for (wire, name) in waits.iter_mut().zip(names) {
            stage.expect_slow(wire, name);
        }
        server.stop();
    });
}

/// A reply that has begun meets the disk again: behind the first window pages are cold, whether
/// they are many or so few that the kernel has begun to read them by itself.
#[test]
fn behind_its_first_window_a_file_stalls_nobody_else_either() {
    if lacks_slow_files() {
        return;
    }
    on_each(|combination| {
        let window = combination.row["window_bytes"].as_u64().unwrap_or(WINDOW_BYTES);
        for name in ["long.bin", "tail.bin"] {
            let site = Fixture::small();
            let slow = SlowFiles::mount(&site.root().join("slow"));
            let server = combination.start(&site.root(), &[flags(combination), KNOWN].concat());
            let stage = Stage { combination, site: &site, server: &server, slow: &slow };
            stage.warm();
            slow.release_until(window);
            let mut wire = server.connect();
            wire.get(&format!("/slow/{name}"), "").expect("sent");
            let length = wire.head().expect("a head").length().expect("a length");
            let mut body = wire.bytes(window as usize).expect("the first window");
            slow.await_read(name);
            if combination.row["stalls"] != "all" {
                stage.expect_served();
            }
            slow.release();
            body.extend(wire.bytes(length - body.len()).expect("the rest, in the end"));
            assert!(body == content(name), "{combination}: another content of {name}");
            server.stop();
        }
    });
}

/// Where one more waits for a disk than there are helpers or workers, who needs one waits, too: who
/// asks for something new. All else goes on.
#[test]
fn behind_all_helpers_only_who_needs_one_waits() {
    if lacks_slow_files() {
        return;
    }
    let two = ["--helpers", "2", "--load-delay-ms", "3600000"];
    let takes_two = |combination: &Combination| combination.takes(&two);
    on_mechanisms_where(Program::Weir, takes_two, |combination| {
        let site = Fixture::small();
        write(&site.root().join("hot.bin"), &pattern(SENT_FROM_FILE_BYTES));
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &two);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        // What was changed a moment ago has to be read again: its times do not tell yet.
        stage.expect_hot_for(SEVERAL_AGES);
        slow.release();
        slow.hold(Operation::Open);
        let mut waits = ["a.bin", "b.bin"].map(|name| {
            let wire = stage.ask(&format!("/slow/{name}"));
            slow.await_held(Operation::Open);
            wire
        });
        let mut third = stage.ask("/slow/c.bin");
        let mut new = stage.ask("/large.bin");
        stage.expect_hot();
        new.set_patience(SILENCE);
        assert!(new.head().is_err(), "{combination}: a helper beside two");
        stage.expect_hot();
        slow.let_go(Operation::Open);
        new.set_patience(PATIENCE);
        for (wire, name) in waits.iter_mut().zip(["a.bin", "b.bin"]) {
            stage.expect_slow(wire, name);
        }
        stage.expect_slow(&mut third, "c.bin");
        let (head, body) = new.reply(false).expect("in the end");
        assert!(head.status == 200 && body == site.content("/large.bin"), "{combination}");
        server.stop();
    });
}

/// Of WatPipe one slow file more than there are writers: nobody is served meanwhile, as one of
/// them is enough for that, and everybody is in the end.
#[test]
fn behind_all_writers_everybody_waits_and_is_served_in_the_end() {
    if lacks_slow_files() {
        return;
    }
    on_every(Program::Weir, |combination| {
        if combination.row["holder"] != "stages" || combination.row["stalls"] != "all" {
            return;
        }
        let site = Fixture::small();
        write(&site.root().join("hot.bin"), &pattern(SENT_FROM_FILE_BYTES));
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &["--threads", "2"]);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        stage.expect_hot_for(SEVERAL_AGES);
        let mut waits = ["a.bin", "b.bin", "c.bin"].map(|name| stage.ask(&format!("/slow/{name}")));
        slow.await_reads(1, SILENCE);
        let mut hot = stage.ask("/hot.bin");
        hot.set_patience(SILENCE);
        assert!(hot.head().is_err(), "{combination}: served beside a writer that waits");
        hot.set_patience(PATIENCE);
        slow.release();
        for (wire, name) in waits.iter_mut().zip(["a.bin", "b.bin", "c.bin"]) {
            stage.expect_slow(wire, name);
        }
        let (head, body) = hot.reply(false).expect("in the end");
        assert!(head.status == 200 && body == site.content("/hot.bin"), "{combination}");
        server.stop();
    });
}

/// Of pipelines, whose helpers are as many as the architecture has, only who needs one waits.
#[test]
fn behind_the_helpers_of_a_pipeline_only_who_needs_one_waits() {
    if lacks_slow_files() {
        return;
    }
    on_every(Program::Weir, |combination| {
        if combination.row["holder"] != "stages" || combination.row["stalls"] != "nobody" {
            return;
        }
        let site = Fixture::small();
        write(&site.root().join("hot.bin"), &pattern(SENT_FROM_FILE_BYTES));
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &["--load-delay-ms", "3600000"]);
        let stage = Stage { combination, site: &site, server: &server, slow: &slow };
        stage.expect_hot_for(SEVERAL_AGES);
        let mut waits = stage.ask_slow("a.bin");
        let mut path = stage.ask("/slow/small.txt");
        if combination.row["name"] == "pipelined" {
            // One reads, another looks for paths.
            slow.await_read("small.txt");
        }
        let mut new = stage.ask("/large.bin");
        stage.expect_hot();
        new.set_patience(SILENCE);
        assert!(new.head().is_err(), "{combination}: a helper more");
        stage.expect_hot();
        slow.release();
        new.set_patience(PATIENCE);
        stage.expect_slow(&mut waits, "a.bin");
        stage.expect_slow(&mut path, "small.txt");
        let (head, body) = new.reply(false).expect("in the end");
        assert!(head.status == 200 && body == site.content("/large.bin"), "{combination}");
        server.stop();
    });
}

/// How long who performs has waited is told, whether it opens, reads or sends: rather too little,
/// and nothing of what helpers or the kernel have waited.
#[test]
fn what_a_disk_has_held_up_is_told() {
    if lacks_slow_files() {
        return;
    }
    let check = |combination: &Combination, scale: u32| {
        let held = Duration::from_millis(1200) * scale;
        // Who waits for whom cannot be told of a thread that sends from a file.
        let names = if combination.row["holder"] != "loop" {
            &["small.txt"][..]
        } else {
            &["small.txt", "a.bin"]
        };
        for name in names {
            let site = Fixture::small();
            let slow = SlowFiles::mount(&site.root().join("slow"));
            let mut server = combination.start(&site.root(), &["--admin", "127.0.0.1:0"]);
            let admin = server.await_admin();
            let mut wire = server.connect();
            wire.get(&format!("/slow/{name}"), "Connection: close\r\n").expect("sent");
            slow.await_read(name);
            std::thread::sleep(held);
            slow.release();
            let (head, body) = wire.reply(false).expect("the slow file, in the end");
            assert!(head.status == 200 && body == content(name), "{combination}: {name}");
            let least = held.as_secs_f64() / 2.0;
            if combination.row["stalls"] == "nobody" {
                let begun = Instant::now();
                while begun.elapsed() < SEVERAL_AGES {
                    server.fetch("/digits.txt").expect("served");
                }
                let told = counted(admin, "blocked_seconds");
                assert!(told < least, "{combination}: {name}: {told} s of others");
            } else {
                // It is told once a second, while something is served.
                let is_told = || {
                    server.fetch("/digits.txt").is_ok()
                        && counted(admin, "blocked_seconds") >= least
                };
                assert!(
                    await_true(PATIENCE, is_told),
                    "{combination}: {name} {}",
                    counted(admin, "blocked_seconds")
                );
            }
            server.stop();
        }
    };
    on_mechanisms_alone(Program::Weir, |combination| {
        at_some_scale(|scale| check(combination, scale));
    });
}

/// A disk that fails: a refusal, or a reply that visibly breaks off; never one that looks whole.
#[test]
fn what_the_disk_fails_to_give_is_not_passed_off_as_sent() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms(Program::Weir, |combination| {
        let site = Fixture::small();
        let _slow = SlowFiles::mount(&site.root().join("slow"));
        let server = combination.start(&site.root(), &[]);
        for target in ["/slow/broken-small.txt", "/slow/broken-large.bin"] {
            let fetched = server.fetch(target);
            assert!(fetched.is_err(), "{combination}: {target} was served");
            assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
        }
        let refused = server.fetch("/slow/broken-small.txt");
        assert_eq!(refused, Err("status 500".to_owned()), "{combination}");
        let said = server.stop();
        assert!(said.contains(" 3 of the machine"), "{combination}: not counted: {said}");
        let line = "/slow/broken-small.txt: Input/output error";
        let lines = said.lines().filter(|said| said.contains(" 500 for ") && said.contains(line));
        assert!(lines.count() > 0, "{combination}: {said}");
    });
}

/// Runs `test` on every architecture and poller, with a plain and with a re-coding transport.
fn on_every_program(test: impl Fn(&Combination) + Sync) {
    for program in [Program::Weir, Program::Recoded] {
        on_every_poller(program, &test);
    }
}

/// Runs `test` on one architecture for each mechanism, with both transports.
fn on_each(test: impl Fn(&Combination) + Sync) {
    for program in [Program::Weir, Program::Recoded] {
        on_mechanisms(program, &test);
    }
}

/// Two threads or processes, so that one of them can be stalled and then both.
fn flags(combination: &Combination) -> &'static [&'static str] {
    match combination.row["holder"].as_str() {
        Some("thread") => &["--threads", "2"],
        _ if combination.row["stalls"] == "one of N" => &["--processes", "2"],
        // Who waits behind a slow file waits long.
        Some("stages") if combination.takes(&["--load-delay-ms", "3600000"]) => {
            &["--load-delay-ms", "3600000"]
        }
        _ => &[],
    }
}
