//! Numbers as people read them.

use load::units;

/// In a table: four digits that count, or all before the point, in groups of three.
pub(super) fn shown(value: f64) -> String {
    if value == f64::INFINITY {
        return String::from("never");
    }
    if !value.is_finite() {
        return String::from("–");
    }
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.3e}").replace('-', "−");
    }
    // Zero has no sign.
    let value = value + 0.0;
    let whole_digits = value.abs().max(1.0).log10().floor() as usize + 1;
    grouped(&trimmed(&format!("{value:.*}", 4_usize.saturating_sub(whole_digits))))
}

/// Where there is little room: no more than two digits that count, or all before the point.
pub(super) fn short(value: f64) -> String {
    let (unit, suffix) = unit_of(value);
    match value {
        _ if value < 0.1 => shown(value),
        _ if value < 10.0 => trimmed(&format!("{value:.1}")),
        _ => grouped(&format!("{:.0}{suffix}", value / unit)),
    }
}

/// At a step of an even scale whose largest value is `largest`: all steps have one unit and as many
/// digits.
pub(super) fn step(value: f64, width: f64, largest: f64) -> String {
    if value == 0.0 {
        return String::from("0");
    }
    if width < 1e-6 || largest >= 1e13 {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return signed(&format!("{}e{power}", trimmed(digits)));
    }
    let (unit, suffix) = unit_of(largest);
    let digits = (0..6).find(|&digits| {
        let steps = width / unit * 10_f64.powi(digits);
        (steps - steps.round()).abs() < 1e-6
    });
    grouped(&format!("{:.*}{suffix}", digits.unwrap_or(6) as usize, value / unit))
}

/// At a step of a logarithmic scale: `factor` (1 to 9) times a power of ten.
pub(super) fn factor(factor: u8, power: i32) -> String {
    if !(-4..13).contains(&power) {
        return signed(&format!("{factor}e{power}"));
    }
    let value = f64::from(factor) * 10_f64.powi(power);
    // Each step has its own unit: 1 M follows 100 k.
    let (unit, suffix) = unit_of(if value < 1e6 { value } else { 10.0 * value });
    grouped(&format!("{:.*}{suffix}", usize::try_from(-power).unwrap_or(0), value / unit))
}

/// Numbers below 10,000 are read at a glance; those above are not.
fn unit_of(largest: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    let fits = |&(unit, _): &(f64, &str)| largest >= 10.0 * unit;
    UNITS.into_iter().find(fits).unwrap_or((1.0, ""))
}

fn trimmed(number: &str) -> String {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').into(),
        false => number.into(),
    }
}

fn grouped(number: &str) -> String {
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    let (whole, rest) = number.split_at(end);
    let digits = whole.trim_start_matches('-');
    let sign = if digits.len() < whole.len() { "−" } else { "" };
    format!("{sign}{}{rest}", units::grouped(digits))
}

fn signed(number: &str) -> String {
    number.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_tables() {
        let rows = [
            (0.0, "0"),
            (0.5, "0.5"),
            (0.12345, "0.123"),
            (12.3456, "12.35"),
            (999.96, "1,000"),
            (-1234.5, "−1,234"),
            (59_100.0, "59,100"),
            (12_345_678.0, "12,345,678"),
            (1e-7, "1.000e−7"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "–"),
            (f64::INFINITY, "never"),
        ];
        for (value, expected) in rows {
            assert_eq!(shown(value), expected, "{value}");
        }
    }

    #[test]
    fn steps_of_scales() {
        let rows = [
            (0.0, 5.0, 20.0, "0"),
            (2.5, 2.5, 10.0, "2.5"),
            (5.0, 2.5, 10.0, "5.0"),
            (2000.0, 2000.0, 8000.0, "2,000"),
            (2000.0, 2000.0, 12_000.0, "2 k"),
            (2500.0, 2500.0, 12_500.0, "2.5 k"),
            (-0.2, 0.1, 0.2, "−0.2"),
            (2e14, 1e14, 5e14, "2e14"),
            (3e7, 1e7, 6e7, "30 M"),
        ];
        for (value, width, largest, expected) in rows {
            assert_eq!(step(value, width, largest), expected, "{value}");
        }
        let rows = [
            (1, 0, "1"),
            (5, 3, "5,000"),
            (1, 4, "10 k"),
            (2, 5, "200 k"),
            (1, 6, "1 M"),
            (5, -2, "0.05"),
            (1, -9, "1e−9"),
        ];
        for (first, power, expected) in rows {
            assert_eq!(factor(first, power), expected, "{first}e{power}");
        }
    }
}
