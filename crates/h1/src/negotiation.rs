//! Content codings: which precompressed sibling of a file suits a client (RFC 9110 section 12.5.3).

use std::cmp::Reverse;

use crate::Head;

/// A content coding for which siblings on disk are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coding {
    /// `br`, sibling `.br` (RFC 7932).
    Brotli,
    /// `zstd`, sibling `.zst` (RFC 8878).
    Zstd,
    /// `gzip` or `x-gzip`, sibling `.gz` (RFC 1952).
    Gzip,
}

/// What a client takes, best first, at most three codings in one byte-sized key: two requests that
/// would be answered alike have equal `Codings`. The bytes without a coding are always taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Codings {
    // Two bits each, lowest first: 0 ends the list, else 1 + the coding's place in `Coding`.
    packed: u8,
}

impl Codings {
    /// Reads all `Accept-Encoding` lines of a request, none included: that client is not known to
    /// understand anything. Elements that are malformed or not known are passed over; the last of
    /// several weights for one coding holds.
    ///
    /// A coding that the client wants less than the plain bytes is left out. `identity;q=0` refuses
    /// nothing: RFC 9110 section 12.5.3 lets a server send the plain bytes all the same, which is
    /// more useful than 415 or 406.
    pub fn parse<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Self {
        let mut values = values.into_iter();
        let (Some(first), second) = (values.next(), values.next()) else {
            return Self::default();
        };
        if second.is_none()
            && let Some(known) = Self::of_browser(first)
        {
            return known;
        }
        let mut weights = Weights::default();
        for value in std::iter::once(first).chain(second).chain(values) {
            weights.read(value);
        }
        weights.best_first()
    }

    /// All of it in one byte.
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.packed
    }

    /// What [`Self::to_bits`] has told of.
    #[must_use]
    pub const fn from_bits(packed: u8) -> Self {
        Self { packed }
    }

    /// The codings, best first.
    pub fn iter(self) -> impl Iterator<Item = Coding> {
        (0..3).map_while(move |place| match (self.packed >> (2 * place)) & 0b11 {
            0 => None,
            n => Some(Coding::PREFERRED[usize::from(n) - 1]),
        })
    }

    /// All but one.
    #[must_use]
    pub fn without(self, left_out: Coding) -> Self {
        let left: Vec<Coding> = self.iter().filter(|coding| *coding != left_out).collect();
        Self::of(&left)
    }

    /// Whether only the plain bytes suit.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.packed == 0
    }

    // Nearly all requests carry one of these very values.
    fn of_browser(value: &[u8]) -> Option<Self> {
        const EVERY: Codings = Codings::of(&Coding::PREFERRED);
        const BROTLI_GZIP: Codings = Codings::of(&[Coding::Brotli, Coding::Gzip]);
        const GZIP: Codings = Codings::of(&[Coding::Gzip]);
        match value {
            b"gzip, deflate, br, zstd" => Some(EVERY),
            b"gzip, deflate, br" => Some(BROTLI_GZIP),
            b"gzip, deflate" | b"gzip" => Some(GZIP),
            b"identity" => Some(Self { packed: 0 }),
            _ => None,
        }
    }

    const fn of(best_first: &[Coding]) -> Self {
        let mut packed = 0;
        let mut place = 0;
        while place < best_first.len() {
            packed |= (best_first[place] as u8 + 1) << (2 * place);
            place += 1;
        }
        Self { packed }
    }
}

impl Coding {
    /// By how well they compress what a site usually holds; also the order of the variants.
    const PREFERRED: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// The name in `Content-Encoding`.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// What a sibling's name has behind the name of its file.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }
}

/// Weights in thousandths, the finest that the grammar has (RFC 9110 section 12.4.2); `None` where
/// the client did not say.
#[derive(Default)]
struct Weights {
    /// In the order of [`Coding::PREFERRED`].
    codings: [Option<u16>; 3],
    identity: Option<u16>,
    any: Option<u16>,
}

impl Weights {
    fn read(&mut self, value: &[u8]) {
        for element in value.split(|&byte| byte == b',') {
            let mut halves = element.splitn(2, |&byte| byte == b';');
            let name = halves.next().unwrap_or_default().trim_ascii();
            let weight = halves.next().map_or(Some(1000), |text| weight(text.trim_ascii()));
            if let (Some(place), Some(weight)) = (self.place(name), weight) {
                *place = Some(weight);
            }
        }
    }

    fn place(&mut self, name: &[u8]) -> Option<&mut Option<u16>> {
        let is = |token: &str| name.eq_ignore_ascii_case(token.as_bytes());
        if is("*") {
            return Some(&mut self.any);
        }
        if is("identity") {
            return Some(&mut self.identity);
        }
        let coding = if is("x-gzip") {
            Coding::Gzip
        } else {
            *Coding::PREFERRED.iter().find(|coding| is(coding.token()))?
        };
        Some(&mut self.codings[coding as usize])
    }

    fn best_first(self) -> Codings {
        let weight = |coding: &Coding| self.codings[*coding as usize].or(self.any).unwrap_or(0);
        let mut ranked = Coding::PREFERRED;
        ranked.sort_by_key(|coding| Reverse(weight(coding)));
        let worth_it = self.identity.unwrap_or(0).max(1);
        let taken = ranked.iter().take_while(|coding| weight(coding) >= worth_it).count();
        Codings::of(&ranked[..taken])
    }
}

/// Whether the client would rather have the first of two media types (RFC 9110 section 12.5.1):
/// names it and the other not, or gives it more weight.
#[must_use]
pub fn prefers(head: &Head<'_>, media_type: &str, other: &str) -> bool {
    let weight = |media_type| weight_of(head.values("accept"), media_type);
    weight(media_type) > weight(other)
}

/// The weight that `Accept` lines give a media type by its name, in thousandths (RFC 9110 section
/// 12.5.1), the last one's if there are several; 0 where it is not named.
pub fn weight_of<'v>(values: impl IntoIterator<Item = &'v [u8]>, media_type: &str) -> u16 {
    let mut last = 0;
    for element in values.into_iter().flat_map(|value| value.split(|&byte| byte == b',')) {
        let mut parts = element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        if name.eq_ignore_ascii_case(media_type.as_bytes()) {
            last = parts.find_map(weight).unwrap_or(1000);
        }
    }
    last
}

/// A weight, `q=0.5` for instance, in thousandths (RFC 9110 section 12.4.2).
#[must_use]
pub fn weight(text: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', whole @ (b'0' | b'1'), rest @ ..] = text else { return None };
    let digits = match rest {
        [] => rest,
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let worth = |(digit, worth): (&u8, u16)| u16::from(digit - b'0') * worth;
    let thousandths =
        u16::from(whole - b'0') * 1000 + digits.iter().zip([100, 10, 1]).map(worth).sum::<u16>();
    (thousandths <= 1000).then_some(thousandths)
}
