use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
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
}

impl FromStr for Network {
    type Err = String;

    /// `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`; the error says what would be one.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let parse = || {
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let number = |bits: &str| bits.parse().ok().filter(|_| !bits.starts_with('+'));
            let bits = bits.map_or(Some(most), number)?;
            (bits <= most).then_some(Self { address, bits })
        };
        parse().ok_or_else(|| String::from("addresses or networks as 10.0.0.0/8, with commas"))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}
