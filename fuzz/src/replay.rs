use std::collections::HashSet;

use load::arrivals::Gaps;
use load::trace::{Choices, Format, TraceWorkload, read};
use load::workload::Workload as _;
use measure::draw::Stream;

/// A log is read without a panic, and where something in it can be replayed, every request that was
/// kept is, once, in order, and for a target that can be sent; against its own made site, too,
/// whose files are a tree of plain names that have sizes.
pub(crate) fn replay(format: Format, log: &[u8]) {
    let Ok(own) = read(format, log, &Choices::default()) else { return };
    let all = own.tally().kept;
    replay_all(own);
    let Ok(made) = read(format, log, &Choices { is_made: true, ..Choices::default() }) else {
        return;
    };
    assert_eq!(made.tally().kept + made.tally().not_made, all);
    let names: HashSet<&str> = made.files().iter().map(|(_, file)| &*file.target).collect();
    assert_eq!(names.len(), made.files().count(), "a file stands there twice");
    for (_, file) in made.files().iter() {
        let path = file.target.as_bytes();
        assert!(site::path::translate(path).is_ok_and(|path| path.last() != Some(&b'/')));
        assert!(file.bytes.is_some() && !file.target.contains("//"), "{}", file.target);
        let mut above = file.target.match_indices('/').map(|(at, _)| &file.target[..at]);
        assert!(!above.any(|name| names.contains(name)), "{} lies in a file", file.target);
    }
    replay_all(made);
}

fn replay_all(mut replay: TraceWorkload) {
    for (_, file) in replay.files().iter() {
        let target = &file.target;
        assert!(target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!target.contains(['"', '#', '<', '>', '\\']), "{target}");
    }
    let Some(Gaps::Times(times)) = replay.times() else { panic!("a log has times") };
    assert_eq!(times.len(), replay.sessions());
    assert!(times[0].is_zero() && times.is_sorted(), "{times:?}");
    let files = replay.files().count();
    let (mut sessions, mut thinking) = (Stream::new(1, 1), Stream::new(1, 2));
    let mut requests = 0;
    for number in 0..replay.sessions() as u64 {
        let session = replay.session(number, &mut sessions, &mut thinking);
        requests += session.requests() as u64;
        for burst in &session.bursts {
            assert!(!burst.requests.is_empty(), "an empty burst");
            assert!(burst.requests.iter().all(|request| (request.file.0 as usize) < files));
            let pauses = burst.requests.iter().map(|request| request.pause);
            assert!(pauses.chain([burst.think]).all(|pause| pause.as_secs() <= 15));
        }
    }
    assert_eq!(requests, replay.tally().kept);
}
