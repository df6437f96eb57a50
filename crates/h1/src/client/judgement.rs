//! What the head of a reply means: split by `httparse`, then judged (RFC 9112 sections 4 to 6).

use core::mem::MaybeUninit;

use super::Fault;
use crate::Framing;

/// More fields than any server sends.
const FIELDS_MAX: usize = 1024;
type Fields<'b> = [MaybeUninit<httparse::Header<'b>>; FIELDS_MAX];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) status: u16,
    /// What `Content-Length` says.
    pub(super) length: Option<u64>,
    /// Where the content ends.
    pub(super) content: Length,
    /// Whether the connection stays.
    pub(super) keeps: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Length {
    Framed(Framing),
    UntilEnd,
}

/// Judges a whole head, whose lines all end by CRLF, of a reply to HEAD or to another method.
pub(super) fn judge(bytes: &[u8], to_head: bool) -> Result<Judged, Fault> {
    let mut fields: Fields<'_> = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut parsed = httparse::Response::new(&mut []);
    let mut parser = httparse::ParserConfig::default();
    // A client has to read a folded line (RFC 9112 section 5.2).
    parser.allow_obsolete_multiline_headers_in_responses(true);
    match parser.parse_response_with_uninit_headers(&mut parsed, bytes, &mut fields) {
        Ok(httparse::Status::Complete(end)) if end == bytes.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::TooLong),
        _ => return Err(Fault::Head),
    }
    let status = parsed.code.filter(|&code| code >= 100).ok_or(Fault::Head)?;
    let is_old = parsed.version == Some(0);
    let mut said = Said::default();
    for field in parsed.headers.iter() {
        said.field(field)?;
    }
    // Section 6.3, in its order. Both ways at once, or one that 1.0 does not have, is how replies
    // are split (sections 6.1 and 11.1).
    let content = match (said.chunks, said.length) {
        (true, Some(_)) => return Err(Fault::Framing),
        (true, None) if is_old => return Err(Fault::Framing),
        _ if to_head || matches!(status, 100..=199 | 204 | 304) => Length::Framed(Framing::None),
        (true, None) => Length::Framed(Framing::Chunked),
        (false, Some(length)) => Length::Framed(Framing::Sized(length)),
        (false, None) => Length::UntilEnd,
    };
    let stays = !said.closes && (!is_old || said.stays);
    let keeps = stays && content != Length::UntilEnd;
    Ok(Judged { status, length: said.length, content, keeps })
}

/// What the fields say that matter here.
#[derive(Default)]
struct Said {
    length: Option<u64>,
    chunks: bool,
    closes: bool,
    stays: bool,
}

impl Said {
    fn field(&mut self, field: &httparse::Header<'_>) -> Result<(), Fault> {
        let is = |known: &str| field.name.eq_ignore_ascii_case(known);
        let members = || field.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        match field.name.len() {
            10 if is("connection") => {
                for member in members() {
                    self.closes |= member.eq_ignore_ascii_case(b"close");
                    self.stays |= member.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            // The same length said twice is one length (section 6.3).
            14 if is("content-length") => {
                for member in members() {
                    let length = decimal(member)?;
                    if self.length.is_some_and(|before| before != length) {
                        return Err(Fault::Framing);
                    }
                    self.length = Some(length);
                }
            }
            17 if is("transfer-encoding") => {
                if self.chunks || !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault::Framing);
                }
                self.chunks = true;
            }
            _ => {}
        }
        Ok(())
    }
}

fn decimal(digits: &[u8]) -> Result<u64, Fault> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Framing);
    }
    let digits = str::from_utf8(digits).map_err(|_| Fault::Framing)?;
    digits.parse().map_err(|_| Fault::Framing)
}
