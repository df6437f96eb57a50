use site::Hints;

/// Hints for a cache: a line that is refused is one of the text, and said in one line; there are
/// hints where a line begins with a slash.
///
/// # Panics
/// Where one of these does not hold.
pub fn hints(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Hints::parse(text) {
        Ok(hints) => {
            let has_paths = text.lines().any(|line| line.trim().starts_with('/'));
            assert_eq!(hints.is_empty(), !has_paths);
        }
        Err((line, why)) => {
            assert!((1..=text.lines().count()).contains(&line), "line {line}");
            assert!(!why.contains(char::is_control), "{why:?}");
        }
    }
}
