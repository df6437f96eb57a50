//! Which address of a host is asked.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use load::choices::Choices;
use load::engine::{self, Failure};
use load::url::Url;
use measure::Duration;

/// So many of a host's addresses are tried. Few hosts have more than two, one of each family.
const TRIED_MAX: usize = 8;

/// Who is there takes a connection within that, also when a first packet was lost.
const TRIED_FOR: Duration = Duration::from_millis(1500);

/// The one address of a host that is asked. Of several the first that takes a connection: a server
/// may listen at the one of IPv4 only, where the name has one of IPv6 before it.
pub(super) fn of(url: &Url, choices: &Choices) -> Result<SocketAddr, Failure> {
    if choices.probes {
        check_sources(&choices.behaviour.sources)?;
    }
    let unknown = |why: String| {
        Failure::Machine(format!("{}: {why}; check the name, or say an address", url.host))
    };
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| unknown(error.to_string()))?.collect();
    let first = found.first().ok_or_else(|| unknown(String::from("no address")))?;
    let leads = |to: &&SocketAddr| {
        choices.behaviour.sources.iter().all(|from| from.is_ipv4() == to.is_ipv4())
    };
    let able: Vec<SocketAddr> = found.iter().filter(leads).take(TRIED_MAX).copied().collect();
    match *able {
        // That no connection leads there is told by the run.
        [] => Ok(*first),
        // Nobody is asked who need not be.
        [only] if !choices.probes => Ok(only),
        _ => chosen(&able, choices)
            .map_err(|why| Failure::Machine(format!("{}: {why}", url.authority))),
    }
}

/// In a run it would look as if no port were free.
fn check_sources(sources: &[IpAddr]) -> Result<(), Failure> {
    let is_lacking = |from: &&IpAddr| {
        let bound = UdpSocket::bind((**from, 0));
        bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
    };
    match sources.iter().find(is_lacking) {
        Some(from) => Err(Failure::Machine(format!(
            "--sources: this machine has no address {from}; add it to an interface, or name others"
        ))),
        None => Ok(()),
    }
}

/// The first that takes a connection. Where none does it is the first that may only be busy, and
/// the run says how it refuses; else why there is none.
fn chosen(able: &[SocketAddr], choices: &Choices) -> Result<SocketAddr, String> {
    use ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    let mut busy = None;
    let mut refusals = Vec::new();
    for &to in able {
        let Err(error) = engine::reach(to, &choices.behaviour, TRIED_FOR) else { return Ok(to) };
        match error.kind() {
            TimedOut => _ = busy.get_or_insert(to),
            ConnectionRefused | HostUnreachable | NetworkUnreachable => {
                refusals.push(refusal(to, &error));
            }
            // What this machine lacks, as a port or an address, the run tells.
            _ => {}
        }
    }
    match busy {
        Some(to) => Ok(to),
        None if refusals.is_empty() || !choices.probes => Ok(able[0]),
        None => Err(format!(
            "{}; start the server, or say another address or port",
            refusals.join(", ")
        )),
    }
}

fn refusal(to: SocketAddr, error: &io::Error) -> String {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::ConnectionRefused, Some(_)) => format!("nobody listens at {to}"),
        _ => format!("{to}: {error}"),
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
        let none = format!(
            "nobody listens at {nobody}, nobody listens at {nobody}; start the server, or say \
             another address or port"
        );
        let rows: [(&[SocketAddr], bool, Result<SocketAddr, String>); 5] = [
            (&[there], true, Ok(there)),
            (&[nobody, there], true, Ok(there)),
            (&[other, nobody, there], true, Ok(there)),
            (&[nobody, nobody], true, Err(none)),
            (&[nobody, nobody], false, Ok(nobody)),
        ];
        for (all, probes, expected) in rows {
            let choices = Choices { probes, ..Choices::default() };
            assert_eq!(chosen(all, &choices), expected, "{all:?} {probes}");
        }
    }

    #[test]
    fn sources_that_this_machine_lacks_are_named() {
        let told = |sources: &[&str]| {
            let sources: Vec<_> = sources.iter().map(|from| from.parse().expect("one")).collect();
            check_sources(&sources).err().map(|failure| match failure {
                Failure::Machine(why) | Failure::Operator(why) => why,
            })
        };
        assert_eq!(told(&["127.0.0.1", "127.0.0.9", "::1"]), None);
        // For documentation (RFC 5737, RFC 3849): nobody has it.
        for lacking in ["192.0.2.1", "2001:db8::1"] {
            let told = told(&["127.0.0.1", lacking]).expect("refused");
            assert!(told.contains(&format!("this machine has no address {lacking};")), "{told}");
        }
    }

    #[test]
    fn addresses_that_sources_do_not_lead_to_are_passed_over() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        let rows = [("127.0.0.3", true), ("::1", true), ("::1", false)];
        for (sources, probes) in rows {
            let mut choices = Choices { probes, ..Choices::default() };
            choices.set("sources", sources).expect("an address");
            let url: Url = there.to_string().parse().expect("a URL");
            assert_eq!(of(&url, &choices).ok(), Some(there), "{sources}");
        }
    }
}
