//! Bytes that have come and are not done with.

/// The head in hand, then what came behind it. Without memory when there is neither.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Those before `at` are done with: to move the others at each request would make a client
    /// that sends thousands at once cost the square of their number.
    bytes: Vec<u8>,
    at: usize,
}

impl Inbox {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Is done with the first `n`.
    pub(crate) fn skip(&mut self, n: usize) {
        self.at += n;
        if self.at == self.bytes.len() {
            *self = Self::default();
        }
    }

    /// Is done with `n` behind the first `head`.
    pub(crate) fn skip_behind(&mut self, head: usize, n: usize) {
        let end = self.at + head + n;
        if end == self.bytes.len() {
            self.bytes.truncate(end - n);
        } else {
            // What follows may be long, a head hardly is: it moves.
            self.bytes.copy_within(self.at..self.at + head, self.at + n);
            self.at += n;
        }
    }

    /// Gives back the memory of what is done with.
    pub(crate) fn compact(&mut self) {
        if self.at > 0 {
            self.bytes = self.bytes().to_vec();
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_from_the_front_and_from_behind_the_head() {
        let mut inbox = Inbox::default();
        inbox.add(b"--headbodyhead");
        inbox.skip(2);
        inbox.skip_behind(4, 3);
        assert_eq!(inbox.bytes(), b"headyhead");
        inbox.skip_behind(4, 1);
        assert_eq!(inbox.bytes(), b"headhead");
        inbox.add(b"body");
        inbox.skip_behind(8, 4);
        assert_eq!(inbox.bytes(), b"headhead");
        inbox.compact();
        assert_eq!((inbox.bytes(), inbox.memory()), (&b"headhead"[..], 8));
    }

    #[test]
    fn nothing_takes_no_memory() {
        let mut inbox = Inbox::default();
        inbox.add(b"head");
        inbox.skip(4);
        assert_eq!((inbox.len(), inbox.memory()), (0, 0));
    }
}
