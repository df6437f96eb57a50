//! Random draws from seeded streams: the same seed and purpose give the same draws, on every
//! machine and whatever other streams are drawn from.
//!
//! All distributions are drawn by inverse transform from one uniform number each, so that a change
//! of one parameter leaves the rest of a run as it was.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// A source of random numbers (PCG XSL RR 128/64).
#[derive(Debug, Clone)]
pub struct Stream {
    bits: Pcg64,
    seed: u64,
    purpose: u64,
}

impl Stream {
    /// The stream of `seed` for one purpose; those for other purposes share no draw with it.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self { bits: Pcg64::new(u128::from(seed), u128::from(purpose)), seed, purpose }
    }

    /// The stream of `seed` for one of many that serve the same purpose, as the sessions of a run.
    /// The number is mixed in (the finalizer of SplitMix64; Steele, Lea and Flood, OOPSLA 2014):
    /// from states that differ by little this generator's first draws differ by little, too.
    #[must_use]
    pub fn of(seed: u64, purpose: u64, number: u64) -> Self {
        let state = mixed(seed ^ mixed(number.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        Self { bits: Pcg64::new(u128::from(state), u128::from(purpose)), seed, purpose }
    }

    /// The stream of the same seed and purpose for another one of the many: see [`Self::of`].
    /// Whoever has to know what another one draws need not have seen it.
    #[must_use]
    pub fn sibling(&self, number: u64) -> Self {
        Self::of(self.seed, self.purpose, number)
    }

    /// Any number.
    pub fn bits(&mut self) -> u64 {
        self.bits.next_u64()
    }

    /// Uniform in 0.0..1.0, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (-53_f64).exp2()
    }

    /// Uniform in 0..`count` (Lemire's multiplication; its bias is below 2^-32 for 32 bits).
    ///
    /// # Panics
    /// There is nothing to choose from.
    pub fn below(&mut self, count: u32) -> u32 {
        assert!(count > 0, "nothing to choose from");
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u32
    }
}

/// Bits that look like nothing of what they are made of, each from all of them: the finalizer of
/// SplitMix64. The same bits give the same.
#[must_use]
pub const fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A distribution of real numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// Always the same.
    Constant(f64),
    /// Uniform between two numbers.
    Uniform {
        /// The least.
        from: f64,
        /// Never reached.
        to: f64,
    },
    /// Exponential: the gaps of a Poisson process.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto: P(X > x) = (least / x)^shape.
    Pareto {
        /// The least value, k.
        least: f64,
        /// Its exponent, alpha; the mean is infinite up to 1.
        shape: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape).
    Weibull {
        /// In the unit of its values.
        scale: f64,
        /// Below 1: bursts.
        shape: f64,
    },
    /// Its logarithm is normal.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Draw {
    /// One value.
    pub fn draw(self, from: &mut Stream) -> f64 {
        self.at(from.unit())
    }

    /// The value that this share of all values lies below, in 0.0..1.0. Evenly spaced shares give
    /// a sample that has the distribution without being drawn, and shares below a limit give what
    /// is left of it when its upper part is cut off.
    #[must_use]
    pub fn at(self, share: f64) -> f64 {
        // Never 0, whose logarithm and reciprocal are infinite.
        let rest = 1.0 - share;
        match self {
            Self::Constant(value) => value,
            Self::Uniform { from, to } => from + share * (to - from),
            Self::Exponential { mean } => -mean * rest.ln(),
            Self::Pareto { least, shape } => least * rest.powf(-1.0 / shape),
            Self::Weibull { scale, shape } => scale * (-rest.ln()).powf(1.0 / shape),
            Self::LogNormal { mu, sigma } => (mu - sigma * normal(rest)).exp(),
        }
    }
}

/// Discrete: each index in proportion to its weight.
#[derive(Debug, Clone)]
pub struct Weighted {
    /// The sum up to and with each index, of all 1.
    sums: Box<[f64]>,
    /// Where to begin to look: of so many equal parts of 0.0..1.0 as there are indices, the first
    /// index that any number in it may draw, and at the end how many there are (Chen and Asau, On
    /// Generating Random Variates from an Empirical Distribution, 1974).
    guide: Box<[u32]>,
}

impl Weighted {
    /// By these weights, which need not add up to 1.
    ///
    /// # Panics
    /// There is none, one is negative, or all are 0.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let sums = weights.into_iter().map(|weight| {
            assert!(weight >= 0.0, "a weight is negative");
            sum += weight;
            sum
        });
        let mut sums: Box<[f64]> = sums.collect();
        assert!(sum > 0.0, "no weight at all");
        sums.iter_mut().for_each(|upto| *upto /= sum);
        let parts = sums.len();
        let begin = |part: usize| {
            let from = part as f64 / parts as f64;
            sums.partition_point(|&upto| upto <= from).min(parts - 1) as u32
        };
        let guide = (0..=parts).map(begin).collect();
        Self { sums, guide }
    }

    /// Zipf: the weight of rank `n`, counted from 1, is n^-exponent.
    ///
    /// # Panics
    /// There are no ranks.
    #[must_use]
    pub fn zipf(ranks: u32, exponent: f64) -> Self {
        Self::new((1..=ranks).map(|rank| f64::from(rank).powf(-exponent)))
    }

    /// An index.
    pub fn draw(&self, from: &mut Stream) -> usize {
        let unit = from.unit();
        let part = (unit * self.sums.len() as f64) as usize;
        // Rounding may have it in the part before.
        let begin = self.guide[part.saturating_sub(1)] as usize;
        let end = self.guide[(part + 1).min(self.sums.len())] as usize;
        // The last one takes what rounding has left over.
        begin + self.sums[begin..end].partition_point(|&upto| upto <= unit)
    }

    /// How likely an index is.
    #[must_use]
    pub fn probability(&self, index: usize) -> f64 {
        let before = index.checked_sub(1).map_or(0.0, |before| self.sums[before]);
        self.sums[index] - before
    }
}

/// The value that a standard normal number exceeds with probability 1 - `unit` (Acklam's rational
/// approximation; relative error below 1.15e-9).
fn normal(unit: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const TAIL: f64 = 0.024_25;
    let row = |row: &[f64], at: f64| row.iter().fold(0.0, |sum, factor| sum * at + factor);
    let tail = |unit: f64| {
        let at = (-2.0 * unit.ln()).sqrt();
        row(&C, at) / (row(&D, at) * at + 1.0)
    };
    if unit < TAIL {
        tail(unit)
    } else if unit > 1.0 - TAIL {
        // A double is never so near to 1 that nothing is left.
        -tail((1.0 - unit).max(f64::MIN_POSITIVE))
    } else {
        let from = unit - 0.5;
        let at = from * from;
        row(&A, at) * from / (row(&B, at) * at + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// Mean and the share of draws above `above`.
    #[test]
    fn means_and_tails_are_those_of_the_formulas() {
        let e = std::f64::consts::E;
        let rows = [
            (Draw::Constant(3.0), 3.0, 2.0, 1.0),
            (Draw::Uniform { from: 2.0, to: 6.0 }, 4.0, 5.0, 0.25),
            (Draw::Exponential { mean: 2.0 }, 2.0, 2.0, 1.0 / e),
            (Draw::Pareto { least: 1.0, shape: 2.43 }, 2.43 / 1.43, 2.0, 0.5_f64.powf(2.43)),
            (Draw::Weibull { scale: 2.0, shape: 1.0 }, 2.0, 2.0, 1.0 / e),
            // Half are above the median; the mean is exp(mu + sigma^2 / 2).
            (Draw::LogNormal { mu: 1.0, sigma: 0.5 }, 1.125_f64.exp(), e, 0.5),
        ];
        for (draw, mean, above, share) in rows {
            let mut stream = Stream::new(1, 2);
            let values: Vec<f64> = (0..DRAWS).map(|_| draw.draw(&mut stream)).collect();
            let seen = values.iter().sum::<f64>() / f64::from(DRAWS);
            assert!((seen / mean - 1.0).abs() < 0.02, "{draw:?}: mean {seen}, not {mean}");
            let beyond = values.iter().filter(|value| **value > above).count() as f64;
            let seen = beyond / f64::from(DRAWS);
            assert!((seen - share).abs() < 0.01, "{draw:?}: {seen} above {above}, not {share}");
        }
    }

    #[test]
    fn values_grow_with_their_share() {
        let e = std::f64::consts::E;
        // A draw, a share and the value at it.
        let rows = [
            (Draw::Uniform { from: 2.0, to: 6.0 }, 0.25, 3.0),
            (Draw::Exponential { mean: 2.0 }, 1.0 - 1.0 / e, 2.0),
            (Draw::Pareto { least: 3.0, shape: 2.0 }, 0.75, 6.0),
            (Draw::Weibull { scale: 2.0, shape: 0.5 }, 1.0 - 1.0 / e, 2.0),
            (Draw::LogNormal { mu: 1.0, sigma: 0.5 }, 0.5, e),
            (Draw::LogNormal { mu: 0.0, sigma: 1.0 }, 0.977_249_868, e * e),
        ];
        for (draw, share, value) in rows {
            let seen = draw.at(share);
            assert!((seen / value - 1.0).abs() < 1e-6, "{draw:?} at {share}: {seen}");
            let values: Vec<f64> = (0..100).map(|step| draw.at(f64::from(step) / 100.0)).collect();
            assert!(values.is_sorted() && values[99].is_finite(), "{draw:?}: {values:?}");
        }
    }

    #[test]
    fn weights_are_kept() {
        let zipf = Weighted::zipf(3, 1.0);
        let mut stream = Stream::new(7, 0);
        let mut counts = [0_u32; 3];
        (0..DRAWS).for_each(|_| counts[zipf.draw(&mut stream)] += 1);
        for (rank, count) in counts.into_iter().enumerate() {
            let expected = 6.0 / 11.0 / (rank + 1) as f64;
            let seen = f64::from(count) / f64::from(DRAWS);
            assert!((seen - expected).abs() < 0.005, "rank {rank}: {seen}, not {expected}");
            assert!((zipf.probability(rank) - expected).abs() < 1e-12, "rank {rank}");
        }
    }

    /// Whatever the weights are, zeros among them: as by a search through all sums.
    #[test]
    fn the_guide_leads_to_what_a_search_finds() {
        let rows: [&[f64]; 5] = [
            &[1.0],
            &[0.0, 1.0, 0.0],
            &[1e-9, 1.0, 1e-9, 1e9],
            &[1.0; 7],
            &[0.0, 0.0, 3.0, 0.0, 1.0],
        ];
        let zipf: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-1.3)).collect();
        for weights in rows.into_iter().chain([&zipf[..]]) {
            let weighted = Weighted::new(weights.iter().copied());
            let mut stream = Stream::new(3, 0);
            for _ in 0..20_000 {
                let unit = stream.clone().unit();
                let found = weighted.sums.partition_point(|&upto| upto <= unit);
                let expected = found.min(weights.len() - 1);
                assert_eq!(weighted.draw(&mut stream), expected, "{} weights", weights.len());
            }
        }
    }

    #[test]
    fn first_draws_of_neighbours_are_as_those_of_one_stream() {
        let first = |number| Stream::of(1, 2, number).unit();
        let values: Vec<f64> = (0..u64::from(DRAWS)).map(first).collect();
        let mean = values.iter().sum::<f64>() / f64::from(DRAWS);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        // Of two neighbours both are below a half in a quarter of all cases, and a gap between them
        // of less than a tenth comes in 19 of 100.
        let pairs = values.windows(2);
        let share = |count: usize| count as f64 / f64::from(DRAWS);
        let both = share(pairs.clone().filter(|two| two[0] < 0.5 && two[1] < 0.5).count());
        let near = share(pairs.filter(|two| (two[0] - two[1]).abs() < 0.1).count());
        assert!((both - 0.25).abs() < 0.005 && (near - 0.19).abs() < 0.005, "{both} {near}");
        assert_eq!(Stream::of(1, 2, 7).sibling(8).bits(), Stream::of(1, 2, 8).bits());
        assert_eq!(Stream::new(1, 2).sibling(8).bits(), Stream::of(1, 2, 8).bits());
        let other = |seed, purpose| Stream::of(seed, purpose, 7).bits();
        assert_eq!(other(1, 2), other(1, 2));
        assert!(other(1, 2) != other(2, 2) && other(1, 2) != other(1, 3));
    }

    #[test]
    fn streams_repeat_and_differ() {
        let draws = |seed, purpose| {
            let mut stream = Stream::new(seed, purpose);
            [stream.bits(), stream.bits(), u64::from(stream.below(10))]
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert_ne!(draws(1, 2), draws(2, 2));
        // On every machine and with every version of this program.
        assert_eq!(Stream::new(1, 2).bits(), 15_480_837_910_931_078_712);
    }
}
