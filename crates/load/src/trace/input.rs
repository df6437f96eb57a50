//! Lines and records of a file, one at a time.

use std::io::{self, BufRead, ErrorKind, Read as _};

use super::fault::Fault;

/// Lines, without what ends them (LF or CRLF).
pub(crate) struct Lines<'f> {
    from: &'f mut dyn BufRead,
    /// With its end.
    line_bytes_max: usize,
    line: Vec<u8>,
    /// Of the last one, counted from 1.
    pub(crate) number: u64,
}

impl<'f> Lines<'f> {
    pub(crate) const fn new(from: &'f mut dyn BufRead, line_bytes_max: usize) -> Self {
        Self { from, line_bytes_max, line: Vec::new(), number: 0 }
    }

    /// The next one; `Some(None)`: it is too long, and passed over.
    pub(crate) fn next(&mut self) -> io::Result<Option<Option<&[u8]>>> {
        self.line.clear();
        let mut limited = (&mut *self.from).take(self.line_bytes_max as u64);
        let count = limited.read_until(b'\n', &mut self.line)?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if count == self.line_bytes_max {
            self.from.skip_until(b'\n')?;
            return Ok(Some(None));
        }
        Ok(Some(Some(&self.line)))
    }
}

/// Fills `record`, or as much of it as there is: less than its length only at the end of the file.
pub(crate) fn fill(from: &mut dyn BufRead, record: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < record.len() {
        match from.read(&mut record[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Archives keep logs compressed; read as they are they look like nothing but errors.
pub(crate) fn refuse_compressed(from: &mut dyn BufRead) -> Result<(), Fault> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    if from.fill_buf()?.starts_with(&GZIP) { Err(Fault::Compressed) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_by_either_end() {
        let rows: [(&[u8], &[&str]); 6] = [
            (b"", &[]),
            (b"a", &["a"]),
            (b"a\n", &["a"]),
            (b"a\r\n\nb\r", &["a", "", "b\r"]),
            (b"\n\r\n", &["", ""]),
            (b"\r\r\n", &["\r"]),
        ];
        for (mut text, expected) in rows {
            let mut lines = Lines::new(&mut text, 100);
            let mut seen = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                seen.push(String::from_utf8(line.unwrap().to_vec()).unwrap());
            }
            assert_eq!(seen, expected);
            assert_eq!(lines.number, expected.len() as u64);
        }
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let mut text = vec![b'a'; 100_000];
        text.extend(b"\nb\n");
        let mut text = text.as_slice();
        let mut lines = Lines::new(&mut text, 1000);
        assert_eq!(lines.next().unwrap(), Some(None));
        assert!(lines.line.capacity() <= 2000, "{}", lines.line.capacity());
        assert_eq!(lines.next().unwrap(), Some(Some(&b"b"[..])));
        assert_eq!(lines.next().unwrap(), None);
    }
}
