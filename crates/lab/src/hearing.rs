//! What other programs say, for which nobody waits longer than he wants to.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;

use measure::Instant;

/// Reads to the end, or until it is enough.
///
/// # Errors
/// It is neither by the deadline (`TimedOut`); or what reading and polling have.
pub(crate) fn hear(
    from: &mut (impl Read + AsFd),
    deadline: Instant,
    is_enough: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<u8>> {
    let mut said = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    while !is_enough(&said) {
        let left = deadline.since(os::clock::monotonic());
        let is_ready = os::wait_readable([from.as_fd()], Some(left))? == [true];
        let length = if is_ready { from.read(&mut piece)? } else { 0 };
        match (is_ready, length) {
            (true, 0) => break,
            // Also of who says more and more.
            _ if left.is_zero() => return Err(ErrorKind::TimedOut.into()),
            _ => said.extend_from_slice(piece.get(..length).unwrap_or_default()),
        }
    }
    Ok(said)
}

/// As much as a pipe holds.
const PIECE_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use measure::Duration;

    use super::*;

    #[test]
    fn nobody_waits_for_ever() {
        let (hour, none) = (Duration::from_secs(3_600), Duration::ZERO);
        let late = Err(ErrorKind::TimedOut);
        // What is said, whether that is the end, how much time is left, and what comes of it.
        let rows = [
            ("all", true, hour, Ok("all")),
            ("", true, hour, Ok("")),
            ("a line\nand more", false, hour, Ok("a line\nand more")),
            ("", true, none, Ok("")),
            ("", false, none, late),
            ("no line", false, none, late),
        ];
        for (text, is_over, left, expected) in rows {
            let (mut from, mut into) = io::pipe().unwrap();
            into.write_all(text.as_bytes()).unwrap();
            let into = (!is_over).then_some(into);
            let deadline = os::clock::monotonic() + left;
            let said = hear(&mut from, deadline, |said| said.contains(&b'\n'));
            let said = said.map(|said| String::from_utf8(said).unwrap());
            assert_eq!(said.as_deref().map_err(io::Error::kind), expected, "{text:?} {left:?}");
            drop(into);
        }
    }
}
