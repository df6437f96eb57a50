//! Texts of others in HTML, SVG and Markdown.

/// Without what neither a page nor a picture can show: control characters, and what XML forbids.
pub(super) fn clean(text: &str) -> String {
    let is_shown = |c: char| !c.is_control() && !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.chars().map(|c| if is_shown(c) { c } else { ' ' }).collect()
}

/// Clean, and harmless between tags and in attributes of HTML and XML.
pub(super) fn escaped(text: &str) -> String {
    escaped_clean(&clean(text))
}

/// The same with its ends of lines.
pub(super) fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

fn escaped_clean(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => harmless.push_str("&amp;"),
            '<' => harmless.push_str("&lt;"),
            '>' => harmless.push_str("&gt;"),
            '"' => harmless.push_str("&quot;"),
            '\'' => harmless.push_str("&#39;"),
            other => harmless.push(other),
        }
    }
    harmless
}

/// One line of Markdown that says nothing but `text`: no emphasis, no list, no table's edge.
pub(super) fn markdown(text: &str) -> String {
    let text = clean(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut harmless = String::with_capacity(line.len());
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        let rest = &line[at + c.len_utf8()..];
        let is_within_word = before.is_alphanumeric() && rest.starts_with(char::is_alphanumeric);
        match c {
            '&' => harmless.push_str("&amp;"),
            '<' => harmless.push_str("&lt;"),
            '>' => harmless.push_str("&gt;"),
            '_' if is_within_word => harmless.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '^' => {
                harmless.extend(['\\', c]);
            }
            '#' | '-' | '+' | '=' if at == 0 => harmless.extend(['\\', c]),
            '.' | ')' if begins_list(&line[..at], rest) => harmless.extend(['\\', c]),
            _ => harmless.push(c),
        }
        before = c;
    }
    harmless
}

/// Lines of Markdown of at most 100 columns, as the documents of this project have them. The first
/// begins with `bullet`, the others stand under what follows it.
pub(super) fn filled(text: &str, bullet: &str) -> String {
    const COLUMNS: usize = 100;
    let mut lines = vec![String::from(bullet)];
    for (at, word) in text.split(' ').enumerate() {
        let Some(line) = lines.last_mut() else { break };
        let is_full = line.chars().count() + 1 + word.chars().count() > COLUMNS;
        // A line may not begin with what makes a list, a title or a rule of it.
        let digits = word.trim_end_matches(['.', ')', '\\']);
        let is_number = digits.len() < word.len() && digits.bytes().all(|c| c.is_ascii_digit());
        if at > 0 && is_full && word.starts_with(char::is_alphanumeric) && !is_number {
            lines.push(format!("{:1$}{word}", "", bullet.len()));
            continue;
        }
        line.push_str(if at > 0 { " " } else { "" });
        line.push_str(word);
    }
    lines.join("\n") + "\n"
}

fn begins_list(before: &str, after: &str) -> bool {
    let ends = after.is_empty() || after.starts_with(' ');
    ends && !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit())
}

/// Commands as a block of code, whatever is in them.
pub(super) fn fenced(lines: &[String]) -> String {
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`').map(str::len)).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let lines: Vec<String> = lines.iter().flat_map(|line| line.lines().map(clean)).collect();
    format!("{fence}sh\n{}\n{fence}\n", lines.join("\n"))
}

/// What may name a file or a place in a page: small letters, digits and hyphens.
pub(super) fn slug(text: &str) -> String {
    /// A file's name may have 255 bytes.
    const LENGTH_MAX: usize = 80;
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let plain: String = plain.take(LENGTH_MAX).collect();
    let slug = plain.to_ascii_lowercase();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "unnamed".into() } else { slug.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_harmless() {
        let rows = [
            ("a < b & \"c\"\u{1b}", "a &lt; b &amp; &quot;c&quot; ", "a &lt; b &amp; \"c\""),
            ("<script>'", "&lt;script&gt;&#39;", "&lt;script&gt;'"),
            ("1. one", "1. one", "1\\. one"),
            ("- one\n- two", "- one - two", "\\- one - two"),
            ("*a* my_name _b_ |", "*a* my_name _b_ |", "\\*a\\* my_name \\_b\\_ \\|"),
            ("1.5 k, p99", "1.5 k, p99", "1.5 k, p99"),
            ("[a](b) `c` $d$", "[a](b) `c` $d$", "\\[a\\](b) \\`c\\` \\$d\\$"),
        ];
        for (text, html, markdown_text) in rows {
            assert_eq!(escaped(text), html);
            assert_eq!(markdown(text), markdown_text);
        }
    }

    #[test]
    fn lines_are_filled() {
        let nine = "123456789 ".repeat(9);
        let rows = [
            (String::from("a b"), "", String::from("a b\n")),
            (format!("{nine}abcdefghi j"), "", format!("{nine}abcdefghi\nj\n")),
            (format!("{nine}abcdefghi - 1. j"), "", format!("{nine}abcdefghi - 1.\nj\n")),
            (format!("{nine}abcdefghi j"), "- ", format!("- {}\n  abcdefghi j\n", nine.trim())),
        ];
        for (text, bullet, expected) in rows {
            assert_eq!(filled(&text, bullet), expected);
        }
    }

    #[test]
    fn commands_end_with_their_fence() {
        let rows = [
            (vec!["weir lab"], "```sh\nweir lab\n```\n"),
            (vec!["a", "````", "b"], "`````sh\na\n````\nb\n`````\n"),
        ];
        for (lines, expected) in rows {
            let lines: Vec<String> = lines.into_iter().map(String::from).collect();
            assert_eq!(fenced(&lines), expected);
        }
    }

    #[test]
    fn names_of_files() {
        let rows =
            [("Flood 2x", "flood-2x"), ("../../etc", "etc"), ("", "unnamed"), ("é", "unnamed")];
        for (text, expected) in rows {
            assert_eq!(slug(text), expected);
        }
    }
}
