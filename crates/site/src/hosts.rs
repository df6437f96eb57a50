use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::rules::Host;

/// No name in the DNS is longer (RFC 1035 section 2.3.4); what is can only be meant by `*`.
const NAME_BYTES_MAX: usize = 253;

/// Hosts whose replies are counted apart; with more, each scrape of the metrics would be long.
pub const COUNTED_HOSTS_MAX: usize = 64;

/// Stands for all hosts that are not counted apart, so a host of this name is one of them.
pub const UNCOUNTED: &str = "other";

/// Which host a request is for: the first in written order that has a name for it.
pub(crate) struct Hosts {
    exact: Places,
    /// By what stands behind `*.`.
    below: Places,
    any: Option<usize>,
    /// First names of those that are counted apart, and by place which of them it is, from 1 on.
    counted: Vec<String>,
    numbers: Vec<u8>,
}

type Places = HashMap<Box<[u8]>, usize, RandomState>;

impl Hosts {
    pub(crate) fn new(hosts: &[Host]) -> Self {
        let (exact, below) = (Places::default(), Places::default());
        let mut all = Self { exact, below, any: None, counted: Vec::new(), numbers: Vec::new() };
        for (place, host) in hosts.iter().enumerate() {
            all.count(host);
            for name in &host.names {
                let name = name.to_ascii_lowercase();
                if name == "*" {
                    all.any.get_or_insert(place);
                } else if let Some(parent) = name.strip_prefix("*.") {
                    all.below.entry(parent.as_bytes().into()).or_insert(place);
                } else {
                    all.exact.entry(name.into_bytes().into()).or_insert(place);
                }
            }
        }
        all
    }

    fn count(&mut self, host: &Host) {
        let first = host.names.first().filter(|name| !["*", UNCOUNTED].contains(&name.as_str()));
        let number = first.map(|name| name.to_ascii_lowercase()).map_or(0, |name| {
            let known = self.counted.iter().position(|counted| *counted == name);
            if known.is_none() && self.counted.len() < COUNTED_HOSTS_MAX {
                self.counted.push(name);
                return self.counted.len();
            }
            known.map_or(0, |at| at + 1)
        });
        self.numbers.push(number as u8);
    }

    pub(crate) fn counted(&self) -> &[String] {
        &self.counted
    }

    pub(crate) fn number(&self, place: usize) -> u8 {
        self.numbers[place]
    }

    /// The place of the host that is asked for; `asked` as it came, in any case and with its port.
    pub(crate) fn of(&self, asked: &[u8]) -> Option<usize> {
        if self.exact.is_empty() && self.below.is_empty() {
            return self.any;
        }
        let mut text = [0; NAME_BYTES_MAX];
        let asked = name_of(asked);
        let Some(name) = text.get_mut(..asked.len()) else { return self.any };
        name.copy_from_slice(asked);
        name.make_ascii_lowercase();
        let exact = self.exact.get(&*name).copied();
        let below = parents(name).filter_map(|parent| self.below.get(parent).copied());
        exact.into_iter().chain(below).chain(self.any).min()
    }
}

/// The requested host's name for a URI: in lower case, without its port. `None` if it holds a
/// character that no name in the DNS has, which a name below a star may.
pub(crate) fn plain_name(asked: &[u8]) -> Option<Vec<u8>> {
    let name = name_of(asked).to_ascii_lowercase();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(byte);
    name.iter().all(is_plain).then_some(name)
}

/// A host without its port and without the dot that a name in full may end with.
fn name_of(host: &[u8]) -> &[u8] {
    let end = match host {
        [b'[', ..] => host.iter().position(|&byte| byte == b']').map(|at| at + 1),
        _ => host.iter().position(|&byte| byte == b':'),
    };
    let name = &host[..end.unwrap_or(host.len())];
    name.strip_suffix(b".").unwrap_or(name)
}

/// What stands behind each dot that something stands before.
fn parents(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let dots = name.iter().enumerate().skip(1).filter(|&(_, &byte)| byte == b'.');
    dots.map(|(at, _)| &name[at + 1..])
}
