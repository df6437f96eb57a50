//! A server that answers wrongly in a way that can be chosen, or rightly: whoever measures servers
//! has to find it out.
//!
//!     wrong WAY ADDRESS SITE

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

/// How it answers.
#[derive(Clone, Copy)]
enum Way {
    Right,
    /// The first half of each file, as if that were all of it.
    Halves,
    /// It says how long the file is, and ends after half of it.
    BreaksOff,
    /// There are no files of [`LARGE_BYTES`] or more.
    Misses,
    /// Connections that ask for such a file are dropped.
    Drops,
    /// The next smaller file of the site; for the smallest the next larger one.
    Neighbours,
    /// The file's bytes in another order.
    Shuffles,
    /// It is right for so many replies, and then it is gone.
    Dies,
}

/// So that of each workload with several sizes some are larger.
const LARGE_BYTES: usize = 1000;

/// Before [`Way::Dies`] does.
const REPLIES_MAX: usize = 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, address, site] = arguments.as_slice() else { return usage() };
    let Some(way) = way_of(way) else { return usage() };
    let mut files = all(Path::new(site), Path::new("/"));
    files.sort_by_key(|file| file.content.len());
    let files: Arc<[File]> = files.into();
    let replies = Arc::default();
    let listener = TcpListener::bind(address).expect("an address that is free");
    for stream in listener.incoming() {
        let server = Server { way, files: Arc::clone(&files), replies: Arc::clone(&replies) };
        // Who has no connection any more has seen enough.
        thread::spawn(move || stream.and_then(|stream| server.serve(&stream)));
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("wrong WAY ADDRESS SITE");
    ExitCode::from(2)
}

fn way_of(text: &str) -> Option<Way> {
    Some(match text {
        "right" => Way::Right,
        "halves" => Way::Halves,
        "breaks-off" => Way::BreaksOff,
        "misses" => Way::Misses,
        "drops" => Way::Drops,
        "neighbours" => Way::Neighbours,
        "shuffles" => Way::Shuffles,
        "dies" => Way::Dies,
        _ => return None,
    })
}

struct File {
    target: String,
    content: Vec<u8>,
}

/// Beneath a directory.
fn all(directory: &Path, target: &Path) -> Vec<File> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let target = target.join(path.file_name().expect("its name"));
        if path.is_dir() {
            files.extend(all(&path, &target));
        } else {
            let content = fs::read(&path).expect("a file");
            files.push(File { target: target.display().to_string(), content });
        }
    }
    files
}

struct Server {
    way: Way,
    files: Arc<[File]>,
    replies: Arc<std::sync::atomic::AtomicUsize>,
}

impl Server {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut requests = BufReader::new(stream);
        while let Some(target) = asked(&mut requests)? {
            let at = self.files.iter().position(|file| file.target == target);
            let Some(at) = at else {
                reply(stream, 404, 0, b"")?;
                continue;
            };
            let content = &self.files[at].content;
            let is_large = content.len() >= LARGE_BYTES;
            let half = &content[..content.len() / 2];
            match self.way {
                Way::Halves => reply(stream, 200, half.len(), half)?,
                Way::BreaksOff => return reply(stream, 200, content.len(), half),
                Way::Misses if is_large => reply(stream, 404, 0, b"")?,
                // Unread bytes would make it a reset; this is an end.
                Way::Drops if is_large => return Ok(()),
                Way::Neighbours => {
                    let other = &self.files[at.checked_sub(1).unwrap_or(1)].content;
                    reply(stream, 200, other.len(), other)?;
                }
                Way::Shuffles => {
                    let mut other = content.clone();
                    other.rotate_left(1);
                    reply(stream, 200, other.len(), &other)?;
                }
                Way::Right | Way::Misses | Way::Drops | Way::Dies => {
                    reply(stream, 200, content.len(), content)?;
                }
            }
            self.count();
        }
        Ok(())
    }

    fn count(&self) {
        let before = self.replies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if matches!(self.way, Way::Dies) && before >= REPLIES_MAX {
            eprintln!("no more of this");
            std::process::exit(1);
        }
    }
}

/// The target of the next request; none: there are no more.
fn asked(requests: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut target = None;
    let mut line = String::new();
    while requests.read_line(&mut line)? > 0 {
        match line.trim_end() {
            "" => return Ok(target),
            head if target.is_none() => target = head.split(' ').nth(1).map(String::from),
            _ => {}
        }
        line.clear();
    }
    Ok(None)
}

fn reply(mut stream: &TcpStream, status: u16, length: usize, content: &[u8]) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status} .\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), content].concat())
}
