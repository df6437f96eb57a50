use load::trace::wsesslog::{Wsesslog, write};
use load::workload::Workload as _;
use measure::Duration;

/// A session log of httperf's: refused in words or read, and what is read is written so that it is
/// read again as the same.
///
/// # Panics
/// Where that does not hold.
pub fn wsesslog(data: &[u8]) {
    let log = match Wsesslog::read(data, Duration::from_secs(3)) {
        Ok(log) => log,
        Err(fault) => {
            assert!(!fault.to_string().is_empty());
            return;
        }
    };
    assert!(log.sessions().iter().all(|session| session.requests() > 0), "an empty session");
    for (_, file) in log.files().iter() {
        assert!(file.target.bytes().all(|byte| byte.is_ascii_graphic()), "{}", file.target);
    }
    let mut text = Vec::new();
    write(log.files(), log.sessions(), &mut text).expect("memory takes all");
    let again = Wsesslog::read(text.as_slice(), Duration::ZERO).expect("it can be read");
    assert_eq!(again, log, "{}", text.escape_ascii());
}
