//! Loads that are refused, because they would be answered too late.

use super::*;

/// Loads that nobody has room for are refused, and counted apart from other refusals.
#[test]
fn what_waits_for_no_helper_is_refused_and_counted() {
    if lacks_slow_files() {
        return;
    }
    on_every(Program::Weir, |combination| {
        let few = ["--helpers", "1", "--helper-queue", "1"];
        if !combination.takes(&few) {
            return;
        }
        let site = Fixture::new();
        let slow = SlowFiles::mount(&site.root().join("slow"));
        let mut server =
            combination.start(&site.root(), &[&few[..], &["--admin", "127.0.0.1:0"]].concat());
        let admin = server.await_admin();
        let ask = |name: &str| {
            let mut wire = server.connect();
            wire.get(&format!("/slow/{name}"), "Connection: close\r\n").expect("sent");
            wire
        };
        let first = ask("small.txt");
        slow.await_read("small.txt");
        // One of them waits, in whatever order they come.
        let others = ["a.bin", "b.bin", "c.bin"].map(ask);
        let refused = || counted(admin, "load_refusals") >= 2.0;
        assert!(await_true(PATIENCE, refused), "{combination}: not counted");
        slow.release();
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

/// If the last load took one and a half times the load delay, two more loads cannot finish within
/// it, so the second one is refused.
#[test]
fn what_would_be_loaded_too_late_is_refused() {
    if lacks_slow_files() {
        return;
    }
    on_every(Program::Weir, |combination| {
        if combination.takes(&["--helpers", "1"]) {
            at_some_scale(|scale| refuses_what_is_late(combination, 200 * scale));
        }
    });
}

fn refuses_what_is_late(combination: &Combination, delay_ms: u32) {
    let delay = delay_ms.to_string();
    let flags = ["--helpers", "1", "--load-delay-ms", &delay];
    let site = Fixture::new();
    let disks = ["first", "second", "third"].map(|at| SlowFiles::mount(&site.root().join(at)));
    let server = combination.start(&site.root(), &[&flags[..], KNOWN].concat());
    let ask = |disk: &str| {
        let mut wire = server.connect();
        wire.get(&format!("/{disk}/small.txt"), "Connection: close\r\n").expect("sent");
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
    let first = ask("first");
    disks[0].await_read("small.txt");
    let second = ask("second");
    // It waits behind the other: who asks for nothing that is not there is answered meanwhile.
    assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
    disks[0].release();
    check(first, 200, "the first");
    disks[1].await_read("small.txt");
    // The disk takes its time.
    std::thread::sleep(Duration::from_millis(u64::from(delay_ms * 3 / 2)));
    disks[1].release();
    check(second, 200, "the second");
    let third = ask("third");
    disks[2].await_read("small.txt");
    check(ask("third/../second/nobody.txt"), 503, "behind the third");
    assert_eq!(server.fetch("/digits.txt"), Ok(DIGITS.to_vec()), "{combination}");
    disks[2].release();
    check(third, 200, "the third");
}
