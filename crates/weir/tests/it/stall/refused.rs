//! Loads that are refused, because they would be answered too late.

use super::*;

/// Loads that nobody has room for are refused, and counted apart from other refusals.
#[test]
fn what_waits_for_no_helper_is_refused_and_counted() {
    if lacks_slow_files() {
        return;
    }
    let few = ["--helpers", "1", "--helper-queue", "1", "--load-delay-ms", "3600000"];
    let takes_few = |combination: &Combination| combination.takes(&few[..4]);
    on_mechanisms_where(Program::Weir, takes_few, |combination| {
        let site = Fixture::small();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let mut server =
            combination.start(&site.root(), &[&few[..], &["--admin", "127.0.0.1:0"]].concat());
        let admin = server.await_admin();
        let ask = |name: &str| {
            let mut wire = server.connect();
            wire.get(&format!("/slow/{name}"), "Connection: close\r\n").expect("sent");
            wire
        };
        slow.release();
        slow.hold(Operation::Open);
        let first = ask("small.txt");
        slow.await_held(Operation::Open);
        // One of them waits, in whatever order they come.
        let others = ["a.bin", "b.bin", "c.bin"].map(ask);
        let refused = || counted(admin, "load_refusals") >= 2.0;
        assert!(await_true(PATIENCE, refused), "{combination}: not counted");
        slow.let_go(Operation::Open);
        let statuses = [first].into_iter().chain(others).map(|mut wire| {
            let reply = wire.reply(false).expect("answered");
            reply.0.status
        });
        let mut statuses: Vec<u16> = statuses.collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 503, 503], "{combination}");
        assert_eq!(counted(admin, "load_refusals"), 2.0, "{combination}");
        server.stop();
    });
}

/// A request that finds an old answer gets it at once, and the disk is looked at behind it. An
/// answer that is too old for that is not sent.
#[test]
fn an_old_answer_is_sent_while_the_disk_is_looked_at() {
    if lacks_slow_files() {
        return;
    }
    let takes_one = |combination: &Combination| combination.takes(&["--helpers", "1"]);
    on_mechanisms_where(Program::Weir, takes_one, |combination| {
        at_some_scale(|scale| sends_the_old_answer(combination, 200 * scale));
    });
}

fn sends_the_old_answer(combination: &Combination, age_ms: u32) {
    let few = ["--helpers", "1", "--helper-queue", "1", "--load-delay-ms", "3600000"];
    let site = Fixture::new();
    // What is known of files of either cannot be compared without asking the file system.
    let [hot, cold] = ["hot", "cold"].map(|name| SlowFiles::mount(&site.root().join(name)));
    hot.release();
    cold.release();
    let age = age_ms.to_string();
    let old = ["--answer-age-ms", &age, "--admin", "127.0.0.1:0"];
    let mut server = combination.start(&site.root(), &[&few[..], &old].concat());
    let admin = server.await_admin();
    let known = server.fetch("/hot/small.txt");
    assert_eq!(known.as_deref(), Ok(&*content("small.txt")), "{combination}");
    let ask = |name: &str| {
        let mut wire = server.connect();
        wire.get(&format!("/cold/{name}"), "Connection: close\r\n").expect("sent");
        wire
    };
    cold.hold(Operation::Open);
    let _first = ask("small.txt");
    cold.await_held(Operation::Open);
    let _others = ["a.bin", "b.bin"].map(ask);
    let is_full = || counted(admin, "load_refusals") >= 1.0;
    assert!(await_true(PATIENCE, is_full), "{combination}: the queue has room");
    hot.hold(Operation::Lookup);
    std::thread::sleep(Duration::from_millis(u64::from(age_ms)));
    assert_eq!(server.fetch("/hot/small.txt"), known, "{combination}");
    hot.await_held(Operation::Lookup);
    assert_eq!(server.fetch("/hot/small.txt"), known, "{combination}");
    assert_eq!(counted(admin, "load_refusals"), 1.0, "{combination}");
    // Ten times as long after it was compared, the answer is too old.
    std::thread::sleep(Duration::from_millis(u64::from(10 * age_ms)));
    assert_eq!(server.fetch("/hot/small.txt"), Err("status 503".into()), "{combination}");
    hot.let_go(Operation::Lookup);
    cold.let_go(Operation::Open);
    server.stop();
}

/// While a disk is silent, requests that would wait for longer than the load delay are refused.
/// When it answers again, none is.
#[test]
fn what_would_be_loaded_too_late_is_refused() {
    if lacks_slow_files() {
        return;
    }
    let takes_one = |combination: &Combination| combination.takes(&["--helpers", "1"]);
    on_mechanisms_where(Program::Weir, takes_one, |combination| {
        at_some_scale(|scale| refuses_what_is_late(combination, 200 * scale));
    });
}

fn refuses_what_is_late(combination: &Combination, delay_ms: u32) {
    let delay = delay_ms.to_string();
    let flags = ["--helpers", "1", "--load-delay-ms", &delay];
    let site = Fixture::new();
    let slow = SlowFiles::mount(&site.root().join("slow"));
    let server = combination.start(&site.root(), &[&flags[..], KNOWN].concat());
    let ask = |path: &str| {
        let mut wire = server.connect();
        wire.get(path, "Connection: close\r\n").expect("sent");
        wire
    };
    let check = |mut wire: Wire, status: u16, what: &str| {
        let (head, _) = wire.reply(false).expect("answered");
        assert_eq!(head.status, status, "{combination}: {what}");
        let again = head.field("retry-after");
        assert_eq!(again, (status == 503).then_some("1"), "{combination}: {what}");
    };
    // From now on that is in memory.
    assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
    slow.release();
    slow.hold(Operation::Open);
    let first = ask("/slow/small.txt");
    slow.await_held(Operation::Open);
    let second = ask("/slow/none");
    // The second waits behind the first. A request for what is in memory is answered meanwhile.
    assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
    // The disk takes its time: the two cannot be done within the delay.
    std::thread::sleep(Duration::from_millis(u64::from(delay_ms * 3 / 2)));
    check(ask("/slow/none/other"), 503, "the third");
    assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
    slow.let_go(Operation::Open);
    check(first, 200, "the first");
    check(second, 404, "the second");
    // Bursts of paths that nothing is known of, all of which are looked up.
    let mut number = 0;
    let mut is_served = || {
        let mut wires = Vec::from_iter((0..12).map(|_| {
            number += 1;
            ask(&format!("/none-{number}"))
        }));
        let mut replies = wires.iter_mut().map(|wire| wire.reply(false).expect("answered"));
        replies.all(|(head, _)| head.status == 404)
    };
    let are_served = || (0..10).all(|_| is_served());
    assert!(await_true(PATIENCE, are_served), "{combination}: some are refused for ever");
}
