//! Paths that are slow to look up, to open or to list.

use super::*;
use crate::support::slow::DIRECTORY;

#[test]
fn a_slow_path_stalls_as_many_as_the_registry_says() {
    if lacks_slow_files() {
        return;
    }
    on_mechanisms(Program::Weir, |combination| {
        for operation in Operation::ALL {
            stalls_as_the_registry_says(combination, operation, false);
            if operation != Operation::Lookup {
                stalls_as_the_registry_says(combination, operation, true);
            }
        }
    });
}

/// With names that the kernel keeps, the path is found in memory, and what follows is slow.
fn stalls_as_the_registry_says(combination: &Combination, slow: Operation, are_names_cached: bool) {
    let site = Fixture::new();
    let at = site.root().join("slow");
    let files = match are_names_cached {
        true => SlowFiles::mount_with_cached_names(&at),
        false => SlowFiles::mount(&at),
    };
    files.release();
    let directory = format!("{DIRECTORY}/");
    let name = if slow == Operation::List { directory.as_str() } else { "small.txt" };
    std::fs::metadata(at.join(name)).expect("looked up");
    let own = [flags(combination), KNOWN, &["--listing"]].concat();
    let server = combination.start(&site.root(), &own);
    let stage = Stage { combination, site: &site, server: &server, slow: &files };
    stage.warm();
    files.hold(slow);
    let mut waits = stage.ask(&format!("/slow/{name}"));
    files.await_held(slow);
    match combination.row["stalls"].as_str() {
        Some("all") => stage.expect_all_stall_until(|| files.let_go(slow)),
        _ => stage.expect_served(),
    }
    files.let_go(slow);
    let (head, _) = waits.reply(false).expect("answered in the end");
    assert_eq!(head.status, 200, "{combination}: {slow:?}, cached names: {are_names_cached}");
    server.stop();
}

/// A request that finds an old answer in memory gets it at once, though a look at the disk would
/// last and no helper is free. The disk is looked at behind it.
#[test]
fn an_old_answer_waits_for_no_helper() {
    if lacks_slow_files() {
        return;
    }
    let has_helpers = |combination: &Combination| combination.row["stalls"] == "nobody";
    on_mechanisms_where(Program::Weir, has_helpers, |combination| {
        at_some_scale(|scale| sends_the_old_answer_at_once(combination, 300 * scale));
    });
}

fn sends_the_old_answer_at_once(combination: &Combination, age_ms: u32) {
    let site = Fixture::new();
    let [hot, cold] = ["hot", "cold"].map(|name| SlowFiles::mount(&site.root().join(name)));
    hot.release();
    cold.release();
    let age = age_ms.to_string();
    let mut own = vec!["--answer-age-ms", &age, "--load-delay-ms", "3600000"];
    if combination.takes(&["--helpers", "1"]) {
        own.extend(["--helpers", "1"]);
    }
    let server = combination.start(&site.root(), &own);
    let stage = Stage { combination, site: &site, server: &server, slow: &cold };
    let known = server.fetch("/hot/small.txt");
    assert_eq!(known.as_deref(), Ok(&*content("small.txt")), "{combination}");
    cold.hold(Operation::Open);
    let mut waits = ["small.txt", "a.bin", "b.bin"].map(|name| stage.ask(&format!("/cold/{name}")));
    cold.await_held(Operation::Open);
    hot.hold(Operation::Lookup);
    std::thread::sleep(Duration::from_millis(u64::from(age_ms)));
    assert_eq!(server.fetch("/hot/small.txt"), known, "{combination}");
    hot.await_held(Operation::Lookup);
    hot.let_go(Operation::Lookup);
    cold.let_go(Operation::Open);
    for (wire, name) in waits.iter_mut().zip(["small.txt", "a.bin", "b.bin"]) {
        stage.expect_slow(wire, name);
    }
    server.stop();
}
