use load::trace::Format;
use load::trace::clf::{Line, parse};

use crate::replay::replay;

/// Lines of logs: whatever they are they are no reason to stop, and what is found in one is found
/// again in the plainest line that says the same.
///
/// # Panics
/// Where one of these does not hold.
pub fn clf(data: &[u8]) {
    for line in data.split(|&byte| byte == b'\n') {
        let Some(found) = parse(line) else { continue };
        let Line { host, method, target, status, bytes, .. } = found;
        assert!(!host.is_empty() && !host.contains(&b' '), "{found:?}");
        assert!(!target.is_empty() && (100..1000).contains(&status), "{found:?}");
        // A quote within a target may get a status from what follows it.
        if target.windows(2).any(|two| two == b"\" ") {
            continue;
        }
        let bytes = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        let answer = format!(" HTTP/1.0\" {status} {bytes}");
        let date = b" - - [01/Jan/1970:00:00:00 +0000] \"";
        let plain = [host, date, method, b" ", target, answer.as_bytes()].concat();
        assert_eq!(parse(&plain), Some(Line { at_s: 0, ..found }), "{}", plain.escape_ascii());
    }
    replay(Format::Clf, data);
}
