//! What an error of a system call means for who is at fault.

use std::io;

/// Whether this process or this machine has no descriptor left (EMFILE, ENFILE).
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Whether a ring had no buffer for what was received (ENOBUFS).
#[must_use]
pub fn is_out_of_buffers(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Whether an operation ended because it was cancelled.
#[must_use]
pub fn is_cancelled(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECANCELED)
}

/// Whether the peer, or the way to it, is gone: nobody's mistake, and nothing to report.
#[must_use]
pub fn is_peer_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNRESET
                | libc::EPIPE
                | libc::ETIMEDOUT
                | libc::ECONNABORTED
                | libc::ENOTCONN
                | libc::EHOSTUNREACH
                | libc::EHOSTDOWN
                | libc::ENETUNREACH
                | libc::ENETDOWN
                | libc::ENETRESET
                | libc::ENONET
                | libc::EPROTO
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart() {
        let rows = [
            (libc::EMFILE, [true, false, false]),
            (libc::ENFILE, [true, false, false]),
            (libc::ENOBUFS, [false, true, false]),
            (libc::ECONNRESET, [false, false, true]),
            (libc::EPIPE, [false, false, true]),
            (libc::ETIMEDOUT, [false, false, true]),
            (libc::EAGAIN, [false, false, false]),
            (libc::EIO, [false, false, false]),
        ];
        for (number, expected) in rows {
            let e = io::Error::from_raw_os_error(number);
            let told = [is_out_of_descriptors(&e), is_out_of_buffers(&e), is_peer_gone(&e)];
            assert_eq!(told, expected, "{e}");
        }
        assert!(!is_peer_gone(&io::ErrorKind::ConnectionReset.into()), "not of a system call");
    }
}
