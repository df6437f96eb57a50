//! Who of those that knock is let in, so that nobody who is let in waits for long.
//!
//! A server that takes everybody serves clients that have left already: livelock on dead clients
//! (Carter and Cherkasova; Brecht04 8). Turning somebody away has to cost little, so it is done
//! where a connection begins: the listening socket admits a share of the SYNs, and its queue has
//! room for as many as are served soon.
//!
//! In calm everybody is admitted. When the least wait in an interval is too long it is a flood
//! (CoDel, RFC 8289), and the share becomes what the server can do of what is asked of it: both are
//! rates that were seen. From then on it moves rarely and by little, in proportion to how far the
//! wait is off. Each move lets in clients that were refused before and try again, seconds late, and
//! they come in a crowd: an eager controller would chase its own echo.

use measure::{Duration, Instant};

/// A wait that is longer than it may be for so long is a flood (CoDel's interval, RFC 8289 4.3).
const INTERVAL: Duration = Duration::from_millis(100);
/// So many who wait are no flood, however slow the server is.
const FEW: u32 = 16;
/// How often the queue is looked at. In a flood it may fill within milliseconds.
const LOOK_CALM: Duration = Duration::from_millis(20);
const LOOK_FLOOD: Duration = Duration::from_millis(2);
/// Who offers less than this of the capacity is no flood, however long the queue is by now.
const OFFERED_LEAST: f64 = 0.9;
/// Where so many times what can be served comes in, the queue grows. One that does not is that of
/// clients who come again when they are served, and who could only be told to wait elsewhere: so it
/// is a flood only where they wait for so long, in seconds.
const GROWS_FROM: f64 = 1.05;
const STANDING_S: f64 = 0.1;
/// Fewer looks tell nothing of an interval, nor does one that lasts for less than so many times the
/// longest time without a look: a server may run for a share of each 100 ms only, or stand still.
const LOOKS_MIN: u32 = 4;
const GAPS_MIN: u32 = 3;
/// Whoever has not looked for so long begins anew.
const GAP_MAX: Duration = Duration::from_millis(500);
/// So long a wait, in seconds, is a flood after a shorter time.
const HURRY_S: f64 = 0.2;
const HURRY_AFTER: Duration = Duration::from_millis(40);

/// In a flood the queue has room for so many times the wait that is aimed at: fewer, and who was
/// admitted would find it full behind his handshake; more, and he would wait for too long.
const ROOM: f64 = 2.9;
/// Without a filter the queue alone bounds the wait.
const ROOM_WITHOUT_FILTER: f64 = 1.0;
/// Of a queue that is bounded by somebody else so much is to be filled.
const ROOM_FILLED: f64 = 0.5;
const BACKLOG_MIN: u32 = 16;
/// What the server could do of late counts there, less by so much after each interval: who was
/// admitted before it became slow is on his way.
const ROOM_KEPT: f64 = 0.9;
/// In calm bursts may wait for so many seconds, and so many may in any case.
const CALM_ROOM_S: f64 = 0.2;
const CALM_BACKLOG_MIN: u32 = 256;
/// Of the longest time without a look, so much is waited on the average, whoever is refused.
const GAP_WAITED: f64 = 0.5;
const SHARE_MIN: f64 = 1.0 / 64.0;

/// Share given up for each second that the wait is too long, down to a least.
const GAIN: f64 = 0.5;
const LOAD_MIN: f64 = 0.5;
/// At the begin of a flood less is admitted, until the queue that has built up is worked off: in so
/// many seconds, and at most so much less.
const DRAIN_S: f64 = 0.3;
const DRAIN_MOST: f64 = 0.22;
/// A share that would change by less stays, because each change lets in who was refused.
const STEP_MIN: f64 = 0.005;
/// What was offered is averaged over so many seconds.
const MEMORY_S: f64 = 0.4;
/// Of the wait that is aimed at: the least in which all the server can do is done, and the most
/// that is as good as none.
const BUSY_FROM: f64 = 0.125;
const STARVED_BELOW: f64 = 0.25;
/// After a large step down the rates tell nothing for so long: a round trip and some.
const HOLD: Duration = Duration::from_millis(200);
const LARGE_STEP: f64 = 0.1;
/// While the queue is empty the share grows by so much in each interval, and faster each time.
const BOOST: f64 = 1.01;
const BOOSTS_MAX: i32 = 10;
/// Weight of what was known of the capacity before, in each interval in which it shows.
const CAPACITY_KEPT: f64 = 0.5;
/// All were admitted for so long: it is calm again.
const CALM_AFTER: Duration = Duration::from_secs(1);

/// A share of those who knock, in parts of [`ALL`].
pub type Share = u32;
/// All of them.
pub const ALL: Share = 1 << 16;
const ALL_F: f64 = ALL as f64;

/// What is seen of a listening socket. Counts are since whenever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// So many can.
    pub room: u32,
    /// Since the last look nobody was left waiting at some time.
    pub emptied: bool,
    /// Connections that were accepted.
    pub accepted: u64,
    /// SYNs that were dropped, by the filter or by a full queue; it wraps.
    pub refused: u32,
    /// Connections a second that could be served, by what each has cost; 0: not known.
    pub could: u32,
}

/// What is set for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Connections that may wait.
    pub backlog: u32,
    /// Of those who knock, how many are admitted.
    pub share: Share,
}

/// What an operator has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The wait to be accepted that is aimed at.
    pub wait: Duration,
    /// Connections that may wait in calm.
    pub backlog_max: u32,
    /// So many may wait, always.
    pub backlog: Option<u32>,
    /// So many are admitted, always: as where there is no filter.
    pub share: Option<Share>,
}

/// What is believed of a listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Told {
    /// More come than can be served soon.
    pub is_flood: bool,
    /// Connections a second that are served when all that can is done; 0: not yet known.
    pub capacity: f64,
    /// Connections a second that would come in if all were admitted; known in a flood.
    pub offered: f64,
    /// How long who comes now will wait to be accepted.
    pub wait: Duration,
}

/// The controller of a listening socket.
#[derive(Debug, Clone)]
pub struct Admission {
    bounds: Bounds,
    capacity: f64,
    /// The most that it was of late.
    capacity_lately: f64,
    flood: Option<Flood>,
    window: Option<Window>,
    wait_s: f64,
    /// Connections that could wait at the last look.
    room: u32,
    /// Connections a second that could be served then.
    could: u32,
    /// The longest time without a look, of those that are remembered.
    gap: Duration,
    setting: Setting,
}

#[derive(Debug, Clone)]
struct Flood {
    share: f64,
    offered: f64,
    /// Until then what comes in is the answer to another share.
    hold: Instant,
    /// Intervals in which the queue was empty.
    starved: i32,
    /// When it was last certain that it is one.
    seen: Instant,
}

/// What was seen in an interval so far.
#[derive(Debug, Clone)]
struct Window {
    since: Instant,
    first: Sample,
    last: Instant,
    /// The longest time without a look.
    gap: Duration,
    least: u32,
    most: u32,
    sum: f64,
    looks: u32,
    /// Nobody was left waiting at some time.
    emptied: bool,
    /// Nobody else could wait at some time.
    is_full: bool,
}

/// What was seen in a whole one, a second.
struct Rates {
    took: f64,
    accepted: f64,
    inflow: f64,
    refused: f64,
}

impl Admission {
    /// In calm.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let mut admission = Self {
            bounds,
            capacity: 0.0,
            capacity_lately: 0.0,
            flood: None,
            window: None,
            wait_s: 0.0,
            room: bounds.backlog_max,
            could: 0,
            gap: Duration::ZERO,
            setting: Setting { backlog: 0, share: 0 },
        };
        admission.setting = admission.wanted();
        admission
    }

    /// Goes on where another has ended, who had set such a share and believed that.
    #[must_use]
    pub fn resumed(bounds: Bounds, now: Instant, share: f64, told: &Told) -> Self {
        let mut admission = Self::new(bounds);
        if told.is_flood && told.capacity > 0.0 {
            admission.capacity = told.capacity;
            admission.capacity_lately = told.capacity;
            let offered = told.offered.max(told.capacity);
            admission.flood = Some(Flood::new(share.clamp(SHARE_MIN, 1.0), offered, now));
            admission.setting = admission.wanted();
        }
        admission
    }

    /// From now on these hold.
    pub fn bind(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        if self.is_frozen() {
            (self.flood, self.window, self.wait_s) = (None, None, 0.0);
        }
        self.setting = self.wanted();
    }

    /// Whether an operator has decided everything: then there is nothing to observe.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.bounds.backlog.is_some() && self.bounds.share.is_some()
    }

    /// What is set now.
    #[must_use]
    pub const fn setting(&self) -> Setting {
        self.setting
    }

    /// What is believed.
    #[must_use]
    pub fn told(&self) -> Told {
        Told {
            is_flood: self.flood.is_some(),
            capacity: self.capacity,
            offered: self.flood.as_ref().map_or(0.0, |flood| flood.offered),
            wait: Duration::from_secs_f64(self.wait_s),
        }
    }

    /// What the operator has decided, as it was told last.
    #[must_use]
    pub const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// How long after a look the next one is due.
    #[must_use]
    pub const fn look_after(&self) -> Duration {
        if self.flood.is_some() { LOOK_FLOOD } else { LOOK_CALM }
    }

    /// Takes note of what is seen; what is to be set, if that changes. Counts that go back begin
    /// anew.
    pub fn observe(&mut self, now: Instant, sample: &Sample) -> Option<Setting> {
        if self.window.take_if(|window| sample.accepted < window.first.accepted).is_some() {
            self.flood = None;
        }
        // Who has stood still has let a queue grow; where there is none, nobody came.
        self.window.take_if(|window| now - window.last > GAP_MAX && sample.queue > FEW);
        self.room = sample.room;
        self.could = sample.could;
        // In calm only that tells something in which somebody waited all the time.
        let emptied = sample.emptied && sample.queue < sample.room;
        if self.flood.is_none() && (sample.queue <= FEW || emptied) {
            self.window = None;
            self.wait_s = 0.0;
        } else if let Some(window) = &mut self.window {
            window.add(now, sample);
            let took = now - window.since;
            let rates = window.rates(sample, took);
            let hurries = self.flood.is_none()
                && took >= HURRY_AFTER
                && f64::from(sample.queue) > HURRY_S * rates.accepted;
            // Where nobody was taken at all the server stood still, and tells nothing.
            if (took >= INTERVAL || hurries)
                && window.is_enough(took)
                && (rates.accepted > 0.0 || window.most == 0)
                && let Some(window) = self.window.replace(Window::new(now, sample))
            {
                self.conclude(now, &window, &rates, sample.queue);
            }
        } else {
            self.window = Some(Window::new(now, sample));
        }
        let wanted = self.wanted();
        let is_new = wanted != self.setting;
        self.setting = wanted;
        is_new.then_some(wanted)
    }

    /// The wait that is aimed at, in seconds: as is said, where the server looks as often and as
    /// many can wait.
    fn aim(&self) -> f64 {
        let room = f64::from(self.room.max(1)) * ROOM_FILLED / self.capacity.max(1.0);
        self.longest().min(room)
    }

    /// The same, whoever has room.
    fn longest(&self) -> f64 {
        self.bounds.wait.as_secs_f64().max(self.gap.as_secs_f64() * GAP_WAITED)
    }

    fn conclude(&mut self, now: Instant, window: &Window, rates: &Rates, queue: u32) {
        if window.looks >= LOOKS_MIN {
            self.gap = window.gap;
        }
        // Where nobody waits the server could do more than was asked for.
        let few = (self.aim() * BUSY_FROM * self.capacity).max(2.0);
        let is_busy = self.flood.is_none() || f64::from(window.least) > few && !window.emptied;
        let kept = match self.flood {
            Some(_) if is_busy => CAPACITY_KEPT,
            Some(_) if rates.accepted < self.capacity => 1.0,
            _ => 0.0,
        };
        self.capacity = kept * self.capacity + (1.0 - kept) * rates.accepted;
        self.capacity_lately = self.capacity.max(self.capacity_lately * ROOM_KEPT);
        self.wait_s = window.sum / f64::from(window.looks) / self.capacity.max(1.0);
        let aim = self.aim();
        match self.flood.take() {
            Some(flood) => self.flood = self.steered(flood, now, window, rates),
            None if self.is_flood(window, rates) => {
                let late_s = f64::from(queue) / self.capacity - aim;
                let drained = 1.0 - (late_s / DRAIN_S).clamp(0.0, DRAIN_MOST);
                let share = (drained * self.capacity / rates.offered()).clamp(SHARE_MIN, 1.0);
                self.flood = Some(Flood::new(share, rates.offered(), now));
            }
            None => {}
        }
    }

    /// Whether one begins. A queue that is being worked off is none any more.
    fn is_flood(&self, window: &Window, rates: &Rates) -> bool {
        let least_s = f64::from(window.least) / self.capacity.max(1.0);
        let grows = rates.offered() > GROWS_FROM * self.capacity;
        let most_s = if grows { self.aim() } else { self.aim().max(STANDING_S) };
        least_s > most_s && rates.offered() > OFFERED_LEAST * self.capacity
    }

    /// The flood as it goes on, if it does.
    fn steered(
        &self,
        mut flood: Flood,
        now: Instant,
        window: &Window,
        rates: &Rates,
    ) -> Option<Flood> {
        let (aim, is_full) = (self.aim(), window.is_full);
        let is_starved = f64::from(window.most) < (aim * STARVED_BELOW * self.capacity).max(2.0);
        flood.starved = if is_starved { flood.starved + 1 } else { 0 };
        if now >= flood.hold {
            let kept = (-rates.took / MEMORY_S).exp();
            let share = self.bounds.share.map_or(flood.share, |share| f64::from(share) / ALL_F);
            let offered = rates.inflow / share.max(SHARE_MIN);
            let offered = match is_full {
                // Who finds the queue full is not told from who met the filter.
                true => flood.offered.max(offered),
                false => kept * flood.offered + (1.0 - kept) * offered,
            };
            // More cannot be refused.
            flood.offered = offered.min(self.capacity / SHARE_MIN);
        }
        let error = self.wait_s - aim;
        let load = (1.0 - GAIN * error).max(LOAD_MIN);
        let boost = BOOST.powi(flood.starved.min(BOOSTS_MAX));
        let wanted = load * boost * self.capacity / flood.offered.max(1.0);
        let wanted = wanted.clamp(SHARE_MIN, 1.0);
        let step = (wanted / flood.share).ln().abs();
        if step > STEP_MIN || wanted >= 1.0 {
            // Who was admitted before still comes.
            if step > LARGE_STEP && wanted < flood.share {
                flood.hold = now + HOLD;
            }
            flood.share = wanted;
        }
        let is_refusing = if self.bounds.share.is_some() {
            is_full || self.wait_s > aim
        } else {
            flood.share < 1.0
        };
        if is_refusing {
            flood.seen = now;
        }
        (now - flood.seen <= CALM_AFTER).then_some(flood)
    }

    fn wanted(&self) -> Setting {
        let Bounds { backlog_max, backlog, share, .. } = self.bounds;
        let (room, least, admitted) = match &self.flood {
            Some(flood) => {
                let room = if share.is_some() { ROOM_WITHOUT_FILTER } else { ROOM };
                (room * self.longest() * self.capacity_lately, BACKLOG_MIN, flood.share)
            }
            None if self.could == 0 => (f64::INFINITY, CALM_BACKLOG_MIN, 1.0),
            None => (CALM_ROOM_S * f64::from(self.could), CALM_BACKLOG_MIN, 1.0),
        };
        let most = (room as u32).clamp(least.min(backlog_max), backlog_max);
        // A `listen` for a handful more or less is not worth its while.
        let known = self.setting.backlog;
        let is_new = most.abs_diff(known) > known / 8 || most == backlog_max;
        let most = if is_new { most } else { known };
        let admitted = (admitted * ALL_F) as Share;
        Setting { backlog: backlog.unwrap_or(most), share: share.unwrap_or(admitted) }
    }
}

impl Rates {
    /// While all are admitted.
    const fn offered(&self) -> f64 {
        self.inflow + self.refused
    }
}

impl Flood {
    fn new(share: f64, offered: f64, now: Instant) -> Self {
        Self { share, offered, hold: now + HOLD, starved: 0, seen: now }
    }
}

impl Window {
    const fn new(since: Instant, first: &Sample) -> Self {
        Self {
            since,
            first: *first,
            last: since,
            gap: Duration::ZERO,
            least: u32::MAX,
            most: 0,
            sum: 0.0,
            looks: 0,
            emptied: false,
            is_full: false,
        }
    }

    fn add(&mut self, now: Instant, sample: &Sample) {
        self.gap = self.gap.max(now - self.last);
        self.last = now;
        self.least = self.least.min(sample.queue);
        self.most = self.most.max(sample.queue);
        self.sum += f64::from(sample.queue);
        self.looks += 1;
        let is_full = sample.queue >= sample.room;
        self.emptied |= sample.emptied && !is_full;
        self.is_full |= is_full;
    }

    /// Whether it tells something by now. Where nobody waits one look tells as much as many.
    fn is_enough(&self, took: Duration) -> bool {
        self.most <= FEW || self.looks >= LOOKS_MIN && took >= self.gap * GAPS_MIN
    }

    fn rates(&self, last: &Sample, took: Duration) -> Rates {
        let took = took.as_secs_f64().max(1e-9);
        let accepted = last.accepted.saturating_sub(self.first.accepted) as f64;
        let queued = f64::from(last.queue) - f64::from(self.first.queue);
        let refused = f64::from(last.refused.wrapping_sub(self.first.refused));
        Rates {
            took,
            accepted: accepted / took,
            inflow: ((accepted + queued) / took).max(0.0),
            refused: refused / took,
        }
    }
}
