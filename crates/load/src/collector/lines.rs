//! A line for each request, for who wants to look at them himself: comma-separated, times in
//! microseconds.

use std::fmt;

use measure::Instant;

use super::counts;
use crate::record::{Outcome, Record};

/// The first line of such a file.
pub const HEAD: &str = "session,place,file,intended_us,started_us,connected_us,first_byte_us,\
                        ended_us,bytes,outcome";

/// One request; shown without the end of the line. Times are those since the run began; what did
/// not happen is empty. The outcome is its name, with the status where another was expected.
#[derive(Debug, Clone, Copy)]
pub struct Line<'r> {
    /// What became of it.
    pub record: &'r Record,
    /// When the run began.
    pub start: Instant,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, start } = self;
        write!(f, "{},{},{}", record.session, record.place, record.file.0)?;
        let times = [
            Some(record.intended),
            Some(record.started),
            record.connected,
            record.first_byte,
            Some(record.ended),
        ];
        for time in times {
            match time {
                Some(at) => write!(f, ",{}", at.since(*start).as_micros())?,
                None => f.write_str(",")?,
            }
        }
        write!(f, ",{},{}", record.bytes, counts::name(record.outcome))?;
        match record.outcome {
            Outcome::Status(status) => write!(f, "-{status}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileId;
    use crate::record::Step;

    #[test]
    fn a_request_is_a_line() {
        let at = |us: u64| Instant { ns: 5_000_000_000 + us * 1000 };
        let record = Record {
            file: FileId(3),
            session: 7,
            place: 1,
            is_last: true,
            intended: at(10),
            started: at(12),
            connected: Some(at(30)),
            first_byte: Some(at(80)),
            ended: at(95),
            bytes: 1234,
            outcome: Outcome::Good,
        };
        let failed =
            |outcome| Record { connected: None, first_byte: None, bytes: 0, outcome, ..record };
        let rows = [
            (record, "7,1,3,10,12,30,80,95,1234,good"),
            (failed(Outcome::Impatient(Step::Send)), "7,1,3,10,12,,,95,0,client-timo-send"),
            (failed(Outcome::Status(404)), "7,1,3,10,12,,,95,0,status-404"),
        ];
        for (record, expected) in rows {
            let line = Line { record: &record, start: at(0) }.to_string();
            assert_eq!(line, expected);
            assert_eq!(line.split(',').count(), HEAD.split(',').count());
        }
    }
}
