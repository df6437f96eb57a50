//! How many figures chance alone puts apart.

/// Of more points than that, of which each time has three at least, chance puts all of one time
/// above or below all of the other in one of 143 ways at most: it is taken for never.
const DEALT_MAX: usize = 12;

/// In so many of all cases.
const SURE: f64 = 0.95;

/// How likely it is that no, one, two figures of something are apart, by `apart` of the points of
/// one time and of those of another, if both times were equal: every way in which the points of
/// both may fall to the two is as likely then. Figures of the same points go together.
pub(super) fn dealt<T: Copy>(a: &[T], b: &[T], apart: impl Fn(&[T], &[T]) -> usize) -> Vec<f64> {
    let all: Vec<T> = a.iter().chain(b).copied().collect();
    if all.len() > DEALT_MAX {
        return vec![1.0];
    }
    let mut ways: Vec<usize> = Vec::new();
    for hand in (0_u32..1 << all.len()).filter(|hand| hand.count_ones() as usize == a.len()) {
        let of = |is_one: bool| -> Vec<T> {
            let is_dealt = |place: &usize| (hand >> place & 1 == 1) == is_one;
            (0..all.len()).filter(is_dealt).map(|place| all[place]).collect()
        };
        let count = apart(&of(true), &of(false));
        if ways.len() <= count {
            ways.resize(count + 1, 0);
        }
        ways[count] += 1;
    }
    let sum: usize = ways.iter().sum();
    ways.into_iter().map(|count| count as f64 / sum as f64).collect()
}

/// How many figures chance puts apart at most, in 19 of 20 times, of things of which each has
/// nothing to do with another, and for each of which [`dealt`] tells how likely no, one, two are.
pub(super) fn most_apart(things: &[Vec<f64>]) -> usize {
    let mut likely = vec![1.0];
    for thing in things {
        let mut sums = vec![0.0; likely.len() + thing.len().saturating_sub(1)];
        for (count, of) in likely.iter().enumerate() {
            for (more, of_more) in thing.iter().enumerate() {
                sums[count + more] += of * of_more;
            }
        }
        likely = sums;
    }
    let mut sum = 0.0;
    let is_enough = |of: &f64| {
        sum += of;
        sum >= SURE
    };
    likely.iter().position(is_enough).unwrap_or(likely.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of which all of one time are above all of the other.
    fn wholly<const N: usize>(a: &[[i32; N]], b: &[[i32; N]]) -> usize {
        let is_above = |of: usize, a: &[[i32; N]], b: &[[i32; N]]| {
            a.iter().map(|point| point[of]).min() > b.iter().map(|point| point[of]).max()
        };
        (0..N).filter(|&of| is_above(of, a, b) || is_above(of, b, a)).count()
    }

    #[test]
    fn one_pair_of_ten_is_apart_by_chance() {
        let one = |values: [i32; 3]| values.map(|value| [value]);
        let likely = dealt(&one([1, 2, 3]), &one([4, 5, 6]), wholly);
        assert_eq!(likely, [0.9, 0.1]);
        // Those that are all the same never are.
        assert_eq!(dealt(&one([7; 3]), &one([7; 3]), wholly), [1.0]);
        // Two figures that always go together are both apart, or neither.
        let two = |values: [i32; 3]| values.map(|value| [value, -value]);
        assert_eq!(dealt(&two([1, 2, 3]), &two([4, 5, 6]), wholly), [0.9, 0.0, 0.1]);
    }

    #[test]
    fn chance_puts_few_apart() {
        // (figures, likely apart each, apart at most): 95 % quantiles of binomial distributions.
        for (figures, each, expected) in [(0, 0.1, 0), (10, 0.1, 3), (59, 0.1, 10), (59, 0.0, 0)] {
            let things = vec![vec![1.0 - each, each]; figures];
            assert_eq!(most_apart(&things), expected, "{figures} figures, each by {each}");
        }
    }
}
