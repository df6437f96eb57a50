//! What a server has seen and decided can be gone through again.

use std::collections::HashMap;

use control::admission::ALL;
use control::record::{Record, Replay};

use crate::support::fixture::Fixture;
use crate::support::{PATIENCE, await_true};
use crate::{Crowd, admission, await_flood, check_calm, flags, is_calm, on_each, turn};

#[test]
fn the_same_is_decided_again_of_what_was_seen() {
    let site = Fixture::new();
    on_each(|combination| {
        let file = site.beside(&format!("looks of {combination}"));
        let path = file.to_str().expect("UTF-8");
        let flags = [&flags(combination)[..], &["--admission-log", path]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = server.await_admin();
        let crowd = Crowd::new(server.address);
        await_flood(combination, admin);
        // While an operator decides nothing is seen.
        turn(admin, "backlog", "4096");
        turn(admin, "admit-percent", "100");
        assert!(await_true(PATIENCE, || is_calm(&admission(admin))), "{}", admission(admin));
        turn(admin, "backlog", "auto");
        turn(admin, "admit-percent", "auto");
        await_flood(combination, admin);
        drop(crowd);
        check_calm(combination, &server, admin);
        server.stop();
        let text = std::fs::read_to_string(&file).expect("a log");
        let (mut replays, mut refusing) = (HashMap::<&str, Replay>::new(), 0);
        for line in text.lines() {
            let (of, record) = line.split_once(' ').expect("of whom");
            let record: Record = record.parse().expect(line);
            let set = replays.entry(of).or_default().go_on(&record);
            if let Record::Looks { setting, .. } = record {
                assert_eq!(set, Some(setting), "{combination}: {line}");
                refusing += u32::from(setting.share < ALL);
            }
        }
        assert!(refusing > 0, "{combination}: {text}");
    });
}
