//! How much one address may have of the server: connections at once, and requests per second.

use std::collections::HashMap;
use std::net::IpAddr;

use measure::Instant;

/// What one address may have; 0 is without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Connections at once.
    pub connections_max: u32,
    /// Requests per second, and as many at once.
    pub requests_per_s: u32,
}

/// Addresses that are remembered without a connection: a flood from more of them is no flood from
/// one, and 4 MiB are enough for it.
const IDLE_MAX: usize = 1 << 16;
const SECOND_NS: u64 = 1_000_000_000;

/// What addresses have. In two halves, the younger of which takes whoever is asked about; when it
/// is full the elder is forgotten, but for who is connected. So nobody is searched for.
#[derive(Debug)]
pub struct Quotas {
    quota: Quota,
    half_max: usize,
    young: HashMap<Key, Account>,
    old: HashMap<Key, Account>,
}

/// An IPv4 address, or the /64 that one client of IPv6 has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64, bool);

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    connections: u32,
    /// When it will have no debt: each request costs its share of a second, and more than a second
    /// is not lent (the generic cell rate algorithm of ITU-T I.371).
    even_at_ns: u64,
}

impl Key {
    /// Whom an address is counted with.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u64::from(address.to_bits()), true),
            IpAddr::V6(address) => Self((address.to_bits() >> 64) as u64, false),
        }
    }
}

impl Quotas {
    /// Nobody is there.
    #[must_use]
    pub fn new(quota: Quota) -> Self {
        Self::with_idle_max(quota, IDLE_MAX)
    }

    fn with_idle_max(quota: Quota, idle_max: usize) -> Self {
        let half_max = idle_max / 2;
        Self { quota, half_max, young: HashMap::new(), old: HashMap::new() }
    }

    /// A connection comes; `false`: it has as many as it may.
    pub fn enters(&mut self, key: Key) -> bool {
        let most = self.quota.connections_max;
        let account = self.account(key);
        let may = most == 0 || account.connections < most;
        account.connections += u32::from(may);
        may
    }

    /// A connection that was let in has gone.
    pub fn leaves(&mut self, key: Key) {
        let account = self.account(key);
        account.connections = account.connections.saturating_sub(1);
    }

    /// A request comes; `false`: it has asked as often as it may.
    pub fn asks(&mut self, key: Key, now: Instant) -> bool {
        let Some(share_ns) = SECOND_NS.checked_div(u64::from(self.quota.requests_per_s)) else {
            return true;
        };
        let account = self.account(key);
        let even_at_ns = account.even_at_ns.max(now.ns) + share_ns;
        let may = even_at_ns <= now.ns + SECOND_NS;
        if may {
            account.even_at_ns = even_at_ns;
        }
        may
    }

    fn account(&mut self, key: Key) -> &mut Account {
        if self.young.len() >= self.half_max && !self.young.contains_key(&key) {
            let forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            let connected = forgotten.into_iter().filter(|(_, account)| account.connections > 0);
            for (key, account) in connected {
                self.old.entry(key).or_insert(account);
            }
        }
        let known = self.old.remove(&key);
        self.young.entry(key).or_insert_with(|| known.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_connected_is_never_forgotten_and_others_are() {
        let quota = Quota { connections_max: 2, requests_per_s: 4 };
        let mut quotas = Quotas::with_idle_max(quota, 8);
        let one = Key::of([192, 0, 2, 1].into());
        assert!(quotas.enters(one) && quotas.enters(one));
        for n in 0..100_u32 {
            assert!(quotas.asks(Key::of(IpAddr::from(n.to_be_bytes())), Instant::ORIGIN));
            assert!(quotas.young.len() + quotas.old.len() <= 9);
        }
        assert!(!quotas.enters(one));
    }
}
