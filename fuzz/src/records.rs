use load::trace::Format;
use load::trace::{ucb, wc98};

use crate::replay::replay;

/// Records of both binary formats: what is read from one is written as it was.
///
/// # Panics
/// Where that does not hold.
pub fn records(data: &[u8]) {
    for record in data.as_chunks().0 {
        assert_eq!(wc98::Record::from_bytes(record).to_bytes(), *record);
    }
    for record in data.as_chunks().0 {
        assert_eq!(ucb::Record::from_bytes(record).to_bytes(), *record);
    }
    replay(Format::Wc98, data);
    replay(Format::Ucb, data);
}
