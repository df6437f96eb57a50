//! What theory says, judged by the simulation's own interval.
#![allow(unreachable_pub, reason = "each test is a program of its own")]

/// Judges the mean of some runs, each by the number of its draws, by their interval of 99.9 %.
pub fn check(what: &str, expected: f64, run: impl Fn(u64) -> f64) {
    const RUNS: u64 = 12;
    /// Student's t for that and eleven degrees of freedom.
    const T: f64 = 4.437;
    let seen: Vec<f64> = (0..RUNS).map(run).collect();
    let mean = seen.iter().sum::<f64>() / RUNS as f64;
    let squares: f64 = seen.iter().map(|one| (one - mean).powi(2)).sum();
    let half = T * (squares / (RUNS - 1) as f64 / RUNS as f64).sqrt();
    assert!((mean - expected).abs() < half, "{what}: {mean} ± {half}, expected {expected}");
    assert!(half < expected / 10.0, "{what}: ± {half} tells too little of {expected}");
}
