//! Terminals.

use std::os::fd::AsFd;

/// How many columns a terminal has; `None`: it is none, or does not say.
#[must_use]
pub fn columns(terminal: impl AsFd) -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_has_no_columns() {
        assert_eq!(columns(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
