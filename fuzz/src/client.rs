use h1::client::{Event, Exchange, Fault, Method};

/// Replies that are read one after the other.
const REPLIES_MAX: usize = 8;

/// The size of the pieces, then replies: what is heard of them is the same however they are cut,
/// each byte is told of once, and a reply that says how long it is has that length.
///
/// Of the first byte, bit `n` says whether request `n` was a HEAD.
///
/// # Panics
/// Where one of these does not hold.
pub fn client(data: &[u8]) {
    let [heads, piece, bytes @ ..] = data else { return };
    let whole = hear(*heads, bytes, bytes.len().max(1));
    let cut = hear(*heads, bytes, 1 + usize::from(*piece));
    assert_eq!(whole, cut, "cut into pieces of {}", 1 + usize::from(*piece));
    for reply in &whole.replies {
        let has_none = reply.to_head || matches!(reply.status, 204 | 304);
        if let (Some(length), false) = (reply.length, has_none) {
            assert_eq!(reply.content.len() as u64, length, "another length");
        }
        assert!(!has_none || reply.content.is_empty(), "content where there is none");
        assert!(reply.status >= 200, "an interim reply is none");
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// Those that came whole.
    replies: Vec<Reply>,
    taken: usize,
    fault: Option<Fault>,
}

#[derive(Debug, PartialEq, Eq)]
struct Reply {
    to_head: bool,
    status: u16,
    length: Option<u64>,
    content: Vec<u8>,
    keeps: bool,
    validators: bool,
}

fn hear(heads: u8, bytes: &[u8], piece: usize) -> Told {
    let mut told = Told { replies: Vec::new(), taken: 0, fault: None };
    let mut pieces = bytes.chunks(piece);
    let mut rest: &[u8] = &[];
    for number in 0..REPLIES_MAX {
        let to_head = heads & 1 << number != 0;
        let method = if to_head { Method::Head } else { Method::Get };
        let mut exchange = Exchange::new(method, true);
        let mut reply = Reply {
            to_head,
            status: 0,
            length: None,
            content: Vec::new(),
            keeps: false,
            validators: false,
        };
        loop {
            let (taken, event) = match exchange.read(rest) {
                Ok(read) => read,
                Err(fault) => return Told { fault: Some(fault), taken: 0, ..told },
            };
            assert!(taken <= rest.len(), "more than there is");
            rest = &rest[taken..];
            told.taken += taken;
            match event {
                Event::Part if taken > 0 => {}
                Event::Part => {
                    assert!(rest.is_empty(), "stops before the end");
                    let Some(next) = pieces.next() else {
                        let fault = exchange.ended().err();
                        return Told { fault, ..told };
                    };
                    rest = next;
                }
                Event::Head(head) => {
                    assert_eq!(reply.status, 0, "two heads");
                    (reply.status, reply.length) = (head.status, head.length);
                    reply.validators = head.validators().is_some();
                }
                Event::Content(piece) => reply.content.extend_from_slice(piece),
                Event::Whole => break,
            }
        }
        reply.keeps = exchange.keeps();
        told.replies.push(reply);
    }
    told
}
