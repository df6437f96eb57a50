//! Who of those that knock is let in, so that nobody waits for long.

use measure::{Duration, Instant};

/// The wait that is aimed at (DAGOR).
const TARGET: f64 = 0.020;
/// A wait that is longer than this for so long is a flood (CoDel, RFC 8289).
const INTERVAL: Duration = Duration::from_millis(100);
const HOLD: Duration = Duration::from_millis(200);
/// So many who wait are no flood, however slow the server is.
const FEW: u32 = 16;
const BACKLOG_MIN: u32 = 16;
const SHARE_MIN: f64 = 1.0 / 64.0;

#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    pub queue: u32,
    pub accepted: u64,
    pub refused: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub backlog: u32,
    /// Of 65,536.
    pub share: u32,
}

pub const ALL: u32 = 1 << 16;

#[derive(Debug, Clone)]
pub struct Admission {
    backlog_max: u32,
    /// Connections a second at work.
    capacity: f64,
    flood: Option<Flood>,
    begun: Option<(Instant, Sample)>,
    least: u32,
    most: u32,
    sum: f64,
    looks: f64,
    set: Setting,
    pub p: Params,
}

#[derive(Debug, Clone)]
struct Flood {
    share: f64,
    /// Connections a second that would come in if all were let in.
    offered: f64,
    /// Inflow tells nothing before that.
    hold: Instant,
    starved: i32,
    full: i32,
    settles: Instant,
    calm_since: Instant,
}

#[derive(Debug, Clone, Copy)]
pub struct Params {
    pub kd: f64,
    pub cap_s: f64,
    pub tau: f64,
    pub sigma: f64,
    pub hyst: f64,
    pub full: f64,
    pub up: f64,
    pub boost: f64,
    pub tau0: f64,
    pub settle: f64,
    pub drain: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { kd: 1.0, cap_s: 0.080, tau: 3.0, sigma: 4.0, hyst: 0.01, full: 1.02, up: 1.02, boost: 1.02, tau0: 0.5, settle: 1.0, drain: 0.0 }
    }
}

impl Admission {
    pub fn new(backlog_max: u32) -> Self {
        Self {
            backlog_max,
            capacity: 0.0,
            flood: None,
            begun: None,
            least: u32::MAX,
            sum: 0.0,
            looks: 0.0,
            most: 0,
            set: Setting { backlog: backlog_max, share: ALL },
            p: Params::default(),
        }
    }

    pub fn every(&self) -> Duration {
        if self.flood.is_some() { Duration::from_millis(2) } else { Duration::from_millis(20) }
    }

    pub fn state(&self) -> (bool, f64, f64) {
        (self.flood.is_some(), self.flood.as_ref().map_or(1.0, |f| f.share), self.capacity)
    }

    pub fn observe(&mut self, now: Instant, s: &Sample) -> Option<Setting> {
        let Some((begun, first)) = self.begun else {
            self.begin(now, s);
            return None;
        };
        self.least = self.least.min(s.queue);
        self.most = self.most.max(s.queue);
        self.sum += f64::from(s.queue);
        self.looks += 1.0;
        let took = (now - begun).as_secs_f64();
        let accepted = (s.accepted - first.accepted) as f64;
        let hurry = self.flood.is_none()
            && took >= 0.04
            && self.least > FEW
            && f64::from(s.queue) > 0.2 * accepted / took;
        if now - begun >= INTERVAL || hurry {
            let rate = accepted / took;
            let few = if self.flood.is_some() { 2 } else { FEW };
            if self.least > few {
                let old = if self.flood.is_some() { 0.7 } else { 0.0 };
                self.capacity = old * self.capacity + (1.0 - old) * rate;
            } else {
                self.capacity = self.capacity.max(rate);
            }
            let inflow = rate + (f64::from(s.queue) - f64::from(first.queue)) / took;
            let refused = f64::from(s.refused.wrapping_sub(first.refused)) / took;
            match self.flood.take() {
                None => self.detect(now, s, inflow + refused),
                Some(flood) => self.steer(flood, now, took, inflow),
            }
            self.begin(now, s);
        }
        self.setting()
    }

    fn begin(&mut self, now: Instant, s: &Sample) {
        self.begun = Some((now, *s));
        (self.sum, self.looks, self.least, self.most) = (0.0, 0.0, u32::MAX, 0);
    }

    fn detect(&mut self, now: Instant, s: &Sample, offered: f64) {
        if self.least > FEW && f64::from(self.least) / self.capacity > TARGET {
            let delay = f64::from(s.queue) / self.capacity;
            let drain = 1.0 - ((delay - TARGET) / 0.3).clamp(0.0, self.p.drain);
            let share = (self.capacity / offered * drain).clamp(SHARE_MIN, 1.0);
            self.flood = Some(Flood { share, offered, hold: now + HOLD, starved: 0, full: 0, settles: now + Duration::from_secs(1), calm_since: now });
        }
    }

    fn steer(&mut self, mut flood: Flood, now: Instant, took: f64, inflow: f64) {
        let p = self.p;
        let delay = self.sum / self.looks / self.capacity.max(1.0);
        let is_full = self.most >= self.set.backlog;
        let is_starved = f64::from(self.most) < (TARGET / 4.0 * self.capacity).max(2.0);
        flood.full = if is_full { flood.full + 1 } else { 0 };
        flood.starved = if is_starved { flood.starved + 1 } else { 0 };
        if flood.starved >= 5 { flood.settles = now + Duration::from_secs_f64(p.settle) }
        let settles = now < flood.settles;
        if is_full {
            // Who met a full queue is not told from who met the filter.
            if now >= flood.hold { flood.offered = (flood.offered * p.full).max(inflow / flood.share); }
        } else if now >= flood.hold {
            let offered = inflow / flood.share;
            let n = (inflow * took).max(1.0);
            let off = (offered / flood.offered).ln().abs();
            let tau = if settles { p.tau0 } else { p.tau };
            let is_new = settles && off > p.sigma / n.sqrt();
            let keep = if is_new { 0.0 } else { (-took / tau).exp() };
            flood.offered = keep * flood.offered + (1.0 - keep) * offered;
        }
        let load = if delay > 2.0 * TARGET {
            (1.0 - p.kd * (delay - 2.0 * TARGET)).max(0.5)
        } else if delay < TARGET / 4.0 { p.up } else { 1.0 };
        let boost = p.boost.powi(flood.starved.min(10));
        let wanted = load * boost * self.capacity / flood.offered.max(1.0);
        let wanted = wanted.clamp(SHARE_MIN, 1.0);
        let change = (wanted / flood.share).ln().abs();
        if change > p.hyst || wanted >= 1.0 {
            if change > 0.1 { flood.hold = now + HOLD; }
            flood.share = wanted;
        }
        if flood.share < 1.0 {
            flood.calm_since = now;
        }
        if now - flood.calm_since <= Duration::from_secs(1) {
            self.flood = Some(flood);
        }
    }

    fn setting(&mut self) -> Option<Setting> {
        let old = self.set;
        let backlog = match self.flood {
            Some(_) => ((self.capacity * self.p.cap_s) as u32).clamp(BACKLOG_MIN, self.backlog_max),
            None => self.backlog_max,
        };
        let share = self.flood.as_ref().map_or(ALL, |f| (f.share * f64::from(ALL)) as u32);
        if backlog.abs_diff(old.backlog) > old.backlog / 8 {
            self.set.backlog = backlog;
        }
        self.set.share = share;
        (self.set != old).then_some(self.set)
    }
}
