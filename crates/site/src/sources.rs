//! Who is let in by the address that a request is from.

use std::net::{IpAddr, Ipv6Addr};

use os::Network;

use crate::rules::Effect;

/// Whom all rules together let in. Addresses are numbers here, those of IPv4 in the place that IPv6
/// keeps for them (RFC 4291 section 2.5.5.2), so that a set of them is a list of ranges: however
/// many networks there are, a client is looked up in some twenty steps.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// In order and apart from each other.
    shut_out: Vec<Range>,
    /// Whether who has no address is shut out: he is in no network.
    needs_address: bool,
}

/// From the first number to the last.
type Range = (u128, u128);

/// Where the addresses of IPv4 are.
const IPV4: Range = (0xffff_0000_0000, 0xffff_ffff_ffff);

impl Sources {
    /// Those whom each of these lets in, as far as it says anything of addresses.
    pub(crate) fn of<'e>(effects: impl IntoIterator<Item = &'e Effect>) -> Self {
        let mut sources = Self::default();
        for effect in effects {
            match effect {
                Effect::Allow(networks) => {
                    sources.needs_address = true;
                    sources.shut_out.extend(gaps(&merged(ranges(networks).collect())));
                }
                Effect::Deny(networks) => sources.shut_out.extend(ranges(networks)),
                _ => {}
            }
        }
        sources.shut_out = merged(sources.shut_out);
        sources
    }

    /// Whether a client is let in; `None`: it has no address.
    pub(crate) fn admit(&self, source: Option<IpAddr>) -> bool {
        let Some(number) = source.map(number) else { return !self.needs_address };
        let after = self.shut_out.partition_point(|(first, _)| *first <= number);
        self.shut_out[..after].last().is_none_or(|(_, last)| *last < number)
    }

    /// The first address that is let in; `None`: there is none.
    pub(crate) fn someone(&self) -> Option<IpAddr> {
        let (first, _) = gaps(&self.shut_out).next()?;
        Some(Ipv6Addr::from_bits(first).to_canonical())
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The ranges of networks. One of IPv6 that lies around IPv4 has none of it.
fn ranges(networks: &[Network]) -> impl Iterator<Item = Range> {
    networks.iter().flat_map(|network| {
        let (first, last) = network.range();
        let (is_v4, first, last) = (first.is_ipv4(), number(first), number(last));
        let (below, above) = ((first, last.min(IPV4.0 - 1)), (first.max(IPV4.1 + 1), last));
        let parts = if is_v4 { [(first, last), (1, 0)] } else { [below, above] };
        parts.into_iter().filter(|(first, last)| first <= last)
    })
}

/// The same numbers in as few ranges as there can be, in order.
fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let touches = next.0 <= before.1.saturating_add(1);
        if touches {
            before.1 = before.1.max(next.1);
        }
        touches
    });
    ranges
}

/// All numbers that are in none of the ranges, which are in order and apart from each other.
fn gaps(ranges: &[Range]) -> impl Iterator<Item = Range> {
    let begins = std::iter::once(Some(0)).chain(ranges.iter().map(|(_, last)| last.checked_add(1)));
    let ends = ranges.iter().map(|(first, _)| first.checked_sub(1)).chain([Some(u128::MAX)]);
    begins.zip(ends).filter_map(|(begin, end)| begin.zip(end).filter(|(begin, end)| begin <= end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn effects(rules: &[(bool, Vec<String>)]) -> Vec<Effect> {
        let effect = |(allows, networks): &(bool, Vec<String>)| {
            let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
            if *allows { Effect::Allow(networks) } else { Effect::Deny(networks) }
        };
        rules.iter().map(effect).collect()
    }

    /// Network by network.
    fn admits(effects: &[Effect], address: IpAddr) -> bool {
        effects.iter().all(|effect| match effect {
            Effect::Allow(all) => all.iter().any(|network| network.contains(address)),
            Effect::Deny(all) => !all.iter().any(|network| network.contains(address)),
            _ => true,
        })
    }

    /// Whether rules allow, and what; the first who is let in.
    type Row<'r> = (&'r [(bool, &'r [&'r str])], Option<&'r str>);

    #[test]
    fn nobody_is_let_in_where_no_address_is_left() {
        let rows: [Row<'_>; 14] = [
            (&[], Some("::")),
            (&[(false, &["0.0.0.0/0"])], Some("::")),
            (&[(false, &["::/0"])], Some("0.0.0.0")),
            (&[(false, &["0.0.0.0/0", "::/0"])], None),
            (&[(false, &["0.0.0.0/0"]), (false, &["::/1", "8000::/1"])], None),
            (&[(false, &["0.0.0.0/0", "::/1", "8000::/2", "c000::/3"])], Some("e000::")),
            (&[(true, &["10.0.0.0/8"])], Some("10.0.0.0")),
            (&[(true, &["10.0.0.0/8"]), (true, &["10.9.0.0/16", "::1"])], Some("10.9.0.0")),
            (&[(true, &["10.0.0.0/8"]), (true, &["11.0.0.0/8", "::/0"])], None),
            (&[(true, &["10.0.0.0/8"]), (false, &["10.0.0.0/9"])], Some("10.128.0.0")),
            (&[(false, &["10.0.0.0/7"]), (true, &["10.0.0.0/8", "11.1.1.1"])], None),
            (&[(true, &["::/0"]), (true, &["0.0.0.0/0"])], None),
            (&[(true, &["0.0.0.0/0", "::/0"]), (false, &["::/1", "0.0.0.0/0"])], Some("8000::")),
            (&[(true, &["::ffff:10.0.0.0/104"]), (false, &["10.0.0.0/8"])], None),
        ];
        for (rules, expected) in rows {
            let owned = |networks: &[&str]| networks.iter().map(ToString::to_string).collect();
            let rules: Vec<_> = rules.iter().map(|(is, all)| (*is, owned(all))).collect();
            let someone = Sources::of(&effects(&rules)).someone();
            assert_eq!(someone, expected.map(|address| address.parse().unwrap()), "{rules:?}");
        }
    }

    #[test]
    fn who_has_no_address_is_in_no_network() {
        let networks = || vec!["0.0.0.0/0".parse().unwrap()];
        let (allow, deny) = (Effect::Allow(networks()), Effect::Deny(networks()));
        for (effects, admitted) in [
            (vec![], true),
            (vec![&deny], true),
            (vec![&allow], false),
            (vec![&allow, &Effect::Listing(true)], false),
        ] {
            assert_eq!(Sources::of(effects.clone()).admit(None), admitted, "{effects:?}");
        }
    }

    /// Few and near each other, so that they meet; at the ends of both families and of the place of
    /// the one in the other.
    fn network() -> impl Strategy<Value = String> {
        let v4 = (prop::sample::select(vec![0, 10, 11, 127, 255]), 0..4_u8, 0..=32_u8)
            .prop_map(|(a, d, bits)| format!("{a}.0.0.{d}/{bits}"));
        let places = vec!["::", "::fffe:ffff:ffff", "::1:0:0:0", "8000::", "ffff::"];
        let v6 = (prop::sample::select(places), 0..=128_u8)
            .prop_map(|(address, bits)| format!("{address}/{bits}"));
        let mapped = (0..4_u8, 90..=128_u8).prop_map(|(d, n)| format!("::ffff:10.0.0.{d}/{n}"));
        prop_oneof![3 => v4, 3 => v6, 1 => mapped]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        /// Against asking each network of each rule, at all addresses where something may change.
        #[test]
        fn ranges_let_in_whom_networks_do(
            rules in prop::collection::vec(
                (any::<bool>(), prop::collection::vec(network(), 1..5)),
                0..4,
            )
        ) {
            let effects = effects(&rules);
            let sources = Sources::of(&effects);
            let all = effects.iter().flat_map(|effect| match effect {
                Effect::Allow(networks) | Effect::Deny(networks) => networks.clone(),
                _ => Vec::new(),
            });
            let ends = all.flat_map(|network| [network.range().0, network.range().1]).map(number);
            let ends = ends.chain([0, u128::MAX, IPV4.0, IPV4.1]);
            let near = ends.flat_map(|n| [n.wrapping_sub(1), n, n.wrapping_add(1)]);
            let mut is_empty = true;
            for address in near.map(|n| Ipv6Addr::from_bits(n).to_canonical()) {
                let expected = admits(&effects, address);
                is_empty &= !expected;
                prop_assert_eq!(sources.admit(Some(address)), expected, "{}", address);
            }
            prop_assert_eq!(sources.someone().is_none(), is_empty);
            if let Some(someone) = sources.someone() {
                prop_assert!(admits(&effects, someone), "{}", someone);
            }
        }
    }
}
