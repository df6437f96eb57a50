use std::ops::Range;

/// What was probably meant by a value that cannot be read, and which bytes of the file it is about.
///
/// `at` is the byte at which reading failed.
pub(crate) fn advice(text: &str, at: usize) -> Option<(Range<usize>, String)> {
    let value = bare(text, at)?;
    let written = &text[value.clone()];
    let is_quantity = written.starts_with(|first: char| first.is_ascii_digit())
        && written.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let said = match written.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => String::from("write `true`"),
        "false" | "no" | "off" => String::from("write `false`"),
        _ if is_quantity => format!(
            "{written} is neither a number nor a text; a key's name says \
             its unit, so write the number alone"
        ),
        _ => format!("a text needs quotes: \"{written}\""),
    };
    Some((value, said))
}

/// The value there, if it has no quotes, and those before it are whole: of one more than its fellow
/// is missing, and the value is a part of a text.
fn bare(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next()?;
    let line = &line[..line.find('#').unwrap_or(line.len())];
    let value = line.find('=')? + 1;
    // What is wrong with a key, that it is there twice for instance, says nothing of its value.
    if at < start + value {
        return None;
    }
    // In a list the error is within one of its elements.
    let ends = |byte: u8| matches!(byte, b'=' | b',' | b'[' | b']');
    let bytes = line.as_bytes();
    let before = bytes.get(..at.saturating_sub(start).min(bytes.len()))?;
    let from =
        before.iter().rposition(|byte| ends(*byte)).map_or(value, |end| (end + 1).max(value));
    let to = bytes[from..].iter().position(|byte| ends(*byte)).map_or(bytes.len(), |n| from + n);
    let word = line[from..to].trim();
    // A number with something wrong in it is no text.
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'-'));
    let from = from + line[from..to].find(word)?;
    let is_bare = !word.contains(['"', '\'', '{', '}']);
    let is_whole = ['"', '\''].iter().all(|quote| line[..from].matches(*quote).count() % 2 == 0);
    let end = start + from + word.len();
    (!word.is_empty() && is_bare && is_whole && !is_number).then(|| start + from..end)
}
