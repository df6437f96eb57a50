//! Which address of a host is asked.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};

use load::engine::Failure;
use load::url::Url;
use measure::Duration;

/// So many of a host's addresses are tried. Few hosts have more than two, one of each family.
const TRIED_MAX: usize = 8;

/// Who is there takes a connection within that, also when a first packet was lost.
const TRIED_FOR: Duration = Duration::from_millis(1500);

/// The one address of a host that is asked. Of several the first that takes a connection: a server
/// may listen at the one of IPv4 only, where the name has one of IPv6 before it.
pub(super) fn of(url: &Url, sources: &[IpAddr]) -> Result<SocketAddr, Failure> {
    let unknown = |why: String| Failure::Machine(format!("{}: {why}", url.host));
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| unknown(error.to_string()))?.collect();
    chosen(&found, sources).ok_or_else(|| unknown(String::from("no address")))
}

/// Where none takes a connection it is the first one, and the run says how it refuses.
fn chosen(all: &[SocketAddr], sources: &[IpAddr]) -> Option<SocketAddr> {
    let leads = |to: &&SocketAddr| sources.iter().all(|from| from.is_ipv4() == to.is_ipv4());
    let able: Vec<SocketAddr> = all.iter().filter(leads).take(TRIED_MAX).copied().collect();
    let answers = |to: &SocketAddr| TcpStream::connect_timeout(to, TRIED_FOR).is_ok();
    match *able {
        // Nobody is asked who need not be.
        [only] => Some(only),
        _ => able.iter().copied().find(answers).or_else(|| able.first().or(all.first()).copied()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn of_several_addresses_one_that_answers_is_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        let nobody = SocketAddr::from(([127, 0, 0, 2], there.port()));
        let other = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], there.port()));
        let (four, six) = ([IpAddr::from([127, 0, 0, 3])], [other.ip()]);
        let rows: [(&[SocketAddr], &[IpAddr], Option<SocketAddr>); 7] = [
            (&[], &[], None),
            (&[nobody], &[], Some(nobody)),
            (&[nobody, there], &[], Some(there)),
            (&[nobody, nobody], &[], Some(nobody)),
            (&[other, nobody], &four, Some(nobody)),
            (&[other, nobody, there], &four, Some(there)),
            // That it does not lead there is told by the run.
            (&[there], &six, Some(there)),
        ];
        for (all, sources, expected) in rows {
            assert_eq!(chosen(all, sources), expected, "{all:?} from {sources:?}");
        }
    }
}
