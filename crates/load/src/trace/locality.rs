//! How often a cache that keeps what was used last has what is asked for, when popularity follows
//! Zipf: Che's approximation (Che, Tung, Wang 2002), which holds within a few tenths of a percent
//! for caches of more than some dozen files.
//!
//! A file stays in such a cache if it was asked for within the last `t` requests, and `t` is the
//! number at which the files that were fill the cache. With the probabilities `p` and sizes `s`:
//! the sum of `s (1 - exp(-p t))` is the size of the cache, and that of `p (1 - exp(-p t))` the
//! share of hits.

/// The sizes of files, the most popular first, in groups of nearly the same popularity.
pub(crate) struct Ranks {
    groups: Vec<Group>,
}

struct Group {
    rank: f64,
    files: f64,
    bytes: f64,
}

/// The steepest popularity that is looked for; of logs nobody has reported more than 2.
pub(crate) const EXPONENT_MAX: f64 = 4.0;

/// Ranks up to 2 % apart are taken for one: hundreds of groups instead of half a million files.
const RANKS_PER_GROUP: usize = 50;

/// Halvings of a range; a double has no more digits.
const HALVINGS: u32 = 60;

/// Doublings from one request: more than the rarest file of any [`Ranks`] needs.
const DOUBLINGS: u32 = 200;

impl Ranks {
    pub(crate) fn new(sizes: &[u64]) -> Self {
        let mut groups = Vec::new();
        let mut first = 0;
        while first < sizes.len() {
            let end = sizes.len().min(first + (first / RANKS_PER_GROUP).max(1));
            let files = (end - first) as f64;
            let bytes = sizes[first..end].iter().sum::<u64>() as f64;
            // Ranks count from 1; the middle one of a group is that of its logarithms.
            let rank = ((first + 1) as f64 * end as f64).sqrt();
            groups.push(Group { rank, files, bytes });
            first = end;
        }
        Self { groups }
    }

    /// The share of requests that a cache of so many bytes answers, 0.0 to 1.0.
    pub(crate) fn hits(&self, exponent: f64, cache_bytes: u64) -> f64 {
        let weight = |group: &Group| group.rank.powf(-exponent);
        let sum: f64 = self.groups.iter().map(|group| weight(group) * group.files).sum();
        let shares: Vec<f64> = self.groups.iter().map(|group| weight(group) / sum).collect();
        let kept = |share: f64, requests: f64| -(-share * requests).exp_m1();
        let pairs = || self.groups.iter().zip(&shares);
        let fills = |requests: f64| {
            let filled = pairs().map(|(group, share)| group.bytes * kept(*share, requests));
            filled.sum::<f64>() >= cache_bytes as f64
        };
        let mut most = 1.0;
        for _ in 0..DOUBLINGS {
            if fills(most) {
                break;
            }
            most *= 2.0;
        }
        let requests = halved(0.0, most, fills);
        pairs().map(|(group, share)| group.files * share * kept(*share, requests)).sum()
    }

    /// The exponent with which a cache of so many bytes answers that share.
    ///
    /// # Errors
    /// None from 0 to [`EXPONENT_MAX`] does: the shares at both ends.
    pub(crate) fn exponent(&self, hits: f64, cache_bytes: u64) -> Result<f64, (f64, f64)> {
        let (least, most) = (self.hits(0.0, cache_bytes), self.hits(EXPONENT_MAX, cache_bytes));
        if !(least..=most).contains(&hits) {
            return Err((least, most));
        }
        Ok(halved(0.0, EXPONENT_MAX, |exponent| self.hits(exponent, cache_bytes) >= hits))
    }
}

/// Where `is_above` begins to hold.
fn halved(mut least: f64, mut most: f64, is_above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if is_above(middle) {
            most = middle;
        } else {
            least = middle;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_all_alike_are_hit_by_the_share_that_fits() {
        let ranks = Ranks::new(&[10; 1000]);
        for cached in [1, 100, 500, 999] {
            let hits = ranks.hits(0.0, cached * 10);
            assert!((hits - cached as f64 / 1000.0).abs() < 1e-6, "{cached}: {hits}");
        }
    }

    #[test]
    fn groups_hold_all_files_once() {
        let sizes: Vec<u64> = (1..=12_345).collect();
        let ranks = Ranks::new(&sizes);
        let files: f64 = ranks.groups.iter().map(|group| group.files).sum();
        let bytes: f64 = ranks.groups.iter().map(|group| group.bytes).sum();
        assert_eq!((files, bytes), (12_345.0, sizes.iter().sum::<u64>() as f64));
        assert!(ranks.groups.len() < 500, "{} groups", ranks.groups.len());
    }

    #[test]
    fn the_exponent_is_found_again() {
        let ranks = Ranks::new(&[1; 50_000]);
        for exponent in [0.1, 0.8, 1.0, 1.7] {
            let hits = ranks.hits(exponent, 10_000);
            let found = ranks.exponent(hits, 10_000).unwrap();
            assert!((found - exponent).abs() < 1e-6, "{found}, not {exponent}");
        }
        let (least, most) = ranks.exponent(0.1, 10_000).unwrap_err();
        assert!((least - 0.2).abs() < 1e-6 && most > 0.999_999, "{least} to {most}");
    }
}
