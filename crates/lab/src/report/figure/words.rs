//! Texts that fit.

use super::canvas::text_width;

/// Readers' fonts may be so much wider than ours.
pub(super) const SLACK: f64 = 1.12;
/// What takes more lines than this is cut.
const LINES_MAX: usize = 6;

/// In lines no longer than `width`; words that are longer are broken.
pub(super) fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines = lines_of(text, size, width);
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        if let Some(last) = lines.last_mut() {
            *last = cut(&format!("{last}…………"), size, width);
        }
    }
    lines
}

/// The same, if it takes no more than `lines_max` and no word is broken.
pub(super) fn wrapped_whole(
    text: &str,
    size: f64,
    width: f64,
    lines_max: usize,
) -> Option<Vec<String>> {
    let is_wide = |word: &str| text_width(word, size) * SLACK > width;
    if parts(text).any(|part| is_wide(part.trim_end())) {
        return None;
    }
    let lines = lines_of(text, size, width);
    (lines.len() <= lines_max).then_some(lines)
}

/// One line no longer than `width`.
pub(super) fn cut(text: &str, size: f64, width: f64) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text_width(&text, size) * SLACK <= width {
        return text;
    }
    let mut short = String::new();
    for char in text.chars() {
        if text_width(&format!("{short}{char}…"), size) * SLACK > width {
            break;
        }
        short.push(char);
    }
    short.trim_end_matches('…').trim_end().to_owned() + "…"
}

fn lines_of(text: &str, size: f64, width: f64) -> Vec<String> {
    let fits = |text: &str| text_width(text.trim_end(), size) * SLACK <= width;
    let mut lines = Vec::new();
    let mut line = String::new();
    for part in parts(text) {
        if !fits(&format!("{line}{part}")) && !line.is_empty() {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        if fits(part) {
            line.push_str(part);
            continue;
        }
        for char in part.chars() {
            if !fits(&format!("{line}{char}")) && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                // The rest is not looked at: it would be cut.
                if lines.len() > LINES_MAX {
                    return lines;
                }
            }
            line.push(char);
        }
    }
    lines.extend((!line.trim_end().is_empty()).then(|| line.trim_end().to_owned()));
    lines
}

/// Pieces between which a line may end: after spaces and hyphens.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|c: char| c.is_whitespace() || c == '-' || c == '/')
        .filter(|part| !part.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped() {
        let rows: [(&str, f64, &[&str]); 7] = [
            ("", 100.0, &[]),
            ("offered load", 200.0, &["offered load"]),
            ("offered load", 50.0, &["offered", "load"]),
            ("thread-per-request", 62.0, &["thread-", "per-", "request"]),
            ("  a \n b ", 100.0, &["a b"]),
            ("iiiiiiiiii", 12.0, &["iiii", "iiii", "ii"]),
            (&"i".repeat(50), 12.0, &["iiii", "iiii", "iiii", "iiii", "iiii", "…"]),
        ];
        for (text, width, expected) in rows {
            assert_eq!(wrapped(text, 12.0, width), expected, "{text}");
        }
    }

    #[test]
    fn a_word_is_not_broken_in_names() {
        assert_eq!(wrapped_whole("request", 12.0, 20.0, 3), None);
        assert_eq!(wrapped_whole("a b c d", 12.0, 10.0, 3), None);
        assert_eq!(wrapped_whole("a b", 12.0, 10.0, 3), Some(vec!["a".into(), "b".into()]));
        assert_eq!(cut("request", 12.0, 30.0), "re…");
    }
}
