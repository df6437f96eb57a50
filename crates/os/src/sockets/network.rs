use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses with the same first bits. An IPv4 address that is written as one of IPv6
/// (`::ffff:10.0.0.1`) is one of IPv4 everywhere, so a network of IPv6 holds none of IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let differs = ours.to_bits() ^ other.to_bits();
                differs.leading_zeros() >= self.bits
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let differs = ours.to_bits() ^ other.to_bits();
                differs.leading_zeros() >= self.bits
            }
            _ => false,
        }
    }

    /// Its first address and its last.
    #[must_use]
    pub fn range(&self) -> (IpAddr, IpAddr) {
        match self.address {
            IpAddr::V4(address) => {
                let others = u32::MAX.checked_shr(self.bits).unwrap_or(0);
                let bits = address.to_bits() & !others;
                (IpAddr::V4(bits.into()), IpAddr::V4((bits | others).into()))
            }
            IpAddr::V6(address) => {
                let others = u128::MAX.checked_shr(self.bits).unwrap_or(0);
                let bits = address.to_bits() & !others;
                (IpAddr::V6(bits.into()), IpAddr::V6((bits | others).into()))
            }
        }
    }
}

/// Bits that all IPv4 addresses have in common as addresses of IPv6.
const MAPPED_BITS: u32 = 96;

impl FromStr for Network {
    type Err = String;

    /// `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`; the error says what would be one.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let parse = || {
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let number = |bits: &str| bits.parse().ok().filter(|_| !bits.starts_with('+'));
            let bits = bits.map_or(Some(most), number).filter(|bits| *bits <= most)?;
            Some(match address.to_canonical() {
                mapped @ IpAddr::V4(_) if address.is_ipv6() && bits >= MAPPED_BITS => {
                    Self { address: mapped, bits: bits - MAPPED_BITS }
                }
                _ => Self { address, bits },
            })
        };
        parse().ok_or_else(|| String::from("addresses or networks as 10.0.0.0/8, with commas"))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}
