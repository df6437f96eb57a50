//! Runs of bits in words.

use std::ops::Range;

/// Sets bits; `false`: one of them was set, and none was changed.
pub(super) fn set(words: &mut [u64], bits: Range<u32>) -> bool {
    let are_clear = masks(bits.clone()).all(|(word, mask)| words[word] & mask == 0);
    if are_clear {
        masks(bits).for_each(|(word, mask)| words[word] |= mask);
    }
    are_clear
}

/// Clears bits.
pub(super) fn clear(words: &mut [u64], bits: Range<u32>) {
    masks(bits).for_each(|(word, mask)| words[word] &= !mask);
}

/// Whether one is set.
pub(super) fn is_set(words: &[u64], bit: u32) -> bool {
    words[(bit / u64::BITS) as usize] >> (bit % u64::BITS) & 1 == 1
}

/// How many are set.
pub(super) fn count(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// The words that these bits are in, and which of each.
fn masks(bits: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = bits;
    (start / u64::BITS..end.div_ceil(u64::BITS)).map(move |word| {
        let first = word * u64::BITS;
        let from = start.saturating_sub(first);
        let to = (end - first).min(u64::BITS);
        let below = |bit: u32| 1_u64.checked_shl(bit).map_or(u64::MAX, |bit| bit - 1);
        (word as usize, below(to) & !below(from))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_set_and_cleared() {
        let ranges = [0..1, 0..64, 63..65, 1..191, 64..128, 100..100, 0..192];
        for range in ranges {
            let mut words = [0; 3];
            assert!(set(&mut words, range.clone()));
            assert!((0..192).all(|bit| is_set(&words, bit) == range.contains(&bit)), "{range:?}");
            assert_eq!(count(&words), range.len() as u64);
            assert_eq!(set(&mut words, range.clone()), range.is_empty());
            clear(&mut words, range);
            assert_eq!(words, [0; 3]);
        }
    }
}
