//! A histogram as `.hgrm`: HdrHistogram's table of percentiles, which its plotters read.

use std::fmt::Write as _;

use crate::collector::times::Times;

/// Lines between one halving of what is left above and the next, as other tools write them.
const TICKS_PER_HALF: u32 = 5;

/// The table, in milliseconds.
#[must_use]
pub fn text(times: &Times) -> String {
    let histogram = times.histogram();
    let ms = |ns: f64| ns / 1e6;
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let (mean, longest) = (times.mean().as_secs_f64() * 1e3, times.longest().as_secs_f64() * 1e3);
    let mut total: u64 = 0;
    // An empty histogram has no percentiles.
    let steps = (!histogram.is_empty()).then(|| histogram.iter_quantiles(TICKS_PER_HALF));
    for step in steps.into_iter().flatten() {
        total = total.saturating_add(step.count_since_last_iteration());
        // A place of the histogram may reach beyond what was longest.
        let value = ms(step.value_iterated_to() as f64).min(longest);
        let quantile = step.quantile_iterated_to();
        _ = write!(text, "{value:12.6} {quantile:1.12} {total:10}");
        if quantile < 1.0 {
            _ = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let (deviation, count) = (ms(histogram.stdev()), histogram.len());
    // Twice the digits' range, rounded up to a power of two: how finely each doubling is divided.
    let divided = (2 * 10_u32.pow(histogram.sigfig().into())).next_power_of_two();
    let buckets = histogram.buckets();
    _ = writeln!(text, "#[Mean    = {mean:12.6}, StdDeviation   = {deviation:12.6}]");
    _ = writeln!(text, "#[Max     = {longest:12.6}, Total count    = {count:12}]");
    _ = writeln!(text, "#[Buckets = {buckets:12}, SubBuckets     = {divided:12}]");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::times::Digits;
    use measure::Duration;

    #[test]
    fn percentiles_are_written_as_others_read_them() {
        let head = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
        let rows: [(&[u64], &str); 2] = [
            (
                &[],
                "#[Mean    =     0.000000, StdDeviation   =     0.000000]\n\
                 #[Max     =     0.000000, Total count    =            0]\n\
                 #[Buckets =            1, SubBuckets     =         2048]\n",
            ),
            (
                &[1_000, 1_000, 1_000, 3_000],
                "    1.000447 0.000000000000          3           1.00\n\
                 \x20   1.000447 0.100000000000          3           1.11\n",
            ),
        ];
        for (us, expected) in rows {
            let mut times = Times::new(Digits::Three);
            us.iter().for_each(|&us| times.record(Duration::from_micros(us)));
            let told = text(&times);
            let rest = told.strip_prefix(head).expect("the head");
            assert!(rest.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn the_last_line_is_the_longest() {
        let mut times = Times::new(Digits::Three);
        (1..=1000).for_each(|ms| times.record(Duration::from_millis(ms)));
        let told = text(&times);
        let lines: Vec<&str> = told.lines().collect();
        let last = lines.iter().rposition(|line| !line.starts_with('#')).expect("a line");
        assert_eq!(lines[last].trim_start(), "1000.000000 1.000000000000       1000");
        assert_eq!(lines[last + 2], "#[Max     =  1000.000000, Total count    =         1000]");
    }
}
