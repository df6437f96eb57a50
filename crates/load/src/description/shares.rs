//! Statistics of how likely a request is for each file, whether that was counted or is a model's.

use crate::files::Files;

/// How likely a request is for a file of this class.
pub(super) fn of_class(files: &Files, shares: &[f64], class: u16) -> f64 {
    let of_class = files.iter().zip(shares).filter(|((_, file), _)| file.class == class);
    of_class.map(|(_, share)| share).sum()
}

/// The mean size of what is asked for, as far as sizes are known; `None`: none is.
pub(super) fn mean_bytes(files: &Files, shares: &[f64]) -> Option<f64> {
    let known =
        || files.iter().zip(shares).filter_map(|((_, file), share)| Some((file.bytes?, share)));
    let all: f64 = known().map(|(_, share)| share).sum();
    let bytes: f64 = known().map(|(bytes, share)| bytes as f64 * share).sum();
    (all > 0.0).then(|| bytes / all)
}

/// The size of the most popular files that together have this part of all requests: what a cache
/// that knew the future would hold to answer so many. Of files whose size is known; `None`: none
/// is.
pub(super) fn working_set_bytes(files: &Files, shares: &[f64], part: f64) -> Option<f64> {
    // The tolerance is for the rounding of a sum that comes to exactly the part.
    const ROUNDING: f64 = 1e-9;
    let known =
        files.iter().zip(shares).filter_map(|((_, file), share)| Some((*share, file.bytes?)));
    let mut popular: Vec<(f64, u64)> = known.collect();
    popular.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let all: f64 = popular.iter().map(|(share, _)| share).sum();
    let (mut upto, mut bytes) = (0.0, 0.0);
    for (share, size) in popular {
        if upto >= part * all - ROUNDING {
            break;
        }
        upto += share;
        bytes += size as f64;
    }
    (all > 0.0).then_some(bytes)
}

/// The exponent of Zipf's law that makes the shares most likely, if every `files_each` files share
/// one rank and the most popular have the first ranks; `None`: there is but one rank, or nothing
/// was asked.
///
/// It is the one at which the mean logarithm of the rank is what it is in `shares`; that mean falls
/// as the exponent grows, so it is found by halving.
pub(super) fn zipf_exponent(shares: &[f64], files_each: u32) -> Option<f64> {
    /// A first rank of this exponent has 97 % of all requests.
    const EXPONENT_MAX: f64 = 5.0;
    /// To 5 / 2^30, which is below 1e-8.
    const HALVINGS: u32 = 30;
    let groups = shares.chunks(files_each.max(1) as usize);
    let mut ranks: Vec<f64> = groups.map(|group| group.iter().sum()).collect();
    if ranks.len() < 2 {
        return None;
    }
    ranks.sort_by(|a, b| b.total_cmp(a));
    let logarithms: Vec<f64> = (1..=ranks.len()).map(|rank| (rank as f64).ln()).collect();
    let seen: f64 = ranks.iter().zip(&logarithms).map(|(share, ln)| share * ln).sum();
    let mean = |exponent: f64| {
        let weighted = logarithms.iter().map(|ln| ((-exponent * ln).exp(), ln));
        let (all, sum) =
            weighted.fold((0.0, 0.0), |(all, sum), (weight, ln)| (all + weight, sum + weight * ln));
        sum / all
    };
    let (mut from, mut to) = (0.0, EXPONENT_MAX);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(from, to);
        if mean(middle) > seen { from = middle } else { to = middle }
    }
    Some(f64::midpoint(from, to))
}

#[cfg(test)]
mod tests {
    use measure::draw::Weighted;

    use crate::files::File;

    use super::*;

    #[test]
    fn the_exponent_of_zipf_is_found_again() {
        // Ranks, exponent, files of each rank.
        let rows = [
            (2, 1.0, 1),
            (680, 1.0, 36),
            (2_000, 1.0, 1),
            (1_000, 0.6, 1),
            (50, 2.5, 3),
            (9, 0.0, 1),
        ];
        for (ranks, exponent, each) in rows {
            let zipf = Weighted::zipf(ranks, exponent);
            let share = |file| zipf.probability(file / each as usize) / f64::from(each);
            // Backwards: the order of files says nothing of their popularity.
            let shares: Vec<f64> = (0..(ranks * each) as usize).map(share).rev().collect();
            let seen = zipf_exponent(&shares, each).expect("there are ranks");
            assert!((seen - exponent).abs() < 1e-6, "{seen}, not {exponent} of {ranks}");
        }
        assert_eq!(zipf_exponent(&[1.0], 1), None);
        assert_eq!(zipf_exponent(&[], 1), None);
    }

    #[test]
    fn sets_hold_the_most_popular_files() {
        let sizes = [1_000, 10, 100, 1];
        let shares = [0.1, 0.5, 0.2, 0.2];
        let files = sizes.map(|bytes| File::sized(format!("/{bytes}"), bytes));
        let files = Files::new(files.into(), true);
        let rows = [(0.0, 0.0), (0.5, 10.0), (0.7, 110.0), (0.9, 111.0), (0.99, 1_111.0)];
        for (part, bytes) in rows {
            assert_eq!(working_set_bytes(&files, &shares, part), Some(bytes), "{part}");
        }
        assert_eq!(mean_bytes(&files, &shares), Some(100.0 + 5.0 + 20.0 + 0.2));
        // Classes 1, 4, 7 and 10: powers of two.
        assert_eq!(of_class(&files, &shares, 4), 0.5);
        assert_eq!(of_class(&files, &shares, 5), 0.0);
    }

    #[test]
    fn what_nobody_knows_is_not_made_up() {
        let files = vec![File::sized("/a", 10), File::unknown("/b"), File::sized("/c", 90)];
        let files = Files::new(files, false);
        // Shares, mean, and what 75 % of requests want.
        let rows = [
            ([0.5, 0.0, 0.5], Some(50.0), Some(100.0)),
            ([0.1, 0.8, 0.1], Some(50.0), Some(100.0)),
            ([0.4, 0.5, 0.1], Some(26.0), Some(10.0)),
            ([0.0, 1.0, 0.0], None, None),
        ];
        for (shares, mean, set) in rows {
            let seen = mean_bytes(&files, &shares);
            let off = seen.zip(mean).map_or(0.0, |(seen, mean): (f64, f64)| seen - mean);
            assert!(seen.is_some() == mean.is_some() && off.abs() < 1e-9, "{shares:?}: {seen:?}");
            assert_eq!(working_set_bytes(&files, &shares, 0.75), set, "{shares:?}");
        }
    }
}
