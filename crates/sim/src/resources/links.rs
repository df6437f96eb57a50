//! A link that all who send over it share fairly: of n each has an nth of its rate, as TCP comes to
//! among connections whose ways are alike.
//!
//! It has a clock of its own, *virtual time*, which goes at an nth of the pace of the other one
//! while n share it. By that clock a flow's bytes take as long as if nobody else sent, so that who
//! comes or goes moves nobody's end, and one alarm is enough: for the first of them (Parekh and
//! Gallager, A Generalized Processor Sharing Approach to Flow Control, 1993).
//!
//! Links of their own, one for each flow, are the same with a clock that goes at full pace whoever
//! sends.

use super::row::{Little, Row};
use crate::agenda::Agenda;

/// One connection's bytes, by its number.
pub type FlowId = u32;

/// What has come to pass of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// No more is left of it than was asked about.
    Room(FlowId),
    /// Nothing is.
    All(FlowId),
}

/// What was seen of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// What was put into it.
    pub put_bytes: u64,
    /// What has come through, of flows that are over.
    pub through_bytes: u64,
    /// What was put into flows that were forgotten, whether it came through or not.
    pub lost_bytes: u64,
    /// For how long somebody sent.
    pub busy_ns: u64,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Link {
    /// In the agenda.
    place: u32,
    is_shared: bool,
    /// To whole such is the time up to its next alarm rounded up.
    grain_ns: u64,
    /// What a byte takes alone, in parts.
    byte_parts: f64,
    /// When the next is to be told of each flow, by the clock of the link.
    /// Nobody has one while nobody sends, when that clock begins again.
    marks: Agenda,
    flows: Vec<Flow>,
    sending: u64,
    /// What the clock of the link says, in parts.
    clock: u64,
    /// When it was put right.
    changed_ns: u64,
    row: Row,
    carried: Carried,
}

/// Of its grain, a nanosecond mostly, the clock of a link counts so many parts. Rounding is no
/// matter then, and a link that is never idle has time for 52 days.
const PART_BITS: u32 = 12;

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Since when it sends; `None`: it does not.
    since_ns: Option<u64>,
    /// When all of it is through, by the clock of the link.
    ends: u64,
    /// What was put into it since.
    bytes: u64,
    /// Somebody is to hear when no more than that is left.
    room_bytes: Option<u64>,
}

impl Link {
    /// A link that carries so much, with that place in the agenda. Nobody sends.
    #[must_use]
    pub fn new(bytes_per_s: f64, place: u32) -> Self {
        Self {
            place,
            is_shared: true,
            grain_ns: 1,
            byte_parts: 1e9 / bytes_per_s * f64::from(1 << PART_BITS),
            marks: Agenda::default(),
            flows: Vec::new(),
            sending: 0,
            clock: 0,
            changed_ns: 0,
            row: Row::default(),
            carried: Carried::default(),
        }
    }

    /// One such for each flow.
    #[must_use]
    pub fn one_for_each(self) -> Self {
        Self { is_shared: false, ..self }
    }

    /// The same whose times up to the next alarm are rounded up to whole such, which are short: the
    /// clock of a link that is shared by many is late by some of its parts.
    #[must_use]
    pub fn rounding_to(self, grain_ns: u64) -> Self {
        let byte_parts = self.byte_parts * self.grain_ns as f64 / grain_ns as f64;
        Self { grain_ns, byte_parts, ..self }
    }

    /// So many bytes more of a flow.
    pub fn put(&mut self, flow: FlowId, bytes: u64, now_ns: u64, agenda: &mut Agenda) {
        self.tick(now_ns);
        while self.flows.len() <= flow as usize {
            self.flows.push(Flow::default());
            self.marks.place();
        }
        let lasts = self.parts(bytes);
        let of = &mut self.flows[flow as usize];
        if of.since_ns.is_none() {
            *of = Flow { since_ns: Some(now_ns), ends: self.clock, ..Flow::default() };
            self.sending += 1;
            self.row.come(now_ns);
        }
        of.bytes += bytes;
        of.ends = of.ends.saturating_add(lasts);
        self.carried.put_bytes += bytes;
        self.mark(flow);
        self.alarm(now_ns, agenda);
    }

    /// What is left of a flow, in bytes.
    #[must_use]
    pub fn left(&self, flow: FlowId, now_ns: u64) -> u64 {
        match self.flows.get(flow as usize) {
            Some(Flow { since_ns: Some(_), ends, bytes, .. }) => {
                let left = ends.saturating_sub(self.clock_at(now_ns));
                ((left as f64 / self.byte_parts).ceil() as u64).min(*bytes)
            }
            _ => 0,
        }
    }

    /// Whether something is.
    #[must_use]
    pub fn sends(&self, flow: FlowId) -> bool {
        self.flows.get(flow as usize).is_some_and(|flow| flow.since_ns.is_some())
    }

    /// Whoever asks is to hear when no more than that is left of a flow that sends.
    pub fn ask_room(&mut self, flow: FlowId, left_bytes: u64, now_ns: u64, agenda: &mut Agenda) {
        self.tick(now_ns);
        self.flows[flow as usize].room_bytes = Some(left_bytes);
        self.mark(flow);
        self.alarm(now_ns, agenda);
    }

    /// The rest of a flow is of no use any more.
    pub fn forget(&mut self, flow: FlowId, now_ns: u64, agenda: &mut Agenda) {
        if self.sends(flow) {
            self.tick(now_ns);
            self.carried.lost_bytes += self.end(flow, now_ns);
            self.marks.clear(flow);
            self.alarm(now_ns, agenda);
        }
    }

    /// The link's alarm has rung: what came to pass first of what was not told yet.
    pub fn next(&mut self, now_ns: u64, agenda: &mut Agenda) -> Option<Passed> {
        self.tick(now_ns);
        let Some((_, flow)) = self.marks.ring(self.clock) else {
            self.alarm(now_ns, agenda);
            return None;
        };
        if self.flows[flow as usize].room_bytes.take().is_some() {
            self.mark(flow);
            return Some(Passed::Room(flow));
        }
        self.carried.through_bytes += self.end(flow, now_ns);
        Some(Passed::All(flow))
    }

    /// Of who sends.
    #[must_use]
    pub fn little(&self, now_ns: u64) -> Little {
        self.row.little(now_ns, self.flows.iter().filter_map(|flow| flow.since_ns))
    }

    /// From the start.
    #[must_use]
    pub const fn carried(&self, now_ns: u64) -> Carried {
        let since_ns = if self.sending > 0 { now_ns - self.changed_ns } else { 0 };
        Carried { busy_ns: self.carried.busy_ns + since_ns, ..self.carried }
    }

    /// What was put into flows that are not over.
    #[must_use]
    pub fn open_bytes(&self) -> u64 {
        self.flows.iter().filter(|flow| flow.since_ns.is_some()).map(|flow| flow.bytes).sum()
    }

    /// It sends no more; says what was put into it.
    fn end(&mut self, flow: FlowId, now_ns: u64) -> u64 {
        let Flow { since_ns, bytes, .. } = std::mem::take(&mut self.flows[flow as usize]);
        self.sending -= 1;
        if self.sending == 0 {
            self.clock = 0;
        }
        self.row.go(now_ns, since_ns.expect("a flow that sends"));
        bytes
    }

    fn mark(&mut self, flow: FlowId) {
        let of = self.flows[flow as usize];
        let before = of.room_bytes.map_or(0, |bytes| self.parts(bytes));
        self.marks.set(flow, of.ends.saturating_sub(before));
    }

    /// For the first mark.
    fn alarm(&self, now_ns: u64, agenda: &mut Agenda) {
        match self.marks.first() {
            None => agenda.clear(self.place),
            Some(mark) => {
                let parts =
                    u128::from(mark.saturating_sub(self.clock)) * u128::from(self.sharers());
                let grains = parts.div_ceil(1 << PART_BITS) as u64;
                agenda.set(self.place, now_ns + grains * self.grain_ns);
            }
        }
    }

    fn tick(&mut self, now_ns: u64) {
        self.clock = self.clock_at(now_ns);
        if self.sending > 0 {
            self.carried.busy_ns += now_ns - self.changed_ns;
        }
        self.changed_ns = now_ns;
    }

    fn clock_at(&self, now_ns: u64) -> u64 {
        let parts = u128::from(now_ns - self.changed_ns) << PART_BITS;
        let shared_by = u128::from(self.sharers()) * u128::from(self.grain_ns);
        self.clock + parts.checked_div(shared_by).unwrap_or_default() as u64
    }

    /// Among how many each link's rate is divided.
    fn sharers(&self) -> u64 {
        if self.is_shared { self.sending } else { self.sending.min(1) }
    }

    fn parts(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.byte_parts).round() as u64
    }
}
