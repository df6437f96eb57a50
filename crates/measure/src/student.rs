//! Student's t: how far a mean of few values may be off.

/// Standard errors that Student's t with so many degrees of freedom exceeds to one side or the
/// other in this share of all cases.
#[must_use]
pub fn reach(degrees: usize, missed_share: f64) -> f64 {
    // Halves of a half, until two neighbours have the same bits but a few.
    const HALVES: u32 = 60;
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..HALVES {
        let angle = f64::midpoint(low, high);
        if within(degrees, angle) < 1.0 - missed_share { low = angle } else { high = angle }
    }
    (degrees as f64).sqrt() * low.tan()
}

/// How likely t is within the square root of its degrees of freedom times the tangent of an angle
/// (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn within(degrees: usize, angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    for power in (if is_odd { 3..degrees } else { 2..degrees }).step_by(2) {
        term *= cos * cos * (power - 1) as f64 / power as f64;
        sum += term;
    }
    if is_odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
}

/// Mean and variance of two values or more.
#[must_use]
pub fn moments(values: &[f64]) -> [f64; 2] {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    [mean, squares / (values.len() - 1) as f64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_t_are_those_of_the_tables() {
        let rows = [
            (1, 0.05, 12.706),
            (2, 0.05, 4.303),
            (3, 0.05, 3.182),
            (4, 0.05, 2.776),
            (5, 0.05, 2.571),
            (10, 0.01, 3.169),
            (29, 0.05, 2.045),
            (2, 0.001, 31.599),
        ];
        for (degrees, missed_share, expected) in rows {
            let told = reach(degrees, missed_share);
            assert!((told - expected).abs() < 6e-4, "{degrees} {missed_share}: {told}");
        }
    }
}
