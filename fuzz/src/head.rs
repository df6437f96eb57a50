use h1::{Framing, Head, Limits, Method, Persistence, Request, Version};

/// A request's head: judged without a panic and, where it is accepted, by what a naive reader sees
/// in it too. The reader knows nothing of leniency, so whatever two readers might understand
/// differently, and smugglers use, shows as a difference.
///
/// # Panics
/// Where one of these does not hold.
pub fn head(data: &[u8]) {
    let limits = Limits::default();
    let end = data.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let bytes = &data[..end.unwrap_or(data.len())];
    let Ok(request) = Request::judge(bytes, &limits) else { return };
    // The connection gives only heads here whose lines all end by CRLF, and empty lines before the
    // request line have been taken away (RFC 9112 section 2.2).
    let is_bare = |(at, &byte): (usize, &u8)| byte == b'\n' && (at == 0 || bytes[at - 1] != b'\r');
    let is_clean = !bytes.starts_with(b"\r\n") && !bytes.iter().enumerate().any(is_bare);
    if end.is_none() || !is_clean {
        return;
    }
    let read = Reader::read(bytes);
    read.check(&request, &Head::new(bytes, &request), &limits);
}

/// A head as RFC 9112 has it, split at the obvious places.
struct Reader<'h> {
    method: &'h [u8],
    target: &'h [u8],
    version: &'h [u8],
    fields: Vec<(String, &'h [u8])>,
}

impl<'h> Reader<'h> {
    fn read(bytes: &'h [u8]) -> Self {
        let text = &bytes[..bytes.len() - 4];
        let mut lines = split(text, b"\r\n").into_iter();
        let line: Vec<&[u8]> = lines.next().unwrap_or_default().split(|&b| b == b' ').collect();
        let [method, target, version] = line[..] else { panic!("the line has three parts") };
        let fields = lines.map(|line| {
            let colon = line.iter().position(|&b| b == b':').expect("each field has a colon");
            let (name, value) = (&line[..colon], &line[colon + 1..]);
            assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic), "a name is a token");
            assert!(!value.iter().any(|&b| b < b' ' && b != b'\t'), "a value has no controls");
            (String::from_utf8_lossy(name).to_ascii_lowercase(), value.trim_ascii())
        });
        Self { method, target, version, fields: fields.collect() }
    }

    fn check(&self, request: &Request, head: &Head<'_>, limits: &Limits) {
        assert!(self.fields.len() <= limits.fields_max, "too many fields");
        assert!(self.target.len() <= limits.target_bytes_max, "too long a target");
        assert_eq!(request.version == Version::Http10, self.version == b"HTTP/1.0");
        assert!(self.version.starts_with(b"HTTP/1."), "another major version");
        let is_known = [&b"GET"[..], b"HEAD", b"OPTIONS"].contains(&self.method);
        assert_eq!(
            is_known,
            !matches!(request.method, Method::Post | Method::Known | Method::Unknown)
        );
        self.check_framing(request);
        self.check_target(head);
        let closes = self.has_token("connection", "close");
        assert!(!closes || request.persistence == Persistence::Closes, "told to close");
        for (name, value) in &self.fields {
            if name == "host" {
                assert!(head.values("host").eq([*value]), "one host");
            }
        }
        assert!(self.version == b"HTTP/1.0" || self.values("host").count() == 1, "no host");
    }

    fn check_framing(&self, request: &Request) {
        let lengths: Vec<_> = self.values("content-length").collect();
        let codings: Vec<_> = self.values("transfer-encoding").collect();
        match request.framing {
            Framing::None => assert!(lengths.is_empty() && codings.is_empty(), "there is a body"),
            Framing::Sized(n) => {
                let [length] = lengths[..] else { panic!("{} lengths", lengths.len()) };
                assert!(length.iter().all(u8::is_ascii_digit), "not a number");
                // What does not fit is more than anybody takes.
                let number = str::from_utf8(length).expect("digits").parse().unwrap_or(u64::MAX);
                assert_eq!((number, codings.len()), (n, 0));
            }
            Framing::Chunked => {
                assert!(lengths.is_empty(), "a length with chunks");
                let [coding] = codings[..] else { panic!("{} codings", codings.len()) };
                assert!(coding.eq_ignore_ascii_case(b"chunked"), "not only chunked");
            }
        }
    }

    fn check_target(&self, head: &Head<'_>) {
        let (path, query) = (head.path(), head.query());
        assert!(path.starts_with(b"/"), "a path begins with a slash");
        assert!(!path.contains(&b'?') && !path.contains(&b'#'), "a path ends before its query");
        assert!(!head.host().iter().any(|b| b" /@?#\\".contains(b)), "not a host");
        assert!(!head.host().ends_with(b"%"), "a broken escape");
        // Refused whatever it names: a host and a port, of which neither is looked at.
        if self.method == b"CONNECT" {
            return;
        }
        if self.target.starts_with(b"/") {
            let mut parts = self.target.splitn(2, |&b| b == b'?');
            assert_eq!(parts.next(), Some(path));
            assert_eq!(parts.next().unwrap_or_default(), query);
        }
        let scheme = self.target.get(..5).unwrap_or_default();
        assert!(!scheme.eq_ignore_ascii_case(b"https"), "a scheme that is not spoken");
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        self.fields.iter().filter(move |(of, _)| of == name).map(|(_, value)| *value)
    }

    fn has_token(&self, name: &str, token: &str) -> bool {
        let tokens = self.values(name).flat_map(|value| value.split(|&b| b == b','));
        tokens.map(<[u8]>::trim_ascii).any(|of| of.eq_ignore_ascii_case(token.as_bytes()))
    }
}

fn split<'t>(text: &'t [u8], by: &[u8]) -> Vec<&'t [u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(by.len()).position(|window| window == by) {
        parts.push(&rest[..at]);
        rest = &rest[at + by.len()..];
    }
    parts.push(rest);
    parts
}
