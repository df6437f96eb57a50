//! The floors: the least that a readiness loop, a loop with `sendfile` and a completion ring can
//! do. They are what the architectures are measured against, not servers: one thread, one file, and
//! of a request nothing is looked at but whether it says `close`. Beside them are those that turn
//! everybody away, each in one way, to tell what that costs.

mod completion;
mod epoll;
mod readiness;
mod refusing;
mod sendfile;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use memchr::memmem::Finder;
use os::{Address, Directory, File, Listener, Opened};

use crate::Failure;

/// One of them.
#[derive(Debug)]
pub struct Floor {
    /// As in `weir lab floor NAME`, and as a subject.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub is: &'static str,
    /// Whether it answers nobody.
    pub refuses: bool,
    run: fn(Listener, Served) -> io::Result<Infallible>,
}

/// All there are.
pub const FLOORS: &[Floor] = &[
    Floor {
        name: "floor-readiness",
        is: "an epoll loop that sends one prebuilt reply from memory",
        refuses: false,
        run: readiness::run,
    },
    Floor {
        name: "floor-sendfile",
        is: "an epoll loop that sends one file: its head with MSG_MORE, its content by sendfile",
        refuses: false,
        run: sendfile::run,
    },
    Floor {
        name: "floor-completion",
        is: "a completion ring with multishot accept and receive that sends one prebuilt reply",
        refuses: false,
        run: completion::run,
    },
    Floor {
        name: "refuse-syn",
        is: "refuses everybody: the kernel drops each SYN by a filter",
        refuses: true,
        run: refusing::by_filter,
    },
    Floor {
        name: "refuse-queue",
        is: "refuses everybody: the kernel drops each SYN, as the accept queue is full",
        refuses: true,
        run: refusing::by_queue,
    },
    Floor {
        name: "refuse-handshake",
        is: "refuses everybody: the kernel answers each SYN and drops what follows, as where the \
             queue is full by then",
        refuses: true,
        run: refusing::by_handshake,
    },
    Floor {
        name: "refuse-reset",
        is: "refuses everybody: it accepts and resets",
        refuses: true,
        run: refusing::by_reset,
    },
    Floor {
        name: "refuse-503",
        is: "refuses everybody: it accepts, reads the request and answers 503",
        refuses: true,
        run: refusing::by_reply,
    },
];

/// Connections that may wait to be accepted; as for the peers.
const BACKLOG: u32 = 4096;

/// Serves one file until the process is ended.
///
/// # Errors
/// There is no such floor; the address or the file cannot be had; the machine ends it.
pub fn run(name: &str, address: SocketAddr, file: &Path) -> Result<Infallible, Failure> {
    let Some(floor) = FLOORS.iter().find(|floor| floor.name == name) else {
        let names: Vec<_> = FLOORS.iter().map(|floor| floor.name).collect();
        return Err(Failure::Operator(format!("{name}: a floor is one of {}", names.join(", "))));
    };
    // Raised as far as it may be; how far is of no interest.
    let _ = os::limits::descriptors();
    let served = Served::open(file).map_err(|error| Failure::machine(file.display(), error))?;
    let listener = Listener::bind(&Address::Inet(address), BACKLOG);
    let listener = listener.map_err(|error| Failure::machine(address, error))?;
    (floor.run)(listener, served).map_err(|error| Failure::machine(name, error))
}

/// The one file, and the head before it.
struct Served {
    file: File,
    bytes: u64,
    /// With and without `Connection: close`.
    heads: [String; 2],
    close: Finder<'static>,
}

impl Served {
    fn open(path: &Path) -> io::Result<Self> {
        let directory = path.parent().filter(|parent| *parent != Path::new(""));
        let directory = Directory::open(directory.unwrap_or(Path::new(".")))?;
        let name = path.file_name().unwrap_or_default();
        match directory.open_beneath(name.as_encoded_bytes())? {
            Opened::File(file, stat) => Ok(Self {
                file,
                bytes: stat.size,
                heads: ["", "Connection: close\r\n"].map(|field| head(stat.size, field)),
                close: Finder::new("close"),
            }),
            Opened::Directory(_) | Opened::Other => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Both replies whole.
    fn replies(&self) -> io::Result<[Vec<u8>; 2]> {
        let mut content = vec![0; usize::try_from(self.bytes).unwrap_or(usize::MAX)];
        let mut at = 0;
        while at < content.len() {
            match self.file.read_at(&mut content[at..], at as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => at += n,
            }
        }
        Ok([0, 1].map(|which| [self.heads[which].as_bytes(), &content].concat()))
    }

    /// Whether its client wants no more than this.
    fn is_last(&self, request: &[u8]) -> bool {
        self.close.find(request).is_some()
    }
}

/// As long as those of servers are: what it costs to send it is a part of the floor.
fn head(bytes: u64, field: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nServer: floor\r\nContent-Length: {bytes}\r\n\
         Content-Type: application/octet-stream\r\n\
         Last-Modified: Fri, 20 Nov 2026 00:00:00 GMT\r\nETag: \"6740-{bytes:x}\"\r\n\
         Date: Fri, 20 Nov 2026 00:00:00 GMT\r\n{field}\r\n"
    )
}
