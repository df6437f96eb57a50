//! What an admission was told and what it decided, as lines of text, and the same again from them:
//! so that a flood that was seen once can be put to other constants.
//!
//! `begins at=NS wait=NS backlog_max=N backlog=auto|N admitted=auto|N share=F flood=0|1 capacity=F
//! offered=F`, where a controller begins or takes over; then for each look `looks at=NS wait=...
//! admitted=... queue=N room=N emptied=0|1 accepted=N refused=N could=N set_backlog=N set_share=N`.

use std::fmt::{self, Display, Formatter};
use std::str::{FromStr, SplitAsciiWhitespace};

use measure::{Duration, Instant};

use crate::admission::{Admission, Bounds, Sample, Setting, Told};

/// A line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record {
    /// A controller begins, or goes on where another has ended.
    Begins {
        /// When.
        now: Instant,
        /// What an operator has decided.
        bounds: Bounds,
        /// Of those who knock, the share that is admitted: see [`Admission::resumed`].
        share: f64,
        /// What was believed; of it the flood, the capacity and what is offered.
        told: Told,
    },
    /// It looks.
    Looks {
        /// When.
        now: Instant,
        /// What an operator has decided.
        bounds: Bounds,
        /// What it sees; nothing, where an operator has decided everything.
        sample: Sample,
        /// What is set from then on.
        setting: Setting,
    },
}

/// A controller that is told again what one was told before.
#[derive(Debug, Default)]
pub struct Replay(Option<Admission>);

impl Replay {
    /// Goes on by a line. Of a look it returns what is set then; of one before any begin nothing.
    pub fn go_on(&mut self, record: &Record) -> Option<Setting> {
        match record {
            Record::Begins { now, bounds, share, told } => {
                self.0 = Some(Admission::resumed(*bounds, *now, *share, told));
                None
            }
            Record::Looks { now, bounds, sample, .. } => {
                let admission = self.0.as_mut()?;
                admission.bind(*bounds);
                if !admission.is_frozen() {
                    admission.observe(*now, sample);
                }
                Some(admission.setting())
            }
        }
    }
}

impl Display for Record {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Self::Begins { now, bounds, .. } | Self::Looks { now, bounds, .. }) = self;
        let Bounds { wait, backlog_max, backlog, share: admitted } = bounds;
        let kind = if matches!(self, Self::Begins { .. }) { "begins" } else { "looks" };
        let frozen = |of: &Option<u32>| of.map_or(String::from(AUTO), |of| of.to_string());
        let (at, wait) = (now.ns, wait.as_nanos());
        write!(f, "{kind} at={at} wait={wait} backlog_max={backlog_max} ")?;
        write!(f, "backlog={} admitted={} ", frozen(backlog), frozen(admitted))?;
        match self {
            Self::Begins { share, told: Told { is_flood, capacity, offered, .. }, .. } => {
                let flood = u32::from(*is_flood);
                write!(f, "share={share} flood={flood} capacity={capacity} offered={offered}")
            }
            Self::Looks { sample, setting: Setting { backlog, share }, .. } => {
                let Sample { queue, room, emptied, accepted, refused, could } = sample;
                let emptied = u32::from(*emptied);
                write!(f, "queue={queue} room={room} emptied={emptied} accepted={accepted} ")?;
                write!(f, "refused={refused} could={could} ")?;
                write!(f, "set_backlog={backlog} set_share={share}")
            }
        }
    }
}

/// Decided by the controller.
const AUTO: &str = "auto";

impl FromStr for Record {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut fields = Fields(line.split_ascii_whitespace());
        let kind = fields.0.next();
        let now = Instant { ns: fields.value("at")? };
        let bounds = Bounds {
            wait: Duration::from_nanos(fields.value("wait")?),
            backlog_max: fields.value("backlog_max")?,
            backlog: fields.frozen("backlog")?,
            share: fields.frozen("admitted")?,
        };
        match kind {
            Some("begins") => {
                let share = fields.value("share")?;
                let told = Told {
                    is_flood: fields.is("flood")?,
                    capacity: fields.value("capacity")?,
                    offered: fields.value("offered")?,
                    wait: Duration::ZERO,
                };
                Ok(Self::Begins { now, bounds, share, told })
            }
            Some("looks") => {
                let sample = Sample {
                    queue: fields.value("queue")?,
                    room: fields.value("room")?,
                    emptied: fields.is("emptied")?,
                    accepted: fields.value("accepted")?,
                    refused: fields.value("refused")?,
                    could: fields.value("could")?,
                };
                let (backlog, share) = (fields.value("set_backlog")?, fields.value("set_share")?);
                Ok(Self::Looks { now, bounds, sample, setting: Setting { backlog, share } })
            }
            _ => Err(format!("neither begins nor looks: {line}")),
        }
    }
}

/// Of a line, those that are not read yet: they stand in one order.
struct Fields<'l>(SplitAsciiWhitespace<'l>);

impl<'l> Fields<'l> {
    fn text(&mut self, name: &str) -> Result<&'l str, String> {
        let field = self.0.next().and_then(|field| field.split_once('='));
        let text = field.and_then(|(known, text)| (known == name).then_some(text));
        text.ok_or_else(|| format!("{name}= is to come"))
    }

    fn value<T: FromStr>(&mut self, name: &str) -> Result<T, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name}={text}: not a number, or too large"))
    }

    fn is(&mut self, name: &str) -> Result<bool, String> {
        self.value::<u8>(name).map(|is| is > 0)
    }

    fn frozen(&mut self, name: &str) -> Result<Option<u32>, String> {
        match self.text(name)? {
            AUTO => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("{name}={text}: nor is it auto")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: &str = "at=7 wait=20000000 backlog_max=4096 backlog=auto admitted=655";

    #[test]
    fn lines_are_read_as_they_were_written() {
        let looks = "queue=9 room=256 emptied=1 accepted=77 refused=4294967295 could=3000 \
                     set_backlog=128 set_share=655";
        let lines = [
            format!("begins {BOUNDS} share=0.1 flood=1 capacity=2500.25 offered=0"),
            format!("looks {BOUNDS} {looks}"),
        ];
        for line in lines {
            let record: Record = line.parse().expect("a line");
            assert_eq!(record.to_string(), line);
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        let rows = [
            ("", "at= is to come"),
            ("looks at=x", "at=x: not a number"),
            ("looks at=1 queue=2", "wait= is to come"),
            (&format!("sees {BOUNDS}"), "neither begins nor looks: sees"),
            (&format!("looks {}", BOUNDS.replace("auto", "all")), "backlog=all: nor is it auto"),
            (&format!("begins {BOUNDS}"), "share= is to come"),
        ];
        for (line, expected) in rows {
            let why = line.parse::<Record>().expect_err(line);
            assert!(why.starts_with(expected), "{line}: {why}");
        }
    }
}
