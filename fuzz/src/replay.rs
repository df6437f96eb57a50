use load::arrivals::Gaps;
use load::trace::{Choices, Format, read};
use load::workload::Workload as _;
use measure::draw::Stream;

/// A log is read without a panic, and where something in it can be replayed, every request that was
/// kept is, once, in order, and for a target that can be sent.
pub(crate) fn replay(format: Format, log: &[u8]) {
    let Ok(mut replay) = read(format, log, &Choices::default()) else { return };
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
