use h1::Status;

/// A raw path, as it stands in a request's target before the query: translated alike by `site` and
/// by a naive model, never to anything outside the root, and stable.
///
/// # Panics
/// Where one of these does not hold.
pub fn path(data: &[u8]) {
    let raw = data.split(|&byte| byte == b'?').next().unwrap_or_default();
    let translated = site::path::translate(raw).map(std::borrow::Cow::into_owned);
    assert_eq!(translated, naive(raw), "translation of {}", raw.escape_ascii());
    if let Ok(path) = translated {
        let escaped = escape(&path);
        assert_eq!(site::path::translate(&escaped).as_deref(), Ok(&path[..]), "not stable");
    }
}

fn naive(raw: &[u8]) -> Result<Vec<u8>, Status> {
    let decoded = decode(raw).ok_or(Status::BAD_REQUEST)?;
    if !decoded.starts_with(b"/") || raw.contains(&b'\\') || decoded.contains(&0) {
        return Err(Status::BAD_REQUEST);
    }
    let mut names: Vec<&[u8]> = Vec::new();
    let segments: Vec<&[u8]> = decoded.split(|&byte| byte == b'/').skip(1).collect();
    for segment in &segments {
        match *segment {
            b"" | b"." => {}
            b".." => drop(names.pop().ok_or(Status::BAD_REQUEST)?),
            name => names.push(name),
        }
    }
    let hidden = |(place, name): (usize, &&[u8])| {
        name.starts_with(b".") && (place, *name) != (0, &b".well-known"[..])
    };
    if names.iter().enumerate().any(hidden) {
        return Err(Status::NOT_FOUND);
    }
    let mut path = names.iter().flat_map(|name| [b"/", *name].concat()).collect::<Vec<u8>>();
    if path.is_empty() || matches!(segments.last(), Some(&(b"" | b"." | b".."))) {
        path.push(b'/');
    }
    Ok(path)
}

/// Nothing where an escape is broken or hides a slash.
fn decode(raw: &[u8]) -> Option<Vec<u8>> {
    let mut parts = raw.split(|&byte| byte == b'%');
    let mut decoded = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let value = digits
            .iter()
            .try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))?;
        let byte = u8::try_from(value).ok().filter(|&byte| byte != b'/')?;
        decoded.push(byte);
        decoded.extend_from_slice(rest);
    }
    Some(decoded)
}

fn escape(path: &[u8]) -> Vec<u8> {
    let escaped = path.iter().map(|&byte| match byte {
        b'/' => String::from("/"),
        _ => format!("%{byte:02x}"),
    });
    escaped.collect::<String>().into_bytes()
}
